"""Systems in experiment trees: the three layouts, suffixes, keys, names."""

import gzip
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import MODELS_2022, Tree, three_conditions, trial_lines, write

from privacy_eval import PrivacyEvalError
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.stages.privacy_metrics import evaluate_tree
from privacy_eval.tree.conditions import ConditionFiles, System
from privacy_eval.tree.discovery import find_systems, suffix_of_unmatched, tree_suffixes

VPC2020, VPC2022 = load_protocol("vpc2020"), load_protocol("vpc2022")


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def find(
    tree: Tree, results: str = "exp", protocol: str = "vpc2020", **options: object
) -> list[System]:
    protocols = {"vpc2020": VPC2020, "vpc2022": VPC2022}
    return find_systems(tree.root, tree.root / results, protocols[protocol], **options)  # type: ignore[arg-type]


def identities(system: System) -> list[tuple[str, ...]]:
    return [
        (
            c.condition.data_set,
            c.condition.split,
            c.condition.gender,
            f"{c.condition.enrollment[0]}-{c.condition.trial[0]}",
        )
        for c in system.conditions
    ]


def of_name(system: System, name: str) -> ConditionFiles:
    return next(c for c in system.conditions if c.condition.name == name)


# --- a checkout


@pytest.mark.parametrize("results", ["exp", "exp/results-2020-05-01", "."])
def test_a_checkout(tree: Tree, tmp_path: Path, results: str) -> None:
    tree.keys("libri_dev_trials_f", "libri_dev_trials_f_anon")
    scores = tree.libri("exp/results-2020-05-01")
    (system,) = find(tree, results)
    assert system.anon_suffix == "_anon"
    assert system.folders == (tmp_path / "exp/results-2020-05-01",)
    assert sorted(identities(system)) == [("libri", "dev", "f", x) for x in ("a-a", "o-a", "o-o")]
    assert {c.scores for c in system.conditions} == set(scores)
    first = of_name(system, "ASV-libri_dev_enrolls-libri_dev_trials_f")
    assert (first.condition.enrollment_set, first.condition.trial_set) == (
        "libri_dev_enrolls",
        "libri_dev_trials_f",
    )
    assert (first.condition.results_folder, first.condition.asv_model) == ("", "original")
    assert first.trials == tmp_path / "data/libri_dev_trials_f/trials"
    assert [c.condition.attack_model for c in system.conditions] == [
        "original",
        "ignorant",
        "lazy-informed",
    ]


def test_every_trial_set_of_the_protocol_is_identified(tree: Tree) -> None:
    for split in ("dev", "test"):
        for gender in "fm":
            tree.condition(
                "r/results-1", f"libri_{split}_enrolls", f"libri_{split}_trials_{gender}"
            )
            for common in ("", "_common"):
                tree.condition(
                    "r/results-1",
                    f"vctk_{split}_enrolls_anon",
                    f"vctk_{split}_trials_{gender}{common}_anon",
                )
    (system,) = find(tree, "r")
    assert sorted(identities(system)) == sorted(
        (data_set, split, gender, "o-o" if data_set == "libri" else "a-a")
        for data_set in ("libri", "vctk_common", "vctk_different")
        for split in ("dev", "test")
        for gender in "fm"
    )


def test_no_results(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "exp" / "results-empty").mkdir(parents=True)
    (tmp_path / "exp" / "models").mkdir()
    assert find(tree) == []


@pytest.mark.parametrize("what", ["tree", "results", "keys"])
def test_missing_folders_are_named(tmp_path: Path, what: str) -> None:
    folders = {"tree": tmp_path, "results": tmp_path, "keys": tmp_path}
    folders[what] = tmp_path / "nowhere"
    with pytest.raises(PrivacyEvalError, match=f"^{tmp_path}/nowhere: no such folder"):
        find_systems(folders["tree"], folders["results"], VPC2020, keys=folders["keys"])


