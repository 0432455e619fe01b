"""Whole submissions of strangers through the command line.

Each case is something done to a tree, a verb, and how that must end. What single readers make
of damaged files stands in tests/io and test_readers.py, bad lines of scores and keys in
tests/test_cli.py, bad plans in tests/test_config.py, links in tests/test_tree.py.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support import BACKEND, ENROLLS, MODEL, TRIALS, SpeechTree, cli, lines_to, snapshot

from privacy_eval.io.files import digest

NAME = f"ASV-{ENROLLS}-{TRIALS}_anon"
SCORES = f"exp/results-anon/{NAME}/scores"
KEY = f"data/{TRIALS}_anon/trials"
SCP = f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp"
ARK = SCP.replace(".scp", ".ark")
PLDA = f"{BACKEND}/plda"
RECORD = f"exp/privacy_eval/records/anon/{NAME}"

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with scores, records and results."""
    tree = SpeechTree(tmp_path_factory.mktemp("made") / "tree")
    for verb in ("score-tree", "similarity-tree", "evaluate", "collect"):
        run = tree.run(verb)
        assert run.code == 0, run.err
    return tree.root


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tree"))


def line(path: str, number: int, text: str | bytes) -> Change:
    """Another line."""

    def change(tree: Path) -> None:
        lines = (tree / path).read_bytes().split(b"\n")
        lines[number - 1] = text.encode() if isinstance(text, str) else text
        (tree / path).write_bytes(b"\n".join(lines))

    return change


def content(path: str, make: Callable[[bytes], bytes]) -> Change:
    return lambda tree: (tree / path).write_bytes(make((tree / path).read_bytes()))


def linked(path: str, target: str) -> Change:
    """A link in place of a file."""

    def change(tree: Path) -> None:
        (tree / path).unlink()
        os.symlink(target, tree / path)

    return change


def columns(path: str, *order: int) -> Change:
    def swap(text: bytes) -> bytes:
        rows = [row.split() for row in text.splitlines()]
        return b"".join(b" ".join(row[n] for n in order) + b"\n" for row in rows)

    return content(path, swap)


def pipe(path: str) -> Change:
    def change(tree: Path) -> None:
        (tree / path).unlink()
        os.mkfifo(tree / path)

    return change


#: 1 GiB of zeros in 1 MB.
BOMB = gzip.compress(bytes(16 << 20)) * 64


@dataclass(frozen=True)
class Case:
    """What is done, what is run then, and the message of exit code 1."""

    change: Change
    message: str
    verb: str = "evaluate"
    more: tuple[str, ...] = ()


