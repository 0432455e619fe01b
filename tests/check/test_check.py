"""`privacy-eval check`: what is said of a tree on one screen and in full."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    SMALL_PLAN_2022,
    TRIALS,
    Run,
    SpeechTree,
    Tree,
    cli,
    lines_to,
    snapshot,
    three_conditions,
    trial_lines,
    utterances,
)

from privacy_eval.check import screen as check_module
from privacy_eval.check.findings import HEIGHT, WIDTH, Finding, Report, Section
from privacy_eval.check.plausible import MAX_ORIGINAL_EER, MAX_TIED
from privacy_eval.metrics import IMPLAUSIBLE_EER
from privacy_eval.stages.jobs import metrics_cost, needed_bytes

OO, OA = f"ASV-{ENROLLS}-{TRIALS}", f"ASV-{ENROLLS}-{TRIALS}_anon"
AA = f"ASV-{ENROLLS}_anon-{TRIALS}_anon"


def check(tree: SpeechTree, *options: object, code: int = 0) -> list[str]:
    """Lines of the details; nothing is written."""
    before = snapshot(tree.root)
    run = tree.run("check", "--details", *options)
    assert snapshot(tree.root) == before
    assert run.code == code, run
    return run.out.splitlines()


def under(lines: list[str], title: str) -> list[str]:
    """What stands under a title or a kind, down to its items."""
    (start,) = [i for i, line in enumerate(lines) if line.strip() == title]
    indent = len(lines[start]) - len(lines[start].lstrip())
    found = []
    for line in lines[start + 1 :]:
        if len(line) - len(line.lstrip()) <= indent:
            break
        found.append(line[indent + 2 :])
    return found


def scored(root: Path, **options: str) -> SpeechTree:
    tree = SpeechTree(root, **options)
    assert tree.run("score-tree").code == 0
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path)


# --- the verdict and the screen


def test_a_new_tree_then_a_complete_one(tree: SpeechTree) -> None:
    screen = tree.run("check").out.splitlines()
    assert screen[0] == "no scores yet: stage 5 can make those of 3 of 3 conditions"
    assert screen[2].split() == ["system", "scores", "similarity", "ASR", "lacks"]
    assert screen[3].split(None, 4) == ["anon", "0/3", "1/1", "0", "scores (stage 5)"]
    assert screen[4:6] == [
        "not there, and who makes it:",
        "  stage 5: scores, all else is there: anon (3 conditions)",
    ]
    assert any(line.startswith("  stage 5  3 conditions ") for line in screen)
    assert tree.run("score-tree").code == 0
    (tree.root / tree.results / "ASR-libri_dev_asr").mkdir()
    screen = tree.run("check").out.splitlines()
    assert screen[0] == (
        "complete: every condition of the plan has scores and a key (3 of 3, 1 system)"
    )
    assert screen[1].startswith("protocol: VoicePrivacy 2020 (small); tree: ")
    assert screen[3].split() == ["anon", "3/3", "1/1", "1", "nothing"]
    assert screen[-4].startswith("to make all anew, about (2 jobs on ")
    assert screen[-3].split(None, 7)[:7] == ["stage", "6", "3", "conditions", "144", "trials", "1"]
    assert "1 trial set   144 pairs of utterances" in screen[-2]
    assert len(screen) == 8


def test_a_tree_that_lacks_a_part(tree: SpeechTree) -> None:
    assert tree.run("score-tree").code == 0
    tree.all_scores["aa"].unlink()
    lines = check(tree)
    assert lines[0] == (
        "can be evaluated, but lacks 1 of 3 conditions of 1 system, stage 5 can make 1; 1 warning"
    )
    found = under(lines, "stage 5: scores, all else is there: 1")
    assert found == ["anon (1 condition)", f"  {AA}"]
    shutil.rmtree(tree.root / MODEL)
    lines = check(tree)
    assert lines[0] == "can be evaluated, but lacks 1 of 3 conditions of 1 system; 1 warning"


def test_an_empty_tree(tmp_path: Path) -> None:
    run = cli("check", "--tree", tmp_path, "--results", "exp")
    assert (run.code, run.err) == (
        0,
        f"privacy-eval: {tmp_path}/exp: not there yet (results folder)\n",
    )
    assert run.out.startswith("no scores yet, and stage 5 lacks what they are made of\n")
    for line in (
        "  stage 1: trial keys, for 36 conditions of anon: 12: libri_dev_trials_f; ",
        "  stage 1: enrollment sets, for 36 conditions of anon: 4: libri_dev_enrolls; ",
        "  stage 1: back end in exp/models/asv_eval/xvect_01709_1: anon (36 conditions)\n",
        "  stage 1, then stage 5: x-vectors in exp/models/asv_eval/xvect_01709_1, for 24 ",
        "  stage 4, then stage 5: x-vectors in exp/models/asv_eval/xvect_01709_1, for 24 ",
        "  stage 7: voice similarity, for want of trial sets (stage 1), back end (stage 1), ",
    ):
        assert line in run.out


def test_a_screen_holds_twenty_systems_that_all_lack_something(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    for number in range(25):
        tree.libri(
            f"exp/team{number:02}/{'a long name ' * 9}/results-{number}_s{number}",
            suffix=f"_s{number}",
        )
    run = cli("check", "--tree", tree.root, "--results", "exp")
    lines = run.out.splitlines()
    assert len(lines) <= HEIGHT + 3
    assert max(map(len, lines)) <= WIDTH
    assert sum(line.startswith("team") for line in lines) == 20
    assert "  ... 5 more systems, --details lists them" in lines
    assert "warnings:" in lines and "not there, and who makes it:" in lines
    details = cli("check", "--tree", tree.root, "--results", "exp", "--details").out
    assert sum(line.startswith("team") for line in details.splitlines()) == 25


def test_every_broken_system_has_its_reason_on_the_screen(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    key = (tmp_path / f"data/{TRIALS}_anon/trials").read_text().splitlines()
    broken = {
        "columns": [" ".join([*reversed(t.split()[:2]), "1"]) for t in key],
        "fields": [f"{t.replace('target', '1')} x" for t in key],
        "nan": [f"{' '.join(t.split()[:2])} nan" for t in key],
        "short": [f"{' '.join(t.split()[:2])} {n}" for n, t in enumerate(key[:-1])],
    }
    for name in (*broken, *(f"good{n:02}" for n in range(16))):
        for enrollment, trial in ((ENROLLS, TRIALS), (ENROLLS, TRIALS + "_anon")):
            scores = tree.condition(f"exp/{name}/results-x", enrollment, trial)
            if name in broken and trial.endswith("_anon"):
                lines_to(scores, broken[name])
        tree.condition(f"exp/{name}/results-x", ENROLLS + "_anon", TRIALS + "_anon")
    text = tree.condition("exp/text/results-x", ENROLLS, TRIALS)
    text.rename(text.with_name("scores.txt"))
    run = tree.run("check")
    lines = run.out.splitlines()
    assert run.code == 1 and len(lines) <= HEIGHT
    said = " ".join(" ".join(lines).split())
    for name, reason in (
        ("columns", "the first two columns of the scores are exchanged"),
        ("fields", "expected 3 fields"),
        ("nan", "expected a finite decimal number as score, found 'nan'"),
        ("short", "1 trials without a score"),
        ("text", "holds no file `scores`; is it scores.txt?"),
    ):
        assert f"{name}: cannot be evaluated: {reason}" in said
    assert not any(line.startswith("good") for line in lines)
    assert "  ... and 16 more, which lack nothing" in lines


def test_results_beside_each_other_are_warned_of(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    for folder in ("exp/team/b1/results-new", "exp/team/b1/results-old", "exp/team/b2/results-x"):
        for enrollment, trial in ((ENROLLS, TRIALS), (ENROLLS, TRIALS + "_anon")):
            tree.condition(folder, enrollment, trial)
    kind = "results folders beside each other, each of which counts as a system: 1"
    assert under(check(tree), kind) == [f"{tmp_path}/exp/team/b1 (results-new, results-old)"]
    run = tree.run("evaluate", "--out", "out")
    assert f"{tmp_path}/exp/team/b1: results-new, results-old" in run.err


def test_anonymized_scores_the_wrong_way_round(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oa", separated(-5, wrong=0))
    kind = "EER above 65 % (labels swapped, or distances instead of scores?)"
    assert [line.split(" (")[0] for line in said(tree, kind)] == [f"anon {OA}"]


def test_complete_systems_come_last_where_there_are_many(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    for number in range(21):
        folder = f"exp/t{number:02}/s/results-x"
        for enrollment, trial in (
            (ENROLLS, TRIALS),
            (ENROLLS, TRIALS + "_anon"),
            (ENROLLS + "_anon", TRIALS + "_anon"),
        )[: 3 if number != 20 else 2]:
            tree.condition(folder, enrollment, trial)
    rows = [line for line in check(tree) if "/s  " in line]
    assert rows[0].split(None, 4) == ["t20/s", "2/3", "0/1", "0", "scores (their owners)"]
    assert rows[1].split()[0] == "t00/s"


@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 1, 1), (50, 1, 2), (50, 60, 70), (3, 0, 90)])
def test_sections_share_the_screen(counts: tuple[int, int, int]) -> None:
    sections = tuple(
        Section(f"title {i}:", tuple(Finding(f"kind {j}", "x" * 70, "d") for j in range(count)))
        for i, count in enumerate(counts)
    )
    rows = ("heading", *(f"row {i}" for i in range(20)))
    report = Report(True, "verdict", ("plan",), rows, sections, ("foot",))
    screen, details = report.screen(), report.details()
    assert screen[-1] == details[-1] == "foot"
    assert len(screen) <= HEIGHT
    for i, count in enumerate(counts):
        shown = [x for x in screen if x.startswith(f"title {i}")]
        assert len(shown) == (count > 0)
    hidden = sum(int(x.split()[1]) for x in screen if x.startswith("  ... "))
    assert sum("kind" in x for x in screen) + hidden == sum(counts)
    assert sum("kind" in x for x in details) == sum(counts)
    assert details.count("      d") == sum(counts)


def test_names_cannot_move_the_cursor(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    folder = tree.root / "exp/\x1b[2J\n/x"
    folder.mkdir(parents=True)
    shutil.move(tree.root / "exp/results-now", folder / "results-now")
    for options in ((), ("--details",)):
        run = cli("check", "--tree", tree.root, "--results", "exp", *options)
        assert run.code == 0
        assert "\x1b" not in run.out
        assert sum(line.startswith("\\x1b[2J\\n/x  3/36 ") for line in run.out.splitlines()) == 1


# --- what is lacking, and which stage makes it


def drop_vectors(tree: SpeechTree, name: str) -> None:
    shutil.rmtree(tree.root / MODEL / f"xvect_{name}")


def no_wav(tree: SpeechTree) -> None:
    drop_vectors(tree, f"{TRIALS}_anon")


def wav(tree: SpeechTree) -> None:
    no_wav(tree)
    lines_to(tree.root / f"data/{TRIALS}_anon/wav.scp", ["u x.wav"])


def not_anonymized(tree: SpeechTree) -> None:
    no_wav(tree)
    shutil.rmtree(tree.root / f"data/{TRIALS}_anon")


def to_be_cut(tree: SpeechTree) -> None:
    not_anonymized(tree)
    lines_to(tree.root / "data/libri_dev_trials_all_anon/utt2spk", ["s1-u0 s1"])
    lines_to(tree.root / "data/libri_dev/trials_f", trial_lines())


def no_original(tree: SpeechTree) -> None:
    drop_vectors(tree, TRIALS)
    shutil.rmtree(tree.root / f"data/{TRIALS}")


def original_to_be_cut(tree: SpeechTree) -> None:
    no_original(tree)
    lines_to(tree.root / "data/libri_dev/utt2spk", ["s1-u0 s1"])
    lines_to(tree.root / "data/libri_dev/trials_f", trial_lines())


VECTORS = f"x-vectors in {MODEL}"
LACKING: list[tuple[Callable[[SpeechTree], object], str, list[str]]] = [
    (no_wav, f"their owner, as there is no wav.scp: {VECTORS}, for 2 conditions of anon: 1",
     [f"{TRIALS}_anon", f"  for anon {OA}, {AA}"]),
    (wav, f"stage 5, with Kaldi: {VECTORS}, for 2 conditions of anon: 1",
     [f"{TRIALS}_anon", f"  for anon {OA}, {AA}"]),
    (not_anonymized, f"stage 4, then stage 5: {VECTORS}, for 2 conditions of anon: 1",
     [f"{TRIALS}_anon", f"  for anon {OA}, {AA}"]),
    (to_be_cut, f"stage 5: {VECTORS}, for 2 conditions of anon: 1",
     [f"{TRIALS}_anon", f"  for anon {OA}, {AA}"]),
    (no_original, f"stage 1, then stage 5: {VECTORS}, for 1 condition of anon: 1",
     [TRIALS, f"  for anon {OO}"]),
    (no_original, "stage 1: trial keys, for 1 condition of anon: 1",
     [TRIALS, f"  for anon {OO}"]),
    (original_to_be_cut, f"stage 3, then stage 5: {VECTORS}, for 1 condition of anon: 1",
     [TRIALS, f"  for anon {OO}"]),
    (original_to_be_cut, "stage 3: trial keys, for 1 condition of anon: 1",
     [TRIALS, f"  for anon {OO}"]),
    (no_original, "stage 7: voice similarity, for want of trial sets (stage 1), x-vectors "
     "(stage 1, then stage 5): 1", ["anon (1 of 1 trial sets)", f"  {TRIALS}"]),
    (lambda tree: [shutil.rmtree(tree.root / f"data/{ENROLLS}{s}") for s in ("", "_anon")],
     "stage 1: enrollment sets, for 3 conditions of anon: 1",
     [ENROLLS, f"  for anon {OO}, {OA}, {AA}"]),
    (lambda tree: shutil.rmtree(tree.root / BACKEND), f"stage 1: back end in {MODEL}: 1",
     ["anon (3 conditions)", f"  {OO}, {OA}, {AA}"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "kind", "items"), LACKING)
def test_what_is_lacking(
    tree: SpeechTree, change: Callable[[SpeechTree], object], kind: str, items: list[str]
) -> None:
    change(tree)
    assert under(check(tree), kind) == items


def test_the_stage_named_is_the_one_that_makes_it(tree: SpeechTree) -> None:
    """Stages 3 and 5 make the data folders that they are said to make."""
    to_be_cut(tree)
    for name in (TRIALS, f"{TRIALS}_anon"):
        shutil.rmtree(tree.root / "data" / name, ignore_errors=True)
    spoken = [f"{u} {s}" for u, s in utterances().items()]
    lines_to(tree.root / "data/libri_dev/utt2spk", spoken)
    lines_to(tree.root / "data/libri_dev_trials_all_anon/utt2spk", spoken)
    kind = "stage 3: trial keys, for 3 conditions of anon: 1"
    assert under(check(tree), kind)[0] == TRIALS
    assert tree.run("subsets").code == 0
    assert not [line for line in check(tree) if "trial keys" in line]
    kind = f"stage 5: {VECTORS}, for 2 conditions of anon: 1"
    assert under(check(tree), kind)[0] == f"{TRIALS}_anon"
    assert tree.run("subsets", "--anonymized").code == 0
    assert (tree.root / f"data/{TRIALS}_anon/trials").is_file()


def test_the_back_end_of_the_attacker_comes_from_stage_2(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, plan=SMALL_PLAN_2022)
    model = "exp/models/user_asv_eval_anon/xvect_01709_1"
    lines = check(tree)
    found = under(lines, f"stage 2, from x-vectors of train_clean_360_anon: back end in {model}: 1")
    assert found[0] == "anon (3 conditions)"
    tree.training_set("train_clean_360_anon", model)
    assert under(check(tree), f"stage 2: back end in {model}: 1") == found
    assert tree.run("train-tree").code == 0
    assert not [line for line in check(tree) if "back end" in line]


def test_stage_5_makes_no_scores_of_systems_that_share_a_suffix(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        tree.condition(f"exp/{team}/x/results-1", ENROLLS, TRIALS)
        tree.condition(f"exp/{team}/x/results-1", ENROLLS, f"{TRIALS}_anon")
    lines = check(tree)
    assert lines[0].startswith("can be evaluated, but lacks 2 of 6 conditions of 2 systems; ")
    assert under(lines, "their owners: scores: 2") == [
        "a/x (1 condition)", f"  {AA}", "b/x (1 condition)", f"  {AA}",
    ]  # fmt: skip
    lines = check(tree, "--system", "a/x")
    assert "stage 5 can make 1" in lines[0]


def test_a_plan_without_models(tree: SpeechTree) -> None:
    plan = (tree.root / "small.yaml").read_text()
    (tree.root / "small.yaml").write_text(f"{plan}asv_models: []\n")
    kind = "the plan, which names none: model trained on original speech: 1"
    assert under(check(tree), kind)[0] == "anon (3 conditions)"


def test_trials_of_a_keys_folder(tree: SpeechTree) -> None:
    (tree.root / "keys").mkdir()
    kind = "their owner: trial keys in keys, for 3 conditions of anon: 1"
    assert under(check(tree, "--keys", "keys"), kind)[0] == TRIALS


# --- what cannot be evaluated


def test_scores_without_a_key(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    shutil.rmtree(tree.root / "data")
    run = cli("check", "--tree", tree.root, "--results", "exp")
    assert run.code == 1
    assert run.out.startswith("cannot be evaluated as it is: 3 errors; 1 warning\n")
    assert "  scores without a trial key: 3: now ASV-" in run.out
    run = cli("check", "--tree", tree.root, "--results", "exp", "--details")
    found = under(run.out.splitlines(), "scores without a trial key: 3")
    tried = f"{tmp_path}/data/{TRIALS}/trials, {tmp_path}/data/{TRIALS}/trials.gz, ..."
    assert f"now {OO} (looked for {tried})" in found
    assert cli("check", "--tree", tree.root, "--results", "exp", "--allow-missing").code == 0


def changed(tree: SpeechTree, which: str, change: Callable[[list[str]], list[str]]) -> Path:
    path = tree.all_scores[which]
    return lines_to(path, change(path.read_text().splitlines()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: [*x[:3], x[3].rsplit(None, 1)[0] + " nan", *x[4:]],
         "expected a finite decimal number as score, found 'nan' (1 such lines) ({})\n{}:4"),
        (lambda x: [*x, x[0]], "1 duplicate score lines, each (speaker, utterance) may"),
        (lambda x: x[1:], "1 trials without a score (first at "),
        (lambda x: [], "empty file, expected lines of <speaker> <utterance> <score> ({})\n{}"),
    ],
)  # fmt: skip
def test_scores_that_are_no_scores(
    tmp_path: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    tree = scored(tmp_path)
    path = changed(tree, "oa", change)
    lines = check(tree, code=1)
    assert lines[0].startswith("cannot be evaluated as it is: 1 error; ")
    item, *place = message.format(*([OA] if "({})" in message else []), path).split("\n")
    found = under(lines, "anon: cannot be evaluated: 1")
    assert found[0].startswith(item)
    assert found[1].startswith(f"  {place[0] if place else path}")
    assert [line.split()[1] for line in lines if line.startswith("anon ")] == ["2/3"]
    quick = check(tree, "--quick")
    assert quick[0].startswith("complete: ")
    assert quick[-1] == "score files were not read (--quick); --details: every item"


def test_trials_left_out_on_request(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    changed(tree, "oa", lambda lines: lines[2:])
    lines = check(tree, "--allow-missing")
    kind = "trials without a score or scores without a trial, left out: 1"
    assert under(lines, kind) == [f"anon {OA} (2 and 0)"]


def test_our_scores_of_other_trials_are_no_error(tmp_path: Path) -> None:
    """Stage 5 makes them anew; it does not where its inputs are gone."""
    tree = scored(tmp_path)
    for mark in ("", "_anon"):
        lines_to(tree.root / f"data/{TRIALS}{mark}/trials", trial_lines()[:-1])
    lines = check(tree)
    kind = "stage 5: scores that fit the trials of now, all else is there: 1"
    assert under(lines, kind)[0] == "anon (3 conditions)"
    assert tree.run("score-tree").code == 0
    assert check(tree)[0].startswith("complete")
    lines_to(tree.root / f"data/{TRIALS}/trials", trial_lines())
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", trial_lines())
    shutil.rmtree(tree.root / MODEL)
    assert check(tree, code=1)[0].startswith("cannot be evaluated as it is: 3 errors")


def test_keys_and_genders_that_do_not_fit(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    folder, copy = (tree.root / f"data/{TRIALS}{mark}" for mark in ("", "_anon"))
    lines_to(folder / "spk2gender", ["s1 f", "s2 m", "s3 f"])
    trials = (folder / "trials").read_text()
    (copy / "trials").write_text(trials.replace("nontarget", "target", 1))
    lines = check(tree, code=1)
    kind = "speakers without a gender, or of another one than their set: 1"
    assert under(lines, kind) == [f"{folder}/spk2gender (2 not f: s2, s4)"]
    assert f"  {copy}/trials: other trials or labels than in {folder}/trials" in lines
    (folder / "spk2gender").write_text("broken\n")
    assert any(line.startswith(f"  {folder}/spk2gender:1: ") for line in check(tree, code=1))
    (folder / "spk2gender").unlink()
    (copy / "trials").write_text("broken\n")
    lines = check(tree, code=1)
    assert sum(f"{copy}/trials:1: " in line for line in lines) == 1
    assert [line.split()[1] for line in lines if line.startswith("anon ")] == ["1/3"]


def test_a_mark_that_was_not_found(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri("exp/results-1", suffix="_mcadams")
    run = cli("check", "--tree", tree.root, "--results", "exp", "--details")
    assert run.code == 1
    assert "--anon-suffix" in run.out
    kind = "folders that are no conditions of the plan (--conf, --anon-suffix): 1"
    assert under(run.out.splitlines(), kind)[0] == f"{tree.root}/exp/results-1 (2)"
    assert "to results-TAG_mcadams" in run.out


def test_nothing_is_read_outside_the_tree_and_nothing_is_run(tmp_path: Path) -> None:
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
        assert f"{link}: leads out of the tree" in run.out
    assert "root:x" not in run.out + run.err
    assert not evil.exists()
    assert tree.run("check", "--allow-outside").code == 1
    assert not evil.exists()


def test_damaged_files_give_messages(tmp_path: Path) -> None:
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


# --- original and anonymized sets


def said(tree: SpeechTree, kind: str, code: int = 0) -> list[str]:
    """The items of a kind of finding, which there is one of."""
    lines = check(tree, code=code)
    (line,) = [x for x in lines if x.startswith(f"  {kind}: ")]
    items = under(lines, line.strip())
    assert line == f"  {kind}: {sum(not item.startswith(' ') for item in items)}"
    return items


def test_sets_that_agree_say_nothing(tmp_path: Path) -> None:
    lines = check(scored(tmp_path))
    assert under(lines, "warnings:") == [
        "no ASR-* folders, so that word error rates will be left out: 1", "  anon",
    ]  # fmt: skip


def test_utterances_and_speakers_that_differ(tree: SpeechTree) -> None:
    path = tree.root / f"data/{TRIALS}_anon/utt2spk"
    kept = {u: s for u, s in utterances().items() if s != "s4" and u != "s1-u0"}
    kept |= {"s2-u1": "s3", "s9-u0": "s9"}
    lines_to(path, [f"{u} {s}" for u, s in kept.items()])
    assert said(tree, "utterances missing in an anonymized set") == [
        f"{TRIALS}_anon (4 of 12: s1-u0, s4-u0, s4-u1, s4-u2; speakers: s4)",
        "  s1-u0, s4-u0, s4-u1, s4-u2; speakers: s4",
    ]
    assert said(tree, "utterances that only an anonymized set has") == [
        f"{TRIALS}_anon (1 of 9: s9-u0; speakers: s9)",
        "  s9-u0; speakers: s9",
    ]
    assert said(tree, "another speaker of the same utterance") == [
        f"{TRIALS}_anon (1 of 12, as s2-u1: s3, not s2)",
        "  s2-u1: s3, not s2",
    ]


def test_a_larger_anonymized_set_holds_the_utterances(tree: SpeechTree) -> None:
    shutil.rmtree(tree.root / f"data/{TRIALS}_anon")
    whole = tree.root / "data/libri_dev_trials_all_anon/utt2spk"
    spoken = {**utterances(), "m1-u0": "m1"}
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    assert "warnings:" not in check(tree)
    del spoken["s1-u0"]
    lines_to(whole, [f"{u} {s}" for u, s in spoken.items()])
    assert said(tree, "utterances missing in an anonymized set") == [
        "libri_dev_trials_all_anon (1 of 12: s1-u0)",
        "  s1-u0",
    ]


def test_lists_that_differ(tree: SpeechTree) -> None:
    lines_to(tree.root / f"data/{ENROLLS}_anon/enrolls", ["s1-e0", "s1-e1", "x"])
    trials = trial_lines()
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", [*trials[1:], "s1 s9-u0 target"])
    assert said(tree, "anonymized set with another list") == [
        f"{ENROLLS}_anon/enrolls (6 missing, 1 more)",
        "  missing: s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1; more: x",
        f"{TRIALS}_anon/trials (1 missing, 1 more)",
        "  missing: s1 s1-u0 target; more: s1 s9-u0 target",
    ]


def test_lists_in_another_order_are_the_same(tree: SpeechTree) -> None:
    lines_to(tree.root / f"data/{TRIALS}_anon/trials", trial_lines()[::-1])
    assert not [line for line in check(tree) if "another list" in line]


def test_recordings_of_original_speech(tree: SpeechTree) -> None:
    lines = [f"{u} wav/{u}.wav" for u in utterances()]
    lines_to(tree.root / f"data/{TRIALS}/wav.scp", lines)
    lines_to(
        tree.root / f"data/{TRIALS}_anon/wav.scp",
        [*lines[:2], *(line.replace("wav/", "anon/") for line in lines[2:])],
    )
    assert said(tree, "anonymized set that names the original recordings") == [
        f"{TRIALS}_anon (2 of 12 of {TRIALS})"
    ]


def test_x_vectors_that_are_missing_or_of_nobody(tree: SpeechTree) -> None:
    tree.vectors(f"{TRIALS}_anon", without=("s1-u1", "s2-u0"))
    lines_to(tree.root / f"data/{ENROLLS}/utt2spk", ["s1-e0 s1"])
    kind = "no x-vectors of utterances (stages 5 and 7 need --allow-missing)"
    assert said(tree, kind) == [
        f"{MODEL}/xvect_{TRIALS}_anon (2 of 12 of {TRIALS}: s1-u1, s2-u0)",
        "  s1-u1, s2-u0",
    ]
    assert said(tree, "x-vectors of utterances that the set does not have") == [
        f"{MODEL}/xvect_{ENROLLS} (7: s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, ...)",
        "  s1-e1, s2-e0, s2-e1, s3-e0, s3-e1, s4-e0, s4-e1",
    ]


SAME_VECTORS = "x-vectors of an anonymized set that are those of the original set"


def test_x_vectors_of_original_speech(tree: SpeechTree) -> None:
    where = f"{MODEL}/xvect_{TRIALS}_anon"
    tree.vectors(f"{TRIALS}_anon", of=TRIALS)
    assert said(tree, SAME_VECTORS) == [f"{where} (5 of 5 sampled of {TRIALS})"]
    shutil.copy(tree.scp(TRIALS), tree.scp(f"{TRIALS}_anon"))
    assert said(tree, SAME_VECTORS) == [f"{where} (12 of 12 of {TRIALS}, in the same place)"]
    tree.vectors(f"{TRIALS}_anon", of=TRIALS, seed=1)
    assert not [line for line in check(tree) if SAME_VECTORS in line]


def test_x_vectors_in_an_archive_and_of_commands(tree: SpeechTree) -> None:
    ark = tree.scp(TRIALS).with_suffix(".ark")
    tree.scp(TRIALS).write_bytes(ark.read_bytes())
    tree.scp(f"{TRIALS}_anon").write_bytes(ark.read_bytes())
    assert said(tree, SAME_VECTORS) == [f"{MODEL}/xvect_{TRIALS}_anon (5 of 5 sampled of {TRIALS})"]
    lines_to(tree.scp(f"{TRIALS}_anon"), [f"{u} cat {u} |" for u in utterances()])
    assert not [line for line in check(tree) if SAME_VECTORS in line]


# --- scores that cannot be right


def with_scores(
    tree: SpeechTree, which: str, score: Callable[[str, str, bool, int], float], digits: int = 5
) -> None:
    """Other scores, of enrolled speaker, utterance, label and the trial's number."""
    lines = []
    for number, trial in enumerate(trial_lines()):
        speaker, utterance, label = trial.split()
        value = score(speaker, utterance, label == "target", number)
        lines.append(f"{speaker} {utterance} {value:.{digits}f}")
    lines_to(tree.all_scores[which], lines)