def test_a_folder_without_scores_is_kept_without_them(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    name = "ASV-libri_dev_enrolls-libri_dev_trials_f"
    scores = tmp_path / "exp/results-now" / name / "scores"
    scores.unlink()
    (system,) = find(tree)
    assert of_name(system, name).scores is None
    assert name in system.missing(VPC2020)
    (scores.parent / "scores.gz").write_bytes(gzip.compress(b"x"))
    (system,) = find(tree)
    assert of_name(system, name).scores == scores.parent / "scores.gz"
    assert len(system.missing(VPC2020)) == 33


def test_unmatched_folders_are_reported(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    tree.condition("exp/results-now", "libri_dev_enrolls", "libri_dev_trials_x")
    tree.condition("exp/results-now", "libri_dev_enrolls_anon", "libri_dev_trials_f")
    (tmp_path / "exp/results-now/ASR-unknown").mkdir()
    (tmp_path / "exp/results-now/log").mkdir()
    (tmp_path / "exp/results-now/.ASV-hidden").mkdir()
    (system,) = find(tree)
    assert [p.name for p in system.unmatched] == [
        "ASR-unknown",
        "ASV-libri_dev_enrolls-libri_dev_trials_x",
        "ASV-libri_dev_enrolls_anon-libri_dev_trials_f",
    ]
    assert len(system.conditions) == 3


def test_recognition_folders(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    for name in ("ASR-libri_dev_asr", "ASR-libri_dev_asr_anon", "ASR-vctk_test_asr_anon"):
        (tmp_path / "exp/results-now" / name).mkdir()
    (system,) = find(tree)
    assert [
        (r.condition.name, r.condition.data_set, r.condition.split, r.condition.trial)
        for r in system.recognition
    ] == [
        ("ASR-libri_dev_asr", "libri", "dev", "original"),
        ("ASR-libri_dev_asr_anon", "libri", "dev", "anonymized"),
        ("ASR-vctk_test_asr_anon", "vctk", "test", "anonymized"),
    ]


# --- the pair of 2022


@pytest.mark.parametrize("results", ["exp", "exp/results-X"])
def test_the_pair_of_2022(tree: Tree, tmp_path: Path, results: str) -> None:
    tree.libri("exp/results-X")
    tree.libri("exp/results-X.orig")
    (system,) = find(tree, results, "vpc2022")
    assert system.name == "X"
    assert system.folders == (tmp_path / "exp/results-X", tmp_path / "exp/results-X.orig")
    found = {
        (c.condition.results_folder, f"{c.condition.enrollment[0]}-{c.condition.trial[0]}"): (
            c.condition.asv_model,
            c.condition.attack_model,
        )
        for c in system.conditions
    }
    assert found == MODELS_2022
    for condition in system.conditions:
        assert condition.scores.parts[-3] == f"results-X{condition.condition.results_folder}"
    assert len(system.missing(VPC2022)) == 2 * 33


def test_one_folder_of_the_pair_alone(tree: Tree) -> None:
    tree.libri("exp/results-X.orig")
    (system,) = find(tree, "exp/results-X.orig", "vpc2022")
    assert {c.condition.asv_model for c in system.conditions} == {"original"}
    assert {c.condition.results_folder for c in system.conditions} == {".orig"}


def test_from_within_the_results_folder(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.libri("exp/results-X")
    tree.libri("exp/results-X.orig")
    monkeypatch.chdir(tmp_path / "exp/results-X")
    (system,) = find_systems(Path(), Path(), VPC2022)
    assert system.name == "X"
    assert len(system.conditions) == 6


# --- a collection


#: Below `exp`: folders of results, how they are searched, and the number of conditions by system.
LAYOUTS: dict[str, tuple[list[str], dict[str, str], dict[str, int]]] = {
    "a pair under 2020": (["results-X", "results-X.orig"], {}, {"X": 3, "X.orig": 3}),
    "pairs in a collection": (
        [f"{team}/s/results-1{end}" for team in "ab" for end in ("", ".orig")],
        {"protocol": "vpc2022"},
        {"a/s": 6, "b/s": 6},
    ),
    "systems of teams": (
        ["A/sys1/results-t", "A/sys2/results-t", "B/sys1/results-t"],
        {},
        {"A/sys1": 3, "A/sys2": 3, "B/sys1": 3},
    ),
    "with the tag where a folder holds several": (
        ["results-here", "one/results-t", "two/results-a", "two/results-b_mine"],
        {},
        {"here": 3, "one": 3, "two/a": 3, "two/b_mine": 3},
    ),
    "deep": (["a/b/results-t", "a/b/c/d/e/results-t"], {}, {"a/b": 3, "a/b/c/d/e": 3}),
    "a team named as results": (["results-team/results-t"], {}, {"results-team": 3}),
    "and its systems": (["results-team/b1/results-t"], {}, {"results-team/b1": 3}),
    "folders of any name": (["team/upload", "upload"], {}, {"team/upload": 3, "upload": 3}),
    "within the results of one": (
        ["results-t", "results-t/old/results-s"],
        {"results": "exp/results-t"},
        {"t": 3},
    ),
    "a suffix in the name": (["results-2020_mine"], {}, {"2020_mine": 3}),
    "a pair with it": (
        ["results-t_mine", "results-t_mine.orig"],
        {"protocol": "vpc2022"},
        {"t_mine": 6},
    ),
}


@pytest.mark.parametrize(("folders", "how", "found"), LAYOUTS.values(), ids=LAYOUTS)
def test_systems_by_where_their_results_are(
    tree: Tree, folders: list[str], how: dict[str, str], found: dict[str, int]
) -> None:
    """Speech is marked by the suffix of the folder, if it has one."""
    for folder in folders:
        tree.libri(f"exp/{folder}", suffix="_mine" if "_mine" in folder else "_anon")
    systems = find(tree, **how)
    assert {s.name: len(s.conditions) for s in systems} == found
    assert [s.name for s in systems] == sorted(found)
    for system in systems:
        assert system.anon_suffix == ("_mine" if "_mine" in system.name else "_anon")
        assert {c.condition.system for c in system.conditions} == {system.name}
        assert not system.unmatched


def test_a_folder_name_need_not_be_the_suffix_of_its_speech(tree: Tree) -> None:
    tree.libri("exp/results-2020_mine")
    (system,) = find(tree)
    assert (system.name, system.anon_suffix, system.unmatched) == ("2020_mine", "_anon", ())


def test_results_below_the_deepest_level_are_not_dropped_silently(tree: Tree) -> None:
    tree.libri("exp/team/results-t")
    tree.libri("exp/1/2/3/4/5/6/7/results-t")
    within = "2/2/3/4/5/6/7/8/results-t"
    tree.libri(f"exp/{within}")
    first, deep, team = find(tree)
    assert (first.name, first.problem, team.problem) == ("1/2/3/4/5/6/7", None, None)
    assert deep.name == within and not deep.conditions
    assert deep.problem is not None and "eight levels" in deep.problem


def test_choosing_a_system(tree: Tree) -> None:
    tree.libri("exp/one/results-t")
    tree.libri("exp/two/results-t")
    (system,) = find(tree, name="two")
    assert system.name == "two"
    with pytest.raises(PrivacyEvalError, match="no system 'three'; available: one, two"):
        find(tree, name="three")


def test_naming_the_only_system(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    (tmp_path / "exp/results-now/ASR-libri_dev_asr").mkdir()
    (system,) = find(tree, name="mine")
    named = {x.condition.system for x in (*system.conditions, *system.recognition)}
    assert named == {"mine"} == {system.name}


def test_through_links_only_three_levels_are_looked_into(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    for folder in ("b/results-t", "b/c/results-t"):
        tree.libri(f"elsewhere/{folder}")
    (tmp_path / "tree" / "exp").mkdir()
    os.symlink("../elsewhere", tmp_path / "tree" / "exp" / "a")
    assert [s.name for s in find(tree)] == ["a/b"]


@pytest.mark.parametrize("stray", ["ASV-team/b1/results-t", "ASV-libri_dev_enrolls-x", "ASR-x"])
def test_conditions_of_one_system_hide_no_others(tree: Tree, tmp_path: Path, stray: str) -> None:
    tree.libri("exp/other/b1/results-o")
    (tmp_path / "exp" / stray).mkdir(parents=True)
    message = rf"exp: .*{stray.split('/')[0]}.* other systems \(.*exp/other/b1/results-o\)"
    with pytest.raises(PrivacyEvalError, match=message):
        find(tree)


def test_two_systems_of_one_name_are_refused(tree: Tree) -> None:
    """Also where one folder is of two systems, whose suffixes are their names."""
    tree.libri("exp/results-T1")
    tree.libri("exp/T1/results-x")
    tree.libri("exp/sys/results-1_team", suffix="_team")
    tree.condition("exp/sys/results-1_team", "libri_dev_enrolls", "libri_dev_trials_f_anon")
    tree.libri("exp/sys_anon/results-1")
    with pytest.raises(PrivacyEvalError, match="would both be the system 'T1'"):
        find(tree)
    shutil.rmtree(tree.root / "exp/T1")
    with pytest.raises(PrivacyEvalError, match="would both be the system 'sys_anon'"):
        find(tree)


# --- anonymization suffixes


def test_only_what_follows_the_first_underscore_counts(tree: Tree) -> None:
    tree.libri("exp/results-t_a_b", suffix="_a_b")
    tree.libri("exp/results-u_a_b", suffix="_b")
    systems = {s.name: s for s in find(tree)}
    assert systems["t_a_b"].anon_suffix == "_a_b"
    assert len(systems["u_a_b"].unmatched) == 2


def test_a_suffix_that_is_given(tree: Tree) -> None:
    tree.libri("exp/results-t", suffix="_own")
    (system,) = find(tree, anon_suffix="_own")
    assert (system.anon_suffix, len(system.conditions)) == ("_own", 3)
    (system,) = find(tree)
    assert len(system.conditions) == 1
    assert len(system.unmatched) == 2


def test_two_suffixes_in_one_folder_are_two_systems(tree: Tree) -> None:
    tree.libri("exp/team/results-t_mine")
    tree.libri("exp/team/results-t_mine", suffix="_mine")
    first, second = find(tree)
    assert [s.name for s in (first, second)] == ["team_anon", "team_mine"]
    assert [s.anon_suffix for s in (first, second)] == ["_anon", "_mine"]
    for system in (first, second):
        assert [m[-1] for m in sorted(identities(system))] == ["a-a", "o-a", "o-o"]
        assert {c.condition.system for c in system.conditions} == {system.name}
    shared = "ASV-libri_dev_enrolls-libri_dev_trials_f"
    assert of_name(first, shared).scores == of_name(second, shared).scores
    assert first.unmatched == second.unmatched == ()


# --- trial keys


def keyed(tree: Tree, **options: object) -> dict[str, Path | None]:
    (system,) = find(tree, **options)
    return {c.condition.trial_set: c.trials for c in system.conditions}


def test_the_original_key_is_the_key(tree: Tree) -> None:
    """A copy, which anonymization may have written, serves only where there is no other."""
    own = tree.key("data/libri_dev_trials_f_anon/trials")
    tree.libri("exp/results-now")
    assert keyed(tree) == {"libri_dev_trials_f": None, "libri_dev_trials_f_anon": own}
    original = tree.key("data/libri_dev_trials_f/trials")
    assert set(keyed(tree).values()) == {original}


def test_a_team_suffix_falls_back_on_the_usual_copy(tree: Tree) -> None:
    tree.libri("exp/results-1_mine", suffix="_mine")
    for folder in ("_anon", "_mine", ""):
        key = tree.key(f"data/libri_dev_trials_f{folder}/trials")
        assert keyed(tree)["libri_dev_trials_f_mine"] == key


COMMON = "vctk_test_trials_f_common"


@pytest.mark.parametrize(
    "key",
    [
        "vctk_common_test_trials_f",
        "vctk_common_test_trials_f_anon",
        "vctk_common_test_trials_f/trials",
        "vctk_common_test_trials_f_anon/trials",
        "vctk_common_test_trials_f.gz",
        "vctk_test_trials_f_common",
        "vctk_test_trials_f_common_anon",
        "vctk_test_trials_f_common/trials",
        "vctk_test_trials_f_common_anon/trials.gz",
    ],
)
@pytest.mark.parametrize("place", ["keys-vpc", "exp/keys-vpc"])
def test_keys_folders_in_either_naming(tree: Tree, tmp_path: Path, key: str, place: str) -> None:
    path = tmp_path / place / key
    path.parent.mkdir(parents=True)
    content = "".join(f"{t}\n" for t in trial_lines()).encode()
    path.write_bytes(gzip.compress(content) if key.endswith(".gz") else content)
    tree.condition("exp/team/s/results-1", "vctk_test_enrolls_anon", f"{COMMON}_anon")
    assert keyed(tree) == {f"{COMMON}_anon": path}
    (system,) = find(tree)
    outcome = evaluate_tree([system], tmp_path / "out", tree=tmp_path)
    assert len(outcome.made) == 1
    assert outcome.failed == {}


def test_an_original_trial_set_does_not_take_the_key_of_the_copy(tree: Tree) -> None:
    tree.key(f"keys-vpc/{COMMON}_anon")
    tree.condition("exp/results-1", "vctk_test_enrolls", COMMON)
    assert keyed(tree) == {COMMON: None}


def test_data_goes_before_keys(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    tree.key("keys-1/libri_dev_trials_f")
    tree.key("keys-2/libri_dev_trials_f")
    assert keyed(tree)["libri_dev_trials_f"] == tmp_path / "data/libri_dev_trials_f/trials"


def test_two_keys_folders_are_an_error(tree: Tree, tmp_path: Path) -> None:
    tree.libri("exp/results-1")
    first = tree.key("keys-1/libri_dev_trials_f")
    tree.key("exp/keys-2/libri_dev_trials_f/trials")
    with pytest.raises(PrivacyEvalError, match="several of .*keys-.* have a trial key.*--keys"):
        find(tree)
    assert set(keyed(tree, keys=tmp_path / "keys-1").values()) == {first}


def test_two_keys_folders_with_different_sets_are_none(tree: Tree) -> None:
    tree.libri("exp/results-1")
    tree.libri("exp/results-1", gender="m")
    female = tree.key("keys-1/libri_dev_trials_f")
    male = tree.key("keys-2/libri_dev_trials_m")
    assert set(keyed(tree).values()) == {female, male}


def test_keys_that_are_named_are_the_only_ones(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    (tmp_path / "mine").mkdir()
    assert set(keyed(tree, keys=tmp_path / "mine").values()) == {None}


def test_a_missing_key_lists_its_candidates(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "keys-vpc").mkdir()
    tree.condition("exp/results-1", "vctk_test_enrolls_anon", f"{COMMON}_anon")
    (system,) = find(tree)
    (condition,) = system.conditions
    assert condition.trials is None
    candidates = [str(p.relative_to(tmp_path)) for p in condition.key_candidates]
    assert candidates[:4] == [
        f"data/{COMMON}/trials",
        f"data/{COMMON}/trials.gz",
        f"data/{COMMON}_anon/trials",
        f"data/{COMMON}_anon/trials.gz",
    ]
    assert "keys-vpc/vctk_common_test_trials_f_anon" in candidates
    (failure,) = evaluate_tree([system], tmp_path / "out", tree=tmp_path).failed.values()
    assert f"no trial key for {COMMON}_anon; looked for data/{COMMON}/trials," in failure


# --- links


def test_loops_of_links_end(tree: Tree, tmp_path: Path) -> None:
    tree.libri("exp/team/results-1")
    os.symlink(tmp_path / "exp", tmp_path / "exp/team/loop")
    os.symlink("itself", tmp_path / "exp/itself")
    os.symlink("nowhere", tmp_path / "exp/results-broken")
    os.symlink("../results-1", tmp_path / "exp/team/results-1/ASV-again")
    systems = find(tree)
    assert "team" in [s.name for s in systems]
    team = next(s for s in systems if s.name == "team")
    assert len(team.conditions) == 3
    assert [p.name for p in team.unmatched] == ["ASV-again"]


def test_many_links_that_lead_back_are_searched_once(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.libri("exp/team/results-1")
    (tmp_path / "exp/other").mkdir()
    for number in range(50):
        os.symlink("..", tmp_path / f"exp/team/l{number}")
        os.symlink("../team", tmp_path / f"exp/other/l{number}")
    real, read = os.scandir, Counter[str]()

    def counted(folder: Path) -> Any:
        read[os.path.realpath(folder)] += 1
        return real(folder)

    monkeypatch.setattr(os, "scandir", counted)
    assert [s.name for s in find(tree)] == ["team"]
    assert max(read.values()) < 5


def test_links_to_results_of_others_count(tree: Tree, tmp_path: Path) -> None:
    """As the pair of 2022 may share results of original speech."""
    tree.libri("exp/a/results-1")
    tree.condition("exp/a/results-1.orig", "libri_dev_enrolls", "libri_dev_trials_f")
    tree.libri("exp/b/results-1")
    os.symlink("../a/results-1.orig", tmp_path / "exp/b/results-1.orig")
    systems = find(tree, protocol="vpc2022")
    assert [(s.name, len(s.folders)) for s in systems] == [("a", 2), ("b", 2)]


def test_systems_of_unprintable_names_are_left_out_with_their_problem(
    tree: Tree, tmp_path: Path
) -> None:
    tree.libri("exp/good/results-1")
    for number, name in enumerate(
        ["two\nlines", "\x1b[31mred", "\u202edesrever", "zero\u200bwidth", "no-utf-8\udcff", "end "]
    ):
        tree.libri(f"exp/{name}/results-{number}")
        systems = find(tree)
        (refused,) = (s for s in systems if s.problem)
        assert [s.name for s in systems if s.conditions] == ["good"]
        assert refused.problem is not None and "rename it" in refused.problem
        for text in (refused.name, refused.problem):
            assert text.isprintable() and text.isascii()
        shutil.rmtree(tmp_path / "exp" / name)
    tree.libri("exp/results-x_\nforged", suffix="_\nforged")
    problems = [s.problem for s in find(tree)]
    assert problems[0] is None and "x_\\nforged" in str(problems[1])


# --- likely mistakes


@pytest.mark.parametrize("results", ["exp", "nowhere"])
def test_the_parent_of_a_wrong_tree_is_named(tree: Tree, tmp_path: Path, results: str) -> None:
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "exp").mkdir()
    message = f"{tmp_path} looks like the tree: --tree {tmp_path}"
    with pytest.raises(PrivacyEvalError, match=message):
        find_systems(tmp_path / "exp", tmp_path / "exp" / results, VPC2020)


def test_suffixes_of_a_tree_and_of_unmatched_folders(tree: Tree, tmp_path: Path) -> None:
    protocol = VPC2020
    for name in (
        "libri_dev_trials_f",
        "libri_dev_trials_f_mine",
        "libri_dev_enrolls_anon",
        "vctk_dev_trials_f_all_anon",
        "vctk_dev_trials_f_common",
        "train_x",
    ):
        (tmp_path / "data" / name).mkdir(parents=True)
    assert list(tree_suffixes(tmp_path, protocol).items()) == [("_anon", 2), ("_mine", 1)]
    names = ["ASV-x", "ASV-libri_dev_enrolls-vctk_dev_trials_f_common_mine"]
    assert suffix_of_unmatched(names, protocol) == "_mine"
    assert suffix_of_unmatched(names[:1], protocol) is None


def test_the_same_keys_folder_by_two_paths_is_one(tree: Tree, tmp_path: Path) -> None:
    key = tree.key("keys-vpc/libri_dev_trials_f")
    tree.libri("results-1")
    os.symlink("keys-vpc", tmp_path / "keys-again")
    (system,) = find(tree, ".")
    found = {c.trials.resolve() for c in system.conditions if c.trials is not None}
    assert found == {key.resolve()}


def edition(tree: Path, *models: str) -> dict[str, tuple[str, ...]]:
    """The systems of models' folders with one condition each, and where they are from."""
    for model in models:
        suffix = re.sub(".*asv_(anon|orig)", "", model)
        name = f"libri_dev_enrolls{suffix}-libri_dev_trials_f{suffix}"
        write(tree / "exp" / model / name / "scores", "")
    systems = find_systems(tree, tree / "exp", load_protocol("vpc2024"))
    exp = tree / "exp"
    return {s.name: tuple(f.relative_to(exp).as_posix() for f in s.folders) for s in systems}


def test_systems_of_teams_are_told_apart(tmp_path: Path) -> None:
    found = edition(
        tmp_path,
        *("asv_orig", "asv_anon_x", "asv_anon-x", "red/asv_anon_x", "red/asv_orig"),
        *("blue/one/exp/asv_anon_x", "blue/result_for_submission_z/asv_anon_z"),
        *("green/asv_anon_x", "green/exp/asv_anon_x", ".hidden/asv_anon_x", "gray/asv_of_ours"),
    )
    assert found == {
        "_x": ("asv_anon_x", "asv_orig"),
        "-x": ("asv_anon-x", "asv_orig"),
        "red/x": ("red/asv_anon_x", "red/asv_orig"),
        "blue/one/x": ("blue/one/exp/asv_anon_x", "asv_orig"),
        "blue/z": ("blue/result_for_submission_z/asv_anon_z", "asv_orig"),
        "green/_x": ("green/asv_anon_x", "asv_orig"),
        "green/exp/_x": ("green/exp/asv_anon_x", "asv_orig"),
    }
