"""Where the verb `metrics` takes scores from: arrays, stdin, scores where less is more alike."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support import cli, lines_to, printed, run_program, score_lines, trial_lines, write

from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics.pairing import pair

METRICS = ("metrics", "--format", "json")


def trials(folder: Path) -> tuple[Path, Path]:
    scores = lines_to(folder / "scores", score_lines("x"))
    return scores, lines_to(folder / "trials", trial_lines())


def arrays(folder: Path, sign: int = 1, dtype: str = "f8") -> tuple[object, ...]:
    found = pair(read_scores(folder / "scores"), read_trials(folder / "trials"))
    for name, of_class in (("target", found.is_target), ("nontarget", ~found.is_target)):
        np.save(folder / f"{name}.npy", (sign * found.score[of_class]).astype(dtype))
    return "--target", folder / "target.npy", "--nontarget", folder / "nontarget.npy"


@pytest.mark.parametrize("sign", [1, -1])
def test_arrays_have_the_metrics_of_the_score_file(tmp_path: Path, sign: int) -> None:
    scores, key = trials(tmp_path)
    expected = cli(*METRICS, "--scores", scores, "--trials", key)
    distance = ["--distance"] if sign < 0 else []
    run = cli(*METRICS, *arrays(tmp_path, sign), *distance)
    assert (run.code, json.loads(run.out)) == (0, json.loads(expected.out))


@pytest.mark.parametrize("dtype", ["f4", "i8", ">f8", "u1"])
def test_arrays_of_numbers_of_any_kind(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "t.npy", np.array([3, 5, 7, 8], dtype=dtype))
    np.save(tmp_path / "n.npy", np.array([1, 2, 4, 6], dtype=dtype))
    options = "--target", tmp_path / "t.npy", "--nontarget", tmp_path / "n.npy"
    for distance in ([], ["--distance"]):
        run = cli(*METRICS, *options, *distance)
        values = json.loads(run.out)["exact"]
        assert values["eer"] == (0.75 if distance else 0.25), run.err


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return write, (str(HARM), "")  # type: ignore[return-value]


HARM = Path("harm")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2)), r"1 dimension, .*\(2, 2\)"),
        (np.zeros(0), r"shape \(0,\)"),
        (np.array(["0.5"]), "<U3"),
        (np.array([True]), "bool"),
        (np.array([1j]), "complex"),
        (np.zeros(2, dtype=[("score", "f8")]), "score"),
        (np.array([0, np.nan]), r"score 1 .* nan"),
        (np.array([-np.inf]), r"-inf"),
        (np.array([0, 1e308], dtype=np.longdouble) * 10, r"score 1 .* inf"),
        (np.array([_Harmful()], dtype=object), "Python objects"),
    ],
    ids=range(10),
)
def test_other_arrays_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, array: object, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    write(tmp_path / "t.npy", file.getvalue())
    np.save(tmp_path / "n.npy", [0.0])
    run = cli("metrics", "--target", "t.npy", "--nontarget", "n.npy")
    assert run.code == 1
    assert re.search(r"t\.npy: .*" + message, run.err)
    assert not HARM.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"1 a\n", ":1: expected 1 fields"),
        (b"1\nx\n", ":2: .*number"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x93NUMPY\x01\0", "not a NumPy array"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    write(tmp_path / "t.npy", content)
    run = cli("metrics", "--target", tmp_path / "t.npy", "--nontarget", tmp_path / "t.npy")
    assert run.code == 1
    assert re.search(r"t\.npy.*" + message, run.err)


def test_arrays_as_text(tmp_path: Path) -> None:
    for name, scores in (("t", [0.5, 2.0, -1.25]), ("n", [-3.0, 1e-3])):
        np.save(tmp_path / f"{name}.npy", scores)
        write(tmp_path / f"{name}.txt", "".join(f"{score}\n" for score in scores))
    runs = [
        cli("metrics", "--target", tmp_path / f"t.{end}", "--nontarget", tmp_path / f"n.{end}")
        for end in ("npy", "txt")
    ]
    assert runs[0].code == 0 and printed(runs[0].out) == printed(runs[1].out) != []


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        ([], ["--scores", "--target"]),
        (["--target", "a", "--scores", "b"], ["not allowed with"]),
        (["--target", "a"], ["--nontarget"]),
        (["--scores", "a", "--nontarget", "b"], ["--target"]),
        (["--target", "a", "--nontarget", "b", "--trials", "c"], ["--trials", "--scores"]),
        (["--target", "a", "--nontarget", "b", "--utt2spk", "c"], ["--utt2spk", "--scores"]),
        (["--target", "a", "--nontarget", "b", "--speakers"], ["--speakers", "--scores"]),
        (
            ["--target", "a", "--nontarget", "b", "--bootstrap", "9"],
            ["speakers", "do not identify"],
        ),
    ],
)
def test_options_that_do_not_go_together(options: list[str], messages: list[str]) -> None:
    run = cli("metrics", *options)
    assert run.code == 2
    assert all(message in run.err for message in messages)


def test_scores_from_stdin(tmp_path: Path) -> None:
    scores, key = trials(tmp_path)
    expected = cli(*METRICS, "--scores", scores, "--trials", key)
    words = (
        f"{sys.executable} -m privacy_eval {' '.join(METRICS)} --scores - --trials trials <scores"
    )
    run = run_program("sh", "-c", words, cwd=tmp_path)
    assert json.loads(run.out) == json.loads(expected.out)


def test_distances(tmp_path: Path) -> None:
    scores, key = trials(tmp_path)
    lines = [line.split() for line in scores.read_text().splitlines()]
    negated = lines_to(tmp_path / "distances", (f"{e} {t} {-float(s)!r}" for e, t, s in lines))
    expected = cli(*METRICS, "--scores", scores, "--trials", key)
    run = cli(*METRICS, "--scores", negated, "--trials", key, "--distance")
    assert json.loads(run.out) == json.loads(expected.out)
    assert json.loads(cli(*METRICS, "--scores", negated, "--trials", key).out)["exact"][
        "eer"
    ] == pytest.approx(1 - json.loads(expected.out)["exact"]["eer"], abs=0.1)


def test_each_enrolled_speaker_has_an_eer(tmp_path: Path) -> None:
    """At most 50 %, from the least protected; those with fewer than ten targets are counted."""
    scores = {"a": ([3.0] * 10, [1.0] * 20), "b": ([0.0] * 12, [1.0] * 20), "c": ([3.0] * 9, [1.0])}
    scores["d"] = [2.0] * 5 + [0.0] * 5, [1.0] * 10
    trials = [
        (s, f"{s}{k}{i}", score, kind)
        for s, classes in scores.items()
        for k, (kind, of_class) in enumerate(zip(("target", "nontarget"), classes, strict=True))
        for i, score in enumerate(of_class)
    ]
    files = (
        *("--scores", lines_to(tmp_path / "scores", (f"{s} {u} {x}" for s, u, x, _ in trials))),
        *("--trials", lines_to(tmp_path / "trials", (f"{s} {u} {k}" for s, u, _, k in trials))),
    )
    run = cli(*METRICS, *files, "--speakers")
    assert "1 speakers" in run.err
    found = [tuple(entry.values()) for entry in json.loads(run.out)["speakers"]]
    assert found == [("a", 0.0, 10, 20), ("b", 0.5, 12, 20), ("d", 0.5, 10, 10)]
    assert "speakers" not in json.loads(cli(*METRICS, *files).out)
    text = cli("metrics", *files, "--speakers").out
    assert {"Speaker": "a", "Metric": "EER", "Value": "0.000 %"} in printed(text)


CUT = {
    "metrics": "--scores {cut} --trials {trials} --format json",
    "metrics --versus": "--scores {whole} --versus {cut} --trials {trials} --utt2spk {utt2spk} "
    "--bootstrap 20",
    "metrics, key": "--scores {whole} --trials {cut_trials}",
    "zebra": "--scores {cut} --trials {trials}",
    "fuse-scores": "--scores {whole} --scores {cut} --trials {trials} --utt2spk {utt2spk} "
    "--folds 4 --out {folder}/fused",
    "fuse-scores, speakers": "--scores {whole} --scores {whole} --trials {trials} "
    "--utt2spk {cut_utt2spk} --folds 4 --out {folder}/fused",
    "count": "--scores {cut} --trials {trials} --out {folder}/counts",
    "count, key": "--scores {whole} --trials {cut_trials} --out {folder}/counts",
}


#: The wing of a verb.
WINGS = {"zebra": "compat", "fuse-scores": "attackers", "count": "scale"}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.wing(of) for v, of in WINGS.items() if v in case])
        for case in CUT
    ],
)
def test_every_verb_asks_whether_a_file_was_cut_within_its_last_word(
    case: str, tmp_path: Path
) -> None:
    rows = [(f"s{e}", f"s{t}-u{n}", e == t) for e in range(8) for t in range(8) for n in range(4)]
    lines = {
        "whole": [f"{e} {u} {(7 * n) % 19}.125" for n, (e, u, _) in enumerate(rows)],
        "trials": [f"{e} {u} {'target' if same else 'nontarget'}" for e, u, same in rows],
        "utt2spk": [f"{u} {u[:2]}" for u in dict.fromkeys(u for _, u, _ in rows)],
    }
    files = {"folder": tmp_path}
    for name, rows_of_file in lines.items():
        files[name] = lines_to(tmp_path / name, rows_of_file)
        cut = "cut" if name == "whole" else f"cut_{name}"
        files[cut] = tmp_path / cut
        files[cut].write_text(files[name].read_text()[: -3 if name == "whole" else -1])
    verb = case.split(",")[0].split()[0]
    run = cli(verb, *CUT[case].format(**files).split())
    assert "was it cut?" in run.err, run.err
    assert run.code == (verb == "count"), run.err
    assert not (tmp_path / "counts").exists()
