"""Every command and every example of README.md and docs/ runs, in a copy of the checkout, and the
files that the README's demo makes are checked; links lead somewhere, tables are the registry's."""

import csv
import gzip
import json
import math
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from latex_support import needs_latex, rows_are_identified, well_set_paper
from PIL import Image
from study_support import small_file
from support import ROOT, Run, cells_of, cli, csv_rows, executable, ok, run_program, snapshot, times

from privacy_eval.metrics import METRICS, Metric
from privacy_eval.results.json_store import read_results

README = "README.md"
PAGES = [README, *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
TEST_COMMAND = "./scripts/test.sh"
#: A second run of what the demo has done.
AGAIN = "--results exp --out results"
#: Of the bootstrap, in place of the hundreds of the pages.
REPLICATES = "8"
#: In place of the numbers of a challenge.
FEWER_TRIALS = " --speakers 3 --utterances 4"
#: Of the README's demo, whose galleries have up to 10 speakers on the pages.
DEMO_SIZES = ("--speakers", "4", "--utterances", "6")
#: Recipes of editions; their figures and reports are made as the README's, which has them.
EDITION = r"^\S+/vpc20\d\d/run.sh .*(--conf vpc20(22|26)|--published vpc2024)((?!--stop-stage).)*$"
#: In place of more: each of them begins with an import of NumPy.
JOBS = "--nj 1"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    """The scripts of a page; what the page only shows is of another kind."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", text_of(page), flags=re.M | re.S)
    assert {kind for kind, _ in found} <= {"bash", "python", "text", "yaml"}
    return [body for kind, body in found if kind == "bash"]


class Copy:
    """A copy of the checkout, without what was built in it, whose .venv is the interpreter that
    runs this, and has the command of another one; what the blocks printed, and the demo's files
    around its second run."""

    def __init__(self, root: Path, command: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.demo = root / "recipes/demo/work"
        ignore = shutil.ignore_patterns("work")
        folders = ("recipes", "scripts", "local", "conf", "privacy_eval", "tests/data", "docs")
        for name in folders:
            shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignore)
        for name in ("setup.cfg", "pyproject.toml", README):
            shutil.copy(ROOT / name, root)
        # The whole study takes minutes; test_metric_study.py runs a small one of every experiment
        # and draws its figures.
        left_out = dict.fromkeys(("clusters", "attacks", "matrices", "estimators"))
        study = small_file(root.parent, **left_out)
        for name, default, less in (
            ("metric_study", "conf=metric_study ", f"conf={study} "),
            ("metric_study", "stop_stage=1 ", "stop_stage=0 "),
            *((name, "nj=2 ", "nj=1 ") for name in ("demo", "vpc2020", "vpc2024")),
            ("demo", "bootstrap=500 ", f"bootstrap={REPLICATES} "),
            ("demo", 'demo-tree "$dir"', f'demo-tree "$dir" {" ".join(DEMO_SIZES)}'),
        ):
            script = root / "recipes" / name / "run.sh"
            text = script.read_text()
            assert text.count(default) == 1
            script.write_text(text.replace(default, less))
        venv = root / ".venv"
        executable(venv / "bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (venv / "bin/privacy-eval").symlink_to(command)
        made_from = f"{root}\n" + "".join(
            (root / name).read_text() for name in ("setup.cfg", "pyproject.toml")
        )
        fingerprint = subprocess.run(
            ["cksum"], input=made_from, capture_output=True, text=True, check=True
        ).stdout.strip()
        (venv / ".privacy_eval_stamp").write_text(f"test\n{fingerprint}\n{root}\n")
        fill_home(self.home)
        self.printed: dict[str, Run] = {}
        self.states: list[dict[str, object]] = []
        self._done: set[str] = set()

    def run(self, page: str) -> None:
        """Run the blocks of a page, once."""
        if page in self._done:
            return
        self._done.add(page)
        path = f"{self.root}/.venv/bin:/usr/local/bin:/usr/bin:/bin"
        for block in blocks(page):
            if block.strip() == TEST_COMMAND:  # runs this test
                continue
            if AGAIN in block:
                self.states.append(self.state())
            fewer = re.sub(r"(?<= --bootstrap )\d+", REPLICATES, block)
            fewer = re.sub(r"--nj \d+", JOBS, fewer)
            fewer = re.sub(
                EDITION,
                lambda run: f"{run[0]} --stop-stage {8 if '~/' in run[0] else 9}",
                fewer,
                flags=re.M,
            )
            fewer = re.sub(
                r"^privacy-eval demo-tree (?!.*--sp).*$",
                lambda run: f"{run[0]}{FEWER_TRIALS}{' --systems 1' * ('--systems' not in run[0])}",
                fewer,
                flags=re.M,
            )
            script = f"set -euo pipefail\n{fewer}"
            run = run_program("bash", "-c", script, cwd=self.root, PATH=path, HOME=str(self.home))
            assert run.code == 0, f"{page}: {block}\n{run.out}\n{run.err}"
            self.printed[block] = run
            if AGAIN in block:
                self.states.append(self.state())

    def of_the_demo(self) -> dict[str, bytes]:
        """The demo's tree and results, without what other commands put beside them; without
        logs, which contain times, and the options of the last run."""
        return {
            name: content
            for name, content in snapshot(self.demo).items()
            if name.startswith(("data/", "exp/", "results/", "demo_tree.json", "ratings.csv"))
            and not name.startswith(("results/log/", "results/options.conf"))
        }

    def state(self) -> dict[str, object]:
        """The demo's files, and when its records were written."""
        return {
            **self.of_the_demo(),
            "times": times((self.demo / "results/records").rglob("*.json")),
        }


def fill_home(home: Path) -> None:
    """Put into a home folder what the pages speak of: trees as the challenges' own recipes leave
    them, a score file and its key."""
    tree = home / "Voice-Privacy-Challenge-2020/baseline"
    sizes = ("--speakers", "4", "--utterances", "4", "--systems", "1")
    assert cli("demo-tree", tree, *sizes).code == 0
    (tree / "exp/B1/results-demo_B1").rename(tree / "exp/results-anon")
    (tree / "ratings.csv").unlink()  # a challenge's recipe leaves none
    for path in [*tree.glob("data/vctk_*"), *tree.glob("exp/*/*/*/xvect_vctk_*")]:
        shutil.rmtree(path)  # LibriSpeech is enough
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.name.endswith("_B1"):
            path.rename(path.with_name(path.name.replace("_B1", "_anon")))
        elif path.name == "xvector.scp":
            path.write_text(path.read_text().replace("_B1/", "_anon/"))
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", home)
    (home / "tree2024").rename(home / "Voice-Privacy-Challenge-2024")
    (home / "tree2026").rename(home / "Voice-Privacy-Challenge-2026")
    submitted(home / "Voice-Privacy-Challenge-2024", home)
    golden = ROOT / "tests/data/golden/scores/few_trials"
    for name in ("scores", "trials"):
        (home / name).write_bytes(gzip.decompress((golden / f"{name}.gz").read_bytes()))


def submitted(tree: Path, home: Path) -> None:
    """Put the results of a tree into a zip as its challenge packs them, and the rest beside it."""
    collection = Path(shutil.copytree(tree, home / "challenge-2024"))
    for path in collection.glob("data/*_toy"):
        shutil.rmtree(path)
    path = home / "submissions/red/result_for_submission_toy.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((tree / "exp").rglob("*")):
            name = file.relative_to(tree).as_posix()
            if "_toy" in name and file.is_file():
                archive.writestr(name, file.read_bytes())
    for name in ("asv_anon_toy", "ser", "asv_orig/*_toy*", "asr/*_toy*"):
        for path in (collection / "exp").glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, preloaded_venv: Path) -> Iterator[Copy]:
    """The copy, after the commands of the README."""
    before = snapshot(ROOT / "recipes")
    command = preloaded_venv / "bin/privacy-eval"
    copy = Copy(tmp_path_factory.mktemp("readme").resolve() / "a copy", command)
    copy.run(README)
    yield copy
    assert snapshot(ROOT / "recipes") == before


