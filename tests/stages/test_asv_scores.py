"""Scores of a tree's conditions: numbers, what is made anew, whose scores are kept."""

import gzip
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_backend as reference
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    lines_to,
    snapshot,
    stage_of,
    utterances_of,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.io.vectors import write_vectors
from privacy_eval.products.freshness import Outcome, Run
from privacy_eval.stages.access import VECTORS, AsvSystems, TreeAccess, systems_under_test
from privacy_eval.stages.asv_scores import make_scores
from privacy_eval.stages.collect import outdated_scores

NAMES = {
    "oo": f"anon ASV-{ENROLLS}-{TRIALS}",
    "oa": f"anon ASV-{ENROLLS}-{TRIALS}_anon",
    "aa": f"anon ASV-{ENROLLS}_anon-{TRIALS}_anon",
}


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "a tree")


def made(
    tree: SpeechTree, results: str = "exp", *, job: tuple[int, int] = (1, 1), **options: Any
) -> Outcome:
    return make_scores(stage_of(tree, results, **options), Run(job))


def names(*kinds: str) -> list[str]:
    return [NAMES[kind] for kind in kinds]


# --- numbers


def expected_scores(tree: SpeechTree, enrollment: str, trial: str, enrolls: set[str]) -> list[str]:
    """Lines of the score file, by the second implementation."""
    root = tree.root
    model = reference.read_plda(root / BACKEND / "plda")
    mean = reference.read_array(root / BACKEND / "mean.vec")
    lda = reference.read_array(root / BACKEND / "transform.mat")
    vectors = {n: reference.read_scp(tree.scp(n), root) for n in (enrollment, trial)}
    spk2utt = reference.read_lists(root / "data" / enrollment / "spk2utt")
    members = {s: [u for u in own if u in enrolls] for s, own in spk2utt.items()}
    lines = []
    for speaker, utterance, *_ in reference.read_trials(root / "data" / trial / "trials"):
        own = [vectors[enrollment][u] for u in members[speaker]]
        first = reference.prepared(reference.mean_of(own), mean, lda)
        second = reference.prepared(vectors[trial][utterance], mean, lda)
        score = reference.log_likelihood_ratio(
            model,
            reference.plda_transform(model, first, len(own)),
            len(own),
            reference.plda_transform(model, second),
        )
        lines.append(reference.score_line(speaker, utterance, score))
    return lines


def test_scores_are_those_of_a_second_implementation(tree: SpeechTree) -> None:
    """The list chooses among the utterances of spk2utt, so that speakers differ in number."""
    enrolls = set(utterances_of(ENROLLS)) - {"s1-e0", "s3-e1"}
    for mark in ("", "_anon"):
        lines_to(tree.root / f"data/{ENROLLS}{mark}/enrolls", sorted(enrolls))
    assert made(tree).made == names("oo", "oa", "aa")
    for marks, path in tree.all_scores.items():
        enrollment, trial = (
            n + ("_anon" if mark == "a" else "")
            for n, mark in zip((ENROLLS, TRIALS), marks, strict=True)
        )
        expected = [line.split() for line in expected_scores(tree, enrollment, trial, enrolls)]
        found = [line.split() for line in path.read_text().splitlines()]
        assert [line[:2] for line in found] == [line[:2] for line in expected]
        wanted = [float(line[2]) for line in expected]
        assert [float(line[2]) for line in found] == pytest.approx(wanted, abs=2e-5)
        assert all(re.fullmatch(r"-?\d+(\.\d+)?(e-\d\d)?", line[2]) for line in found)
        assert all(f"{np.float32(line[2]):.7g}" == line[2] for line in found)
        # Anonymized as it is, the speech of a speaker still sounds alike.
        target = np.array([line.endswith(" target") for line in key_of(tree, trial)])
        scores = np.array([float(line[2]) for line in found])
        assert scores[target].mean() > scores[~target].mean() + 2


