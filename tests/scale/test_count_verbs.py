"""count, merge and count-metrics: contracts, parts in any order, damaged files."""

import gzip
import hashlib
import itertools
import json
from pathlib import Path

import pytest
from support import ROOT, cli, flipped_bits, lines_to, ok, refused

GOLDEN = ROOT / "tests/data/golden/scores/few_trials"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
FIELDS = [
    *("n_target", "n_nontarget", "eer_kaldi", "eer_crossing", "eer_rocch", "cllr_min"),
    *("linkability", "zebra_individual", "cllr"),
]


class Shards:
    """A golden score file in three parts, the second of nontargets alone, and the whole list."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        lines = gzip.decompress((GOLDEN / "scores.gz").read_bytes()).decode().splitlines()
        key = gzip.decompress((GOLDEN / "trials.gz").read_bytes()).decode().splitlines()
        self.trials = lines_to(folder / "trials", key)
        others = {tuple(line.split()[:2]) for line in key if line.endswith("nontarget")}
        of_nontargets = [line for line in lines if tuple(line.split()[:2]) in others]
        rest = [line for line in lines if line not in of_nontargets[:9]]
        parts = (rest[:20], of_nontargets[:9], rest[20:])
        self.scores = [lines_to(folder / f"scores.{n}", part) for n, part in enumerate(parts)]
        self.whole = lines_to(folder / "scores", lines)

    def count(self, scores: Path, name: str, *more: object) -> Path:
        out = self.folder / name
        files = ("--scores", scores, "--trials", self.trials, "--out", out)
        ok(cli("count", *files, *more))
        return out


@pytest.fixture
def shards(tmp_path: Path) -> Shards:
    return Shards(tmp_path)


def test_counts_of_all_bits_are_the_exact_values(shards: Shards) -> None:
    run = cli("count-metrics", shards.count(shards.whole, "c"), "--format", "json")
    assert (run.code, run.err) == (0, "")
    plain = json.loads(run.out)
    assert list(plain) == FIELDS
    for field, key in (("eer_rocch", "rocch_eer"), ("cllr_min", "cllr_min")):
        assert plain[field]["low"] == plain[field]["high"]
        assert plain[field]["low"] == pytest.approx(EXPECTED["exact"][key], abs=1e-7)
    for key in ("cllr", "zebra_individual"):
        assert plain[key] == pytest.approx(EXPECTED["exact"][key], abs=1e-7)
    coarse = cli("count-metrics", shards.count(shards.whole, "c16", "--bits", "16"))
    assert coarse.code == 0 and coarse.out.count("needs 32 bits") == 4


@pytest.mark.parametrize("bits", ["16", "32"])
def test_parts_in_any_order_have_the_bytes_of_the_whole(shards: Shards, bits: str) -> None:
    whole = shards.count(shards.whole, "whole", "--bits", bits).read_bytes()
    parts = [shards.count(s, f"{s.name}.c", "--bits", bits) for s in shards.scores]
    for n, order in enumerate(itertools.permutations(parts)):
        out = shards.folder / f"merged{n}"
        assert cli("merge", *order, "--out", out).code == 0
        assert out.read_bytes() == whole
    two, all_three = shards.folder / "two", shards.folder / "three"
    assert cli("merge", *parts[:2], "--out", two).code == 0
    assert cli("merge", parts[2], two, "--out", all_three).code == 0
    assert all_three.read_bytes() == whole


def test_trials_without_a_score_are_counted_until_all_parts_are_merged(shards: Shards) -> None:
    out = shards.folder / "c"
    files = ("--scores", shards.scores[0], "--trials", shards.trials, "--out", out)
    run = cli("count", *files)
    assert run.code == 0 and "33 trials of the list without a score" in run.err
    run = cli("count-metrics", out)
    assert run.code == 0 and "warning" in run.err and "33 trials" in run.err
    assert cli("merge", out, "--out", shards.folder / "again").code == 0
    twice = (out, shards.count(shards.whole, "whole"), shards.folder / "again")
    assert cli("merge", *twice[:2], "--out", shards.folder / "m").code == 0
    run = cli("merge", *twice, shards.count(shards.scores[2], "c2"), "--out", shards.folder / "m2")
    assert run.code == 1 and "counted twice" in run.err
    assert not (shards.folder / "m2").exists()


def test_a_score_without_its_trial_is_an_error(shards: Shards) -> None:
    scores = lines_to(shards.folder / "more", [*shards.whole.read_text().splitlines(), "s u 1"])
    out = shards.folder / "c"
    run = cli("count", "--scores", scores, "--trials", shards.trials, "--out", out)
    assert run.code == 1 and f"{scores}:54: 1 score without a trial" in run.err
    assert not out.exists()


def test_wrong_usage(shards: Shards) -> None:
    counts = shards.count(shards.whole, "c")
    for more in (["--bootstrap", "9"], ["--trials", "x"], ["--dialects"], ["--log10"]):
        assert cli("count-metrics", counts, *more).code == 2
    assert cli("merge", counts, counts, "--out", "x").code == 2
    assert cli("count", "--scores", shards.whole, "--out", "x", "--bits", "17").code == 2
    assert cli("count", "--scores", shards.whole, "--out", shards.whole).code == 2
    targets = shards.count(shards.scores[1], "c1", "--bits", "16")
    refused(cli("merge", counts, targets, "--out", shards.folder / "m"), "bits")
    refused(cli("count-metrics", targets), f"{targets}: no target scores")


def test_damaged_counts_are_refused(shards: Shards) -> None:
    path = shards.count(shards.scores[0], "c")
    data = path.read_bytes()
    header, _, body = data.partition(b"\n")
    plain = json.loads(header)
    stated = plain.pop("sha256")

    def with_header(counted: bytes = body, **changes: object) -> bytes:
        """A file whose checksum is right."""
        changed = {**plain, **changes}
        text = json.dumps(changed).encode() + b"\n"
        changed["sha256"] = hashlib.sha256(text + counted).hexdigest()
        return json.dumps(changed).encode() + b"\n" + counted

    assert with_header() == data and stated.encode() in header
    damaged = [
        *(b"", b"s1 u1 0.5\n", data[:-1], data + b"x", header, header[:-1] + b"\n" + body),
        *(with_header(b) for b in (body[4:8] + body[:4] + body[8:], body[:-8] + b"\xff" * 8)),
        *(with_header(bits=bits) for bits in (0, 33, "32", None, True, 16)),
        *(with_header(bins=bins) for bins in (0, -1, 1e9, 10**30)),
        *(with_header(largest=end) for end in (plain["largest"] + 1, "x", 1e400, 10**400)),
        *(with_header(unfinished=u) for u in ([], {"a": 1}, {"a": [1, 2]}, {"a": [2, 1, 0]})),
        json.dumps([plain["format"]]).encode() + b"\n" + body,
    ]
    for content in damaged:
        path.write_bytes(content)
        run = cli("count-metrics", path)
        assert run.code == 1 and str(path) in run.err and not run.out, content[:200]


def test_a_flipped_bit_of_counts_is_refused(shards: Shards) -> None:
    path = shards.count(shards.scores[0], "c")
    right = cli("count-metrics", path).out
    assert right
    for position, content in flipped_bits(path.read_bytes(), 400):
        path.write_bytes(content)
        for run in (
            cli("count-metrics", path),
            cli("merge", path, "--out", shards.folder / "m"),
        ):
            assert run.out == right or (run.code == 1 and not run.out), position
            assert str(path) in run.err and run.err.count("\n") == 1, position
    assert not (shards.folder / "m").exists()


def test_counts_without_a_checksum_name_what_makes_them_anew(shards: Shards) -> None:
    path = shards.count(shards.scores[0], "c")
    header, _, body = path.read_bytes().partition(b"\n")
    plain = json.loads(header)
    del plain["sha256"]
    path.write_bytes(json.dumps(plain).encode() + b"\n" + body)
    refused(cli("count-metrics", path), str(path), "no checksum", "privacy-eval count")