#: The blocks of this one go into files: see test_extending.py.
EXTENDING = "docs/extending.md"


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if page != EXTENDING])
def test_commands_of_a_page_run(page: str, ran: Copy) -> None:
    ran.run(page)


def test_examples_in_python_run(ran: Copy) -> None:
    """After the commands of their pages, all in one process."""
    pages = [page for page in PAGES if ">>> " in text_of(page) and page != EXTENDING]
    assert len(pages) > 3
    for page in pages:
        ran.run(page)
    doctest = (sys.executable, "-m", "doctest", *pages)
    ok(run_program(*doctest, cwd=ran.root, PYTHONPATH=str(ran.root)))


# Links, tables, messages


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading).lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            target = (ROOT / page).parent / name if name else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_the_readme_shows_a_small_picture() -> None:
    picture = ROOT / "docs/answer.png"
    with Image.open(picture) as image:
        assert image.mode == "P"
    assert f"({picture.relative_to(ROOT)})" in text_of(README)
    assert picture.stat().st_size < 150_000


def test_every_page_is_linked() -> None:
    linking = text_of(README) + text_of("CONTRIBUTING.md")
    assert [page for page in PAGES[1:] if f"({page}" not in linking] == []


def row(metric: Metric) -> str:
    """A metric in the tables of the pages."""
    low, high = (
        metric.printed(bound) if abs(bound) < math.inf else bound for bound in metric.range
    )
    bounds = f"{low:.4g} to {high:.4g} {metric.printed_unit}".replace("inf", "∞").rstrip()
    of = (metric.meaning, bounds, metric.best or "", metric.chance, metric.source)
    cells = (metric.sentence, *of)
    return f"| {' | '.join(cells)} |"


