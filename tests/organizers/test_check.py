"""`privacy-eval check`: missing inputs, original/anonymized mismatches, implausible scores."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    Tree,
    cli,
    csv_rows,
    lines_to,
    ok,
    score_lines,
    snapshot,
    three_conditions,
    trial_lines,
    utterances,
)

from privacy_eval.io.files import OPEN_END
from privacy_eval.metrics import CAVEATS
from privacy_eval.metrics.caveats import MAX_ORIGINAL_EER
from privacy_eval.metrics.eer import IMPLAUSIBLE_EER
from privacy_eval.organizers import mismatches
from privacy_eval.organizers import tree as tree_module
from privacy_eval.organizers.findings import CREATABLE, TEAM
from privacy_eval.tree.conditions import RecognitionFiles

OO, OA = f"ASV-{ENROLLS}-{TRIALS}", f"ASV-{ENROLLS}-{TRIALS}_anon"
AA = f"ASV-{ENROLLS}_anon-{TRIALS}_anon"
THREE = ((ENROLLS, TRIALS), (ENROLLS, f"{TRIALS}_anon"), (f"{ENROLLS}_anon", f"{TRIALS}_anon"))

WER = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/asr_eval/decode_x_tglarge/wer_9_0.5"


Rows = list[dict[str, Any]]


def run_check(tree: Tree, *options: object, code: int = 0) -> str:
    """What `check` prints; it writes nothing."""
    before = snapshot(tree.root)
    if isinstance(tree, SpeechTree):
        run = tree.run("check", *options)
    else:
        run = cli("stage", "check", "--tree", tree.root, "--results", "exp", *options)
    assert snapshot(tree.root) == before
    assert run.code == code, run
    return run.out


def summary(tree: Tree, *options: object, code: int = 0) -> str:
    return run_check(tree, *options, code=code).splitlines()[-1]


def check(tree: Tree, *options: object, code: int = 0) -> Rows:
    """The table with a row per item."""
    rows: Rows = json.loads(run_check(tree, "--format", "json", "--details", *options, code=code))
    return rows


def items(rows: Rows, problem: str) -> list[str]:
    """The items of a problem, each with its remedy and details."""
    texts = (row["problem"] for row in rows)
    return [x.removeprefix(f"{problem}: ") for x in texts if x.startswith(f"{problem}: ")]


def names(items: list[str]) -> list[str]:
    """Items without their remedies and details."""
    return [item.split(" [")[0] for item in items]


def scored(root: Path, **options: str) -> SpeechTree:
    tree = SpeechTree(root, **options)
    assert tree.run("asv-scores").code == 0
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path)


# --- the table


def test_a_new_tree_then_a_complete_one(tree: SpeechTree) -> None:
    text = summary(tree)
    assert text.startswith("none of 3 conditions ")
    assert "3 of 3 score files missing: stage 5 computes them" in text
    (row,) = json.loads(run_check(tree, "--format", "json"))
    assert (row["team"], row["conditions"], row["expected"]) == ("anon", 0, 3)
    assert row["status"] == "incomplete"
    assert row["problem"].startswith(f"{tree_module.NO_SCORES} (3): {OO}; ")
    assert row["problem"].endswith(f"[{CREATABLE}]")
    assert row["file"] == str(tree.root / tree.results / OO / "scores")
    assert tree.run("asv-scores").code == 0
    lines_to(tree.root / tree.results / "ASR-libri_dev_asr/WER", [WER])
    assert summary(tree).startswith("ready: all 3 conditions of 1 system ")
    assert check(tree) == [
        {
            "team": "anon",
            "conditions": 3,
            "expected": 3,
            "status": "ready",
            "problem": "",
            "file": None,
            "line": None,
        }
    ]


def test_formats_show_the_same_rows(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    changed(tree, "oa", lambda lines: [*lines[:3], lines[3].rsplit(None, 1)[0] + " nan"])
    for options in ((), ("--details",)):
        rows = json.loads(run_check(tree, "--format", "json", *options, code=1))
        printed = run_check(tree, "--format", "csv", *options, code=1)
        table = csv_rows(printed)
        assert [[*row] for row in table] == [
            ["team", "conditions", "expected", "status", "problem", "file", "line"]
        ] * len(rows)
        for row, cells in zip(rows, table, strict=True):
            assert cells == {k: "" if v is None else str(v) for k, v in row.items()}
        text = run_check(tree, *options, code=1)
        assert all(row["problem"] in text for row in rows)
        assert f"exp/results-anon/{OA}/scores:4" in text
    (row,) = (row for row in rows if row["team"])
    assert (row["conditions"], row["status"], row["line"]) == (2, "error", 4)


def test_an_incomplete_tree(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    tree.all_scores["aa"].unlink()
    text = summary(tree)
    assert text.startswith("ready in part: 2 of 3 conditions of 1 system")
    assert "1 of 3 score files missing: stage 5 computes them" in text
    rows = check(tree)
    assert items(rows, tree_module.NO_SCORES) == [f"{AA} [{CREATABLE}]"]
    assert {row["status"] for row in rows if row["team"]} == {"incomplete"}
    shutil.rmtree(tree.root / MODEL)
    text = summary(tree)
    assert text.startswith("ready in part: 2 of 3 ") and "computes" not in text


def test_an_empty_tree(tmp_path: Path) -> None:
    run = ok(cli("stage", "check", "--tree", tmp_path, "--results", "exp"))
    assert f"{tmp_path}/exp" in run.err
    lines = run.out.splitlines()
    assert lines[-1].startswith("none of 36 conditions")
    assert "36 of 36 score files missing: see above " in lines[-1]
    assert len(lines) < 10
    rows = check(Tree(tmp_path))
    scores = items(rows, tree_module.NO_SCORES)
    assert len(scores) == 36 and len(items(rows, tree_module.NO_SIMILARITY)) == 12
    for what in (
        "trial keys (stage 1 or --keys DIR)",
        "enrollment sets (stage 1)",
        "back end (stage 1)",
    ):
        assert all(what in item for item in scores)
    for source in ("stage 1, then stage 5", "stage 4, then stage 5"):
        assert sum(f"x-vectors ({source})" in item for item in scores) == 24
    assert sum("/xvect_libri_dev_trials_f/xvector.scp" in item for item in scores) == 1


def test_every_broken_team_has_a_row_with_its_reason(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    key = trial_lines()
    broken = {
        "columns": ([" ".join([*reversed(t.split()[:2]), "1"]) for t in key], "exchanged"),
        "fields": ([f"{t.replace('target', '1')} x" for t in key], "3 fields"),
        "nan": ([f"{' '.join(t.split()[:2])} nan" for t in key], "found 'nan'"),
        "short": (
            [f"{' '.join(t.split()[:2])} {n}" for n, t in enumerate(key[:-1])],
            "1 trial without a score",
        ),
        "empty": ([], "empty file"),
    }
    teams = {f"{name}{n}": value for n in range(4) for name, value in broken.items()}
    for name, (scores, _) in teams.items():
        for condition in THREE:
            path = tree.condition(f"exp/{name}/results-x", *condition)
            if condition[1].endswith("_anon"):
                lines_to(path, scores)
    text = tree.condition("exp/text/results-x", ENROLLS, TRIALS)
    text.rename(text.with_name("scores.txt"))
    tree.condition("exp/suffix/results-x", ENROLLS, f"{TRIALS}_other")
    for condition in THREE:
        tree.condition("exp/good/results-x", *condition)
    rows = json.loads(run_check(tree, "--format", "json", code=1))
    reasons = {name: reason for name, (_, reason) in teams.items()}
    for name, reason in {**reasons, "text": "scores.txt", "suffix": "_other"}.items():
        own = [row for row in rows if row["team"] == name]
        assert {row["status"] for row in own} == {"error"}
        assert reason in own[0]["problem"]
    assert {row["conditions"] for row in rows if row["team"] in teams} == {1}
    (good,) = (row for row in rows if row["team"] == "good")
    assert (good["status"], good["conditions"], good["expected"]) == ("ready", 3, 3)
    assert {row["team"] for row in rows} == {"", "text", "suffix", "good", *teams}


def test_any_exception_is_an_error_of_one_team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = SpeechTree(tmp_path)
    for team in ("bad", "good"):
        for condition in THREE:
            tree.condition(f"exp/{team}/results-x", *condition)
        lines_to(tree.root / f"exp/{team}/results-x/ASR-libri_dev_asr/WER", [WER])

    def broken(read: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(file: Any, *more: Any, **options: Any) -> Any:
            path = file.folder if isinstance(file, RecognitionFiles) else file.path
            if "bad" in path.parts:
                raise OverflowError("Python int too large")
            return read(file, *more, **options)

        return wrapped

    monkeypatch.setattr(tree_module, "read_scores", broken(tree_module.read_scores))
    monkeypatch.setattr(tree_module, "read_recognition", broken(tree_module.read_recognition))
    rows = check(tree, code=1)
    bad = [row for row in rows if row["team"] == "bad"]
    assert len(bad) == 4 and {row["status"] for row in bad} == {"error"}
    assert all("OverflowError: Python int too large" in row["problem"] for row in bad)
    assert {Path(row["file"]).is_relative_to(tree.root / "exp/bad") for row in bad} == {True}
    assert [row["status"] for row in rows if row["team"] == "good"] == ["ready"]


def test_results_folders_beside_each_other(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    for folder in ("exp/team/b1/results-new", "exp/team/b1/results-old", "exp/team/b2/results-x"):
        for condition in THREE[:2]:
            tree.condition(folder, *condition)
    siblings = items(check(tree), tree_module.SIBLING_RESULTS)
    assert siblings == [f"{tmp_path}/exp/team/b1 (results-new, results-old)"]
    run = tree.run("privacy-metrics", "--out", "out")
    assert f"{tmp_path}/exp/team/b1: results-new, results-old" in run.err


@pytest.mark.parametrize("folder", ["lisstener", "Words", "misc"])
def test_mistyped_folders_of_attackers_are_named_with_the_near_match(
    tmp_path: Path, folder: str
) -> None:
    tree = three_conditions(tmp_path)
    entries = "scoring: plda}", "scoring: words}", "scoring: outside}"
    ids = "plda", "words", "listeners"
    attackers = (f"  - {{id: {i}, title: x, {e}" for i, e in zip(ids, entries, strict=True))
    conf = lines_to(tmp_path / "own.yaml", ["extends: vpc2020", "attackers:", *attackers])
    lines_to(tmp_path / "exp/results-now" / OA / folder / "scores", ["spk utt 1"])
    lines_to(tmp_path / "exp/results-now" / AA / folder / "scores", ["spk utt 1"])
    lines_to(tmp_path / "exp/results-now" / AA / "notes/README", ["no scores"])
    rows = check(tree, "--conf", conf)
    near = {"lisstener": " (is it listeners?)", "Words": " (is it words?)", "misc": ""}[folder]
    assert items(rows, tree_module.UNCLAIMED_SCORES) == [f"{folder}{near} in 2 conditions"]
    (row,) = (r for r in rows if r["problem"].startswith(tree_module.UNCLAIMED_SCORES))
    assert row["file"] == str(tmp_path / "exp/results-now" / OA / folder)
    back = " (is it lisstener?)" if folder == "lisstener" else ""
    assert items(rows, tree_module.ATTACKER_WITHOUT_SCORES) == [f"listeners{back}"]
    base = ("--tree", tmp_path, "--results", "exp", "--conf", conf)
    warned = [
        line
        for line in cli("stage", "privacy-metrics", *base).err.splitlines()
        if "warning" in line
    ]
    assert [f"{folder}{near} in 2" in warned[0], f"listeners{back}" in warned[1]] == [True, True]


@pytest.mark.parametrize("attacker", ["words", "procrustes"])
def test_words_may_be_the_same_for_all_systems_voices_may_not(
    tmp_path: Path, attacker: str
) -> None:
    """Transcripts of the original speech are those of every system."""
    tree = three_conditions(tmp_path)
    tree.libri("exp/results-other")
    for system in ("now", "other"):
        folder = tmp_path / f"exp/results-{system}" / OA / attacker
        lines_to(folder / "scores", score_lines("of both systems"))
    same = names(items(check(tree), tree_module.SAME))
    by = f"{OA} by {attacker}"
    assert same == ([] if attacker == "words" else [f"{by} = other {by}", f"{by} = now {by}"])


def test_scores_of_every_attacker_give_no_warning(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    lines_to(tmp_path / "exp/results-now" / OA / "words/scores", ["spk utt 1"])
    rows = check(tree, "--quick")
    assert not items(rows, tree_module.UNCLAIMED_SCORES)
    assert not items(rows, tree_module.ATTACKER_WITHOUT_SCORES)


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    folder = tree.root / "exp/\x1b[2J\n/x"
    folder.mkdir(parents=True)
    shutil.move(tree.root / "exp/results-now", folder / "results-now")
    for options in ((), ("--details",)):
        run = cli("stage", "check", "--tree", tree.root, "--results", "exp", *options)
        assert run.code == 1
        assert "\x1b" not in run.out + run.err
        assert "\\x1b[2J\\n/x" in run.out + run.err


def test_progress_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = scored(tmp_path)
    monkeypatch.setenv("PRIVACY_EVAL_PROGRESS", "lines")
    assert tree.run("check").err.splitlines()[-1] == f"3/3 anon {AA}"
    assert tree.run("check", "--quick").err == ""


# --- missing inputs, and the stage that creates each


COPY = [f"{MODEL}/xvect_{TRIALS}_anon", f"data/{TRIALS}_anon"]
ORIGINAL = [f"{MODEL}/xvect_{TRIALS}", f"data/{TRIALS}"]
SUPERSET = ["data/libri_dev/utt2spk", "data/libri_dev/trials_f"]
COPIED_SUPERSET = ["data/libri_dev_trials_all_anon/utt2spk"]
CONTENTS = {
    "utt2spk": [f"{u} {s}" for u, s in utterances().items()],
    "trials_f": trial_lines(),
    "wav.scp": ["u x.wav"],
}


def change(tree: SpeechTree, gone: list[str], new: list[str]) -> None:
    for name in gone:
        shutil.rmtree(tree.root / name)
    for name in new:
        lines_to(tree.root / name, CONTENTS[Path(name).name])


VECTORS, ORIGINAL_SCP, COPY_SCP = (
    "x-vectors",
    f"{MODEL}/xvect_{TRIALS}/xvector.scp",
    f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp",
)
SCORES, SIMILARITY = tree_module.NO_SCORES, tree_module.NO_SIMILARITY


@pytest.mark.parametrize(
    ("gone", "new", "what", "source", "path", "conditions", "similarities"),
    [
        (COPY[:1], [], VECTORS, f"{TEAM}, as there is no wav.scp", COPY_SCP, (OA, AA), 1),
        (
            COPY[:1],
            [f"{COPY[1]}/wav.scp"],
            VECTORS,
            "stage 5, with final.raw of stage 1 or --extractor",
            COPY_SCP,
            (OA, AA),
            1,
        ),
        (COPY, [], VECTORS, "stage 4, then stage 5", COPY_SCP, (OA, AA), 1),
        (COPY, [*COPIED_SUPERSET, SUPERSET[1]], VECTORS, "stage 5", COPY_SCP, (OA, AA), 1),
        (ORIGINAL, [], VECTORS, "stage 1, then stage 5", ORIGINAL_SCP, (OO,), 1),
        (ORIGINAL, [], "trial keys", "stage 1 or --keys DIR", f"data/{TRIALS}/trials", (OO,), 0),
        (ORIGINAL, [], "trial sets", "stage 1", f"data/{TRIALS}/utt2spk", (), 1),
        (ORIGINAL, SUPERSET, VECTORS, "stage 3, then stage 5", ORIGINAL_SCP, (OO,), 1),
        (
            ORIGINAL,
            SUPERSET,
            "trial keys",
            "stage 3 or --keys DIR",
            f"data/{TRIALS}/trials",
            (OO,),
            0,
        ),
        (
            [f"data/{ENROLLS}", f"data/{ENROLLS}_anon"],
            [],
            "enrollment sets",
            "stage 1",
            f"data/{ENROLLS}/spk2utt",
            (OO, OA, AA),
            0,
        ),
        ([BACKEND], [], "back end", "stage 1", f"{BACKEND}/plda", (OO, OA, AA), 1),
    ],
)
def test_missing_inputs(
    tree: SpeechTree,
    gone: list[str],
    new: list[str],
    what: str,
    source: str,
    path: str,
    conditions: tuple[str, ...],
    similarities: int,
) -> None:
    change(tree, gone, new)
    rows = check(tree)
    named = [item for item in items(rows, SCORES) if f"{what} ({source})" in item]
    assert names(named) == [*conditions]
    assert sum(path in item for item in named) >= min(1, len(conditions))
    measured = [item for item in items(rows, SIMILARITY) if f"{what} ({source})" in item]
    assert names(measured) == [f"anon {TRIALS}"] * similarities
    assert all(path in item for item in measured)


def test_stages_3_and_5_create_the_data_folders_named(tree: SpeechTree) -> None:
    change(tree, [*COPY, ORIGINAL[1]], [*SUPERSET, *COPIED_SUPERSET])
    assert "trial keys (stage 3 or --keys DIR)" in items(check(tree), SCORES)[0]
    assert tree.run("subsets").code == 0
    rows = check(tree)
    assert not any("trial keys" in row["problem"] for row in rows)
    assert names([item for item in items(rows, SCORES) if "x-vectors (stage 5)" in item]) == [
        OA,
        AA,
    ]
    assert tree.run("subsets", "--anonymized").code == 0
    assert (tree.root / f"data/{TRIALS}_anon/trials").is_file()


def test_the_back_end_of_the_attacker_comes_from_stage_2(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    model = "exp/models/user_asv_eval_anon/xvect_01709_1"

    def with_backend(text: str) -> list[str]:
        return [item for item in items(check(tree), SCORES) if text in item]

    lacking = with_backend("back end (stage 2, from x-vectors of train_clean_360_anon)")
    assert names(lacking) == [OO, OA, AA]
    assert all(f"{model}/xvect_train_clean_360_anon/plda" in item for item in lacking)
    tree.training_set("train_clean_360_anon", model)
    assert len(with_backend("back end (stage 2)")) == 3
    assert tree.run("train-backend").code == 0
    assert with_backend("back end") == []


def test_stage_5_creates_no_scores_of_systems_that_share_a_suffix(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        for condition in THREE[:2]:
            tree.condition(f"exp/{team}/x/results-1", *condition)
    text = summary(tree)
    assert text.startswith("ready in part: 4 of 6 conditions of 2 systems")
    assert "computes" not in text
    rows = check(tree)
    lacking = [row for row in rows if row["problem"].startswith(SCORES)]
    assert [row["team"] for row in lacking] == ["a/x", "b/x"]
    assert all(f"{AA} [{TEAM}]" in row["problem"] for row in lacking)
    assert names(items(rows, SIMILARITY)) == ["a/x", "b/x"]
    assert "1 of 3 score files missing: stage 5 computes" in summary(tree, "--system", "a/x")


def test_a_protocol_without_models(tree: SpeechTree) -> None:
    protocol = (tree.root / "small.yaml").read_text()
    (tree.root / "small.yaml").write_text(f"{protocol}asv_models: []\n")
    lacking = items(check(tree), SCORES)
    assert len(lacking) == 3
    assert all("model trained on original speech (not in protocol small)" in x for x in lacking)


def test_missing_keys_of_a_keys_folder(tree: SpeechTree) -> None:
    (tree.root / "keys").mkdir()
    lacking = items(check(tree, "--keys", "keys"), SCORES)
    assert len(lacking) == 3
    assert all(f"trial keys ({TEAM})" in x and f"keys/{TRIALS}" in x for x in lacking)


# --- what cannot be evaluated


def test_scores_without_a_key(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    shutil.rmtree(tree.root / "data")
    assert summary(tree, code=1).startswith("not ready: 3 errors")
    rows = check(tree, code=1)
    first = items(rows, tree_module.NO_KEY)[0]
    tried = f"data/{TRIALS}/trials, data/{TRIALS}/trials.gz"
    assert (
        first.startswith(f"{OO} (looked for {tried}")
        and "trial keys (stage 1 or --keys DIR)" in first
    )
    assert {(row["conditions"], row["status"]) for row in rows if row["team"]} == {(0, "error")}
    assert summary(tree, "--allow-missing").startswith("not ready: 3 errors")


def changed(tree: SpeechTree, which: str, change: Callable[[list[str]], Iterable[str]]) -> Path:
    path = tree.all_scores[which]
    return lines_to(path, change(path.read_text().splitlines()))


@pytest.mark.parametrize(
    ("change", "message", "line"),
    [
        (lambda x: [*x[:3], x[3].rsplit(None, 1)[0] + " nan", *x[4:]], "found 'nan'", 4),
        (lambda x: [*x, x[0]], "1 duplicate trial", 49),
        (lambda x: x[1:], "1 trial without a score", None),
        (lambda x: [], "empty file", None),
    ],
)
def test_invalid_scores(
    tmp_path: Path, change: Callable[[list[str]], list[str]], message: str, line: int | None
) -> None:
    tree = scored(tmp_path)
    path = changed(tree, "oa", change)
    assert summary(tree, code=1).startswith("not ready: 1 error")
    (row,) = (row for row in check(tree, code=1) if row["status"] == "error")
    assert row["problem"].startswith(f"{tree_module.UNUSABLE}: {OA}: ")
    assert message in row["problem"]
    assert (row["conditions"], row["expected"]) == (2, 3)
    assert (row["file"], row["line"]) == (str(path), line)
    assert summary(tree, "--quick").startswith("ready: ")
    assert "--quick" in run_check(tree, "--quick").splitlines()[-2]


def test_invalid_word_error_rates(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    wer = tree.root / tree.results / "ASR-libri_dev_asr/WER"
    lines_to(wer, [WER, WER.replace("5.25", "0.01")])
    (row,) = check(tree, code=1)
    assert row["problem"].startswith(f"{tree_module.WORD_ERRORS}: %WER 0.01 contradicts 21 errors")
    assert (row["conditions"], row["status"]) == (3, "error")
    assert (row["file"], row["line"]) == (str(wer), 2)
    assert summary(tree, "--quick").startswith("ready: ")
    wer.unlink()
    (error,) = items(check(tree, code=1), tree_module.WORD_ERRORS)
    assert "no '%WER' line" in error


def test_word_errors_that_only_another_system_has(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    tree.libri("exp/results-other")
    lines_to(tmp_path / "exp/results-other/ASR-libri_dev_asr_anon/WER", [WER])
    (row,) = (r for r in check(tree) if r["problem"].startswith(tree_module.NO_WORD_ERRORS))
    assert row["team"] == "now" and row["problem"].endswith("libri dev")


def test_scores_that_lack_trials_or_the_last_line_end(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    path = changed(tree, "oa", lambda lines: lines[2:])
    path.write_text(path.read_text()[:-3])
    rows = check(tree, "--allow-missing")
    assert items(rows, tree_module.LEFT_OUT) == [f"{OA} (2 trials, 0 scores)"]
    assert items(rows, OPEN_END) == [OA]
    assert {row["status"] for row in rows if row["team"]} == {"incomplete"}
    assert {row["file"] for row in rows if row["team"]} == {str(path)}


def test_built_in_scores_of_other_trials_are_rebuilt_if_inputs_exist(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    for suffix in ("", "_anon"):
        lines_to(tree.root / f"data/{TRIALS}{suffix}/trials", trial_lines()[:-1])
    outdated = items(check(tree), tree_module.OUTDATED)
    assert outdated == [f"{name} [{CREATABLE}]" for name in (OO, OA, AA)]
    assert tree.run("asv-scores").code == 0
    assert summary(tree).startswith("ready: ")
    for suffix in ("", "_anon"):
        lines_to(tree.root / f"data/{TRIALS}{suffix}/trials", trial_lines())
    shutil.rmtree(tree.root / MODEL)
    assert summary(tree, code=1).startswith("not ready: 3 errors")


def test_keys_and_genders_that_do_not_fit(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    folder, copy = (tree.root / f"data/{TRIALS}{suffix}" for suffix in ("", "_anon"))
    genders = lines_to(folder / "spk2gender", ["s1 f", "s2 m", "s3 f"])
    trials = (folder / "trials").read_text()
    (copy / "trials").write_text(trials.replace("nontarget", "target", 1))
    rows = check(tree, code=1)
    (row,) = (row for row in rows if row["problem"].startswith(mismatches.GENDERS))
    assert "2 not f: s2, s4" in row["problem"]
    assert (row["team"], row["status"], row["file"]) == ("", "error", str(genders))
    unusable = [row for row in rows if row["problem"].startswith(tree_module.UNUSABLE)]
    assert [(row["file"], row["line"]) for row in unusable] == [(str(copy / "trials"), 4)] * 2
    assert all(f" in {folder}/trials: " in row["problem"] for row in unusable)
    genders.write_text("broken\n")
    (row,) = (r for r in check(tree, code=1) if r["problem"].startswith(mismatches.INVALID))
    assert (row["team"], row["file"], row["line"]) == ("", str(genders), 1)
    genders.unlink()
    (copy / "trials").write_text("broken\n")
    rows = [row for row in check(tree, code=1) if row["team"]]
    assert {row["conditions"] for row in rows} == {1}
    assert {(row["file"], row["line"]) for row in rows if row["file"]} >= {(f"{copy}/trials", 1)}


def test_an_unknown_anonymization_suffix(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri("exp/results-1", suffix="_mcadams")
    rows = check(tree, code=1)
    (problem,) = items(rows, tree_module.SUFFIX)
    assert "--anon-suffix" in problem and "results-TAG_mcadams" in problem
    assert len(items(rows, tree_module.UNKNOWN_FOLDERS)) == 2
    assert {row["status"] for row in rows if row["team"] == "1"} == {"error"}


def test_no_file_outside_the_tree_is_read_and_no_command_run(tmp_path: Path) -> None:
    tree = scored(tmp_path / "tree")
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0\n")
    links = [
        tree.root / f"data/{TRIALS}_anon/trials",
        tree.root / f"data/{ENROLLS}/utt2spk",
        tree.root / f"data/{TRIALS}/spk2gender",
        tree.scp(f"{ENROLLS}_anon"),
    ]
    for link in links:
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
    loop = tree.root / tree.results / "ASR-libri_dev_asr_anon/loop"
    loop.parent.mkdir()
    loop.symlink_to("loop")
    evil = tmp_path / "evil"
    lines_to(tree.scp(TRIALS), [f"{u} touch {evil} |" for u in utterances()])
    run = tree.run("check", "--details", "--format", "json")
    assert run.code == 1
    outside = [r["file"] for r in json.loads(run.out) if "is outside the tree" in r["problem"]]
    assert {*map(str, links)} <= {*outside}
    assert "root:x" not in run.out + run.err
    assert tree.run("check", "--allow-outside").code == 1
    assert not evil.exists()


def test_every_damaged_file_is_named_once(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    damaged = {
        tree.root / f"data/{ENROLLS}_anon/utt2spk": b"one two three\n",
        tree.root / f"data/{TRIALS}_anon/utt2spk": b"\x1f\x8b\x08broken",
        tree.root / f"data/{ENROLLS}/enrolls": b"",
        tree.scp(f"{TRIALS}_anon"): b"\x00\xff\n",
        tree.scp(ENROLLS): b"s1-e0\n",
        tree.all_scores["aa"]: b"\x1f\x8b\x08broken",
    }
    for path, content in damaged.items():
        path.write_bytes(content)
    files = [row["file"] for row in check(tree, code=1) if row["status"] == "error"]
    for path in damaged:
        assert files.count(str(path)) == 1, path


# --- original/anonymized mismatches


def test_sets_that_agree_give_no_warnings(tmp_path: Path) -> None:
    rows = check(scored(tmp_path))
    assert items(rows, tree_module.NO_RECOGNITION) == ["anon"]
    assert [row["problem"] for row in rows if row["team"]] == [""]


def test_utterances_and_speakers_that_differ(tree: SpeechTree) -> None:
    spoken = {u: s for u, s in utterances().items() if s != "s4" and u != "s1-u0"}
    spoken |= {"s2-u1": "s3", "s9-u0": "s9"}
    lines_to(tree.root / f"data/{TRIALS}_anon/utt2spk", [f"{u} {s}" for u, s in spoken.items()])
    rows = check(tree)
    name, listed = f"{TRIALS}_anon", "s1-u0, s4-u0, s4-u1, s4-u2; speakers: s4"
    assert items(rows, mismatches.NOT_ANONYMIZED) == [
        f"{TRIALS}_anon (4 of 12: {listed}); {listed}"
    ]
    listed = "s9-u0; speakers: s9"
    assert items(rows, mismatches.ONLY_ANONYMIZED) == [
        f"{TRIALS}_anon (1 of 9: {listed}); {listed}"
    ]
    listed = "s2-u1: s3, not s2"
    assert items(rows, mismatches.SPEAKERS) == [f"{name} (1 of 12, as {listed}); {listed}"]


def test_a_larger_anonymized_set_has_the_utterances(tree: SpeechTree) -> None:
    shutil.rmtree(tree.root / f"data/{TRIALS}_anon")
    whole = tree.root / "data/libri_dev_trials_all_anon/utt2spk"
    spoken = {**utterances(), "m1-u0": "m1"}
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    assert "warning" not in summary(tree)
    del spoken["s1-u0"]
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    (item,) = items(check(tree), mismatches.NOT_ANONYMIZED)
    assert item.startswith("libri_dev_trials_all_anon (1 of 12: s1-u0)")


def test_lists_that_differ(tree: SpeechTree) -> None:
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", trial_lines()[::-1])
    assert items(check(tree), mismatches.LISTS) == []
    lines_to(tree.root / f"data/{ENROLLS}_anon/enrolls", ["s1-e0", "s1-e1", "x"])
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", [*trial_lines()[1:], "s1 s9-u0 target"])
    assert items(check(tree), mismatches.LISTS) == [
        f"{ENROLLS}_anon/enrolls (6 missing, 1 extra); "
        "missing: s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1; extra: x",
        f"{TRIALS}_anon/trials (1 missing, 1 extra); "
        "missing: s1 s1-u0 target; extra: s1 s9-u0 target",
    ]


def test_recordings_of_original_speech(tree: SpeechTree) -> None:
    lines = [f"{u} wav/{u}.wav" for u in utterances()]
    lines_to(tree.root / f"data/{TRIALS}/wav.scp", lines)
    copies = [*lines[:2], *(line.replace("wav/", "anon/") for line in lines[2:])]
    lines_to(tree.root / f"data/{TRIALS}_anon/wav.scp", copies)
    assert items(check(tree), mismatches.SAME_SPEECH) == [f"{TRIALS}_anon (2 of 12 of {TRIALS})"]


def test_missing_and_unknown_x_vectors(tree: SpeechTree) -> None:
    tree.vectors(f"{TRIALS}_anon", without=("s1-u1", "s2-u0"))
    lines_to(tree.root / f"data/{ENROLLS}/utt2spk", ["s1-e0 s1"])
    rows = check(tree)
    assert items(rows, mismatches.NO_VECTORS) == [
        f"{MODEL}/xvect_{TRIALS}_anon (2 of 12 of {TRIALS}: s1-u1, s2-u0); s1-u1, s2-u0"
    ]
    assert items(rows, mismatches.UNKNOWN_VECTORS) == [
        f"{MODEL}/xvect_{ENROLLS} (7: s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, ...); "
        "s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1"
    ]
    assert {r["team"] for r in rows if r["problem"].startswith(mismatches.NO_VECTORS)} == {"anon"}
    assert {r["team"] for r in rows if r["problem"].startswith(mismatches.UNKNOWN_VECTORS)} == {""}


def test_x_vectors_of_original_speech(tree: SpeechTree) -> None:
    where, name = f"{MODEL}/xvect_{TRIALS}_anon", f"{TRIALS}_anon"
    sampled = [f"{where} (5 of 5 sampled of {TRIALS})"]
    tree.vectors(name, of=TRIALS)
    assert items(check(tree), mismatches.SAME_VECTORS) == sampled
    shutil.copy(tree.scp(TRIALS), tree.scp(name))
    assert items(check(tree), mismatches.SAME_VECTORS) == [
        f"{where} (12 of 12 of {TRIALS}, in the same place)"
    ]
    tree.vectors(name, of=TRIALS, seed=1)
    assert items(check(tree), mismatches.SAME_VECTORS) == []
    archive = tree.scp(TRIALS).with_suffix(".ark").read_bytes()
    tree.scp(TRIALS).write_bytes(archive)
    tree.scp(name).write_bytes(archive)
    assert items(check(tree), mismatches.SAME_VECTORS) == sampled
    lines_to(tree.scp(name), [f"{u} cat {u} |" for u in utterances()])
    assert items(check(tree), mismatches.SAME_VECTORS) == []


# --- implausible scores

HIGH, INVERTED = CAVEATS["weak_attacker"].reason, CAVEATS["inverted"].reason


def with_scores(
    tree: SpeechTree, which: str, score: Callable[[str, str, bool, int], float]
) -> None:
    """Write scores, of enrolled speaker, utterance, label and the trial's number."""
    lines = []
    for number, trial in enumerate(trial_lines()):
        speaker, utterance, label = trial.split()
        value = score(speaker, utterance, label == "target", number)
        lines.append(f"{speaker} {utterance} {value:.5f}")
    lines_to(tree.all_scores[which], lines)


