"""Options of a verb from a file, repeated options, and the check of the recipe's options."""

import argparse
from pathlib import Path

import pytest
from support import Run, SpeechTree, cli, keys, lines_to, snapshot

from privacy_eval.cli import commands, parse, parser
from privacy_eval.stages.recipe import STAGES

TREE = ("--tree=t", "--results=exp", "--conf=vpc2020")


def config(folder: Path, *lines: str) -> Path:
    return lines_to(folder / "options.conf", lines)


def test_a_verb_takes_its_options_from_a_file(tmp_path: Path) -> None:
    path = config(
        tmp_path,
        "# a comment",
        "",
        *TREE,
        "--system=B #1 = 'x'  ",
        "--anon-suffix=_a _b",
        "--allow-pipes=true",
        "--details=false",
        "--seed=",
        "--stage=3",
        "--variant=2022",
    )
    options = parse("stage anonymize", ["--config", str(path)])
    assert (options.tree, options.results) == (Path("t"), Path("exp"))
    assert options.system == "B #1 = 'x'  "
    assert options.anon_suffix == ["_a", "_b"]
    assert (options.allow_pipes, options.details, options.seed) == (True, False, 0)
    assert options.variant == "2022"


def test_the_command_line_replaces_values_of_the_file(tmp_path: Path) -> None:
    path = config(tmp_path, *TREE, "--system=B1", "--anon-suffix=_a _b", "--bootstrap=20")
    words = ["--anon-suffix", "_c", "--config", str(path), "--anon-suffix=_d", "--system=B2"]
    options = parse("stage privacy-metrics", words)
    assert (options.system, options.anon_suffix, options.bootstrap) == ("B2", ["_c", "_d"], 20)


def test_verbs_that_show_results_find_them_by_the_options_of_the_recipe(tmp_path: Path) -> None:
    out = tmp_path / "a tree/o"
    for name in ("figures", "subjective"):
        (out / name).mkdir(parents=True)
    recipe = [
        f"--tree={tmp_path}/a tree",
        *("--results=exp", "--out=o", "--conf=my/c.yaml", "--system=B1", "--variant=2022"),
        *("--shown-variant=exact", "--shown-system=A B", "--nj=3", "--cmd=run_jobs.sh"),
    ]
    words = ["--config", str(config(tmp_path, *recipe))]
    tables, figures, report = (parse(verb, words) for verb in ("tables", "figures", "report"))
    for options in (tables, figures, report):
        assert options.results == [out / "results.json"]
        assert options.conf == f"{tmp_path}/a tree/my/c.yaml"
        assert (options.variant, options.system) == ("exact", ["A", "B"])
    assert [o.out for o in (tables, figures, report)] == [
        out / name for name in ("tables", "figures", "report.html")
    ]
    assert (figures.log_dir, figures.nj, figures.cmd) == (out / "log", 3, "run_jobs.sh")
    assert (report.figures, report.listening) == (out / "figures", None)
    assert parse("listening", words).ratings is None
    (tmp_path / "a tree/ratings.csv").touch()
    assert parse("report", words).listening == out / "subjective"
    listening = parse("listening", words)
    assert listening.ratings == [tmp_path / "a tree/ratings.csv"]
    assert listening.any_system is True and listening.out == out / "subjective"
    for stage, shown in ((10, None), (11, out / "subjective")):
        words = ["--config", str(config(tmp_path, *recipe, f"--stop-stage={stage}"))]
        assert parse("report", words).listening == shown


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--details=yes", "--details: expected true or false, not 'yes'"),
        ("--seed=x", "--seed: expected a whole number from 0, not 'x'"),
        ("details", ":4: expected --name=value, found 'details'"),
        ("--system=B1\n--system=B2", "--system: takes one value, but is given 2 times"),
    ],
)
def test_wrong_files_are_refused(line: str, message: str, tmp_path: Path) -> None:
    run = cli("stage", "privacy-metrics", "--config", config(tmp_path, *TREE, line))
    assert run.code in (1, 2) and message in run.err and run.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["stage", "privacy-metrics", "--results", "a", "--results", "b"],
        ["stage", "privacy-metrics", "--results", "a", "--seed=1", "--seed", "1"],
        ["tables", "--out", "a", "--out", "b"],
        ["tables", "--config", "a", "--config=b"],
    ],
    ids=" ".join,
)
def test_an_option_with_one_value_is_given_once(words: list[str]) -> None:
    run = cli(*words)
    name = next(word for word in words[3:] if word.startswith("--")).partition("=")[0]
    assert run.code == 2 and f"{name}: takes one value, but is given 2 times" in run.err