REFUSED = {
    # Scores and keys
    "a look-alike speaker": Case(
        line(SCORES, 1, "\u04551 s1-u0 0.5"),
        r"1 scores without a trial \(first at \S+scores:1\): \u04551 s1-u0 \(\\u04551 s1-u0\)",
    ),
    "a combined letter": Case(
        line(SCORES, 1, "s1 s1-u\u0301 0.5"),
        r"without a trial .*: s1 s1-u\u0301 \(s1 s1-u\\u0301\)",
    ),
    "scores in swapped columns": Case(
        columns(SCORES, 1, 0, 2), r"48 trials without a score .*\n.*48 scores without a trial"
    ),
    "the score first": Case(columns(SCORES, 2, 0, 1), r"scores:1: expected a finite .*'s1-u0'"),
    "a key in swapped columns": Case(
        columns(KEY, 2, 0, 1), r"trials:1: expected the label target or nontarget, found 's1-u0'"
    ),
    "a key of another set": Case(
        lambda tree: lines_to(tree / KEY, ["x1 x1-u1 target", "x1 x2-u1 nontarget"]),
        r"2 trials without a score .*\n.*48 scores without a trial .*\n  \(--allow-missing",
    ),
    "a hexadecimal score": Case(line(SCORES, 2, "s1 s1-u1 0x1p3"), r"scores:2: .* found '0x1p3'"),
    "a score in Arabic digits": Case(
        line(SCORES, 2, "s1 s1-u1 \u0661"), "scores:2: .* found '\u0661'"
    ),
    "NUL": Case(line(SCORES, 3, b"s1 s1-u2\0 1"), r"scores:3: control character 0x00"),
    "not UTF-8": Case(line(SCORES, 3, b"s1 s1-u\xe9 1"), r"scores:3: not UTF-8 text"),
    "UTF-16": Case(
        content(SCORES, lambda c: c.decode().encode("utf-16")), r"scores:1: control character 0x00"
    ),
    "a line of 2 MB": Case(
        line(SCORES, 3, b"x " * (1 << 20)), r"scores:3: a line of over 1048576 bytes"
    ),
    "2 MB without a blank": Case(
        line(SCORES, 3, b"x" * (2 << 20)), r"scores:3: a line of over 1048576 bytes"
    ),
    "scores that are a bomb": Case(
        content(SCORES, lambda _: BOMB),
        r"scores: larger than \d+ bytes \(unpacked, if it is gzip\)",
    ),
    "a key that is a bomb": Case(content(KEY, lambda _: BOMB), r"trials: larger than \d+ bytes"),
    "scores that are a loop": Case(linked(SCORES, "scores"), rf"folder {NAME} holds no file"),
    "scores that never end": Case(linked(SCORES, "/dev/zero"), rf"folder {NAME} holds no file"),
    "scores that are a pipe": Case(pipe(SCORES), rf"folder {NAME} holds no file `scores`"),
    "scores twice": Case(
        lambda tree: (tree / f"{SCORES}.gz").write_bytes(gzip.compress(b"s1 s1-u0 9\n")),
        r"scores: beside it is scores.gz; remove one of them",
    ),
    "scores of somebody else": Case(
        linked(SCORES, "/etc/hostname"), r"leads out of the tree .*; --allow-outside"
    ),
    "a key of somebody else": Case(linked(KEY, "/etc/hostname"), r"leads out .*; --allow-outside"),
    # X-vectors and back ends
    "a command": Case(
        line(SCP, 1, "s1-u0 touch pwned; cat x |"),
        r"scp:1: s1-u0 is what a command prints, which is run with --allow-pipes only",
        "score-tree",
    ),
    "a command that is fed": Case(
        line(SCP, 1, "s1-u0 | touch pwned"), r"scp:1: .* writes into a command", "score-tree"
    ),
    "an archive of somebody else": Case(
        line(SCP, 1, "s1-u0 /etc/passwd:0"), r"scp:1: .* --allow-outside only", "score-tree"
    ),
    "a path that leaves the tree": Case(
        line(SCP, 1, "s1-u0 ../../../../../../etc/passwd:0"),
        r"scp:1: .* --allow-outside only",
        "score-tree",
    ),
    "an archive that is a link out": Case(
        linked(ARK, "/etc/hostname"), r"scp:1: .* --allow-outside only", "score-tree"
    ),
    "an archive that is a loop": Case(
        linked(ARK, "xvector.ark"), r"scp:1: .*symbolic links", "score-tree"
    ),
    "a look-alike utterance": Case(
        content(SCP, lambda c: c.replace(b"s1-u0", "\u04551-u0".encode())),
        r"no vector for 1 ids of .*: s1-u0",
        "score-tree",
    ),
    "an archive that is cut": Case(
        content(ARK, lambda c: c[:-9]), r"scp:12: s4-u2 .*truncated", "score-tree"
    ),
    "an archive that is a bomb": Case(
        lambda tree: (
            (tree / ARK).write_bytes(BOMB),
            lines_to(tree / SCP, [f"s1-u0 {ARK}:900000000"]),
        ),
        r"scp:1: s1-u0 .*past the end",
        "score-tree",
    ),
    "a back end that is cut": Case(
        content(PLDA, lambda c: c[:-40]), r"plda: psi: truncated", "score-tree"
    ),
    "a back end of text that is cut": Case(
        content(PLDA, lambda _: b"<Plda>  [ 1 2 ]\n [\n 1 2\n"), r"plda: transform: ", "score-tree"
    ),
    "a back end with NaN": Case(
        content(PLDA, lambda c: c[:20] + b"\xff" * 8 + c[28:]), r"plda: mean: .*NaN", "score-tree"
    ),
    "a list with a no-break space": Case(
        content(f"data/{ENROLLS}/spk2utt", lambda c: c.replace(b" s1-e1", b"\xc2\xa0s1-e1")),
        r"2 utterances have no speaker in \S+/spk2utt: s1-e0, s1-e1",
        "score-tree",
    ),
    # Plans
    "merge keys that multiply": Case(
        lambda tree: (tree / "small.yaml").write_text(
            "a: &a {x: 1}\n"
            + "".join(
                f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n"
                for a, b in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True)
            )
        ),
        r"small.yaml:2: invalid YAML \(merge keys",
    ),
    "an entry that stands twice": Case(
        lambda tree: (tree / "small.yaml").open("a").write("splits: [test]\n"),
        r"small.yaml:\d+: invalid YAML \(duplicate 'splits'\)",
    ),
    "a plan that is too long": Case(
        lambda tree: (tree / "small.yaml").write_text("- x\n" * 100_000), r"small.yaml: larger than"
    ),
    "a number of many parts": Case(
        lambda tree: (tree / "small.yaml").open("a").write(f"title: 1:{'00:' * 200}00.0\n"),
        r"small.yaml: invalid YAML \(a value that cannot be read\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, tree: Path, tmp_path: Path) -> None:
    """Exit code 1, a message that says where, no traceback; the rest of the tree is done, and
    nothing is half written, run, or put anywhere else."""
    case = REFUSED[name]
    case.change(tree)
    if case.verb == "score-tree":
        for folder in (tree / "exp/results-anon").iterdir():
            shutil.rmtree(folder)
    run = cli(*(case.verb, "--tree", tree, "--results", "exp", "--conf", "small.yaml", *case.more))
    assert run.code == 1, run.out
    assert re.search(case.message, run.err), run.err
    assert "Traceback" not in run.err
    assert all(c.isprintable() or c == "\n" for c in run.err)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tree"]
    assert not [p for p in tree.rglob("*") if p.name.endswith(".tmp") or p.name == "pwned"]
    if case.verb == "evaluate" and "small.yaml" not in case.message:
        assert "failed" in run.err.splitlines()[-1]
        others = {p.name for p in (tree / "exp/privacy_eval/records/anon").glob("ASV*.json")}
        assert len(others) == 3


HARMLESS: dict[str, Change] = {
    "CRLF": content(SCORES, lambda c: c.replace(b"\n", b"\r\n")),
    "a byte order mark": content(SCORES, lambda c: b"\xef\xbb\xbf" + c),
    "tabs and blank lines": content(
        SCORES, lambda c: c.replace(b" ", b"\t ").replace(b"\n", b"\n\n")
    ),
    "gzip": content(SCORES, gzip.compress),
    "no line end at the end": content(SCORES, bytes.rstrip),
    "exponents": content(
        SCORES,
        lambda c: b"".join(
            b"%s %s %s\n" % (s, u, f"{float(x):.17E}".encode())
            for s, u, x in map(bytes.split, c.splitlines())
        ),
    ),
    "a key of gzip with CRLF": content(KEY, lambda c: gzip.compress(c.replace(b"\n", b"\r\n"))),
    "another order": content(SCORES, lambda c: b"".join(sorted(c.splitlines(keepends=True)))),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_only_spelled_otherwise(name: str, tree: Path) -> None:
    record = tree / f"{RECORD}.json"
    before = json.loads(record.read_text())
    HARMLESS[name](tree)
    run = cli("evaluate", "--tree", tree, "--results", "exp", "--conf", "small.yaml")
    assert run.code == 0, run.err
    assert json.loads(record.read_text())["metrics"] == before["metrics"]


def test_absolute_paths_as_kaldi_writes_them(tree: Path) -> None:
    """Within the tree they are read, outside with the option that the message names."""
    scores = tree / SCORES
    before = scores.read_bytes()
    scp = tree / SCP
    scp.write_text(scp.read_text().replace(f" {MODEL}", f" {tree}/{MODEL}"))
    common = ("--tree", tree, "--results", "exp", "--conf", "small.yaml")
    scores.unlink()
    assert cli("score-tree", *common).code == 0
    assert scores.read_bytes() == before
    moved = tree.parent / "elsewhere"
    shutil.move(tree / MODEL, moved)
    shutil.copytree(moved, tree / MODEL)
    scp.write_text(scp.read_text().replace(f" {tree}/{MODEL}", f" {moved}"))
    scores.unlink()
    refused = cli("score-tree", *common)
    assert refused.code == 1
    assert "--allow-outside" in refused.err
    assert cli("score-tree", *common, "--allow-outside").code == 0
    assert scores.read_bytes() == before


def test_a_loop_of_folders_ends(tree: Path) -> None:
    for path, target in (
        ("exp/loop", ".."),
        ("exp/results-loop", "results-loop"),
        (f"exp/results-anon/ASV-{ENROLLS}-loop", "../results-anon"),
        ("data/loop", "../data"),
        (f"data/{TRIALS}_loop", f"{TRIALS}_loop"),
    ):
        os.symlink(target, tree / path)
    common = ("--tree", tree, "--results", "exp", "--conf", "small.yaml", "--system", "anon")
    for verb in ("check", "subsets", "score-tree", "similarity-tree", "evaluate", "collect"):
        run = cli(verb, *common)
        assert "Traceback" not in run.err
        assert run.code == 0, run.err


def test_a_key_of_another_set_and_zebra(tree: Path) -> None:
    """The verb has no option to leave anything out, and speaks of none."""
    lines_to(tree / "key", ["x x1 target", "x x2 nontarget"])
    run = cli("zebra", "-s", tree / SCORES, "-k", tree / "key")
    assert run.code == 1
    assert "do not hold the same trials" in run.err
    assert "--allow" not in run.err
    assert "the key must be that of the scores" in run.err


# Results and curves that somebody made


def forged(tree: Path, change: Callable[[dict[str, np.ndarray]], object]) -> Path:
    """results.json with a record whose curves were changed, digests and all."""
    path = tree / f"{RECORD}.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return replaced_curves(tree, file.getvalue())


def replaced_curves(tree: Path, data: bytes) -> Path:
    path = tree / f"{RECORD}.npz"
    results = tree / "exp/privacy_eval/results.json"
    text = results.read_text().replace(digest(path.read_bytes()), digest(data))
    path.write_bytes(data)
    results.write_text(text)
    return results


FORGED: dict[str, Callable[[dict[str, np.ndarray]], object]] = {
    "shorter": lambda a: a.update(ece_minimum=a["ece_minimum"][:-1]),
    "empty": lambda a: a.update(det_miss=a["det_miss"][:0], det_false_alarm=a["det_miss"][:0]),
    "a matrix": lambda a: a.update(det_miss=np.ones((3, 3))),
    "a number": lambda a: a.update(prior_log_odds=np.array(1.0)),
    "text": lambda a: a.update(density_target=np.array(["x"] * a["density_target"].size)),
    "complex": lambda a: a.update(density_target=a["density_target"] * 1j),
    "NaN": lambda a: a.update(linkability_edges=a["linkability_edges"] * np.nan),
    "too many edges": lambda a: a.update(linkability_edges=np.arange(9.0)),
}


@pytest.mark.parametrize("name", FORGED)
def test_curves_of_another_form(name: str, tree: Path) -> None:
    results = forged(tree, FORGED[name])
    run = cli("figures", "--results", results, "--out", tree / "figures", "--format", "tex")
    assert run.code == 1, run.out
    assert re.search(
        rf"{re.escape(RECORD)}\.npz: no curves as evaluation stores them: ", run.err
    ), run.err


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY", b"\x80\x04N."])
def test_curves_that_are_none(data: bytes, tree: Path) -> None:
    results = replaced_curves(tree, data)
    run = cli("figures", "--results", results, "--out", tree / "figures", "--format", "tex")
    assert run.code == 1
    assert f"{RECORD}.npz: damaged" in run.err


@pytest.mark.parametrize("where", ["/etc/hostname", "../../../etc/hostname", "x" * 5000])
def test_curves_elsewhere_are_not_read(where: str, tree: Path) -> None:
    """Not even to say that they are other ones."""
    results = tree / "exp/privacy_eval/results.json"
    plain = json.loads(results.read_text())
    plain["verification"][1]["curves"] = where
    results.write_text(json.dumps(plain))
    run = cli("figures", "--results", results, "--out", tree / "figures", "--format", "tex")
    assert run.code == 0, run.err
    assert "curves of 1 records are not there" in run.err


@pytest.mark.parametrize("verb", ["tables", "export", "figures"])
def test_half_a_character(verb: str, tree: Path) -> None:
    results = tree / "exp/privacy_eval/results.json"
    results.write_text(results.read_text().replace('"system": "anon"', '"system": "\\ud800"'))
    more = {"tables": ("--results", results), "export": (results,)}.get(
        verb, ("--results", results, "--out", tree / "figures")
    )
    run = cli(verb, *more)
    assert (run.code, run.out) == (1, "")
    assert f"{results}: not text (half of a surrogate pair)" in run.err


def test_a_condition_that_stands_twice_in_one_file(tree: Path) -> None:
    results = tree / "exp/privacy_eval/results.json"
    plain = json.loads(results.read_text())
    plain["verification"].append(plain["verification"][0])
    results.write_text(json.dumps(plain))
    run = cli("tables", "--results", results)
    assert (run.code, run.out) == (1, "")
    assert re.search(r"results.json: anon ASV-\S+: duplicate libri, dev, f", run.err)


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "x"},
        {"inputs": {"scores": "x"}},
        {"inputs": {"scores": {"path": 1, "sha256": []}}},
        {"model": {"sha256": {"plda": 1}}},
        {"imported_from": []},
        {"options": "x"},
        {"version": {"x": "\\input{x}<script>"}},
    ],
    ids=json.dumps,
)
def test_a_provenance_of_another_form_is_shown_somehow(change: object, tree: Path) -> None:
    results = tree / "exp/privacy_eval/results.json"
    plain = json.loads(results.read_text())
    plain["verification"][0]["provenance"] = change
    results.write_text(json.dumps(plain))
    run = cli("report", "--results", results, "-o", tree / "report.html")
    assert run.code == 0, run.err
    page = (tree / "report.html").read_text()
    assert "input{x}<script>" not in page
    assert page.count("<script>") == 1


