"""The scoring program of recipes/codabench, run as the platform does: its folder with the wheel, in
a process that does not find the checkout."""

import json
import shlex
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml
from install_support import pip_with_checkout
from support import ROOT, averages_of, cli, ok

from privacy_eval.results.json_store import read_results

PROGRAM = ROOT / "recipes/codabench"
SCORES = "asv_anon_B1/libri_test_enrolls_B1-libri_test_trials_f_B1/scores"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated tree of two systems, evaluated by the stages."""
    tree = tmp_path_factory.mktemp("tree") / "tree"
    ok(cli("demo-tree", tree, "--conf", "vpc2024", "--speakers", 4, "--utterances", 3))
    for stage in ("privacy-metrics", "collect"):
        ok(cli("stage", stage, "--tree", tree, "--results", "exp", "--conf", "vpc2024"))
    return tree


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program's folder, beside an interpreter that has the packages, but not this one."""
    app = tmp_path_factory.mktemp("app")
    shutil.copytree(PROGRAM, app / "program")
    pip_with_checkout(app, "wheel", "--wheel-dir", str(app / "program"))
    venv.create(app / "venv", symlinks=True)
    (site,) = (app / "venv").glob("lib/python*/site-packages")
    packages = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (site / "packages.pth").write_text("\n".join(packages))  # .pth files in these are not read
    return app / "program"


@pytest.fixture
def app(tree: Path, program: Path, tmp_path: Path) -> Path:
    """What the platform lays out for a submission of the first system."""
    shutil.copytree(program, tmp_path / "program")
    ref, res = tmp_path / "input/ref", tmp_path / "input/res"
    shutil.copytree(tree / "data", ref / "data")
    (ref / "protocol.yaml").write_text("extends: vpc2024\n")
    (tmp_path / "output").mkdir()
    for path in (path for path in (tree / "exp").glob("*/*") if "privacy_eval" not in path.parts):
        name = f"{path.parent.name}/{path.name}"
        if "B2" not in name:
            copy = (res if "B1" in name else ref / "exp") / name
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, copied_into(copy))
    return tmp_path


def copied_into(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run(app: Path, program: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of metadata.yaml, with /app elsewhere."""
    command = yaml.safe_load((app / "program/metadata.yaml").read_text())["command"]
    interpreter = program.parent / "venv/bin"
    environment = {"PATH": f"{interpreter}:/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}

    def of(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [interpreter / words[0], *words[1:]],
            cwd=app / "program",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    path = of("python3", "-c", "import numpy, sys; print(sys.path)")
    assert path.returncode == 0 and f"'{ROOT}'" not in path.stdout, path
    return of(*shlex.split(command.replace("/app/", f"{app}/")))


def scores_of(app: Path) -> dict[str, float]:
    scores: dict[str, float] = json.loads((app / "output/scores.json").read_text())
    return scores


def test_scores_are_those_of_the_stages(app: Path, program: Path, tree: Path) -> None:
    # Nothing that a submission says of keys or results is believed.
    (app / "input/res/keys-own").mkdir()
    trials = app / "input/ref/data/libri_test_trials_f/trials"
    every = trials.read_text().replace("nontarget", "target")
    for name in ("keys-own/libri_test_trials_f", "data/libri_test_trials_f/trials"):
        copied_into(app / "input/res" / name).write_text(every)
    (app / "input/res/results.json").write_text("{}")
    done = run(app, program)
    assert done.returncode == 0, done.stderr
    scores = scores_of(app)
    results = read_results(tree / "exp/privacy_eval/results.json")
    averages = averages_of(results.selected(["B1"]))
    eer = averages["Weighted average EER (SpeechBrain) test anon"]
    assert scores["eer_semi_informed"] == pytest.approx(eer, abs=1e-4)
    assert scores["wer"] == pytest.approx(averages["Average WER test anon"], abs=6e-4)
    attacks = {k for k in scores if k.startswith("eer_")} - {"eer_low", "eer_high"}
    assert attacks == {"eer_semi_informed", "eer_lazy_informed", "eer_ignorant"}
    assert scores["eer"] == min(scores[attack] for attack in attacks)
    assert scores["eer_low"] <= scores["eer"] <= scores["eer_high"]
    assert scores["uar"] > 25
    documented = (ROOT / "docs/organizers.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in documented for key in scores)
    assert (PROGRAM / "metadata.yaml").read_text() in documented
    files = sorted(path.name for path in (app / "output").iterdir())
    assert files == ["detailed_results.html", "scores.json"]
    page = (app / "output/detailed_results.html").read_text()
    assert "submission/B1" in page and str(app) not in page


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("a trial less", "1 trial without a score"),
        ("no scores", "no scores"),
        ("two", "one system"),
    ],
)
def test_a_faulty_submission_has_no_scores(
    app: Path, program: Path, tree: Path, fault: str, message: str
) -> None:
    (app / "output/scores.json").write_text("{}")
    res = app / "input/res"
    if fault == "a trial less":
        lines = (res / SCORES).read_text().splitlines(keepends=True)
        (res / SCORES).write_text("".join(lines[1:]))
    elif fault == "no scores":
        shutil.rmtree(res / SCORES.partition("/")[0])
    else:
        shutil.copytree(tree / "exp/asv_anon_B2", res / "asv_anon_B2")
    done = run(app, program)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.startswith("not scored:") and message in done.stderr
    assert not [*(app / "output").iterdir()]