def test_options_with_several_values_add_up() -> None:
    tables = parse("tables", ["--results", "a", "b", "--results", "c", "--system=A", "--system=B"])
    assert [str(path) for path in tables.results] == ["a", "b", "c"]
    assert tables.system == ["A", "B"]


@pytest.mark.parametrize("verb", keys())
def test_every_option_with_several_values_adds_up(verb: str) -> None:
    options = [action for action in parser(verb)._actions if action.option_strings]
    several = [action for action in options if action.nargs in ("+", "*")]
    assert all(isinstance(action, argparse._ExtendAction) for action in several)


def test_a_listening_test_adds_up_repeated_options() -> None:
    words = [f"--{name}={x}" for name in ("ratings", "leave-out", "systems") for x in "ab"]
    listening = parse("listening", [*words, "--out=c"])
    assert [str(path) for path in listening.ratings] == ["a", "b"]
    assert listening.leave_out == listening.systems == ["a", "b"]


# The check before the first stage


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / "tree")


def check(tree: SpeechTree, **options: object) -> Run:
    before = snapshot(tree.root)
    given = {"tree": tree.root, "results": "exp", "conf": "./small.yaml", "stage": 0, **options}
    lines = (f"--{name.replace('_', '-')}={value}" for name, value in given.items())
    run = cli("check-options", lines_to(tree.root.with_name("options.conf"), lines))
    assert snapshot(tree.root) == before
    assert run.out == "" and "usage" not in run.err
    return run


def test_right_options_pass_in_silence(tree: SpeechTree) -> None:
    assert check(tree, shown_system="A B", nj=2, cmd="run_jobs.sh", whiskers="independent") == Run(
        0, "", ""
    )


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"nonsense": 1, "more": 2}, ("--nonsense", "--more")),
        ({"stage": "six"}, ("--stage", "'six'")),
        ({"stage": 7, "stop_stage": 6}, ("--stop-stage 6", "--stage 7")),
        ({"nj": 0}, ("--nj", "'0'")),
        ({"bootstrap": 1}, ("--bootstrap", "0 or 2 to")),
        ({"details": "maybe"}, ("--details", "true or false", "'maybe'")),
        ({"variant": "2021"}, ("--variant", "2020", "2022", "'2021'")),
        ({"shown_variant": "new"}, ("--variant", "challenge", "exact", "'new'")),
        ({"metric": "x"}, ("--metric",)),
        ({"published": "vpc1999"}, ("--published: vpc1999: no published results",)),
        ({"conf": "vpc1999"}, ("vpc1999: unknown protocol", "vpc2020")),
        ({"keys": "no"}, ("--keys: ", "/no: no such folder")),
        ({"utt2spk": "no"}, ("--utt2spk: ", "/no: no such file")),
        ({"ratings": "no"}, ("--ratings: ", "/no: no such file or folder")),
        ({"distractors": "nobody"}, ("--distractors", "'nobody'")),
        ({"anon_suffix": "_B7"}, ("_B7", "_anon (2)")),
    ],
    ids=str,
)
@pytest.mark.parametrize("stage", [0, 5])
def test_wrong_options_are_named(
    options: dict[str, object], facts: tuple[str, ...], stage: int, tree: SpeechTree
) -> None:
    run = check(tree, **{"stage": stage, **options})
    assert run.code == 2
    assert all(fact in run.err for fact in facts), run.err


def test_a_suffix_is_new_until_stage_4(tree: SpeechTree) -> None:
    new = {"anon_suffix": "_B7"}
    assert tree.run("train-backend", "--anon-suffix", "_B7").code == 0
    assert check(tree, anonymizer="mcadams", **new).code == 0
    assert check(tree, anonymizer="mcadams", stage=5, **new).code == 2


def test_ratings_matter_to_their_stage_only(tree: SpeechTree) -> None:
    assert check(tree, ratings="no", stop_stage=10).code == 0


def test_results_are_needed_after_their_stage(tree: SpeechTree) -> None:
    assert check(tree, results="exp/results-new", stage=5).code == 0
    run = check(tree, results="exp/results-new", stage=6)
    assert run.code == 1 and "results-new: no such folder; --results" in run.err


def test_every_verb_of_the_table_reads_the_file(tmp_path: Path) -> None:
    path = config(tmp_path, *TREE)
    for stage in STAGES:
        for name in stage.names:
            ((key, words),) = commands(["stage", name, "--config", str(path)])
            assert parse(key, words).conf == "vpc2020"