def separated(step: float, wrong: int = 0) -> Callable[[str, str, bool, int], float]:
    """Target trials score higher, but for the first ones of each class; no two are equal."""
    seen = {True: 0, False: 0}

    def score(speaker: str, utterance: str, target: bool, number: int) -> float:
        seen[target] += 1
        confused = seen[target] <= wrong * (1 if target else 3)
        return (step if target != confused else -step) + 0.001 * number

    return score


@pytest.mark.parametrize(
    ("wrong", "percent", "kind"),
    [
        (2, None, None),  # 16.7 %
        (3, "25.0", "EER of original speech above 20 % (wrong model, trials or key?)"),
        (7, "58.3", "EER of original speech above 20 % (wrong model, trials or key?)"),
        (8, "66.7", "EER above 65 % (labels swapped, or distances instead of scores?)"),
        (12, "91.7",  # what compute-eer prints of 12 targets below all nontargets
         "EER above 65 % (labels swapped, or distances instead of scores?)"),
    ],
)  # fmt: skip
def test_an_original_eer_too_high(
    tmp_path: Path, wrong: int, percent: str | None, kind: str | None
) -> None:
    assert (MAX_ORIGINAL_EER, IMPLAUSIBLE_EER) == (0.2, 0.65)
    tree = scored(tmp_path)
    with_scores(tree, "oo", separated(5, wrong=wrong))
    if kind is None:
        assert not [line for line in check(tree) if "EER" in line]
    else:
        assert said(tree, kind) == [f"anon {OO} ({percent} %)"]


