"""A plain `pip install` of a copy of the sources, and the copy deleted."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from install_support import pip_with_checkout
from support import ROOT

import privacy_eval
from privacy_eval.disclosure.gate import read_policy


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it; what it was built from is gone."""
    folder = tmp_path_factory.mktemp("install")
    target = folder / "site"
    pip_with_checkout(folder, "install", "--target", str(target))
    return target


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python from the folder `/`, which finds the installed package before any other."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_wings_of_this_repository_are_installed(installed: Path) -> None:
    done = run(installed, "-m", "privacy_eval", "--version")
    text = (ROOT / "setup.cfg").read_text()
    declared = sorted(re.findall(r"^    (\w+) = privacy_eval\.\w+:WING$", text, re.M))
    assert "study" in declared and f"wings: {', '.join(declared)}\n" in done.stdout


def test_installed_package_is_used(installed: Path) -> None:
    done = run(installed, "-c", "import privacy_eval; print(privacy_eval.__file__)")
    assert Path(done.stdout.strip()).parent == installed / "privacy_eval"


@pytest.mark.parametrize("install", ["editable", "plain"])
def test_a_clone_in_the_current_folder_does_not_hide_the_package(
    install: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "privacy_eval").symlink_to(ROOT)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if install == "plain":
        environment["PYTHONPATH"] = str(request.getfixturevalue("installed"))
    script = "import privacy_eval.results.json_store as store; print(store.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"{privacy_eval.__version__}\n"), done.stderr


def test_tables_work_from_anywhere(installed: Path) -> None:
    done = run(
        installed, str(installed / "bin" / "privacy-eval"), "tables", "--published", "vpc2020"
    )
    assert done.returncode == 0, done.stderr
    for title in ("LibriSpeech", "VCTK different", "VCTK common", "test set"):
        assert title in done.stdout
    done = run(
        installed, "-m", "privacy_eval", "tables", "--published", "vpc2024", "--format", "csv"
    )
    assert done.returncode == 0
    assert "Weighted average" in done.stdout


def test_all_package_files_are_installed(installed: Path) -> None:
    package = installed / "privacy_eval"
    assert (package / "py.typed").exists()
    for file in (ROOT / "conf").glob("**/*.yaml"):
        assert (package / file.relative_to(ROOT)).read_bytes() == file.read_bytes()
    data = [path for path in (ROOT / "conf" / "published").iterdir() if path.is_file()]
    assert {path.suffix for path in data} == {".csv", ".md", ".py", ".yaml"}
    for path in data:
        assert (package / "conf" / "published" / path.name).read_bytes() == path.read_bytes()
    modules = {p.relative_to(ROOT) for p in (ROOT / "privacy_eval").rglob("*.py")}
    assert {Path("privacy_eval") / p.relative_to(package) for p in package.rglob("*.py")} >= modules
    (metadata,) = installed.glob("privacy_eval-*.dist-info")
    assert any("LICENSE" in p.name for p in metadata.rglob("*"))
    text = (metadata / "METADATA").read_text()
    needed = set(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", text, re.M))
    assert {n.lower() for n in needed} == {
        *("numpy", "scipy", "kaldiio", "matplotlib", "tabulate", "pyyaml")
    }


def test_numbers_of_other_programs_are_installed(installed: Path) -> None:
    done = run(installed, "-m", "privacy_eval", "selftest", "--format", "json")
    assert done.returncode == 0, done.stderr
    cases = json.loads(done.stdout)["cases"]
    assert len({case["tool"] for case in cases}) == 7 + 8
    assert {"few_trials: cllr_min", "inverted: linkability"} <= {case["name"] for case in cases}


def test_published_results_are_found(installed: Path) -> None:
    script = (
        "from privacy_eval.protocol.published import load_p_values, load_published, load_systems\n"
        "print(*(len(load_published(n)) for n in ('vpc2020', 'voice_similarity')),"
        " len(load_p_values('vpc2020')), len(load_systems('vpc2020').systems))"
    )
    done = run(installed, "-c", script)
    assert (done.returncode, done.stdout) == (0, "4152 24 360 18\n"), done.stderr


def test_recipes_are_installed_as_they_are_in_the_repository(installed: Path) -> None:
    scripts = [
        path.relative_to(ROOT)
        for folder in ("recipes", "local", "scripts")
        for path in (ROOT / folder).rglob("*.sh")
        if "work" not in path.relative_to(ROOT).parts
    ]
    assert len(scripts) > 20
    others = ("template/protocol.yaml", "codabench/metadata.yaml", "codabench/score.py")
    for path in [*scripts, *(Path("recipes", name) for name in others)]:
        copy, original = installed / "privacy_eval" / path, ROOT / path
        assert copy.read_bytes() == original.read_bytes()
        assert os.access(copy, os.X_OK) == os.access(original, os.X_OK), path


def test_the_demo_of_a_new_recipe_runs_with_the_installed_package(
    installed: Path, tmp_path: Path
) -> None:
    """In a folder of one's own, with no clone and no environment that is active."""
    own = tmp_path / "my recipe"
    done = run(installed, str(installed / "bin/privacy-eval"), "init", str(own), "--demo")
    assert done.returncode == 0, done.stderr
    script = own / "run.sh"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(installed)}
    shown = subprocess.run([script, "--help"], env=environment, capture_output=True, check=True)
    assert b"--bootstrap" in shown.stdout and not (own / "tree").exists()
    sizes = "--speakers 4 --utterances 4 --systems 1"
    small = script.read_text().replace('/tree" --conf', f'/tree" {sizes} --conf')
    script.write_text(small.replace("--bootstrap 500", "--stop-stage 9 --nj 1"))
    (own / "protocol.yaml").write_text("extends: vpc2020\nname: mine\nsplits: [test]\n")
    done = subprocess.run(
        [script], cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert f"Using {installed}/bin/privacy-eval" in done.stderr
    assert (own / "results/tables/more/B1_asv.tex").exists()
    plain = json.loads((own / "results/results.json").read_text())
    attackers = Counter(record["attacker"] for record in plain["verification"])
    assert (attackers, len(plain["similarity"])) == ({"plda": 18, "words": 6}, 6)


def test_version_citation_and_changelog_name_the_same_release() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    heading = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading
    assert heading[1] == citation["version"] == privacy_eval.__version__
    assert heading[2] == str(citation["date-released"])


def test_the_workflow_runs_what_is_here() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    jobs = workflow["jobs"]
    runs = {
        name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()
    }
    assert runs["test"][-1] == "bash .ci/run"
    assert runs["wheel"] == ["./scripts/check_install.sh --pythons python3"]
    assert os.access(ROOT / "scripts/check_install.sh", os.X_OK)
    assert jobs["wheel"]["strategy"]["matrix"]["python"] == ["3.10", "3.11", "3.12", "3.13"]
    demo, gate, _ = runs["gate"]
    assert os.access(ROOT / demo, os.X_OK)
    program, verb, *options = gate.split()
    assert program == ".venv/bin/privacy-eval" and verb == "gate"
    results = next(option for option in options if option.endswith(".json"))
    assert results.startswith(f"{os.path.dirname(demo).removeprefix('./')}/work/")
    policy = read_policy(ROOT / options[options.index("--policy") + 1])
    assert [rule.metric for rule in policy.rules] == ["eer", "wer"]
