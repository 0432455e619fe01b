"""`privacy-eval check`: missing inputs, original/anonymized mismatches, implausible scores."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

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
    lines_to,
    snapshot,
    three_conditions,
    trial_lines,
    utterances,
)

from privacy_eval.check import implausible, mismatches
from privacy_eval.check import tree as tree_module
from privacy_eval.check.missing import TEAM
from privacy_eval.io.scores import OPEN_END
from privacy_eval.metrics import CAVEATS, IMPLAUSIBLE_EER
from privacy_eval.metrics.caveats import MAX_ORIGINAL_EER
from privacy_eval.products.jobs import needed_bytes, similarity_cost

OO, OA = f"ASV-{ENROLLS}-{TRIALS}", f"ASV-{ENROLLS}-{TRIALS}_anon"
AA = f"ASV-{ENROLLS}_anon-{TRIALS}_anon"
THREE = ((ENROLLS, TRIALS), (ENROLLS, f"{TRIALS}_anon"), (f"{ENROLLS}_anon", f"{TRIALS}_anon"))

WER = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/asr_eval/decode_x_tglarge/wer_9_0.5"


def check(tree: Tree, *options: object, code: int = 0) -> list[str]:
    """Run with --details, which writes nothing."""
    before = snapshot(tree.root)
    if isinstance(tree, SpeechTree):
        run = tree.run("check", "--details", *options)
    else:
        run = cli("check", "--tree", tree.root, "--results", "exp", "--details", *options)
    assert snapshot(tree.root) == before
    assert run.code == code, run
    return run.out.splitlines()


def items(lines: list[str], kind: str) -> list[str]:
    """Items and details of the one kind of finding that begins so; none if there is none."""
    starts = [i for i, line in enumerate(lines) if line.startswith(f"  {kind}")]
    if not starts:
        return []
    (start,) = starts
    below = []
    for line in lines[start + 1 :]:
        if not line.startswith("    "):
            break
        below.append(line[4:])
    assert lines[start].endswith(f" ({sum(not item.startswith(' ') for item in below)}):")
    return below


def scored(root: Path, **options: str) -> SpeechTree:
    tree = SpeechTree(root, **options)
    assert tree.run("score-tree").code == 0
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path)


# --- status and report


def test_a_new_tree_then_a_complete_one(tree: SpeechTree) -> None:
    report = tree.run("check").out.splitlines()
    assert report[0] == "no scores yet of 3 conditions; stage 5 can create 3"
    assert report[3].split(None, 4) == ["anon", "0/3", "1/1", "0", "scores (stage 5)"]
    assert "  scores [stage 5] (1): anon (3 conditions)" in report
    assert tree.run("score-tree").code == 0
    lines_to(tree.root / tree.results / "ASR-libri_dev_asr/WER", [WER])
    report = tree.run("check").out.splitlines()
    assert report[0] == "ready: all 3 conditions of 1 system have scores and a trial key"
    assert report[1].startswith("protocol: VoicePrivacy 2020 (small); tree: ")
    assert report[3].split() == ["anon", "3/3", "1/1", "1", "nothing"]
    assert report[4] == "memory of the largest of 2 jobs: stage 6 0.1 GiB, stage 7 0.1 GiB"
    assert len(report) == 5


def test_an_incomplete_tree(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    tree.all_scores["aa"].unlink()
    lines = check(tree)
    assert lines[0].startswith("ready in part: 2 of 3 conditions of 1 system have scores")
    assert "stage 5 can create 1" in lines[0]
    assert items(lines, "scores [stage 5]") == ["anon (1 condition)", f"  {AA}"]
    shutil.rmtree(tree.root / MODEL)
    lines = check(tree)
    assert lines[0].startswith("ready in part: 2 of 3 ") and "create" not in lines[0]


def test_an_empty_tree(tmp_path: Path) -> None:
    run = cli("check", "--tree", tmp_path, "--results", "exp")
    assert run.code == 0
    assert f"{tmp_path}/exp" in run.err
    lines = run.out.splitlines()
    assert lines[0] == "no scores yet of 36 conditions, and inputs of stage 5 are missing"
    model = "exp/models/asv_eval/xvect_01709_1"
    for start in (
        "  trial keys [stage 1] (12): libri_dev_trials_f (for 3 conditions of anon); ",
        "  enrollment sets [stage 1] (4): libri_dev_enrolls (for 6 conditions of anon); ",
        f"  back end in {model} [stage 1] (1): anon (36 conditions, 12 voice similarities)",
        f"  x-vectors in {model} [stage 1, then stage 5] (16): ",
        f"  x-vectors in {model} [stage 4, then stage 5] (16): ",
        "  trial sets [stage 1] (12): ",
    ):
        assert sum(line.startswith(start) for line in lines) == 1, start
    assert sum(line.endswith("; ...") for line in lines) == 5
    assert lines[-1] == "--details lists every item"


def test_every_broken_system_has_a_line_with_its_reason(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    key = trial_lines()
    broken = {
        "columns": ([" ".join([*reversed(t.split()[:2]), "1"]) for t in key], "exchanged"),
        "fields": ([f"{t.replace('target', '1')} x" for t in key], "3 fields"),
        "nan": ([f"{' '.join(t.split()[:2])} nan" for t in key], "found 'nan'"),
        "short": (
            [f"{' '.join(t.split()[:2])} {n}" for n, t in enumerate(key[:-1])],
            "1 trials without a score",
        ),
        "empty": ([], "empty file"),
    }
    systems = {f"{name}{n}": value for n in range(4) for name, value in broken.items()}
    for name, (scores, _) in systems.items():
        for condition in THREE:
            path = tree.condition(f"exp/{name}/results-x", *condition)
            if condition[1].endswith("_anon"):
                lines_to(path, scores)
    text = tree.condition("exp/text/results-x", ENROLLS, TRIALS)
    text.rename(text.with_name("scores.txt"))
    tree.condition("exp/suffix/results-x", ENROLLS, f"{TRIALS}_other")
    tree.condition("exp/good/results-x", *THREE[0])
    run = tree.run("check")
    assert run.code == 1
    lines = run.out.splitlines()
    reasons = {name: reason for name, (_, reason) in systems.items()}
    for name, reason in {**reasons, "text": "scores.txt", "suffix": "_other"}.items():
        (line,) = (x for x in lines if x.startswith(f"  {name}: "))
        assert reason in line
    assert not any(line.startswith("  good: ") for line in lines)
    assert sum(line.startswith(("good ", "text ", *systems)) for line in lines) == 22


def test_results_folders_beside_each_other(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    for folder in ("exp/team/b1/results-new", "exp/team/b1/results-old", "exp/team/b2/results-x"):
        for condition in THREE[:2]:
            tree.condition(folder, *condition)
    found = items(check(tree), tree_module.SIBLING_RESULTS)
    assert found == [f"{tmp_path}/exp/team/b1 (results-new, results-old)"]
    run = tree.run("evaluate", "--out", "out")
    assert f"{tmp_path}/exp/team/b1: results-new, results-old" in run.err


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    folder = tree.root / "exp/\x1b[2J\n/x"
    folder.mkdir(parents=True)
    shutil.move(tree.root / "exp/results-now", folder / "results-now")
    for options in ((), ("--details",)):
        run = cli("check", "--tree", tree.root, "--results", "exp", *options)
        assert run.code == 1
        assert "\x1b" not in run.out + run.err
        assert "\\x1b[2J\\n/x" in run.err


def test_progress_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = scored(tmp_path)
    monkeypatch.setenv("PRIVACY_EVAL_PROGRESS", "lines")
    assert tree.run("check").err.splitlines()[-1] == f"3/3 anon {AA}"
    assert tree.run("check", "--quick").err == ""


def test_external_scores_are_listed(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    assert items(check(tree), tree_module.EXTERNAL) == []
    changed(tree, "oa", lambda lines: lines[::-1])
    assert items(check(tree), tree_module.EXTERNAL) == ["anon (1 condition)", f"  {OA}"]


def test_memory_of_jobs(tree: SpeechTree, monkeypatch: pytest.MonkeyPatch) -> None:
    spoken = [f"{u} {s}" for u, s in utterances(each=2500).items()]
    lines_to(tree.root / f"data/{TRIALS}/utt2spk", spoken)
    gib = needed_bytes([similarity_cost(10_000)]) / 2**30
    assert gib > 1
    monkeypatch.setattr(tree_module, "_machine_gib", lambda: 1.0)
    lines = check(tree)
    assert any(f"stage 7 {gib:.1f} GiB" in line for line in lines)
    assert items(lines, tree_module.MEMORY) == [f"stage 7 ({gib:.1f} GiB for 1 job, 1.0 available)"]
    monkeypatch.setattr(tree_module, "_machine_gib", lambda: gib + 1)
    assert items(check(tree), tree_module.MEMORY) == []


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


VECTORS = f"x-vectors in {MODEL}"
SIMILARITY = f"voice similarity of {TRIALS}"
ORIGINAL_VECTORS = [
    f"{TRIALS} (for 1 condition, 1 voice similarity of anon)",
    f"  anon: {OO}, {SIMILARITY}",
]
COPY_VECTORS = [
    f"{TRIALS}_anon (for 2 conditions, 1 voice similarity of anon)",
    f"  anon: {OA}, {AA}, {SIMILARITY}",
]
KEY = [f"{TRIALS} (for 1 condition of anon)", f"  anon: {OO}"]
TRIAL_SET = [f"{TRIALS} (for 1 voice similarity of anon)", f"  anon: {SIMILARITY}"]
ENROLLMENT = [f"{ENROLLS} (for 3 conditions of anon)", f"  anon: {OO}, {OA}, {AA}"]
BOTH = ["anon (3 conditions, 1 voice similarity)", f"  {OO}, {OA}, {AA}, {SIMILARITY}"]


@pytest.mark.parametrize(
    ("gone", "new", "kind", "expected"),
    [
        (COPY[:1], [], f"{VECTORS} [{TEAM}, as there is no wav.scp]", COPY_VECTORS),
        (
            COPY[:1],
            [f"{COPY[1]}/wav.scp"],
            f"{VECTORS} [stage 5, with final.raw of stage 1]",
            COPY_VECTORS,
        ),
        (COPY, [], f"{VECTORS} [stage 4, then stage 5]", COPY_VECTORS),
        (COPY, [*COPIED_SUPERSET, SUPERSET[1]], f"{VECTORS} [stage 5]", COPY_VECTORS),
        (ORIGINAL, [], f"{VECTORS} [stage 1, then stage 5]", ORIGINAL_VECTORS),
        (ORIGINAL, [], "trial keys [stage 1]", KEY),
        (ORIGINAL, [], "trial sets [stage 1]", TRIAL_SET),
        (ORIGINAL, SUPERSET, f"{VECTORS} [stage 3, then stage 5]", ORIGINAL_VECTORS),
        (ORIGINAL, SUPERSET, "trial keys [stage 3]", KEY),
        (
            [f"data/{ENROLLS}", f"data/{ENROLLS}_anon"],
            [],
            "enrollment sets [stage 1]",
            ENROLLMENT,
        ),
        ([BACKEND], [], f"back end in {MODEL} [stage 1]", BOTH),
    ],
)
def test_missing_inputs(
    tree: SpeechTree, gone: list[str], new: list[str], kind: str, expected: list[str]
) -> None:
    change(tree, gone, new)
    assert items(check(tree), kind) == expected


def test_stages_3_and_5_create_the_data_folders_named(tree: SpeechTree) -> None:
    change(tree, [*COPY, ORIGINAL[1]], [*SUPERSET, *COPIED_SUPERSET])
    assert items(check(tree), "trial keys [stage 3]")[0].startswith(TRIALS)
    assert tree.run("subsets").code == 0
    lines = check(tree)
    assert items(lines, "trial keys") == []
    assert items(lines, f"{VECTORS} [stage 5]")[0].startswith(f"{TRIALS}_anon")
    assert tree.run("subsets", "--anonymized").code == 0
    assert (tree.root / f"data/{TRIALS}_anon/trials").is_file()


def test_the_back_end_of_the_attacker_comes_from_stage_2(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    model = "exp/models/user_asv_eval_anon/xvect_01709_1"
    kind = f"back end in {model} [stage 2"
    lines = check(tree)
    assert items(lines, kind)[0] == BOTH[0]
    assert any("[stage 2, from x-vectors of train_clean_360_anon]" in line for line in lines)
    tree.training_set("train_clean_360_anon", model)
    assert items(check(tree), f"{kind}]")[0] == BOTH[0]
    assert tree.run("train-tree").code == 0
    assert items(check(tree), "back end") == []


def test_stage_5_creates_no_scores_of_systems_that_share_a_suffix(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        for condition in THREE[:2]:
            tree.condition(f"exp/{team}/x/results-1", *condition)
    lines = check(tree)
    assert lines[0].startswith("ready in part: 4 of 6 conditions of 2 systems")
    assert "create" not in lines[0]
    assert items(lines, f"scores [{TEAM}]")[::2] == ["a/x (1 condition)", "b/x (1 condition)"]
    assert "stage 5 can create 1" in check(tree, "--system", "a/x")[0]


def test_a_protocol_without_models(tree: SpeechTree) -> None:
    protocol = (tree.root / "small.yaml").read_text()
    (tree.root / "small.yaml").write_text(f"{protocol}asv_models: []\n")
    found = items(check(tree), "model trained on original speech [not in protocol small]")
    assert found[0] == BOTH[0]


def test_missing_keys_of_a_keys_folder(tree: SpeechTree) -> None:
    (tree.root / "keys").mkdir()
    found = items(check(tree, "--keys", "keys"), f"trial keys in keys [{TEAM}]")
    assert found[0] == f"{TRIALS} (for 3 conditions of anon)"


# --- what cannot be evaluated


def test_scores_without_a_key(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    shutil.rmtree(tree.root / "data")
    lines = check(tree, code=1)
    assert lines[0] == "not ready: 3 errors; 1 warning"
    found = items(lines, "now: cannot be evaluated")
    tried = f"data/{TRIALS}/trials, data/{TRIALS}/trials.gz"
    assert found[0].startswith(f"results-now/{OO}: no trial key (looked for {tried}")
    assert check(tree, "--allow-missing")[0] == lines[0]


def changed(tree: SpeechTree, which: str, change: Callable[[list[str]], Iterable[str]]) -> Path:
    path = tree.all_scores[which]
    return lines_to(path, change(path.read_text().splitlines()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: [*x[:3], x[3].rsplit(None, 1)[0] + " nan", *x[4:]], ":4: .*found 'nan'"),
        (lambda x: [*x, x[0]], ".*1 duplicate score lines"),
        (lambda x: x[1:], ".*1 trials without a score"),
        (lambda x: [], ": empty file"),
    ],
)
def test_invalid_scores(
    tmp_path: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    tree = scored(tmp_path)
    path = changed(tree, "oa", change)
    lines = check(tree, code=1)
    assert lines[0].startswith("not ready: 1 error")
    error, detail = items(lines, "anon: cannot be evaluated")
    assert re.match(f"results-anon/{OA}/scores{message}", error)
    assert detail.strip().startswith(str(path))
    assert [row.split()[1] for row in lines if row.startswith("anon ")] == ["2/3"]
    quick = check(tree, "--quick")
    assert quick[0].startswith("ready: ")
    assert "--quick" in quick[-1]


def test_invalid_word_error_rates(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    folder = tree.root / tree.results / "ASR-libri_dev_asr"
    lines_to(folder / "WER", [WER, WER.replace("5.25", "0.01")])
    lines = check(tree, code=1)
    assert lines[0].startswith("not ready: 1 error")
    error, detail = items(lines, "anon: word error rates that cannot be used")
    message = "ASR-libri_dev_asr/WER:2: %WER 0.01 contradicts 21 errors / 400 words"
    assert message in error and message in detail
    assert check(tree, "--quick")[0].startswith("ready: ")
    (folder / "WER").unlink()
    (error, *_) = items(check(tree, code=1), "anon: word error rates that cannot be used")
    assert "no '%WER' line" in error


def test_scores_that_lack_trials_or_the_last_line_end(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    path = changed(tree, "oa", lambda lines: lines[2:])
    path.write_text(path.read_text()[:-3])
    lines = check(tree, "--allow-missing")
    assert items(lines, implausible.LEFT_OUT) == [f"anon {OA} (2 and 0)"]
    assert items(lines, OPEN_END) == [f"exp/results-anon/{OA}/scores"]


def test_built_in_scores_of_other_trials_are_rebuilt_if_inputs_exist(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    for suffix in ("", "_anon"):
        lines_to(tree.root / f"data/{TRIALS}{suffix}/trials", trial_lines()[:-1])
    found = items(check(tree), "scores of the current trials [stage 5]")
    assert found[0] == "anon (3 conditions)"
    assert tree.run("score-tree").code == 0
    assert check(tree)[0].startswith("ready: ")
    for suffix in ("", "_anon"):
        lines_to(tree.root / f"data/{TRIALS}{suffix}/trials", trial_lines())
    shutil.rmtree(tree.root / MODEL)
    assert check(tree, code=1)[0].startswith("not ready: 3 errors")


def test_keys_and_genders_that_do_not_fit(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    folder, copy = (tree.root / f"data/{TRIALS}{suffix}" for suffix in ("", "_anon"))
    lines_to(folder / "spk2gender", ["s1 f", "s2 m", "s3 f"])
    trials = (folder / "trials").read_text()
    (copy / "trials").write_text(trials.replace("nontarget", "target", 1))
    lines = check(tree, code=1)
    assert items(lines, "speakers without a gender") == [f"{folder}/spk2gender (2 not f: s2, s4)"]
    (error,) = items(lines, "invalid file")
    assert error.startswith(f"{copy}/trials:4: trial ") and f" in {folder}/trials: " in error
    (folder / "spk2gender").write_text("broken\n")
    errors = items(check(tree, code=1), "invalid file")
    assert any(error.startswith(f"{folder}/spk2gender:1: ") for error in errors)
    (folder / "spk2gender").unlink()
    (copy / "trials").write_text("broken\n")
    lines = check(tree, code=1)
    assert sum(f"{copy}/trials:1: " in line for line in lines) == 1
    assert [line.split()[1] for line in lines if line.startswith("anon ")] == ["1/3"]


def test_an_unknown_anonymization_suffix(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri("exp/results-1", suffix="_mcadams")
    lines = check(tree, code=1)
    (problem,) = items(lines, "1: anonymization suffix")
    assert "--anon-suffix" in problem and "results-TAG_mcadams" in problem
    assert items(lines, tree_module.UNKNOWN_FOLDERS)[0] == f"{tree.root}/exp/results-1 (2)"


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
    run = tree.run("check", "--details")
    assert run.code == 1
    for link in links:
        assert f"{link}: is outside the tree" in run.out
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
    lines = check(tree, code=1)
    for path in damaged:
        assert sum(line.lstrip().startswith(f"{path}") for line in lines) == 1, path


# --- original/anonymized mismatches


def test_sets_that_agree_give_no_warnings(tmp_path: Path) -> None:
    lines = check(scored(tmp_path))
    assert lines[0].endswith("; 1 warning")
    assert items(lines, tree_module.NO_RECOGNITION) == ["anon"]


def test_utterances_and_speakers_that_differ(tree: SpeechTree) -> None:
    spoken = {u: s for u, s in utterances().items() if s != "s4" and u != "s1-u0"}
    spoken |= {"s2-u1": "s3", "s9-u0": "s9"}
    lines_to(tree.root / f"data/{TRIALS}_anon/utt2spk", [f"{u} {s}" for u, s in spoken.items()])
    lines = check(tree)
    names = "s1-u0, s4-u0, s4-u1, s4-u2; speakers: s4"
    assert items(lines, mismatches.NOT_ANONYMIZED) == [
        f"{TRIALS}_anon (4 of 12: {names})",
        f"  {names}",
    ]
    names = "s9-u0; speakers: s9"
    assert items(lines, mismatches.ONLY_ANONYMIZED) == [
        f"{TRIALS}_anon (1 of 9: {names})",
        f"  {names}",
    ]
    names = "s2-u1: s3, not s2"
    assert items(lines, mismatches.SPEAKERS) == [
        f"{TRIALS}_anon (1 of 12, as {names})",
        f"  {names}",
    ]


def test_a_larger_anonymized_set_has_the_utterances(tree: SpeechTree) -> None:
    shutil.rmtree(tree.root / f"data/{TRIALS}_anon")
    whole = tree.root / "data/libri_dev_trials_all_anon/utt2spk"
    spoken = {**utterances(), "m1-u0": "m1"}
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    assert "warning" not in check(tree)[0]
    del spoken["s1-u0"]
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    found = items(check(tree), mismatches.NOT_ANONYMIZED)
    assert found[0] == "libri_dev_trials_all_anon (1 of 12: s1-u0)"


def test_lists_that_differ(tree: SpeechTree) -> None:
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", trial_lines()[::-1])
    assert items(check(tree), mismatches.LISTS) == []
    lines_to(tree.root / f"data/{ENROLLS}_anon/enrolls", ["s1-e0", "s1-e1", "x"])
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", [*trial_lines()[1:], "s1 s9-u0 target"])
    assert items(check(tree), mismatches.LISTS) == [
        f"{ENROLLS}_anon/enrolls (6 missing, 1 extra)",
        "  missing: s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1; extra: x",
        f"{TRIALS}_anon/trials (1 missing, 1 extra)",
        "  missing: s1 s1-u0 target; extra: s1 s9-u0 target",
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
    lines = check(tree)
    assert items(lines, mismatches.NO_VECTORS) == [
        f"{MODEL}/xvect_{TRIALS}_anon (2 of 12 of {TRIALS}: s1-u1, s2-u0)",
        "  s1-u1, s2-u0",
    ]
    assert items(lines, mismatches.UNKNOWN_VECTORS) == [
        f"{MODEL}/xvect_{ENROLLS} (7: s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, ...)",
        "  s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1",
    ]


def test_x_vectors_of_original_speech(tree: SpeechTree) -> None:
    where, name = f"{MODEL}/xvect_{TRIALS}_anon", f"{TRIALS}_anon"
    sampled = [f"{where} (5 of 5 sampled of {TRIALS})"]
    tree.vectors(name, of=TRIALS)
    assert items(check(tree), mismatches.SAME_VECTORS) == sampled
    shutil.copy(tree.scp(TRIALS), tree.scp(name))
    found = items(check(tree), mismatches.SAME_VECTORS)
    assert found == [f"{where} (12 of 12 of {TRIALS}, in the same place)"]
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
        (2, None, "EER"),  # 16.7 %
        (3, "25.0", HIGH),
        (7, "58.3", HIGH),
        (8, "66.7", INVERTED),
        (
            12,
            "91.7",
            INVERTED,
        ),  # as compute-eer prints for 12 targets below all nontargets
    ],
)
def test_an_original_eer_too_high(
    tmp_path: Path, wrong: int, percent: str | None, kind: str
) -> None:
    assert (MAX_ORIGINAL_EER, IMPLAUSIBLE_EER) == (0.2, 0.65)
    tree = scored(tmp_path)
    with_scores(tree, "oo", separated(5, wrong=wrong))
    assert items(check(tree), kind) == ([f"anon {OO} ({percent} %)"] if percent else [])


def test_an_original_eer_is_judged_with_the_original_model(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    for folder in ("exp/results-anon", "exp/results-anon.orig"):
        tree.results = folder
        with_scores(tree, "oo", separated(5, wrong=6))
    assert items(check(tree), HIGH) == [f"anon {OO} (.orig) (50.0 %)"]


def test_anonymized_scores_that_are_the_original_ones(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    lines = tree.all_scores["oo"].read_text().splitlines()
    lines_to(tree.all_scores["oa"], lines[::-1])  # other bytes
    assert items(check(tree), implausible.SAME) == [f"anon {OA} = {OO}"]
    numbers = [(*x.split()[:2], float(x.split()[2])) for x in lines]
    spread = float(np.std([x[2] for x in numbers]))
    for step, expected in ((9e-4, [f"anon {OA} = {OO}"]), (2e-3, [])):
        shifted = [f"{s} {u} {x + step * spread:.9f}" for s, u, x in numbers]
        lines_to(tree.all_scores["oa"], shifted)
        assert items(check(tree), implausible.SAME) == expected
    shutil.copy(tree.all_scores["oa"], tree.all_scores["aa"])
    assert items(check(tree), implausible.SAME) == [f"anon {AA} = {OA}"]


def test_scores_of_another_system(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        tree.results = f"exp/{team}/x/results-1"
        for which, wrong in (("oo", 0), ("oa", 3), ("aa", 2 if team == "a" else 1)):
            with_scores(tree, which, separated(5 + wrong, wrong=wrong))
    assert items(check(tree), implausible.SAME) == [f"b/x {OA} = a/x {OA}"]


def test_constant_scores(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    for which in ("oo", "oa"):
        with_scores(tree, which, lambda *_: 1.5)
    lines = check(tree)  # once per condition, and not as copies
    assert items(lines, implausible.CONSTANT) == [f"anon {OO} (1.5)", f"anon {OA} (1.5)"]
    assert items(lines, implausible.SAME) == items(lines, "EER") == []


@pytest.mark.parametrize(
    ("score", "kind", "count"),
    [
        (lambda s, *_: float(s[1:]), implausible.BY_SPEAKER, 1),
        (lambda _, u, *__: float(u[1]) + int(u[-1]) / 9, implausible.BY_UTTERANCE, 1),
        (lambda s, _, __, n: float(s[1:]) + (n == 0), "scores depend", 0),
        (separated(-5), INVERTED, 1),
    ],
)
def test_implausible_anonymized_scores(
    tmp_path: Path, score: Callable[[str, str, bool, int], float], kind: str, count: int
) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oa", score)
    assert [item.split(" (")[0] for item in items(check(tree), kind)] == count * [f"anon {OA}"]


@pytest.mark.parametrize(("tied", "percent"), [(2, None), (3, "12 %")])  # 4 and 6 of 48 trials
def test_trials_that_tie(tmp_path: Path, tied: int, percent: str | None) -> None:
    assert implausible.MAX_TIED == 0.1
    tree = scored(tmp_path)
    seen = {True: 0, False: 0}

    def score(_: str, __: str, target: bool, number: int) -> float:
        seen[target] += 1
        return 7.0 if seen[target] <= tied else (9 if target else 1) + 0.001 * number

    with_scores(tree, "oa", score)
    assert items(check(tree), implausible.TIED) == ([f"anon {OA} ({percent})"] if percent else [])


def test_anonymized_speech_that_is_easier_to_attack(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oo", separated(5, wrong=3))
    with_scores(tree, "oa", separated(5, wrong=1))  # 8.3 %: below half, but of 12 targets
    with_scores(tree, "aa", separated(5))
    assert items(check(tree), implausible.LOW) == [f"anon {AA} (0.0, original: 25.0 %)"]


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
