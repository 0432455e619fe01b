"""The recipes' own logic: options, stages, what is passed on. A stand-in does the computing."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from privacy_eval.cli import VERBS
from privacy_eval.stages.recipe import STAGES

ROOT = Path(__file__).resolve().parents[2]

# Prints its arguments, one in each <>, and leaves what the next stage needs.
FAKE_COMMAND = """#!/bin/bash
if [ "$1" = pending ]; then $PENDING "$@"; exit; fi
printf '<%s>' "$@"
echo
case $1 in
    demo-tree)
        mkdir -p "$2/exp/results-x/ASV-a-b"
        touch "$2/exp/results-x/ASV-a-b/scores"
        ;;
    tables)
        mkdir -p "${!#}"
        printf '%s' "$FAKE_TABLE" >"${!#}/tables.tex"
        for system in B1 B2; do echo "| $system |" >"${!#}/${system}_asv_dev.md"; done
        ;;
    listening)
        mkdir -p "${!#}/tables"
        printf '%s' "$FAKE_TABLE" >"${!#}/tables/tables.tex"
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
    """A copy of the recipes (so that no .venv is beside them), a tree, and the stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "the copy"
        for name in ("scripts", "local", "recipes"):
            # Without work: a demo that was run here may be large.
            ignore = shutil.ignore_patterns("work")
            shutil.copytree(ROOT / name, self.copy / name, symlinks=True, ignore=ignore)
        table = "privacy_eval/stages/recipe.py"
        (self.copy / table).parent.mkdir(parents=True)
        shutil.copy(ROOT / table, self.copy / table)
        self.tree = folder / "a JOB tree"
        self.scores = self.tree / "exp/results-x/ASV-a-b/scores"
        self.scores.parent.mkdir(parents=True)
        self.scores.write_text("")
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.program("privacy-eval", FAKE_COMMAND)
        self.program("pdflatex", FAKE_PDFLATEX)
        self.runs = folder / "runs"

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(
        self, *arguments: str, name: str = "vpc2020", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.copy / "recipes" / name / "run.sh"), *arguments],
            cwd=self.tree,
            env={
                **os.environ,
                "PATH": f"{self.bin}:/usr/bin:/bin",
                "FAKE_TABLE": "good",
                "PENDING": "echo 0 #",
                "FAKE_RUNS": str(self.runs),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    return Recipe(tmp_path)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "vpc2020",
            ["stage", "stop-stage", "tree", "results", "out", "conf", "nj", "cmd", "system"]
            + [
                "anon-suffix",
                "conventional",
                "published",
                "ratings",
                "bootstrap",
                "seed",
                "utt2spk",
                "keys",
                "allow-missing",
                "allow-outside",
                "allow-pipes",
            ],
        ),
        ("demo", ["dir", "seed", "nj", "stage", "stop-stage"]),
    ],
)
def test_help_lists_the_options(name: str, options: list[str]) -> None:
    script = ROOT / "recipes" / name / "run.sh"
    result = subprocess.run([str(script), "--help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    listed = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("  --")]
    assert listed == [f"--{option}" for option in options]


@pytest.mark.parametrize("name", ["vpc2020", "demo"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense", "1"], "unknown option --nonsense"),
        (["--recipe", "/tmp"], "unknown option --recipe"),
        (["word"], "unexpected argument 'word'"),
        (["--stage"], "option --stage needs a value"),
    ],
)
def test_bad_usage_of_a_recipe(name: str, arguments: list[str], message: str) -> None:
    script = ROOT / "recipes" / name / "run.sh"
    result = subprocess.run([str(script), *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--stage", "six"], 2, "--stage takes a whole number, not 'six'"),
        (["--stop-stage="], 2, "--stop-stage takes a whole number, not ''"),
        (["--nj", "0"], 2, "--nj takes at least 1"),
        (["--stage", "12"], 2, "--stage is at most 11"),
        (["--stage", "6", "--stop-stage", "5"], 2, "--stop-stage 5 comes before --stage 6"),
        (["--cmd", "nosuch.pl --mem 4G"], 2, "--cmd: no command 'nosuch.pl'"),
        (["--stage", "6", "--results", "no/where"], 1, "no/where: no such folder; --results"),
        (["--results="], 2, "--results must not be empty"),
        (["--tree", "no/such/folder"], 1, "no/such/folder: no such folder"),
    ],
)
def test_bad_values(recipe: Recipe, arguments: list[str], code: int, message: str) -> None:
    result = recipe.run(*arguments)
    assert result.returncode == code
    assert message in result.stderr
    assert result.stdout == ""


def test_the_table_of_stages_names_scripts_verbs_and_modules(recipe: Recipe) -> None:
    """One name per stage, from local/ to the log."""
    text = recipe.run("--help").stdout
    for stage in STAGES:
        assert f"{stage.number:2} | {', '.join(stage.names)} " in text
        for name in stage.names:
            script = (ROOT / "local" / f"{name}.sh").read_text()
            assert re.search(rf"^# Stages? [^\n]*{stage.number}\b|x-vectors", script, re.M)
            verb = name.replace("_", "-")
            if name not in ("data", "anonymize", "xvectors"):
                assert verb in VERBS and re.search(rf" {verb} ", script)
                importlib.import_module(f"privacy_eval.cli.{name}")


def test_every_stage_says_what_it_does(recipe: Recipe) -> None:
    result = recipe.run()
    assert result.returncode == 0, result.stderr
    for number in range(12):
        assert result.stderr.count(f" Stage {number}: ") == 1
    verbs = [line.split(">")[0][1:] for line in result.stdout.splitlines() if line[0:1] == "<"]
    assert verbs == [
        *("check", "train-backend", "subsets", "subsets", "asv-scores", "similarity"),
        *("collect", "tables", "report"),
    ]
    drawn = recipe.tree / "exp/privacy_eval/log/figures.2.log"
    assert "<figures><--results><./exp/privacy_eval/results.json>" in drawn.read_text()


def test_only_the_stages_asked_for_run(recipe: Recipe) -> None:
    result = recipe.run("--stage", "7", "--stop-stage", "8")
    assert result.stderr.count(" Stage ") == 2
    common = "<--tree><.><--results><exp><--conf><vpc2020><--out><exp/privacy_eval>\n"
    after = common.replace("\n", "<--after-jobs>\n")
    assert result.stdout == f"<similarity>{after}<collect>{common}"
    logs = sorted((recipe.tree / "exp/privacy_eval/log").iterdir())
    assert [log.name for log in logs] == ["similarity.1.log", "similarity.2.log"]


# A runner of somebody else's, such as queue.pl: notes what it is called with, and runs the jobs.
FAKE_RUNNER = """#!/bin/bash
options=()
while [ "${1#--}" != "$1" ]; do options+=("$1" "$2"); shift 2; done
printf '%s ' "${0##*/}" "${options[@]}" >>"$RUNNER_CALLS"
range=$1 log=$2
shift 2
echo "${range#*=} ${log##*/} $2" >>"$RUNNER_CALLS"
for ((i = 1; i <= ${range#*:}; i++)); do
    mkdir -p "${log%/*}"
    "${@//"${range%%=*}"/$i}" >"${log//"${range%%=*}"/$i}" || exit 1
done
"""


@pytest.mark.parametrize("nj", [1, 3])
def test_work_per_condition_goes_through_the_runner(recipe: Recipe, nj: int) -> None:
    """Also a single job: it is not for the machine that one logs in to."""
    recipe.program("queue.pl", FAKE_RUNNER)
    calls = recipe.tree / "calls"
    options = ["--stage", "5", "--stop-stage", "10", "--nj", str(nj), "--cmd", "queue.pl --mem 4G"]
    result = recipe.run(*options, RUNNER_CALLS=str(calls), KALDI_ROOT="")
    assert result.returncode == 0, result.stderr
    assert calls.read_text().splitlines() == [
        f"queue.pl --mem 4G 1:{nj} {verb.replace('-', '_')}.JOB.log {verb}"
        for verb in ("asv-scores", "privacy-metrics", "similarity", "figures")
    ]
    for line in result.stdout.splitlines():
        if line.startswith(("<asv-scores>", "<similarity>")):
            assert line.endswith("<--after-jobs>")
        assert not line.startswith(("<privacy-metrics>", "<figures>"))


@pytest.mark.parametrize("runner", ["run.pl", "queue.pl", "slurm.pl"])
def test_kaldis_runners_by_the_lines_of_cmd_sh(recipe: Recipe, runner: str) -> None:
    kaldi = recipe.copy.parent / "kaldi"
    program = kaldi / "egs/wsj/s5/utils/parallel" / runner
    program.parent.mkdir(parents=True)
    program.write_text(FAKE_RUNNER)
    program.chmod(0o755)
    cmd = recipe.copy / "recipes/vpc2020/cmd.sh"
    lines = cmd.read_text().splitlines()
    chosen = [x.removeprefix("# ") for x in lines if x.startswith("# export") and runner in x]
    assert len(chosen) == 1
    cmd.write_text("\n".join([*lines, *chosen, ""]))
    calls = recipe.tree / "calls"
    options = ["--stage", "6", "--stop-stage", "6", "--tree", str(recipe.tree)]
    result = recipe.run(*options, RUNNER_CALLS=str(calls), KALDI_ROOT=str(kaldi))
    assert result.returncode == 0, result.stderr
    memory = "" if runner == "run.pl" else "--mem 4G "
    assert calls.read_text() == f"{runner} {memory}1:2 privacy_metrics.JOB_N.log privacy-metrics\n"


def test_metrics_run_in_jobs_whatever_the_tree_is_called(recipe: Recipe) -> None:
    options = ["--system", "B 1", "--keys", "the keys", "--allow-missing", "true", "--seed", "7"]
    result = recipe.run(
        "--stage=6", "--stop-stage=6", "--tree", str(recipe.tree), "--nj=2", *options
    )
    assert result.returncode == 0, result.stderr
    logs = sorted((recipe.tree / "exp/privacy_eval/log").iterdir())
    assert [log.name for log in logs] == ["privacy_metrics.1.log", "privacy_metrics.2.log"]
    assert logs[1].read_text().splitlines()[3] == (
        f"<privacy-metrics><--tree><{recipe.tree}><--results><exp><--conf><vpc2020><--system><B 1>"
        "<--keys><the keys><--allow-missing><--out><exp/privacy_eval><--bootstrap><0><--seed><7>"
        "<--job><2/2>"
    )


@pytest.mark.parametrize("stage", [0, 5, 6, 8, 9])
def test_a_failing_command_ends_the_recipe(recipe: Recipe, stage: int) -> None:
    result = recipe.run("--stage", str(stage), FAKE_CODE="1")
    assert result.returncode == 1
    assert f" Stage {stage}: " in result.stderr
    assert f" Stage {stage + 1}: " not in result.stderr


def test_output_of_its_own_and_a_configuration_file(recipe: Recipe, tmp_path: Path) -> None:
    own = tmp_path / "own"
    arguments = ["--stage", "9", "--stop-stage", "9", "--out", str(own), "--conf", "my/c.yaml"]
    assert recipe.run(*arguments).stdout == (
        f"<tables><--results><{own}/results.json><--conf><./my/c.yaml><--out><{own}/tables>\n"
    )


def test_data_are_asked_for_and_never_fetched(recipe: Recipe) -> None:
    result = recipe.run("--stage", "1", "--stop-stage", "1")
    assert result.returncode == 0
    assert "There is no folder data" in result.stdout
    assert "password" in result.stdout
    (recipe.tree / "data").mkdir()
    result = recipe.run("--stage", "1", "--stop-stage", "1")
    assert "data is there" in result.stdout
    assert "password" not in result.stdout


def test_anonymization_is_the_participants(recipe: Recipe) -> None:
    result = recipe.run("--stage", "4", "--stop-stage", "4")
    assert result.returncode == 0
    assert "call your system in local/anonymize.sh" in result.stdout


def test_a_listening_test_is_evaluated_where_there_is_one(recipe: Recipe) -> None:
    stage = ("--stage", "11", "--out", "o")
    result = recipe.run(*stage)
    assert (result.returncode, result.stdout) == (0, "")
    assert "No ratings of a listening test (./ratings.csv)" in result.stderr
    (recipe.tree / "ratings.csv").touch()
    shown = "<--results><./o/results.json><--conf><vpc2020>"
    assert recipe.run(*stage).stdout.splitlines() == [
        f"<listening><--ratings><./ratings.csv>{shown}<--out><./o/subjective>",
        f"<report>{shown}<--listening><./o/subjective><--out><./o/report.html>",
    ]
    (recipe.tree / "o/figures").mkdir()
    lines = recipe.run(*stage, "--ratings", "rated", "--system", "B1").stdout.splitlines()
    assert "<--ratings><./rated>" in lines[0] and "<--any-system>" in lines[0]
    assert "<--figures><./o/figures><--listening>" in lines[1]


def test_names_of_data_sets_stand_in_conf_alone() -> None:
    """The recipe's scripts serve other plans too."""
    scripts = [*(ROOT / "local").glob("*.sh"), *(ROOT / "recipes/vpc2020").glob("*.sh")]
    assert len(scripts) > 5
    for path in scripts:
        assert not re.search(r"libri|vctk|_anon\b", path.read_text(), re.IGNORECASE), path


def test_the_pdf_is_made_once_and_only_of_good_tables(recipe: Recipe, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    tables = recipe.tree / "exp/privacy_eval/tables"
    arguments = ["--stage", "9", "--stop-stage", "9"]

    def run(table: str) -> subprocess.CompletedProcess[str]:
        return recipe.run(*arguments, FAKE_TABLE=table, TMPDIR=str(temporary))

    assert run("good").returncode == 0
    assert (tables / "tables.pdf").read_text() == "good"
    assert recipe.runs.read_text().split() == ["run"] * 2
    assert run("good").returncode == 0
    assert recipe.runs.read_text().split() == ["run"] * 2
    assert run("as good").returncode == 0
    assert (tables / "tables.pdf").read_text() == "as good"

    result = run("bad")
    assert result.returncode == 1
    assert f"The last lines of {tables}/tables.log:\n    the log\n" in result.stderr.replace(
        str(recipe.tree / "."), str(recipe.tree)
    )
    assert not (tables / "tables.pdf").exists()
    assert run("good").returncode == 0
    assert sorted(path.name for path in tables.iterdir()) == [
        ".tables.pdf.stamp",
        "B1_asv_dev.md",
        "B2_asv_dev.md",
        "tables.pdf",
        "tables.tex",
    ]
    assert list(temporary.iterdir()) == []


def test_without_pdflatex_the_tables_stay_as_they_are(recipe: Recipe) -> None:
    (recipe.bin / "pdflatex").unlink()
    for tool in ["bash", "env", "readlink", "dirname", "date", "tail", "mkdir", "sed"]:
        (recipe.bin / tool).symlink_to(shutil.which(tool) or tool)
    result = recipe.run("--stage", "9", "--stop-stage", "9", PATH=str(recipe.bin))
    assert result.returncode == 0, result.stderr
    assert "pdflatex is not installed" in result.stderr
    tables = recipe.tree / "exp/privacy_eval/tables"
    assert (tables / "tables.tex").read_text() == "good"
    assert not (tables / "tables.pdf").exists()


def test_the_demo_makes_a_tree_and_runs_the_recipe_on_it(recipe: Recipe) -> None:
    (recipe.copy / "scripts/ensure_env.sh").write_text("#!/bin/bash\n[ $* = run ]\n")
    result = recipe.run("--dir", "new/demo tree", "--seed", "3", name="demo")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "<demo-tree><new/demo tree><--seed><3>"
    common = "<--tree><new/demo tree><--results><exp><--conf><vpc2020>"
    assert f"<collect>{common}<--out><results>" in lines
    assert lines[-10:] == [
        "",
        "B1",
        "",
        "| B1 |",
        "",
        "B2",
        "",
        "| B2 |",
        "",
        "tables        new/demo tree/results/tables",
    ]
    result = recipe.run("--dir", "other", "--stage", "7", "--stop-stage", "7", name="demo")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "<demo-tree><other><--seed><0>",
        "<similarity><--tree><other><--results><exp><--conf><vpc2020><--out><results>"
        "<--after-jobs>",
        "",
    ]


def test_links_where_output_goes_are_refused_before_a_log_is_written(
    recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "precious").mkdir()
    out = recipe.tree / "exp/results-x/privacy_eval"
    out.mkdir()
    (out / "log").symlink_to(tmp_path / "precious")
    real = f"{sys.executable} -m privacy_eval"
    run = recipe.run("--results", "exp/results-x", "--stage", "6", PENDING=real)
    assert run.returncode == 1
    assert "privacy_eval/log" in run.stderr and "--out" in run.stderr
    assert "<privacy-metrics>" not in run.stdout
    assert list((tmp_path / "precious").iterdir()) == []
    # A folder outside the results is the user's own.
    (tmp_path / "mine").symlink_to(tmp_path / "precious")
    mine = ["--out", str(tmp_path / "mine")]
    stage = ("--stage", "6", "--stop-stage", "6")
    run = recipe.run("--results", "exp/results-x", *stage, *mine, PENDING=real)
    assert run.returncode == 0, run.stderr