# Names


ODD_NAMES = [
    "two\nlines",
    "\x1b[31mred",
    "\u202edesrever",
    '"><img src=x onerror=alert(1)>',
    "${HOME}`id`$(id)",
    "\\immediate\\write18{touch pwned}%",
    "$\\frac{1}{0}$",
    "a_b^c#d~e&f{g}h",
    "a..b",
    "*?[x]",
    "-o pwned",
    "n" * 200,
]


def test_names_that_mean_something_elsewhere(tree: Path) -> None:
    """To a terminal, HTML, a shell, TeX, mathtext and a file system, in every output."""
    for name in ODD_NAMES:
        shutil.copytree(tree / "exp/results-anon", tree / "exp" / name / "results-anon")
    out = tree.parent / "out"
    common = ("--tree", tree, "--results", "exp", "--conf", "small.yaml", "--out", out)
    for verb in ("evaluate", "collect"):
        run = cli(verb, *common)
        assert run.code == 0, run.err
        assert all(c.isprintable() or c == "\n" for c in run.err)
    results = out / "results.json"
    assert {r["system"] for r in json.loads(results.read_text())["verification"]} == {
        *ODD_NAMES,
        "anon",
    }
    assert cli("tables", "--results", results, "--out", out / "tables").code == 0
    common = ("figures", "--results", results, "--out", out / "figures")
    assert cli(*common, "--format", "tex").code == 0
    assert cli("report", "--results", results, "-o", out / "report.html").code == 0
    written = snapshot(out)
    assert all(re.fullmatch(r"[A-Za-z0-9._+/-]+", path) for path in written)
    assert b"<img src=x" not in written["report.html"]
    latex = b"".join(text for path, text in written.items() if path.endswith(".tex"))
    assert b"\\immediate\\write18" not in re.sub(rb"(?m)^%.*", b"", latex)
    if shutil.which("pdflatex"):
        script = Path(__file__).resolve().parents[2] / "scripts/compile_tables.sh"
        done = subprocess.run([str(script), str(out / "tables")], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert not list(tree.parent.rglob("pwned"))
    exported = cli("export", results, "--system", "two\nlines").out
    assert exported == cli("export", results, "--system", "anon").out


# Sizes


def limited(memory: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command line with a limit of memory, as grids set it."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))\n"
            f"from privacy_eval.cli import main\nsys.exit(main({list(map(str, arguments))!r}))",
        ],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_more_than_memory_holds(tree: Path) -> None:
    """A file of 1 TB that takes no space."""
    with open(tree / SCORES, "wb") as file:
        file.truncate(1 << 40)
    done = limited(768 << 20, "metrics", "--scores", tree / SCORES, "--trials", tree / KEY)
    assert done.returncode == 1
    assert done.stderr == f"privacy-eval: {tree / SCORES}: not enough memory to read the file\n"


def test_a_line_of_a_gigabyte(tree: Path) -> None:
    """Packed, as 1 MB; what it unpacks to is not kept."""
    (tree / SCORES).write_bytes(gzip.compress(b"x" * (16 << 20)) * 64)
    done = limited(768 << 20, "metrics", "--scores", tree / SCORES, "--trials", tree / KEY)
    assert done.returncode == 1
    assert re.search(r"scores: larger than \d+ bytes \(unpacked", done.stderr)


# Notes beside files of ours, which somebody may have made


NOTES: list[object] = [
    None,
    [],
    {},
    {"scores_sha256": 5},
    {"scores_sha256": None, "made_of": []},
    {"scores_sha256": [[]], "made_of": {"model": []}},
    {"scores_sha256": {}, "made_of": {"x": 1}, "left_out": {}},
    {"name": 1, "files": []},
    {"name": TRIALS, "made_of": {}, "files": {"x" * 300: "", "/etc/hostname": "", "a\0b": ""}},
]


@pytest.mark.parametrize("note", NOTES, ids=lambda note: json.dumps(note)[:40])
def test_notes_of_any_form(note: object, tree: Path) -> None:
    """Scores and folders beside a note that is not ours are somebody's, and are kept."""
    assert cli("subsets", "--tree", tree, "--results", "exp", "--conf", "small.yaml").code == 0
    scores = tree / SCORES
    before = scores.read_bytes()
    notes = [*tree.rglob(".privacy_eval.json")]
    assert len(notes) == 4
    for path in (*notes, tree / f"data/{TRIALS}/.privacy_eval.json"):
        path.write_text(json.dumps(note))
    for verb in ("subsets", "train-tree", "score-tree", "similarity-tree", "evaluate", "collect"):
        run = cli(verb, "--tree", tree, "--results", "exp", "--conf", "small.yaml")
        assert run.code == 0, run.err
    assert scores.read_bytes() == before


@pytest.mark.parametrize("provenance", [{}, {"inputs": []}, {"inputs": {"scores": 1}}])
@pytest.mark.parametrize("name", [NAME, f"similarity-{TRIALS}"])
def test_records_of_another_provenance_count_for_nothing(
    name: str, provenance: object, tree: Path
) -> None:
    """Whoever changes a record can compute its digest."""
    path = tree / f"exp/privacy_eval/records/anon/{name}.json"
    plain = {**json.loads(path.read_text()), "provenance": provenance}
    del plain["record_sha256"]
    sha256 = digest(json.dumps(plain, sort_keys=True).encode())
    before = path.read_bytes()
    path.write_text(json.dumps({"record_sha256": sha256, **plain}))
    common = ("--tree", tree, "--results", "exp", "--conf", "small.yaml")
    assert cli("collect", *common).code == 1
    for verb in ("evaluate", "similarity-tree", "collect"):
        assert cli(verb, *common).code == 0
    assert path.read_bytes() == before