def test_the_table_of_metrics_is_the_registry_s() -> None:
    found = re.search(
        r"<!-- metrics: all -->\n\|.*\n\|.*\n((?:\|.*\n)+)", text_of("docs/metrics.md")
    )
    assert found[1].splitlines() == [row(metric) for metric in METRICS.values()]


def test_the_readme_is_read_in_a_minute() -> None:
    lines = text_of(README).splitlines()
    assert len(lines) <= 100
    assert max(len(line) for line in lines if not line.startswith(("|", "!"))) <= 140


def test_messages_of_the_faq_are_those_of_the_package() -> None:
    """Every message in a heading, `...` standing for names and numbers."""
    sources = [*(ROOT / "privacy_eval").rglob("*.py"), *(ROOT / "scripts").glob("*.sh")]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    code = re.sub(r'"\s*\n\s*f?"', "", code)  # of one text in several lines
    headings = re.findall(r"^## `(.*)`$", text_of("docs/faq.md"), re.M)
    assert headings
    for heading in headings:
        for part in heading.split("..."):
            assert part.strip() in code, heading


# Facts of single pages


def test_the_evaluations_of_editions_give_every_published_eer(ran: Copy) -> None:
    """Those of 2024 and 2026 as the challenges' own code computed them."""
    for page in sorted((ROOT / "docs").glob("edition_*.md")):
        ran.run(f"docs/{page.name}")
    own = [run.out for block, run in ran.printed.items() if "vpc2024/run.sh --tree ~/" in block]
    for name in ("tree2022", "tree2024", "track1", "track2"):
        table = ran.demo / name / "exp/privacy_eval/tables/paper.tex"
        assert "simulated data" in table.read_text(), name
    cells = ran.demo / "attackers2025/exp/privacy_eval/tables/tables.csv"
    rows = cells_of(cells.read_text(), "attackers")
    assert [float(row["Team 1"]) > 0 for row in rows] == [True] * 6
    assert len(own) > 1 and all(out.count("does not apply") >= 2 for out in own)
    for year, original in (("2024", "asv_orig"), ("2026", "asv_ssl")):
        tree = ran.home / f"Voice-Privacy-Challenge-{year}"
        results = read_results(tree / "exp/privacy_eval/results.json")
        found = {
            (c.asv_model, c.split, c.gender, c.enrollment[:4], c.trial[:4]): str(
                round(100 * v.by_variant()["challenge"]["eer_speechbrain"], 3)
            )
            for v in results.verification
            for c in [v.condition]
            if c.attacker != "words"
        }
        expected = {}
        for model, folder in (("original", original), ("anonymized", "asv_anon_toy")):
            with open(tree / "exp" / folder / "results_toy.csv", newline="") as file:
                for line in csv.DictReader(file):
                    key = (line["split"], line["gender"], line["enrollment"][:4])
                    expected[(model, *key, line["trial"][:4])] = line["EER"]
        assert found == expected
        assert not results.not_evaluated


def test_commands_print_and_write_what_the_pages_say(ran: Copy) -> None:
    for page in ("participants", "organizers", "listening", "identification"):
        ran.run(f"docs/{page}.md")
    printed = {
        verb: run.out
        for block, run in ran.printed.items()
        for verb in re.findall(r"^privacy-eval (?:stage )?(\S+)", block, re.M)
    }
    assert "variant challenge" in printed["metrics"] or "\nchallenge\n" in printed["metrics"]
    assert re.search(r"^challenge +De-identification \(DeID\) ", printed["similarity"], re.M)
    assert "enrolled speakers (0 distractors).\n" in printed["identification"]
    assert "\nready: all " in "\n" + printed["check"]
    own = ran.home / "Voice-Privacy-Challenge-2020/baseline/exp/privacy_eval"
    for out in (ran.demo / "results", own):
        drawn = {kind: len(list((out / "figures").glob(f"*.{kind}"))) for kind in ("png", "pdf")}
        assert 3 < drawn["png"] == drawn["pdf"]
        assert (out / "report.html").is_file()
    assert (ran.demo / "results/subjective/figures/subjective_violin.png").is_file()
    assert not (own / "subjective").exists()
    listening_test = ran.demo / "listening_test/tables"
    assert (listening_test / "subjective_tests_speech_published.tex").is_file()


