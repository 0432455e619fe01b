"""The recipes' own logic: options, stages, what is passed on. A stand-in does the computing."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT, Run, executable, ok, refused, run_program

from privacy_eval.cli import every_verb, parser, stage_runs
from privacy_eval.cli.stages import stage_commands, stage_options
from privacy_eval.stages.recipe import STAGES
from privacy_eval.wings import provided

# Prints its arguments but --config, one in each <>, and leaves what the next stage needs. $CHECK
# checks the options, if that is set.
FAKE_COMMAND = """#!/bin/bash
if [ "$1" = check-options ]; then ${CHECK-true} "$@"; exit; fi
if [ "$1" = stage ]; then shift; fi
verb=${1//_/-}
shift
if [ "$1" = --config ]; then
    option() { sed -n "s/^--$1=//p" "$options"; }
    options=$2
    shift 2
    out=$(option out)
    out=${out:-$(option results)/privacy_eval}
    case $out in /*) ;; *) out=$(option tree)/$out ;; esac
fi
if [ "$verb" = data ]; then exec "$PRIVACY_EVAL_ROOT/local/data.sh" --tree "$(option tree)"; fi
printf '<%s>' "$verb" "$@"
echo
if [ -n "${FAKE_ENDING-}" ]; then echo "there after $verb" >>"$PRIVACY_EVAL_ENDING"; fi
case $verb in
    demo-tree)
        mkdir -p "$1/exp/results-x/ASV-a-b"
        touch "$1/exp/results-x/ASV-a-b/scores"
        ;;
    tables)
        mkdir -p -- "$out/tables"
        printf '%s' "$FAKE_TABLE" >"$out/tables/tables.tex"
        echo "the main results" >"$out/tables/summary.txt"
        ;;
    listening)
        mkdir -p -- "$out/subjective/tables"
        printf '%s' "$FAKE_TABLE" >"$out/subjective/tables/tables.tex"
        ;;
esac
exit "${FAKE_CODE-0}"
"""

FAKE_PDFLATEX = """#!/bin/bash
echo run >>"$FAKE_RUNS"
echo "the log" >tables.log
grep -q good tables.tex && cp tables.tex tables.pdf
"""


class Recipe:
    """A copy of the recipes (so that no .venv is beside them), a tree, the stand-ins, and the
    real command."""

    def __init__(self, folder: Path, real: Path) -> None:
        self.real = str(real)
        self.copy = folder / "the copy"
        for name in ("scripts", "local", "recipes"):
            # Without work: a demo that was run here may be large.
            ignore = shutil.ignore_patterns("work")
            shutil.copytree(ROOT / name, self.copy / name, symlinks=True, ignore=ignore)
        table = "privacy_eval/stages/recipe.py"
        (self.copy / table).parent.mkdir(parents=True)
        shutil.copy(ROOT / table, self.copy / table)
        self.tree = folder / "a JOB tree"
        self.out = self.tree / "exp/privacy_eval"
        (self.tree / "exp/results-x/ASV-a-b").mkdir(parents=True)
        (self.tree / "exp/results-x/ASV-a-b/scores").write_text("")
        self.bin = folder / "bin"
        executable(self.bin / "privacy-eval", FAKE_COMMAND)
        executable(self.bin / "pdflatex", FAKE_PDFLATEX)
        self.pdflatex_runs = folder / "runs"

    def run(self, *arguments: object, name: str = "vpc2020", **environment: str) -> Run:
        environment = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "VIRTUAL_ENV": "",  # of whoever runs the tests
            "CONDA_PREFIX": "",
            "FAKE_TABLE": "good",
            "FAKE_RUNS": str(self.pdflatex_runs),
            **environment,
        }
        script = self.copy / "recipes" / name / "run.sh"
        return run_program(script, *arguments, cwd=self.tree, **environment)

    def stages(self, first: int, last: int, *more: object, **environment: str) -> Run:
        run = ok(self.run("--stage", first, "--stop-stage", last, *more, **environment))
        return run

    def options(self, out: Path | None = None) -> dict[str, str]:
        """The options that the last run recorded."""
        lines = ((out or self.out) / "options.conf").read_text().splitlines()
        return dict(line.removeprefix("--").split("=", 1) for line in lines)


@pytest.fixture
def recipe(tmp_path: Path, preloaded_venv: Path) -> Recipe:
    return Recipe(tmp_path, preloaded_venv / "bin/privacy-eval")


def declared(name: str) -> list[str]:
    """The options that a recipe declares, in order."""
    text = (ROOT / "recipes" / name / "run.sh").read_text()
    block = text.split("# --- options\n")[1].split("# --- end of options")[0]
    return [option.replace("_", "-") for option in re.findall(r"^(\w+)=", block, re.M)]


OPTIONS = {name: declared(name) for name in ("vpc2020", "vpc2024", "demo")}
LAST = max(stage.number for stage in STAGES)


@pytest.mark.parametrize("name", OPTIONS)
def test_help_lists_the_options(name: str, recipe: Recipe) -> None:
    run = ok(recipe.run("--help", name=name))
    listed = [line.split()[0] for line in run.out.splitlines() if line.startswith("  --")]
    assert listed == [f"--{option}" for option in OPTIONS[name]]
    assert {"--stage", "--stop-stage", "--nj", "--bootstrap", "--attackers"} <= {*listed}


@pytest.mark.parametrize("name", OPTIONS)
def test_bad_usage(recipe: Recipe, name: str) -> None:
    refused(recipe.run("--recipe", "/tmp", name=name), "unknown option --recipe", code=2)
    remedy = "--set NAME=VALUE" if "set" in OPTIONS[name] else "--help"
    refused(recipe.run("--above", "5", name=name), remedy, code=2)
    refused(recipe.run("word", name=name), "unexpected argument 'word'", code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--stop-stage="], 2, "--stop-stage must not be empty"),
        (["--cmd", "nosuch.pl --mem 4G"], 2, "--cmd: no command 'nosuch.pl'"),
        (["--stage", "6", "--results", "no/where"], 1, "no/where: no such folder; --results"),
        (["--results="], 2, "--results must not be empty"),
        (["--tree", "no/such/folder"], 1, "no/such/folder: no such folder"),
        (["--system", "B\n1"], 2, "--system must not contain a line break"),
    ],
)
def test_bad_values(
    recipe: Recipe, arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    run = recipe.run(*arguments, CHECK=recipe.real, TMPDIR=str(temporary))
    assert (run.code, run.out) == (code, "")
    assert message in run.err
    assert not recipe.out.exists() and list(temporary.iterdir()) == []


@pytest.mark.parametrize("form", [["--tree=-x"], ["--tree", "-x"]])
def test_values_with_leading_dashes_are_not_options(form: list[str], recipe: Recipe) -> None:
    """Neither of the commands nor of the shell's tools."""
    (recipe.tree / "-x").mkdir()
    shutil.copytree(recipe.tree / "exp", recipe.tree / "-x/-exp")
    more = ("--results=-exp", "--anon-suffix=-anon", "--system=-s")
    recipe.stages(0, 10, *form, *more)
    options = recipe.options(recipe.tree / "-x/-exp/privacy_eval")
    names = ("tree", "results", "anon-suffix", "system")
    assert [options[name] for name in names] == ["-x", "-exp", "-anon", "-s"]
    assert (recipe.tree / "-x/-exp/privacy_eval/tables/tables.pdf").is_file()


def test_table_of_stages_names_scripts_verbs_and_modules(recipe: Recipe) -> None:
    """One name per stage, from the recipe to the log."""
    text, of_stages = recipe.run("--help").out, stage_options()
    for stage in STAGES:
        assert f"{stage.number:2} | {', '.join(stage.names)} " in text
        for name in stage.names:
            ((key, _),) = stage_commands([name], parser)
            assert parser(key).get_default("run") is not None
            assert (
                key in every_verb()
                or "plan" in of_stages[key.removeprefix("stage ")]
                or vars(stage_runs).get(name)
                or provided(name)
            )
    for path in (ROOT / "local").glob("*.sh"):
        if path.stem not in ("data", "kaldi_xvectors"):
            assert path.read_text().splitlines()[-1] == f'exec privacy-eval stage {path.stem} "$@"'


def test_every_stage_says_what_it_does(recipe: Recipe) -> None:
    run = recipe.stages(0, LAST)
    for stage in STAGES:
        assert run.err.count(f" Stage {stage.number}: ") == 1
    script = (recipe.copy / "recipes/vpc2020/run.sh").read_text()
    expected: list[str] = []
    for stage in STAGES:  # all of a number in one process, or one after the other
        own, number = [name.replace("_", "-") for name in stage.names], str(stage.number)
        expected += [number] if re.search(rf"\btry {number}\b", script) else own
    verbs = [line.split(">")[0][1:] for line in run.out.splitlines() if line[0:1] == "<"]
    assert verbs == [verb for verb in dict.fromkeys(expected) if verb != "data"]
    assert verbs[-3:] == ["figures", "report", "listening"]
    assert "(exp/privacy_eval/results.json -> exp/privacy_eval/tables)" in run.err


def test_only_the_requested_stages_run(recipe: Recipe) -> None:
    run = recipe.stages(7, 8, "--distractors", "train_clean_360")
    assert run.err.count(" Stage ") == 2
    assert run.out == "<7>\n<collect>\n"


def test_options_are_recorded_as_they_were_given(recipe: Recipe, tmp_path: Path) -> None:
    """Those with a value, of any characters but a line break; the job runner is cmd.sh's."""
    given = {"system": "B #1 = '$x' \\", "keys": " the keys ", "allow-missing": "true", "seed": "7"}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    recipe.stages(6, 6, "--tree", recipe.tree, *words)
    options = recipe.options()
    assert {name: options.pop(name) for name in given} == given
    assert options.pop("tree") == str(recipe.tree) and options.pop("cmd") == "run_jobs.sh"
    assert all(options.values()) and "out" not in options
    assert set(options) < set(OPTIONS["vpc2020"])
    assert [path.name for path in recipe.out.iterdir()] == ["options.conf"]
    # Each run has its own.
    recipe.stages(6, 6, "--tree", recipe.tree, "--out", tmp_path / "another", "--seed", 8)
    assert recipe.options(tmp_path / "another")["seed"] == "8"
    assert recipe.options()["seed"] == "7"


def test_nothing_is_written_before_stage_2(recipe: Recipe) -> None:
    recipe.stages(0, 1)
    assert not recipe.out.exists()


def test_another_option_and_stage_are_a_line_and_a_block(recipe: Recipe) -> None:
    script = recipe.copy / "recipes/vpc2020/run.sh"
    text = script.read_text().replace("# --- end of", "depth=3  # how deep\n# --- end of")
    free = LAST + 1
    block = f"if begin {free}; then\n    try count\nfi\n\nshow_results"
    script.write_text(text.replace("show_results", block))
    table = recipe.copy / "privacy_eval/stages/recipe.py"
    row = f"{free} | count | counting | a -> b"
    table.write_text(table.read_text().replace('\n"""  # noqa', f'\n{row}\n"""  # noqa'))
    assert f"\n{free} | count | counting" in recipe.run("--help").out
    run = recipe.stages(free, free, "--depth", 4)
    assert f" Stage {free}: counting (a -> b)\n" in run.err and run.out.startswith("<count>\n")
    assert recipe.options()["depth"] == "4"


@pytest.mark.parametrize("runner", ["run.pl", "queue.pl", "slurm.pl"])
def test_kaldis_runners_by_the_lines_of_cmd_sh(recipe: Recipe, runner: str) -> None:
    kaldi = recipe.copy.parent / "kaldi"
    executable(kaldi / "egs/wsj/s5/utils/parallel" / runner, "#!/bin/bash\n")
    cmd = recipe.copy / "recipes/vpc2020/cmd.sh"
    lines = cmd.read_text().splitlines()
    chosen = [x.removeprefix("# ") for x in lines if x.startswith("# export") and runner in x]
    assert len(chosen) == 1
    cmd.write_text("\n".join([*lines, *chosen, ""]))
    recipe.stages(6, 6, "--tree", recipe.tree, KALDI_ROOT=str(kaldi))
    memory = "" if runner == "run.pl" else " --mem 4G"
    expected = f"{kaldi}/egs/wsj/s5/utils/parallel/{runner}{memory}"
    assert recipe.options()["cmd"] == expected


def test_errors_of_the_check_do_not_end_the_recipe(recipe: Recipe) -> None:
    run = recipe.run("--stage", 0, "--stop-stage", 1, FAKE_CODE="1")
    assert run.code == 1 and " Stage 1: " in run.err and "stage 0 found errors" in run.err


@pytest.mark.parametrize("stage", [5, 6, 8, 9])
def test_failing_command_ends_the_recipe(recipe: Recipe, stage: int) -> None:
    run = refused(recipe.run("--stage", stage, FAKE_CODE="1"), f" Stage {stage}: ")
    assert f" Stage {stage + 1}: " not in run.err


def test_output_folder(recipe: Recipe, tmp_path: Path) -> None:
    out = tmp_path / "own"
    printed = recipe.stages(9, 9, "--out", out, "--conf", "my/c.yaml").out
    assert printed.splitlines() == [
        *("<tables>", "", "the main results", "", f"tables        {out}/tables")
    ]
    assert recipe.options(out)["conf"] == "my/c.yaml"


def test_data_are_asked_for_and_never_fetched(recipe: Recipe) -> None:
    run = recipe.stages(1, 1)
    assert "has no data folder" in run.out and "password" in run.out
    (recipe.tree / "data").mkdir()
    assert "password" not in recipe.stages(1, 1).out
    (recipe.tree / "exp/models").mkdir()
    assert "--extractor" in recipe.stages(1, 1).out
    (recipe.tree / "exp/models/final.raw").touch()
    assert recipe.stages(1, 1).out == ""


def test_listening_test_is_evaluated_where_there_are_ratings(recipe: Recipe) -> None:
    run = recipe.stages(10, 11, "--out", "o")
    assert run.out.splitlines()[:3] == ["<figures>", "<report>", "<listening>"]
    (recipe.tree / "ratings.csv").touch()
    run = recipe.stages(10, 11, "--out", "o")
    assert run.out.splitlines()[:3] == ["<figures>", "<listening>", "<report>"]
    assert (recipe.tree / "o/subjective/tables/tables.pdf").is_file()
    assert recipe.stages(10, 10, "--out", "o").out.splitlines()[:2] == ["<figures>", "<report>"]
    (recipe.tree / "ratings.csv").rename(recipe.tree / "rated")
    run = recipe.stages(11, 11, "--out", "o", "--ratings", "rated")
    assert run.out.splitlines()[:2] == ["<listening>", "<report>"]


def test_outputs_of_an_earlier_run_are_listed_as_such(recipe: Recipe) -> None:
    recipe.out.mkdir()
    names = {"results.json", "tables", "report.html"}
    for name in ("results.json", "report.html"):
        (recipe.out / name).touch()

    def earlier(*options: object) -> dict[str, bool]:
        run = ok(recipe.run("--stop-stage", *options))
        lines = [line.split(maxsplit=1) for line in run.out.splitlines() if "privacy_eval/" in line]
        listed = {line[0]: line[1] for line in lines if line[0] in names}
        return {name: "(of an earlier run)" in path for name, path in listed.items()}

    assert earlier(9) == {"results.json": False, "tables": False, "report.html": True}
    assert earlier(10) == dict.fromkeys(names, False)
    later = earlier(10, "--stage", 10)
    assert later == {"results.json": True, "tables": True, "report.html": False}


def test_scripts_name_no_data_sets() -> None:
    """They serve other protocols, too."""
    scripts = [*(ROOT / "local").glob("*.sh"), *(ROOT / "recipes/vpc2020").glob("*.sh")]
    assert len(scripts) > 5
    for path in scripts:
        assert not re.search(r"libri|vctk|_anon\b", path.read_text(), re.IGNORECASE), path


def test_pdf_is_made_once_and_only_of_good_tables(recipe: Recipe, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    pdf = recipe.out / "tables/tables.pdf"
    for table, n_runs in (("good", 2), ("good", 2), ("as good", 4)):
        recipe.stages(9, 9, FAKE_TABLE=table, TMPDIR=str(temporary))
        assert pdf.read_text() == table
        assert recipe.pdflatex_runs.read_text().split() == ["run"] * n_runs
    run = recipe.run(*("--stage", 9, "--stop-stage", 9), FAKE_TABLE="bad", TMPDIR=str(temporary))
    assert run.code == 0 and "warning: pdflatex failed" in run.err  # TeX is optional
    assert re.search(r"lines of \S.*/tables.log:\n    the log\n", run.err)
    assert not pdf.exists()
    recipe.stages(9, 9, TMPDIR=str(temporary))
    assert {path.name for path in pdf.parent.iterdir()} == {
        *(".tables.pdf.stamp", "summary.txt", "tables.pdf", "tables.tex")
    }
    assert list(temporary.iterdir()) == []


def test_tables_in_the_folder_more_are_compiled(recipe: Recipe, tmp_path: Path) -> None:
    executable(recipe.bin / "pdflatex", "#!/bin/sh\ncat tables.tex more/one.tex >tables.pdf\n")
    tables = tmp_path / "tables"
    (tables / "more").mkdir(parents=True)
    (tables / "tables.tex").write_text("all ")
    path = f"{recipe.bin}:/usr/bin:/bin"
    for text in ("old", "new"):
        (tables / "more/one.tex").write_text(text)
        ok(run_program(ROOT / "scripts/compile_tables.sh", tables, cwd=tmp_path, PATH=path))
        assert (tables / "tables.pdf").read_text() == f"all {text}"


def test_without_pdflatex_the_tables_stay_as_they_are(recipe: Recipe) -> None:
    (recipe.bin / "pdflatex").unlink()
    tools = "awk bash cp date dirname env head mkdir mktemp mv nproc readlink rm sed tail wc"
    for tool in tools.split():
        (recipe.bin / tool).symlink_to(shutil.which(tool) or tool)
    run = recipe.stages(9, 9, PATH=str(recipe.bin))
    assert "pdflatex is not installed" in run.err
    assert (recipe.out / "tables/tables.tex").read_text() == "good"
    assert not (recipe.out / "tables/tables.pdf").exists()


def test_demo_makes_a_tree_and_runs_the_recipe_on_it(recipe: Recipe) -> None:
    (recipe.copy / "scripts/ensure_env.sh").write_text("#!/bin/bash\n[ $* = run ]\n")
    run = ok(recipe.run("--dir", "new/demo tree", "--seed", "3", name="demo"))
    lines = run.out.splitlines()
    assert lines[0] == "<demo-tree><new/demo tree><--seed><3>"
    assert {"<6>", "<collect>", "<report>"} <= set(lines)
    assert "\n\nthe main results\n\ntables        new/demo tree/results/tables\n" in run.out
    options = recipe.options(recipe.tree / "new/demo tree/results")
    expected = {"tree": "new/demo tree", "conf": "vpc2020", "bootstrap": "500"}
    assert {name: options[name] for name in expected} == expected
    run = ok(recipe.run("--dir", "other", "--stage", "7", "--stop-stage", "7", name="demo"))
    assert run.out.splitlines() == [*("<demo-tree><other><--seed><0>", "<7>")]


#: A command whose libraries are there once the file beside it is, and what installs them.
OF_MODELS = """#!/bin/bash
printf '<%s>' "$@"
echo
case "$*" in
    *--libraries*) [ -e "${0%/*}/installed" ] || { echo "pip install" >&2; exit 1; } ;;
esac
"""
INSTALLS = """#!/bin/bash
[ "$*" = run ] && exit
echo "installs $*"
touch "${0%/*}/../.venv/bin/installed"
"""


@pytest.mark.parametrize("place", ["own", "active", "by hand", "no network"])
def test_libraries_of_models_are_installed_before_downloads(recipe: Recipe, place: str) -> None:
    """Into the toolkit's own environment only; in others the command is named."""
    own = recipe.copy / ".venv"
    executable(own / "bin/privacy-eval", OF_MODELS)
    executable(recipe.bin / "bin/privacy-eval", OF_MODELS)
    if place != "by hand":
        (own / ".privacy_eval_stamp").write_text("")
    script = "#!/bin/bash\n[ $* = run ]\n" if place == "no network" else INSTALLS
    executable(recipe.copy / "scripts/ensure_env.sh", script)
    active = {"VIRTUAL_ENV": str(recipe.bin)} if place == "active" else {}
    options = ("--speech", ".", "--get-models", "true", "--stop-stage", 1)
    run = recipe.run(*options, name="real_speech", **active)
    named = "<ge2e><d-vector><dnsmos>"
    libraries = f"<get-model><--check><--libraries>{named}<phones>"
    if place == "own":
        assert run.code == 0, run.err
        assert run.out.splitlines() == [
            *(libraries, "installs models", libraries),
            f"<get-model><--check>{named}<phones>",
        ]
        again = recipe.run(*options, name="real_speech")
        assert again.code == 0 and "installs" not in again.out
    else:
        assert run.code == 1 and "pip install" in run.err
        assert {*run.out.splitlines()} == {libraries}


@pytest.mark.parametrize(
    ("stage", "options", "message"),
    [
        # Before stage 0, which checks the tree, as before any other.
        (0, ["--published", "vpc1999"], "--published: vpc1999: no published results of this name"),
        (6, ["--published", "vpc1999"], "--published: vpc1999: no published results of this name"),
        (6, ["--conf", "plan/my.yaml"], "a path is relative to "),
        (6, ["--whiskers", "foo"], "--whiskers: invalid choice: 'foo'"),
        (6, ["--extractor", "foo"], "--extractor: expected kaldi or a command with"),
        (0, ["--system", "B7"], "no system 'B7'; available: x, y"),
        (6, ["--system", "B7"], "no system 'B7'; available: x, y"),
        (6, ["--results", "exp/results-demo_b1"], "no such folder, but results-demo_B1"),
    ],
)
def test_options_are_checked_once_before_any_work(
    recipe: Recipe, stage: int, options: list[str], message: str
) -> None:
    for name in ("exp/results-y/ASV-a-b", "exp/results-demo_B1", "data/libri_dev_enrolls_anon"):
        (recipe.tree / name).mkdir(parents=True)
    if "--system" in options:
        shutil.rmtree(recipe.tree / "data")
    run = recipe.run("--stage", stage, *options, CHECK=recipe.real)
    assert (run.code, run.out) == (2, "")
    assert run.err.count(message) == 1
    assert " Stage " not in run.err and "--allow-missing" not in run.err


@pytest.mark.parametrize(
    ("name", "folders", "told"),
    [
        ("vpc2020", ["asv_orig", "asv_anon_x"], "recipes/vpc2024/run.sh --tree . --conf vpc2024"),
        ("vpc2020", ["asv_anon_track2_10_fr_x", "asv_ssl"], "--conf vpc2026_track2"),
        ("vpc2024", ["asv_ssl", "asv_anon_x"], "--conf vpc2026_track1"),
        ("vpc2024", ["results-x"], "recipes/vpc2020/run.sh --tree . --conf vpc2020"),
        ("vpc2024", ["results-x", "results-x.orig"], "--conf vpc2022"),
        ("vpc2024", ["team/results-x", "team/results-x.orig"], "--conf vpc2022"),
        ("vpc2024", ["asv_anon_x"], ""),
        ("vpc2024", ["another"], ""),
        ("vpc2020", ["another"], ""),
        ("vpc2020", ["results-x", "asv_anon_x"], ""),
    ],
)
def test_a_tree_of_another_edition_is_recognized(
    recipe: Recipe, name: str, folders: list[str], told: str
) -> None:
    """In one line that names its recipe; a protocol of one's own is taken as it is."""
    shutil.rmtree(recipe.tree / "exp")
    for folder in folders:
        (recipe.tree / "exp" / folder).mkdir(parents=True)
    run = recipe.run("--stage", 0, "--stop-stage", 0, name=name, CHECK=recipe.real)
    lines = [line for line in run.err.splitlines() if "looks like a tree of" in line]
    assert run.code == (2 if told else 0), run.err
    assert (len(lines), told in "".join(lines)) == (bool(told), True)
    if told:
        (recipe.tree / "own.yaml").write_text(f"extends: {name}\n")
        words = ("--stage", 0, "--stop-stage", 0, "--conf", "own.yaml")
        assert recipe.run(*words, name=name, CHECK=recipe.real).code == 0


@pytest.mark.parametrize("name", ["vpc2020", "vpc2024"])
def test_help_is_of_the_recipes_edition(recipe: Recipe, name: str) -> None:
    listed = recipe.run("--help", name=name).out
    options = {line.split()[0]: line for line in listed.splitlines() if line.startswith("  --")}
    assert f" {name} " in options["--conf"] and name in options["--published"]
    other = "vpc2024" if name == "vpc2020" else "vpc2020"
    assert other not in options["--conf"] + options["--published"]


def test_a_stage_ends_with_one_line_of_all_its_commands(recipe: Recipe) -> None:
    run = recipe.stages(6, 10, FAKE_ENDING="1")
    ends = [line for line in run.out.splitlines() if line.startswith("there")]
    assert ends == [
        *(f"there after {verb}" for verb in ("6", "7", "collect", "tables")),
        "there after figures; there after report",
    ]


def test_the_last_line_says_what_was_left_out(recipe: Recipe) -> None:
    assert recipe.stages(8, 8).err.endswith(" Done\n")
    recipe.out.mkdir(exist_ok=True)
    (recipe.out / "left_out.txt").write_text("B1: one\nB2: two\n")
    last = recipe.stages(8, 8).err.splitlines()[-1]
    assert "not complete: 2 notes" in last and "left_out.txt, first: B1: one" in last


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_shows_a_line_per_stage(recipe: Recipe, no_color: str) -> None:
    """With counts of something, and a duration; in bold type unless that is unwelcome."""
    text = "#!/bin/sh\n[ $1 != check-options ] || exit 0\necho '2 |'\n"
    text += 'echo "there: 7 up to date" >>"$PRIVACY_EVAL_ENDING"\n'
    executable(recipe.bin / "privacy-eval", text)
    script = recipe.copy / "recipes/vpc2020/run.sh"
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [script, "--stage", "3", "--stop-stage", "3"],
        cwd=recipe.tree,
        env={"PATH": f"{recipe.bin}:/usr/bin:/bin", "TERM": "xterm", "NO_COLOR": no_color},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    chunks = []
    with contextlib.suppress(OSError):  # the end of a terminal
        while chunk := os.read(ours, 10000):
            chunks.append(chunk)
    os.close(ours)
    printed = b"".join(chunks).decode()
    assert done.returncode == 0, printed
    shown = printed.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert re.search(r"\x1b\[KStage 3  .*: there: 7 up to date \(\d+ s\)\r\n    2 \|", shown)
    assert (shown == printed) is bool(no_color)


def test_few_more_jobs_than_processors_on_this_machine(recipe: Recipe) -> None:
    executable(recipe.bin / "nproc", "#!/bin/sh\necho 1\n")
    run = recipe.stages(6, 6, "--nj", 1000)
    assert recipe.options()["nj"] == "4"
    assert run.err.count("Running 4 jobs") == 1


@pytest.mark.parametrize("allow_missing", ["true", "false"])
def test_an_unwritable_output_is_not_reported_as_failed_conditions(
    recipe: Recipe, allow_missing: str
) -> None:
    run = recipe.run("--stage", 6, "--allow-missing", allow_missing, FAKE_CODE="3")
    assert run.code == 1
    assert "failed for some" not in run.err and "kept" not in run.err
    assert " Stage 7" not in run.err


def test_what_failed_does_not_end_the_run(recipe: Recipe) -> None:
    """A verb that names failures is the end of their results only: the run ends with 1."""
    recipe.stages(6, 6)  # so that the output folder exists
    failed = recipe.out / "failed"
    line = "B1 x: empty"
    fails = f'mkdir -p "{failed}"; echo "{line}" >"{failed}/similarity.txt"; exit ${{CODE-1}}'
    text = FAKE_COMMAND.replace("case $verb in\n", f"case $verb in\n 7) {fails} ;;\n")
    executable(recipe.bin / "privacy-eval", text)
    run = recipe.run("--stage", 6)
    assert run.code == 1 and {"<collect>", "<tables>", "<report>"} <= {*run.out.splitlines()}
    done, named = run.err.splitlines()[-2:]
    assert " Done, but 1 failed" in done and named.strip() == line
    run = recipe.run("--stage", 6, CODE="4")  # one has failed, and the next could not begin
    assert run.code == 1 and " Stage 7" in run.err and " Stage 8" not in run.err
    executable(recipe.bin / "privacy-eval", FAKE_COMMAND)
    assert recipe.run("--stage", 6).code == 0 and not failed.exists()


def test_output_links_are_refused_before_a_log_is_written(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    out = recipe.tree / "exp/results-x/privacy_eval"
    out.mkdir()
    (out / "log").symlink_to(tmp_path / "precious")
    run = recipe.run("--results", "exp/results-x", "--stage", "6", CHECK=recipe.real)
    assert run.code == 1
    assert "privacy_eval/log" in run.err and "--out" in run.err
    assert "<privacy-metrics>" not in run.out
    assert list((tmp_path / "precious").iterdir()) == [] and len(list(out.iterdir())) == 1
    # A folder outside the results is the user's own.
    (tmp_path / "mine").symlink_to(tmp_path / "precious")
    more = ("--results", "exp/results-x", "--out", tmp_path / "mine")
    recipe.stages(6, 6, *more, CHECK=recipe.real)


def test_the_active_environment_is_used_and_named(recipe: Recipe, tmp_path: Path) -> None:
    environments = {name: tmp_path / name for name in ("active", "conda")}
    for folder in environments.values():
        executable(folder / "bin/privacy-eval", FAKE_COMMAND)
    executable(recipe.copy / ".venv/bin/privacy-eval", FAKE_COMMAND)
    active, conda = map(str, environments.values())
    for used, variables in (
        (active, {"VIRTUAL_ENV": active, "CONDA_PREFIX": conda}),
        (conda, {"CONDA_PREFIX": conda}),
        (recipe.copy / ".venv", {}),
        (recipe.copy / ".venv", {"VIRTUAL_ENV": str(tmp_path / "without")}),
    ):
        run = recipe.stages(1, 1, **variables)
        assert run.err.count("Using ") == 1
        assert f"Using {used}/bin/privacy-eval\n" in run.err