def test_an_original_eer_is_judged_under_the_model_of_original_speech(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, plan=SMALL_PLAN_2022)
    for folder in ("exp/results-anon", "exp/results-anon.orig"):
        tree.results = folder
        with_scores(tree, "oo", separated(5, wrong=6))
    lines = check(tree)
    kind = "EER of original speech above 20 % (wrong model, trials or key?): 1"
    assert under(lines, kind) == [f"anon {OO} (.orig) (50.0 %)"]


SAME = "scores that are those of another condition"


def test_anonymized_scores_that_are_the_original_ones(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    lines = tree.all_scores["oo"].read_text().splitlines()
    lines_to(tree.all_scores["oa"], lines[::-1])  # byte by byte they differ
    assert said(tree, SAME) == [f"anon {OA} = {OO}"]
    numbers = [(*x.split()[:2], float(x.split()[2])) for x in lines]
    spread = float(np.std([x[2] for x in numbers]))
    lines_to(tree.all_scores["oa"], [f"{s} {u} {x + 9e-4 * spread:.9f}" for s, u, x in numbers])
    assert said(tree, SAME) == [f"anon {OA} = {OO}"]
    lines_to(tree.all_scores["oa"], [f"{s} {u} {x + 2e-3 * spread:.9f}" for s, u, x in numbers])
    assert not [line for line in check(tree) if SAME in line]
    shutil.copy(tree.all_scores["oa"], tree.all_scores["aa"])
    assert said(tree, SAME) == [f"anon {AA} = {OA}"]


def test_scores_of_another_system(tree: SpeechTree) -> None:
    for team in ("a", "b"):
        tree.results = f"exp/{team}/x/results-1"
        for which, wrong in (("oo", 0), ("oa", 3), ("aa", 2 if team == "a" else 1)):
            with_scores(tree, which, separated(5 + wrong, wrong=wrong))
    assert said(tree, SAME) == [f"b/x {OA} = a/x {OA}"]


def test_scores_without_information(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oo", lambda *_: 1.5)
    assert said(tree, "all scores are equal") == [f"anon {OO} (1.5)"]
    with_scores(tree, "oa", lambda *_: 1.5)  # said once for each, and not as copies
    lines = check(tree)
    assert len(under(lines, "all scores are equal: 2")) == 2
    assert SAME not in "\n".join(lines) and "EER" not in "\n".join(lines)


def test_scores_of_one_side_only(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    with_scores(tree, "oa", lambda speaker, *_: float(speaker[1:]))
    assert said(tree, "scores depend on the enrolled speaker only") == [f"anon {OA}"]
    with_scores(tree, "oa", lambda _, utterance, *__: float(utterance[1]) + int(utterance[-1]) / 9)
    assert said(tree, "scores depend on the trial utterance only") == [f"anon {OA}"]
    with_scores(tree, "oa", lambda s, _, __, n: float(s[1:]) + (n == 0))
    assert not [line for line in check(tree) if "depend on" in line]


def test_trials_that_tie(tmp_path: Path) -> None:
    assert MAX_TIED == 0.1
    tree = scored(tmp_path)
    kind = "more than 10 % of the trials tie with one of the other class"
    # 4 of 48 trials tie across the classes, then 6.
    for tied, share in ((2, None), (3, "12 %")):
        seen = {True: 0, False: 0}

        def score(_: str, __: str, target: bool, number: int, tied: int = tied) -> float:
            seen[target] += 1  # noqa: B023
            if seen[target] <= tied:  # noqa: B023
                return 7.0
            return (9 if target else 1) + 0.001 * number

        with_scores(tree, "oa", score)
        if share is None:
            assert not [line for line in check(tree) if kind in line]
        else:
            assert said(tree, kind) == [f"anon {OA} ({share})"]


def test_anonymized_speech_that_is_easier_to_attack(tmp_path: Path) -> None:
    tree = scored(tmp_path)
    kind = "anonymized speech is easier to attack than original speech, its EER less than half"
    with_scores(tree, "oo", separated(5, wrong=3))
    with_scores(tree, "oa", separated(5, wrong=1))  # 8.3 %: less than half, but of 12 targets
    with_scores(tree, "aa", separated(5))
    assert said(tree, kind) == [f"anon {AA} (0.0, not 25.0 %)"]


def test_progress_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = scored(tmp_path)
    monkeypatch.setenv("PRIVACY_EVAL_PROGRESS", "lines")
    assert tree.run("check").err.splitlines()[-1] == f"3/3 anon {AA}"
    assert tree.run("check", "--quick").err == ""


# --- costs


def cost_row(run: Run, stage: str) -> str:
    (row,) = [x for x in run.out.splitlines() if x.startswith(f"  {stage}  ")]
    return " ".join(row.split())


def test_costs_follow_jobs_resamplings_and_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = scored(tmp_path)
    sizes = iter([])  # type: ignore[var-annotated]

    def judge(conditions: list, **_: object) -> check_module.Judged:  # type: ignore[type-arg]
        return check_module.Judged({c: next(sizes) for c in conditions}, {}, [], [])

    monkeypatch.setattr(check_module, "judge", judge)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    trials = [4_000_000, 3_000_000, 1_000_000]
    for options, jobs, replicates in (
        (("--nj", 1), [trials], 0),
        (("--nj", 2), [trials[:1], trials[1:]], 0),
        (("--nj", 3, "--bootstrap", 100), [[n] for n in trials], 100),
    ):
        sizes = iter(trials)
        run = tree.run("check", *options)
        seconds = max(sum(metrics_cost(n, replicates).seconds for n in job) for job in jobs)
        memory = needed_bytes([metrics_cost(4_000_000, replicates)]) / 2**30
        shown = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        assert cost_row(run, "stage 6") == (
            f"stage 6 3 conditions 8 M trials {shown} {memory:.1f} GiB in the largest job"
        )
    assert "on 4 cores, 100 resamplings):" in run.out
    # More jobs than cores do not help, and must fit into memory together.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(check_module, "_memory_here", lambda: 2.0 * 2**30)
    sizes = iter(trials)
    run = tree.run("check", "--nj", 3, "--details")
    total = sum(metrics_cost(n).seconds for n in trials)
    assert f"{total:.0f} s" in cost_row(run, "stage 6")
    needed = sum(needed_bytes([metrics_cost(n)]) for n in trials) / 2**30
    kind = "more memory than this machine has (--nj takes fewer jobs): 1"
    assert under(run.out.splitlines(), kind) == [f"{needed:.1f} GiB for 3 jobs, 2.0 there"]