def key_of(tree: SpeechTree, trial: str) -> list[str]:
    return (tree.root / "data" / trial / "trials").read_text().splitlines()


def test_trials_may_come_without_labels(tree: SpeechTree) -> None:
    """They do not change a score."""
    made(tree)
    before = {k: p.read_bytes() for k, p in tree.all_scores.items()}
    path = tree.root / f"data/{TRIALS}/trials"
    lines_to(path, (line.rsplit(" ", 1)[0] for line in path.read_text().splitlines()))
    assert made(tree).made == names("oo")
    assert {k: p.read_bytes() for k, p in tree.all_scores.items()} == before


# --- what is made anew


def thinner(path: Path) -> None:
    lines_to(path, path.read_text().splitlines()[:-1])


#: What is changed, and which conditions that concerns.
CHANGES: dict[str, tuple[Callable[[SpeechTree], object], list[str]]] = {
    "original enrollment": (lambda t: t.vectors(ENROLLS, seed=1), ["oo", "oa"]),
    "original trials": (lambda t: t.vectors(TRIALS, seed=1), ["oo"]),
    "anonymized enrollment": (lambda t: t.vectors(f"{ENROLLS}_anon", seed=1), ["aa"]),
    "anonymized trials": (lambda t: t.vectors(f"{TRIALS}_anon", seed=1), ["oa", "aa"]),
    "back end": (lambda t: t.backend(BACKEND, seed=1), ["oo", "oa", "aa"]),
    "no mean any more": (lambda t: (t.root / BACKEND / "mean.vec").unlink(), ["oo", "oa", "aa"]),
    "trial key": (
        lambda t: [thinner(t.root / f"data/{TRIALS}{s}/trials") for s in ("", "_anon")],
        ["oo", "oa", "aa"],
    ),
    "enrollment list": (lambda t: thinner(t.root / f"data/{ENROLLS}/enrolls"), ["oo", "oa"]),
    "scores removed": (lambda t: t.all_scores["oa"].unlink(), ["oa"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_scores_are_rebuilt_when_their_inputs_change(tree: SpeechTree, change: str) -> None:
    made(tree)
    before, written = {k: p.read_bytes() for k, p in tree.all_scores.items()}, {}
    for kind, path in tree.all_scores.items():
        written[kind] = path.stat().st_mtime_ns
    do, concerned = CHANGES[change]
    do(tree)
    outcome = made(tree)
    assert (outcome.made, outcome.failed, outcome.kept) == (names(*concerned), {}, [])
    for kind, path in tree.all_scores.items():
        if kind not in concerned:
            assert path.stat().st_mtime_ns == written[kind]
        elif change != "scores removed":
            assert path.read_bytes() != before[kind]
    assert made(tree).made == []


def test_packing_vectors_otherwise_changes_nothing(tree: SpeechTree) -> None:
    """The content counts, not how it is packed."""
    made(tree)
    scp = tree.scp(TRIALS)
    archive = scp.with_suffix(".ark")
    archive.write_bytes(gzip.compress(archive.read_bytes()))
    assert made(tree).current == names("oo", "oa", "aa")


# --- whose scores


def test_external_scores_are_kept_and_listed(tree: SpeechTree) -> None:
    theirs = lines_to(tree.all_scores["oo"], ["s1 s1-u0 1.5"])
    packed = tree.all_scores["oa"].with_name("scores.gz")
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(b"s1 s1-u0 1.5\n"))
    before = snapshot(tree.root / "exp/results-anon")
    for _ in range(2):
        outcome = made(tree)
        assert outcome.kept == names("oo", "oa")
        assert {n: c for n, c in snapshot(tree.root / "exp/results-anon").items() if n in before}
        assert theirs.read_text() == "s1 s1-u0 1.5\n"
        assert sorted(p.name for p in packed.parent.iterdir()) == ["scores.gz"]
    assert outcome.current == names("aa")


def test_copied_scores_count_as_external(tree: SpeechTree) -> None:
    made(tree)
    others = tree.root / "exp/results-others"
    for path in tree.all_scores.values():
        (others / path.parent.name).mkdir(parents=True)
        shutil.copy(path, others / path.parent.name)
    outcome = made(tree, "exp/results-others")
    assert len(outcome.kept) == 3
    assert {p.name for p in others.rglob("*") if p.is_file()} == {"scores"}


# --- which systems


@pytest.mark.parametrize(
    ("results", "name", "folder", "system"),
    [
        ("exp", None, "exp/results-anon", "anon"),
        ("exp", "50%_team & Co", "exp/results-50%_team & Co", "50%_team & Co"),
        ("exp/results-mine", None, "exp/results-mine", "mine"),
        ("exp/results-mine", "B9", "exp/results-mine", "B9"),
        ("new/results-mine", None, "new/results-mine", "mine"),
    ],
)
def test_where_the_first_scores_go(
    tree: SpeechTree, results: str, name: str | None, folder: str, system: str
) -> None:
    (tree.root / "new").mkdir()
    outcome = made(tree, results, name=name)
    assert outcome.made == [n.replace("anon", system, 1) for n in names("oo", "oa", "aa")]
    assert len(list((tree.root / folder).glob("ASV-*/scores"))) == 3
    assert made(tree, results, name=name).current == outcome.made


def test_the_suffix_comes_from_the_results_folder_or_the_option(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, suffix="_mine")
    assert len(made(tree, "exp/results-b_mine").made) == 3
    assert (tree.root / f"exp/results-b_mine/ASV-{ENROLLS}-{TRIALS}_mine/scores").is_file()
    assert len(made(tree, "exp/results-c", anon_suffix="_mine").made) == 3
    (tree.root / "other").mkdir()
    assert len(made(tree, "other", anon_suffix="_mine").made) == 3
    assert len(list((tree.root / "other/results-mine").iterdir())) == 3
    # Without either it is the protocol's, of which nothing is there.
    assert set(made(tree, "exp/results-d").missing) == {
        f"d ASV-{ENROLLS}-{TRIALS}_anon",
        f"d ASV-{ENROLLS}_anon-{TRIALS}_anon",
    }


def test_both_results_folders_of_a_protocol(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    own = "exp/models/user_asv_eval_anon/xvect_01709_1"
    tree.anonymized("_anon", model=own)
    tree.backend(f"{own}/xvect_train_clean_360_anon", seed=5)
    outcome = made(tree)
    assert outcome.made == [*names("oo", "oa", "aa"), *(f"{n} (.orig)" for n in NAMES.values())]
    for kind, path in tree.all_scores.items():
        original = path.parents[1].with_name("results-anon.orig") / path.parent.name / "scores"
        assert path.read_bytes() != original.read_bytes(), kind


def test_systems_that_share_a_suffix_are_left_alone(tree: SpeechTree) -> None:
    for team in ("one", "two"):
        lines_to(tree.root / f"exp/{team}/results-x/ASV-{ENROLLS}-{TRIALS}_anon/scores", ["a b 1"])
    tree.anonymized("_own")
    folder = tree.root / f"exp/three/results-y_own/ASV-{ENROLLS}-{TRIALS}_own"
    lines_to(folder / "scores", ["a b 1"])
    before = snapshot(tree.root / "exp")
    access = TreeAccess(tree.root, tree.root / "exp")
    targets, notes = systems_under_test(access, tree.protocol)
    assert [t.name for t in targets] == ["three"]
    assert len(notes) == 1
    assert notes[0].startswith("one, two: all have the anonymization suffix '_anon'")
    assert "--system NAME chooses one" in notes[0]
    make_scores(AsvSystems(access, tree.protocol, targets))
    written = set(snapshot(tree.root / "exp")) - set(before)
    assert {n.split("/")[0] for n in written} == {"three"}
    outcome = made(tree, name="two")
    assert outcome.kept == [f"two ASV-{ENROLLS}-{TRIALS}_anon"]
    assert len(outcome.made) == 2
    with pytest.raises(PrivacyEvalError, match="no system 'four'; available: one, three, two"):
        made(tree, name="four")


def test_names_of_new_systems_must_not_be_paths(tree: SpeechTree) -> None:
    for name in ("team/system", "../../elsewhere"):
        with pytest.raises(PrivacyEvalError, match="no system .* a new one has a name without /"):
            made(tree, name=name)


def test_rebuilt_products_are_named_with_their_changed_inputs(tree: SpeechTree) -> None:
    assert made(tree).rebuilt == {}
    tree.vectors(f"{TRIALS}_anon", seed=1)
    assert made(tree).rebuilt == {NAMES[k]: "trial_vectors" for k in ("oa", "aa")}


def test_scores_of_other_inputs_are_stale(tree: SpeechTree) -> None:
    def stale() -> dict[str, str]:
        return outdated_scores(stage_of(tree))

    assert stale() == {}
    made(tree)
    assert stale() == {}
    lines_to(tree.all_scores["oa"], ["s1 s1-u0 1"])
    tree.vectors(f"{TRIALS}_anon", seed=1)
    assert stale() == {NAMES["aa"]: "stage 5 would rebuild it: trial_vectors"}
    tree.scp(f"{TRIALS}_anon").unlink()
    assert stale() == {}  # a submission comes without what its scores were made of
    tree.vectors(f"{TRIALS}_anon", seed=1)
    made(tree)
    assert stale() == {}


def test_missing_folders_are_reported(tree: SpeechTree) -> None:
    nowhere = tree.root / "nowhere"
    for access, message in (
        (TreeAccess(nowhere, nowhere / "exp"), r"nowhere: no such folder \(experiment tree\)"),
        (TreeAccess(tree.root, nowhere, keys=nowhere), r"nowhere: no such folder \(keys\)"),
        (
            TreeAccess(tree.root, tree.root / "exp/typo"),
            r"exp/typo: no such folder \(results folder\); .* another by --results",
        ),
        (
            TreeAccess(tree.root, tree.root / "no/results-x"),
            r"no/results-x: no such folder \(results folder\)",
        ),
    ):
        with pytest.raises(PrivacyEvalError, match=message):
            systems_under_test(access, tree.protocol)


# --- where the inputs come from


def test_x_vectors_of_a_superset_suffice(tree: SpeechTree) -> None:
    made(tree)
    before = tree.all_scores["oa"].read_bytes()
    own = tree.scp(f"{TRIALS}_anon")
    larger = own.parent.with_name("xvect_libri_dev_trials_all_anon")
    own.parent.rename(larger)
    scp = larger / "xvector.scp"
    scp.write_text(scp.read_text().replace(own.parent.name, larger.name))
    assert made(tree).made == names("oa", "aa")  # the note names the file
    assert tree.all_scores["oa"].read_bytes() == before


def test_anonymized_enrollment_without_a_data_folder_is_enrolled_as_the_original(
    tree: SpeechTree,
) -> None:
    thinner(tree.root / f"data/{ENROLLS}/enrolls")
    thinner(tree.root / f"data/{ENROLLS}_anon/enrolls")
    made(tree)
    before = tree.all_scores["aa"].read_bytes()
    shutil.rmtree(tree.root / f"data/{ENROLLS}_anon")
    made(tree)
    assert tree.all_scores["aa"].read_bytes() == before


def test_keys_in_a_separate_folder(tree: SpeechTree) -> None:
    keys = tree.root / "the keys"
    keys.mkdir()
    (tree.root / f"data/{TRIALS}/trials").rename(keys / TRIALS)
    assert made(tree, keys=keys).made == names("oo", "oa", "aa")


#: What is taken away; which conditions lack it, of what kind it is, and where it belongs.
GONE: dict[str, tuple[list[str], list[str], str, str]] = {
    "trials": (
        [f"data/{TRIALS}/trials", f"data/{TRIALS}_anon/trials"],
        ["oo", "oa", "aa"],
        "trial keys",
        f"data/{TRIALS}",
    ),
    "enrollment": (
        [f"data/{ENROLLS}/spk2utt", f"data/{ENROLLS}/utt2spk"],
        ["oo", "oa"],
        "enrollment sets",
        f"data/{ENROLLS}/spk2utt",
    ),
    "back end": (
        [f"{BACKEND}/plda"],
        ["oo", "oa", "aa"],
        "back end",
        f"{BACKEND}/plda (with mean.vec, transform.mat), or in {MODEL}",
    ),
    "x-vectors": (
        [f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp"],
        ["oa", "aa"],
        VECTORS,
        f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp or "
        f"{MODEL}/xvect_libri_dev_trials_all_anon/xvector.scp",
    ),
}


@pytest.mark.parametrize("gone", GONE)
def test_missing_inputs_are_named_with_their_expected_path(tree: SpeechTree, gone: str) -> None:
    files, concerned, kind, where = GONE[gone]
    for name in files:
        (tree.root / name).unlink()
    outcome = made(tree)
    assert list(outcome.missing) == names(*concerned)
    for error in outcome.missing.values():
        assert error.kind == kind
        assert error.where.startswith(where)
    assert len(outcome.made) == 3 - len(concerned)
    there = [k for k, path in tree.all_scores.items() if path.parent.exists()]
    assert there == [k for k in tree.all_scores if k not in concerned]


@pytest.mark.wing("speech")
def test_sets_of_speech_without_x_vectors(tree: SpeechTree) -> None:
    """Those that scores need, unless all of these are somebody else's; each once."""
    from privacy_eval.speech.trees.runs import missing_vectors

    def missing() -> list[tuple[str, str]]:
        return missing_vectors(stage_of(tree))

    for name in (TRIALS, f"{TRIALS}_anon", f"{ENROLLS}_anon"):
        tree.scp(name).unlink()
    assert missing() == []  # there is no speech to extract them from
    for name in (TRIALS, f"{TRIALS}_anon", f"{ENROLLS}_anon"):
        lines_to(tree.root / f"data/{name}/wav.scp", ["u x.wav"])
    sets = [(TRIALS, MODEL), (f"{TRIALS}_anon", MODEL), (f"{ENROLLS}_anon", MODEL)]
    assert missing() == sets
    lines_to(tree.all_scores["oo"], ["s1 s1-u0 1.5"])
    assert missing() == sets[1:]
    lines_to(tree.all_scores["aa"].with_name("scores.gz"), ["s1 s1-u0 1.5"])
    assert missing() == sets[1:2]


@pytest.mark.wing("speech")
def test_removed_x_vectors_are_extracted_again_despite_existing_scores(tree: SpeechTree) -> None:
    from privacy_eval.speech.trees.runs import missing_vectors

    made(tree)
    lines_to(tree.root / f"data/{TRIALS}_anon/wav.scp", ["u x.wav"])
    tree.scp(f"{TRIALS}_anon").unlink()
    assert missing_vectors(stage_of(tree)) == [(f"{TRIALS}_anon", MODEL)]


# --- bad input


def scp_line(tree: SpeechTree, name: str, target: str) -> None:
    scp = tree.scp(name)
    lines = scp.read_text().splitlines()
    lines_to(scp, [f"{lines[0].split()[0]} {target}", *lines[1:]])


def other_dimension(tree: SpeechTree) -> None:
    spoken = utterances_of(TRIALS)
    write_vectors(tree.scp(TRIALS), list(spoken), np.ones((len(spoken), 4)), tree=tree.root)


def not_a_number(tree: SpeechTree) -> None:
    archive = tree.scp(TRIALS).with_suffix(".ark")
    content = bytearray(archive.read_bytes())
    content[-4:] = np.float32("nan").tobytes()
    archive.write_bytes(content)


def huge(tree: SpeechTree) -> None:
    folder = tree.root / BACKEND
    (folder / "mean.vec").unlink()
    (folder / "transform.mat").unlink()
    spoken = utterances_of(TRIALS)
    shape = (len(spoken), 5)
    write_vectors(tree.scp(TRIALS), list(spoken), np.full(shape, 3e38), tree=tree.root)
    members = utterances_of(ENROLLS)
    write_vectors(
        tree.scp(ENROLLS), list(members), np.full((len(members), 5), 3e38), tree=tree.root
    )


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:-size])


#: By name: what is done to the files of the o-o condition, and the message.
BAD: dict[str, tuple[Callable[[SpeechTree], object], str]] = {
    "no vector of a trial": (
        lambda t: t.vectors(TRIALS, without=["s2-u1"]),
        rf"xvect_{TRIALS}/xvector.scp: no vector for 1 ids of the trials in .*{TRIALS}/trials: "
        r"s2-u1 \(.*--allow-missing",
    ),
    "no vector of an enrollment": (
        lambda t: t.vectors(ENROLLS, without=["s2-e1", "s3-e0"]),
        rf"xvect_{ENROLLS}/xvector.scp: no vector for [12] ids of the enrollment in "
        rf".*{ENROLLS}/enrolls: s2-e1",
    ),
    "a stranger enrolled": (
        lambda t: lines_to(t.root / f"data/{ENROLLS}/enrolls", ["s1-e0", "s9-e0"]),
        rf"{ENROLLS}/enrolls:2: 1 utterances have no speaker in .*spk2utt: s9-e0",
    ),
    "nobody enrolled": (
        lambda t: lines_to(t.root / f"data/{ENROLLS}/enrolls", ["s1-e0"]),
        rf"{TRIALS}/trials: 3 speakers are not enrolled in .*{ENROLLS}/enrolls: s\d, s\d, s\d$",
    ),
    "dimension": (other_dimension, rf"{TRIALS}/xvector.scp: .* of 6 dimensions, .* of 4"),
    "NaN": (not_a_number, r"xvector.scp:12: s4-u2 \(.*\): 1 of 6 values are NaN"),
    "huge values": (huge, r"scores are not finite|not finite"),
    "a pipe": (
        lambda t: scp_line(t, TRIALS, "touch pwned; cat x |"),
        r"xvector.scp:1: s1-u0 is the output of a command, which runs with --allow-pipes only",
    ),
    "truncated archive": (
        lambda t: cut(t.scp(TRIALS).with_suffix(".ark"), 3),
        r"xvector.scp:12: s4-u2 \(.*xvector.ark:\d+\)",
    ),
    "no archive": (
        lambda t: t.scp(TRIALS).with_suffix(".ark").unlink(),
        r"xvector.scp:1: s1-u0 \(.*cannot be read",
    ),
    "a path out of the tree": (
        lambda t: scp_line(t, TRIALS, "/etc/hostname:0"),
        r"xvector.scp:1: s1-u0: /etc/hostname: is outside the tree .*--allow-outside",
    ),
    "a damaged back end": (
        lambda t: cut(t.root / BACKEND / "plda", 20),
        r"xvect_train_clean_360/plda: ",
    ),
    "a back end of parts that do not fit": (
        lambda t: shutil.copy(t.root / BACKEND / "mean.vec", t.root / BACKEND / "transform.mat"),
        r"xvect_train_clean_360: LDA gives 1 dimensions, PLDA expects 5",
    ),
    "a malformed key": (
        lambda t: lines_to(t.root / f"data/{TRIALS}/trials", ["s1"]),
        rf"{TRIALS}/trials:1: expected 2 fields",
    ),
    "a trial twice": (
        lambda t: lines_to(t.root / f"data/{TRIALS}/trials", ["s1 s1-u0 target"] * 2),
        rf"{TRIALS}/trials:2: 1 duplicate",
    ),
    "an empty key": (
        lambda t: lines_to(t.root / f"data/{TRIALS}/trials", []),
        rf"{TRIALS}/trials: empty file",
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_fails_with_its_file_and_writes_nothing(tree: SpeechTree, bad: str) -> None:
    damage, message = BAD[bad]
    damage(tree)
    outcome = made(tree)
    assert NAMES["oo"] in outcome.failed
    assert re.search(message, outcome.failed[NAMES["oo"]], re.M), outcome.failed[NAMES["oo"]]
    assert not tree.all_scores["oo"].parent.exists()
    assert not (tree.root / "pwned").exists()
    assert not [p for p in tree.root.rglob("*") if p.name.endswith((".tmp", ".partial"))]


@pytest.mark.parametrize("bad", ["no vector of a trial", "truncated archive", "a damaged back end"])
def test_bad_input_leaves_the_scores_before_it(tree: SpeechTree, bad: str) -> None:
    made(tree)
    before = snapshot(tree.root / "exp/results-anon")
    BAD[bad][0](tree)
    assert NAMES["oo"] in made(tree).failed
    assert snapshot(tree.root / "exp/results-anon") == before


def test_allow_missing_records_what_it_leaves_out(tree: SpeechTree) -> None:
    tree.vectors(TRIALS, without=["s2-u1"])
    tree.vectors(f"{ENROLLS}_anon", without=["s1-e0", "s3-e0", "s3-e1"])
    outcome = made(tree, allow_missing=True)
    assert outcome.made == names("oo", "oa", "aa")
    said = {
        NAMES["oo"]: "4 trials and 0 enrollment utterances without x-vectors left out",
        NAMES["aa"]: "12 trials and 3 enrollment utterances without x-vectors left out",
    }
    assert outcome.left_out == said
    lines = {k: p.read_text().splitlines() for k, p in tree.all_scores.items()}
    assert {k: len(found) for k, found in lines.items()} == {"oo": 44, "oa": 48, "aa": 36}
    assert not [line for line in lines["oo"] if " s2-u1 " in line]
    assert not [line for line in lines["aa"] if line.startswith("s3 ")]
    again = made(tree, allow_missing=True)
    assert (again.made, again.left_out) == ([], said)
    # Not asked for any more, it is an error again, and what was whole is not touched.
    strict = made(tree)
    assert list(strict.failed) == names("oo", "aa")
    assert strict.current == names("oa")


def test_allow_missing_changes_nothing_where_nothing_is_missing(tree: SpeechTree) -> None:
    made(tree)
    assert made(tree, allow_missing=True).current == names("oo", "oa", "aa")
    assert made(tree).current == names("oo", "oa", "aa")


def test_nothing_left_to_score(tree: SpeechTree) -> None:
    tree.vectors(TRIALS, of=ENROLLS)
    outcome = made(tree, allow_missing=True)
    assert list(outcome.failed) == names("oo")
    assert f"{TRIALS}/trials: no trial whose utterances have vectors" in str(outcome.failed)


def test_pipes_and_paths_that_are_allowed(tree: SpeechTree, tmp_path: Path) -> None:
    made(tree)
    before = {k: p.read_bytes() for k, p in tree.all_scores.items()}
    shutil.rmtree(tree.root / "exp/results-anon")
    elsewhere = tmp_path / "elsewhere"
    scp = tree.scp(TRIALS)
    archive = scp.with_suffix(".ark")
    shutil.move(archive, elsewhere)
    first, *rest = scp.read_text().splitlines()
    name, place = first.split()
    offset = int(place.rpartition(":")[2])
    size = len(elsewhere.read_bytes())
    moved = [line.replace(str(archive.relative_to(tree.root)), str(elsewhere)) for line in rest]
    end = int(moved[0].rpartition(":")[2]) - len("s1-u1 ")
    command = f"head -c {end} '{elsewhere}' | tail -c {end - offset} |"
    lines_to(scp, [f"{name} {command}", *moved])
    assert size > end
    assert "--allow-pipes only" in made(tree).failed[NAMES["oo"]]
    assert "--allow-outside" in made(tree, allow_pipes=True).failed[NAMES["oo"]]
    both = made(tree, allow_pipes=True, allow_outside=True)
    assert both.made == names("oo")
    assert {k: p.read_bytes() for k, p in tree.all_scores.items()} == before


@pytest.mark.parametrize("what", ["scp", "plda", "trials", "enrolls"])
def test_links_out_of_the_tree(tree: SpeechTree, tmp_path: Path, what: str) -> None:
    path = {
        "scp": tree.scp(TRIALS),
        "plda": tree.root / BACKEND / "plda",
        "trials": tree.root / f"data/{TRIALS}/trials",
        "enrolls": tree.root / f"data/{ENROLLS}/enrolls",
    }[what]
    shutil.move(path, tmp_path / what)
    path.symlink_to(tmp_path / what)
    message = made(tree).failed[NAMES["oo"]]
    assert message.startswith(f"{path}: ") and "--allow-outside" in message
    assert NAMES["oo"] in made(tree, allow_outside=True).made


@pytest.mark.parametrize("level", ["condition", "results", "team", "beside"])
def test_scores_are_not_written_through_links(tmp_path: Path, level: str) -> None:
    """A folder of the results that leads elsewhere; --results itself may be one."""
    tree = SpeechTree(tmp_path / "tree", protocol=SMALL_PROTOCOL_2022)
    outside = tmp_path / "outside"
    theirs = lines_to(outside / f"results-x/ASV-{ENROLLS}-{TRIALS}_anon/scores", ["a b 1"])
    link = {
        "condition": tree.root / f"exp/team/results-x/ASV-{ENROLLS}-{TRIALS}_anon",
        "results": tree.root / "exp/team/results-x",
        "team": tree.root / "exp/team",
        "beside": tree.root / "exp/team/results-x.orig",
    }[level]
    target = {
        "condition": theirs.parent,
        "results": theirs.parents[1],
        "team": outside,
        "beside": lines_to(outside / "other/file", ["a"]).parent,
    }
    if level in ("condition", "beside"):
        there = tree.root / f"exp/team/results-x/ASV-{ENROLLS}-{TRIALS}/scores"
        lines_to(there, ["a b 1"])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target[level])
    before = snapshot(outside)
    outcome = made(tree, allow_outside=True)
    assert any(f"{link}: refusing to write through a symlink" in m for m in outcome.failed.values())
    assert snapshot(outside) == before


def test_results_that_the_user_chose_may_be_a_link(tree: SpeechTree, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tree.root / "results-x").symlink_to(tmp_path / "disk")
    assert len(made(tree, "results-x").made) == 3
    assert len(list((tmp_path / "disk").glob("ASV-*/scores"))) == 3


def test_progress_counts_what_can_be_made(tree: SpeechTree) -> None:
    """Not conditions that lack an input; of all jobs, one tells of these."""
    tree.scp(f"{TRIALS}_anon").unlink()
    seen: list[tuple[int, int, str]] = []
    outcomes = [
        make_scores(stage_of(tree), Run((job, 2), progress=lambda *now: seen.append(now)))
        for job in (1, 2)
    ]
    assert [len(outcome.missing) for outcome in outcomes] == [2, 0]
    made = [name for outcome in outcomes for name in outcome.made]
    assert len(made) == 1 and [(1, 1, made[0])] == seen