def test_import_and_export_give_the_same_text(ran: Copy) -> None:
    ran.run("docs/results.md")
    block = next(b for b in blocks("docs/results.md") if " export " in b)
    run = ran.printed[block]
    source = re.search(r"import (\S+)", block)
    # Reasons that follow from numbers of trials, which the text does not have, are lost.
    lines = (ran.root / source[1]).read_text(encoding="utf-8").splitlines(keepends=True)
    assert "".join(line for line in lines if "caveat: " not in line) in run.out


def test_the_test_command_is_what_ci_runs() -> None:
    assert f"{TEST_COMMAND}\n" in blocks(README)
    assert TEST_COMMAND in (ROOT / ".ci/run").read_text(encoding="utf-8")


# The demo


def test_a_second_run_changes_no_byte(ran: Copy) -> None:
    ran.run("docs/organizers.md")
    said = next(run.out + run.err for block, run in ran.printed.items() if AGAIN in block)
    assert "conditions: 96 up to date\n" in said
    before, after = ran.states
    assert len(before) > 1000
    assert before == after


def test_the_demo_ends_with_results_and_tables(ran: Copy) -> None:
    out = ran.demo / "results"
    plain = json.loads((out / "results.json").read_text())
    own = [r for r in plain["verification"] if r["attacker"] == "plda"]
    names = {(r["system"], r["condition"]) for r in own}
    assert len(own) == len(names) == 72
    by_words = [r for r in plain["verification"] if r["attacker"] == "words"]
    assert len(by_words) == len(plain["verification"]) - len(own) == 24
    assert len({r["trial_set"].split("_B")[0] for r in plain["verification"]}) == 12
    for page in ("report.html", "tables/tables.tex"):
        assert "simulated data" in (out / page).read_text()
    sets = {(r["system"], r["condition"]) for r in plain["similarity"]}
    assert len(plain["similarity"]) == len(sets) == 24
    assert len(plain["recognition"]) == 2 * 8 * 2
    assert plain["not_evaluated"] == []
    for system in ("B1", "B2"):
        for table in ("asv_dev", "asv_test", "asv", "rocch_eer", "linkability", "zebra") + (
            ("asr", "voice", "speakers")
        ):
            assert (out / "tables/more" / f"{system}_{table}.tex").stat().st_size > 300
    rows = (row for r in plain["identification"] for row in r["rows"])
    linked = sum("speaker" not in row for row in rows)
    assert linked > 2 * 72
    of_sets = sum(1 for row in csv_rows(out / "results.csv") if not row["speaker"])
    assert of_sets == 96 * 2 * 12 + 32 + 24 * 2 * 5 + linked
    assert len(csv_rows(out / "speakers.csv")) == 24 * 4
    text = (out / "results.txt").read_text()
    assert text.startswith("# B1\nASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: ")
    assert text.count("  EER: ") == 72
    assert text.count("%WER") == 32
    assert text.count("De-Identification : ") == text.count("voice distinctiveness : ") == 24
    if shutil.which("pdflatex"):
        assert (out / "tables" / "tables.pdf").read_bytes().startswith(b"%PDF")


@needs_latex
def test_every_table_compiles_with_booktabs_alone(ran: Copy, tmp_path: Path) -> None:
    for path in (ran.demo / "results/tables").rglob("*.tex"):
        shutil.copy(path, tmp_path)
    well_set_paper(tmp_path)


def test_rows_of_divided_tables_are_identified(ran: Copy) -> None:
    tables = list((ran.demo / "results/tables").rglob("*.tex"))
    assert sum(map(rows_are_identified, tables)) > 3


def test_recipe_adds_scores_and_data_folders_to_the_tree(ran: Copy, tmp_path: Path) -> None:
    """Scores with a note each, subsets and combined data folders; the rest is kept."""
    assert cli("demo-tree", tmp_path / "t", *DEMO_SIZES).code == 0
    tree, demo = snapshot(tmp_path / "t"), ran.of_the_demo()
    assert {name: demo[name] for name in tree} == tree
    added = [n for n in demo if n not in tree]
    assert {n.split("/")[0] for n in added} == {"data", "exp", "results"}
    scores = [n.rpartition("/") for n in added if n.startswith("exp/")]
    assert len(scores) == 3 * (72 + 24)  # scores, their note, and the seconds they took
    assert {Path(folder).name.split("-")[0] for folder, _, _ in scores} == {"ASV", "words"}
    assert {name for _, _, name in scores} == {"scores", ".privacy_eval.json", ".seconds"}
    folders = {n.split("/")[1] for n in added if n.startswith("data/")}
    # Of every system the 8 trial sets of VCTK, and the combined sets of one kind of speech.
    assert len(folders) == 2 * 8 + (4 + 4 + 4) + 2 * (4 + 4)
    assert not [n for n in added if n.startswith("data/") and not demo[n]]