def separated(step: float, wrong: int = 0) -> Callable[[str, str, bool, int], float]:
    """Higher target scores except of the first trials of each class, all different."""
    seen = {True: 0, False: 0}

    def score(speaker: str, utterance: str, target: bool, number: int) -> float:
        seen[target] += 1
        confused = seen[target] <= wrong * (1 if target else 3)
        return (step if target != confused else -step) + 0.001 * number

    return score


@pytest.mark.parametrize(
    ("wrong", "percent", "kind"),
    [
        (2, None, HIGH),  # 16.7 %
        (3, "25.0", HIGH),
        (7, "58.3", HIGH),
        (8, "66.7", INVERTED),
        (12, "91.7", INVERTED),  # as compute-eer prints for 12 targets below all nontargets
    ],
)
def test_an_original_eer_too_high(
    tmp_path: Path, wrong: int, percent: str | None, kind: str
) -> None:
    assert (MAX_ORIGINAL_EER, IMPLAUSIBLE_EER) == (0.2, 0.65)
    tree = scored(tmp_path)
    with_scores(tree, "oo", separated(5, wrong=wrong))
    assert items(check(tree), kind) == ([f"{OO} ({percent} %)"] if percent else [])


def test_inverted_scores_of_anonymized_speech_are_not_ready(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oa", separated(5, wrong=12))
    rows = check(tree)
    assert items(rows, INVERTED) == [f"{OA} (91.7 %)"]
    assert {row["status"] for row in rows if row["team"]} == {"incomplete"}
    text = summary(tree)
    assert text.startswith("ready in part: all 3 ") and "1 system cannot be ranked" in text


def test_an_original_eer_is_judged_with_the_original_model(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    for folder in ("exp/results-anon", "exp/results-anon.orig"):
        tree.results = folder
        with_scores(tree, "oo", separated(5, wrong=6))
    assert items(check(tree), HIGH) == [f"{OO} (.orig) (50.0 %)"]


def test_anonymized_scores_that_are_the_original_ones(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    lines = tree.all_scores["oo"].read_text().splitlines()
    lines_to(tree.all_scores["oa"], lines[::-1])  # other bytes
    assert items(check(tree), tree_module.SAME) == [f"{OA} = {OO}"]
    numbers = [(*x.split()[:2], float(x.split()[2])) for x in lines]
    spread = float(np.std([x[2] for x in numbers]))
    for step, expected in ((9e-4, [f"{OA} = {OO}"]), (2e-3, [])):
        shifted = [f"{s} {u} {x + step * spread:.9f}" for s, u, x in numbers]
        lines_to(tree.all_scores["oa"], shifted)
        assert items(check(tree), tree_module.SAME) == expected
    shutil.copy(tree.all_scores["oa"], tree.all_scores["aa"])
    assert items(check(tree), tree_module.SAME) == [f"{AA} = {OA}"]


def test_scores_of_another_system(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        tree.results = f"exp/{team}/x/results-1"
        for which, wrong in (("oo", 0), ("oa", 3), ("aa", 2 if team == "a" else 1)):
            with_scores(tree, which, separated(5 + wrong, wrong=wrong))
    assert items(check(tree), tree_module.SAME) == [f"{OA} = b/x {OA}", f"{OA} = a/x {OA}"]


def test_constant_scores(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    for which in ("oo", "oa"):
        with_scores(tree, which, lambda *_: 1.5)
    rows = check(tree)  # once per condition, and not as copies
    found = items(rows, CAVEATS["constant"].reason)
    assert {item.split(" (")[0] for item in found} == {OO, OA}
    assert items(rows, tree_module.SAME) == []
    assert not any("EER" in row["problem"] for row in rows)


@pytest.mark.parametrize(
    ("score", "kind", "count"),
    [
        (lambda s, *_: float(s[1:]), CAVEATS["constant_trials"].reason, 1),
        (lambda _, u, *__: float(u[1]) + int(u[-1]) / 9, CAVEATS["constant_enrolled"].reason, 1),
        (lambda s, _, __, n: float(s[1:]) + (n == 0), CAVEATS["constant_trials"].reason, 1),
        (lambda s, _, __, n: float(s[1:]) + (n % 4 == 0), CAVEATS["constant_trials"].reason, 0),
        (separated(-5), INVERTED, 1),
    ],
)
def test_implausible_anonymized_scores(
    tmp_path: Path, score: Callable[[str, str, bool, int], float], kind: str, count: int
) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oa", score)
    assert [item.split(" (")[0] for item in items(check(tree), kind)] == count * [OA]


# Of 12 targets: Kaldi's EER takes 2 of 3 tied with 4 of 36 nontargets for errors, or none.
@pytest.mark.parametrize(("tied", "eers"), [(2, None), (4, "0.00 to 16.67 %")])
def test_trials_that_tie(tmp_path: Path, tied: int, eers: str | None) -> None:
    tree = scored(tmp_path)
    seen = {True: 0, False: 0}

    def score(_: str, __: str, target: bool, number: int) -> float:
        seen[target] += 1
        return 7.0 if seen[target] <= tied else (9 if target else 1) + 0.001 * number

    with_scores(tree, "oa", score)
    found = items(check(tree), CAVEATS["tied"].reason)
    assert found == ([f"{OA} ({eers})"] if eers else [])


def test_anonymized_speech_that_is_easier_to_attack(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oo", separated(5, wrong=3))
    with_scores(tree, "oa", separated(5, wrong=1))  # 8.3 %: below half, but of 12 targets
    with_scores(tree, "aa", separated(5))
    assert items(check(tree), tree_module.LOW) == [f"{AA} (0.0, original: 25.0 %)"]


# --- what results lack


def test_results_name_what_was_not_evaluated(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    shutil.rmtree(tree.all_scores["aa"].parent)
    results = tree.root / tree.results / "privacy_eval" / "results.json"
    missing = [f"anon: no scores of 1: {AA}", f"anon: no voice similarity of 1: {TRIALS}"]
    for verbs, expected in (
        (("privacy-metrics", "collect"), missing),
        (("similarity", "collect"), missing[:1]),
    ):
        for verb in verbs:
            assert tree.run(verb, results=tree.results).code == 0
        assert json.loads(results.read_text())["not_evaluated"] == expected
