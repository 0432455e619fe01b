"""Wings: the package in docs/extending.md, installed, is a part of the toolkit; what is wrong with
a wing is said by its name."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from preloaded import preloaded
from support import ROOT, Run, csv_rows, lines_to, ok, refused, run_program
from test_extending import BLOCK, PAGE

from privacy_eval import PrivacyEvalError, wings
from privacy_eval.results.json_store import read_results

SIZES = ("--speakers", 3, "--utterances", 4, "--systems", 1)
#: The options of the recipe that run all of the example.
(ASKED,) = re.findall(
    r"`recipes/vpc2020/run\.sh --tree TREE (--conf own\.yaml [^`]+)`",
    PAGE.read_text(encoding="utf-8"),
)
#: What an object of the example adds, with another name.
OBJECT = 'from privacy_eval.wings import Stage, Wing\nWING = Wing("other", {})\n'


def register(site: Path, package: str, entries: str) -> None:
    """Make a folder what pip makes of it: a distribution with entry points."""
    about = site / f"{package}-1.0.dist-info"
    lines_to(about / "METADATA", [f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"])
    (about / "entry_points.txt").write_text(f"[{wings.GROUP}]\n{entries}\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed example."""
    root = tmp_path_factory.mktemp("wing")
    for name, *_, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if name.startswith("lengths/"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
    target = root / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    made = subprocess.run(
        [*pip, "--no-index", "--target", target, root / "lengths"], capture_output=True
    )
    if made.returncode:  # no pip, or nothing to build with
        shutil.copytree(root / "lengths/lengths_wing", target / "lengths_wing")
        register(target, "privacy_eval_lengths", "lengths = lengths_wing:WING")
    return target


def privacy_eval(*arguments: object, site: Path, cwd: Path | None = None) -> Run:
    path = f"{ROOT}{os.pathsep}{site}"
    program = (sys.executable, "-m", "privacy_eval", *arguments)
    return run_program(*program, cwd=cwd or site, PYTHONPATH=path)


@pytest.fixture(scope="module")
def tree(site: Path) -> Path:
    """A simulated tree, evaluated by the recipe with the wing."""
    root = site.parent / "tree"
    assert privacy_eval("demo-tree", root, *SIZES, site=site).code == 0
    (root / "ratings.csv").unlink()
    shutil.copy(site.parent / "lengths/own.yaml", root)
    venv = site.parent / "venv"
    server = preloaded(venv / "bin/privacy-eval", Path(f"{ROOT}{os.pathsep}{site}"))
    of_tree = ("--tree", root, "--out", "out", "--nj", 1, "--stage", 5)
    recipe = ROOT / "recipes/vpc2020/run.sh"
    run = run_program(recipe, *of_tree, *ASKED.split(), cwd=site.parent, VIRTUAL_ENV=str(venv))
    server.communicate()
    assert run.code == 0, run.err
    assert "d' by length: " in run.out
    return root


@pytest.fixture(scope="module")
def rows(tree: Path) -> list[dict[str, str]]:
    return csv_rows(tree / "out/results.csv")


def test_help_and_version_list_the_wing(site: Path) -> None:
    assert re.search("wings: .*lengths", privacy_eval("--version", site=site).out)
    listed = privacy_eval("--help", site=site).out
    assert "wing lengths:\n  d-prime " in listed
    assert re.search("7  lengths$", privacy_eval("stage", "--help", site=site).out, re.M)
    assert "--short-words" in privacy_eval("stage", "lengths", "--help", site=site).out
    summary = privacy_eval("selftest", site=site).out.splitlines()[-1]
    assert "wing lengths installed" in summary


def test_the_metric_is_computed_of_every_condition(tree: Path, rows: list[dict[str, str]]) -> None:
    results = json.loads((tree / "out/results.json").read_text())
    assert results["metrics"]["d_prime"]["name"] == "d'"
    conditions = {(r["name"], r["attacker"]) for r in rows if r["metric"] == "eer"}
    own = {(r["name"], r["attacker"]) for r in rows if r["metric"] == "d_prime" and not r["length"]}
    assert own == conditions and any(attacker == "length" for _, attacker in own)


def trials_of(tree: Path, row: dict[str, str]) -> Iterator[tuple[float, bool, int]]:
    """The scores of the condition of a row, whether they are of targets, and words said."""
    (folder,) = (p for p in tree.glob(f"exp/**/{row['name']}") if p.is_dir())
    name = row["name"].split("-")[-1].removesuffix("_B1")
    data = tree / "data" / name
    key = {tuple(line.split()[:2]): line.split()[2] for line in (data / "trials").open()}
    said = {line.split()[0]: len(line.split()) - 1 for line in (data / "text").open()}
    for speaker, utterance, score in map(str.split, (folder / "scores").open()):
        yield float(score), key[speaker, utterance] == "target", said[utterance]


def test_the_stage_measures_short_utterances(tree: Path, rows: list[dict[str, str]]) -> None:
    """By the option of the recipe; computed here once more."""
    of_length = [r for r in rows if r["length"] and r["attacker"] == "plda"]
    assert {r["length"] for r in of_length} == {"short", "long"}
    for row in of_length[:6]:
        short = row["length"] == "short"
        chosen = [(s, t) for s, t, words in trials_of(tree, row) if (words < 18) == short]
        target, nontarget = ([s for s, t in chosen if t is of] for of in (True, False))
        assert int(row["n_target"]) == len(target)
        means, variances = [], []
        for scores in (target, nontarget):
            means.append(sum(scores) / len(scores))
            variances.append(sum((s - means[-1]) ** 2 for s in scores) / len(scores))
        expected = (means[0] - means[1]) / (sum(variances) / 2) ** 0.5
        assert float(row["value"]) == pytest.approx(expected, rel=1e-4)


def test_the_numbers_are_in_a_table_and_in_the_report(
    tree: Path, rows: list[dict[str, str]]
) -> None:
    text = (tree / "out/tables/lengths.txt").read_text()
    assert "Utterances" in text and "d', B1" in text
    (row, *_) = (r for r in rows if r["length"] == "short" and r["attacker"] == "plda")
    assert f" {float(row['value']):.3f}" in text
    page = (tree / "out/report.html").read_text()
    assert "Short utterances</" in page
    number = sum(r["length"] == "short" for r in rows)
    assert f"Short utterances were evaluated in {number} conditions." in page


def test_the_core_s_tables_do_not_take_parts_for_wholes(tree: Path, site: Path) -> None:
    """EERs and their counts are those of all trials, with and without the wing."""
    alone = tree / "alone"
    results = ("--results", tree / "out/results.json")
    ok(privacy_eval("tables", *results, "--out", alone, site=tree))
    for name in ("main_results", "paper_asv_test"):
        for path in (tree / "out/tables").rglob(f"{name}.tex"):
            assert path.read_text() == next(alone.rglob(path.name)).read_text()


def test_results_are_read_without_the_wing(tree: Path) -> None:
    code = (
        "import privacy_eval as pe\n"
        f"table = pe.load({str(tree / 'out/results.json')!r}).select(metric='d_prime')\n"
        "print(sorted({row.get('length', '') for row in table}), *{*table['unit']})\n"
        "print(len(table.select(length='long').rank('d_prime')) > 0)"
    )
    run = run_program(sys.executable, "-c", code, cwd=tree, PYTHONPATH=str(ROOT))
    assert run.out == "['', 'long', 'short'] deviations\nTrue\n", run.err


FIGURE = """
from privacy_eval.wings import Wing
WING = Wing("other", figures={"spread": ("odd:figures", "Spread of scores")})

def figures(data):
    from matplotlib.figure import Figure
    from privacy_eval.report.figures.drawing import Drawing
    yield Drawing("spread", "Nothing in particular.", lambda: Figure(figsize=(2, 1)))
"""


def test_a_figure_is_drawn_and_in_the_report(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(FIGURE)
    register(tmp_path, "odd", "other = odd:WING")
    results = ("--results", tree / "out/results.json")
    drawn, page = tmp_path / "drawn", tmp_path / "report.html"
    assert privacy_eval("figures", *results, "--out", drawn, site=tmp_path).code == 0
    assert (drawn / "spread.png").is_file()
    run = privacy_eval("report", *results, "--figures", drawn, "--out", page, site=tmp_path)
    assert run.code == 0 and "Spread of scores</" in page.read_text(), run.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"low": "x"}, "low: expected a number, found 'x'"),
        ({"value": True}, "value: expected a number"),
        ({"value": [1]}, "value: expected a number"),
        ({"value": None}, "found None; leave out"),
        ({"n_target": 1.5}, "n_target: expected a whole number"),
        ({"trial_set": {}}, "trial_set: expected text or a number"),
        ({"gender": 1}, "gender: expected text"),
        ({"caveats": {}}, "caveats: expected"),
        ({"a b": 1}, "names of columns"),
        ({"value": 10**400}, "too large"),
        ({"metric": "nothing"}, "unknown metric 'nothing'"),
        ({"metric": "eer", "value": 2.0}, "2 is not within 0 to 1"),
        ({"system": "B2"}, "another system"),
        ({"length": "long"}, "two of "),
        ({"length": "a\u202eb"}, "length"),
    ],
)
def test_rows_of_others_are_checked(change: dict[str, object], said: str, tree: Path) -> None:
    results = json.loads((tree / "out/results.json").read_text())
    rows = next(of["rows"] for of in results["rows"] if len(of["rows"]) == 2)
    rows[0 if rows[0]["length"] == "short" else 1].update(change)
    path = tree / "changed.json"
    path.write_text(json.dumps(results))
    with pytest.raises(PrivacyEvalError, match="changed.json") as error:
        read_results(path)
    assert said in str(error.value) or said == "length"


def test_the_verb_runs(tree: Path, site: Path, rows: list[dict[str, str]]) -> None:
    (row, *_) = (r for r in rows if r["metric"] == "d_prime" and r["attacker"] == "plda")
    (folder,) = (p for p in tree.glob(f"exp/**/{row['name']}") if p.is_dir())
    key = tree / "data" / row["name"].split("-")[-1].removesuffix("_B1") / "trials"
    run = privacy_eval("d-prime", "--scores", folder / "scores", "--trials", key, site=site)
    assert f" {float(row['value']):.3f} " in run.out and row["n_target"] in run.out.split()


def test_an_unknown_option_of_wings_is_refused(tree: Path, site: Path) -> None:
    lines = [f"--tree={tree}", "--results=exp", "--conf=own.yaml"]
    for option, code in (("short-words=18", 0), ("shrt=1", 2), ("short-words", 2)):
        path = lines_to(site.parent / "options.conf", [*lines, f"--set={option}"])
        run = privacy_eval("check-options", path, site=site)
        assert run.code == code, run.err
        assert code == 0 or option.split("=")[0] in run.err
        assert option != "shrt=1" or re.search("options of wings: .*--short-words", run.err)


@pytest.mark.parametrize(
    ("text", "entry", "said"),
    [
        ("", "other = nowhere.at_all:WING", "not installed: wing other (no module nowhere.at_all)"),
        (OBJECT.replace("{}", '("no_such",)'), "other = odd:WING", "other (needs no_such)"),
        # A wing that was deleted, but for what Python compiled of it.
        ("", "other = left:WING", "not installed: wing other (no module left)"),
    ],
)
def test_what_is_not_installed_is_named(text: str, entry: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(text)
    (tmp_path / "left/__pycache__").mkdir(parents=True)
    register(tmp_path, "odd", entry)
    run = privacy_eval("--version", site=tmp_path)
    assert run.code == 0 and said in run.out
    assert "wing other not installed" in privacy_eval("selftest", site=tmp_path).out
    assert privacy_eval("metrics", "--help", site=tmp_path).code == 0


def added(what: str) -> str:
    return OBJECT.replace("{}", what)


def stage(name: str, number: int = 7, options: object = None) -> str:
    return f"stages={{{name!r}: Stage({number}, 'x', 'x -> y', 'odd:plan', {options})}}"


def made_with(option: str) -> str:
    """An object with a stage that has an option."""
    of = f"{option}: int = option(value('N', 'x', type=int), 1)"
    lines = ("from dataclasses import dataclass", "from privacy_eval.options import option, value")
    return "\n".join((*lines, f"@dataclass\nclass O:\n    {of}", added(stage("own", 7, "O"))))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0", "wing other: odd:WING: cannot be imported (ZeroDivisionError"),
        ("import no_such_module", "wing other: odd:WING: cannot be imported (ModuleNotFoundError"),
        ("raise SystemExit", "wing other: odd:WING: cannot be imported"),
        ("WING = 3", "expected a Wing named 'other', as its entry point, found 3"),
        (added("").replace("other", "one"), "as its entry point, found one named 'one'"),
        ("1 / 0", "uninstall the package odd"),
        ("", "has no attribute 'WING'"),
        (added("verbs={'metrics': ('odd', 'x')}"), "wing other: verbs: the core has 'metrics'"),
        (added("verbs={'fuse-scores': ('odd', 'x')}"), "wing attackers has 'fuse-scores'"),
        (added("metrics={'eer': {'function': 'odd:f'}}"), "other: metrics: the core has 'eer'"),
        (added("metrics={'own': {'function': 'odd:f'}}"), "wing other: metrics: own: "),
        (added("metrics={'own': {}}"), "wing other: metrics: own: "),
        (added("metrics={'own': {'function': 3}}"), "wing other: metrics: own: function: expected"),
        (added("metrics={'own': 3}"), "wing other: metrics: expected Mapping[str, Mapping[str"),
        (added("tables=__import__('pathlib').Path('x')"), "wing other: tables: expected tuple["),
        (added("verbs={'own': ('odd',)}"), "other: verbs: expected Mapping[str, tuple[str"),
        (added("stages={'own': 3}"), "wing other: stages: expected Mapping[str, Stage]"),
        (added(stage("own", 70)), "stages: own: number: expected one that"),
        (added(stage("own", 7, 1)), "own: options: expected type | None, found 1"),
        (added(stage("own", 7, "int")), "own: options: expected a dataclass"),
        (added("sections={'Published systems': 'odd:f'}"), "sections: the core has 'Published"),
        (added("figures={'a': ('odd:f',)}"), "figures: a: expected a function, a title"),
        (added("figures={'a': ('odd:f', 'All', 'curve')}"), "perhaps curves or conventional"),
        (added("sections={'Privacy and utility': 'odd:f'}"), "sections: the core has 'Priv"),
        (made_with("out"), "wing other: stages: own: options: the recipe has --out; rename"),
        (made_with("system"), "wing other: stages: own: options: the recipe has --system"),
        (made_with("seed"), "wing other: stages: own: options: the recipe has --seed"),
        (made_with("whiskers"), "wing other: stages: own: options: the recipe has --whiskers"),
        (made_with("shown_variant"), "options: the recipe has --shown-variant"),
        (added("circumstances={'gender': 'x'}"), "circumstances: the core has 'gender'"),
        (added("counts={'n_target': 'x'}"), "counts: the core has 'n_target'"),
        (added("attackers={'plda': 'odd:f'}"), "attackers: the core has 'plda'"),
        (added(stage("collect")), "stages: the core has 'collect'"),
        (added(stage("my stage")), "stages: 'my stage': expected letters"),
        (added(stage("asv-scores")), "stages: the core has 'asv_scores'"),
        (added("figures={'bars': ('odd', 'x')}"), "figures: the core has 'bars'"),
    ],
)
def test_what_is_wrong_with_a_wing_is_said(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(f"{text}\n")
    register(tmp_path, "odd", "other = odd:WING")
    kinds = (
        "from privacy_eval.cli import is_of_files, main\n"
        "try:\n"
        "    is_of_files('none')\n"
        "    from privacy_eval.stages.recipe import every_stage; every_stage()\n"
        "    from privacy_eval.protocol.protocol import load_protocol; load_protocol('vpc2020')\n"
        "    from privacy_eval.report.figures import kinds; kinds()\n"
        "    from privacy_eval.results import measurements\n"
        "    from privacy_eval.report.sections import titles_of_wings; titles_of_wings()\n"
        "    from privacy_eval.cli.stages import stage_options; stage_options()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    path = f"{ROOT}{os.pathsep}{tmp_path}"
    run = run_program(sys.executable, "-c", kinds, cwd=tmp_path, PYTHONPATH=path)
    assert run.out.startswith("PrivacyEvalError ") and said in run.out, run.err
    run = privacy_eval("count", "--help", site=tmp_path)
    assert "Traceback" not in run.err


PLAIN = """
import json
from dataclasses import dataclass
from typing import Any

from privacy_eval.io.files import read_text
from privacy_eval.stages.records import Recorded
from privacy_eval.wings import Stage, Wing

STAGE = Stage(7, "plain numbers", "text -> OUT/records", "odd:plan")
WING = Wing("other", stages={"by-hand": STAGE}, sections={"Only sentences": "odd:sentences"})


class Record(Recorded):
    def find(self, inputs):
        return {"text": self.asv.access.existing("a text", self.asv.access.tree / "odd.json")}

    def make(self, inputs, paths, made_of):
        given = json.loads(read_text(inputs.load(paths["text"])))
        return self.measured([{"metric": "attribute_bits", "value": 0.5} | given], made_of)


def plan(experiment, options):
    assert options is None
    for c in (f.condition for s in experiment.systems for f in s.conditions if f.scores):
        path = experiment.records_of(c.system, c.results_folder) / f"odd-{c.record_name}.json"
        yield Record(c, path, experiment.asv, None).product()


def sentences(data):
    yield "Nothing but this sentence."
"""


def test_a_stage_without_options_and_a_section_of_sentences(tree: Path, tmp_path: Path) -> None:
    """Its records are told from the core's, and are left out, with a note, once it is gone."""
    (tmp_path / "odd.py").write_text(PLAIN)
    register(tmp_path, "odd", "other = odd : WING")  # blanks are allowed

    def run(name: str, given: str | None = None) -> Run:
        if given is not None:
            (tree / "odd.json").write_text(given)
        of_tree = ("--tree", tree, "--results", "exp", "--out", "again")
        return privacy_eval("stage", name, *of_tree, site=tmp_path, cwd=tree)

    assert "Plain numbers." in privacy_eval("stage", "by-hand", "--help", site=tmp_path).out
    assert run("privacy-metrics").code == 0
    for given, said in (
        ('{"mistake": 1}', "no column 'mistake': "),
        ('{"caveats": "x"}', "no column 'caveats': "),
        ('{"value": null}', "value: expected a number, found None; leave out"),
        ('{"gender": 1}', "gender: expected text, found 1"),
        ('{"metric": "nothing"}', "unknown metric 'nothing'"),
    ):
        refused(run("by-hand", given), said)
    made = run("by-hand", '{"n_target": 5}')
    number = len([*(tree / "again/records").rglob("odd-*.json")])
    assert made.code == 0 and f"plain numbers: {number} up to date" in made.out, made.err
    ok(run("collect"))
    table = read_results(tree / "again/results.json").measurements
    of_wing = table.select(metric="attribute_bits")
    assert len(of_wing) == number and all("few_trials" in row["caveats"] for row in of_wing)
    page, results = tmp_path / "report.html", ("--results", tree / "again/results.json")
    reported = privacy_eval("report", *results, "--out", page, site=tmp_path)
    assert reported.code == 0 and "Nothing but this sentence." in page.read_text(), reported.err
    (tree / "odd.json").unlink()
    failed = run("collect")
    assert failed.code == 1 and f"{number} results failed: " in failed.out
    left_out = (tree / "again/left_out.txt").read_text()
    assert left_out.count(" have changed: stage 7 by-hand renews it)") == number
    shutil.rmtree(tmp_path / "odd-1.0.dist-info")
    collected = ok(run("collect"))
    assert f"{number} records of a stage that is not installed: by_hand" in collected.err


def test_the_version_is_printed_whatever_is_wrong_with_a_wing(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("1 / 0")
    register(tmp_path, "odd", "other = odd:WING")
    run = privacy_eval("--version", site=tmp_path)
    assert run.code == 1 and run.out.startswith("privacy-eval ")
    assert "wing other" in run.err and "package odd" in run.err


def test_what_a_wing_names_and_is_not_there_is_said(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(added(f"{stage('own')}, verbs={{'own': ('nowhere', 'x')}}"))
    register(tmp_path, "odd", "other = odd:WING")
    assert "wing other: nowhere:VERBS" in privacy_eval("own", site=tmp_path).err
    of_tree = ("--tree", tree, "--results", "exp", "--out", "again")
    assert "wing other: odd:plan" in privacy_eval("stage", "own", *of_tree, site=tmp_path).err


@pytest.mark.parametrize("edition", ["vpc2020", "vpc2024"])
def test_numbers_of_stages_are_those_that_recipes_run(edition: str) -> None:
    text = (ROOT / "recipes" / edition / "run.sh").read_text()
    run = {int(number) for number in re.findall(r"^ +try (\d+)", text, re.M)}
    assert run <= {*wings.NUMBERS} and (edition != "vpc2020" or run == {*wings.NUMBERS})


def test_two_wings_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        register(tmp_path, name, f"other = {name}:WING")
    refused(privacy_eval("--version", site=tmp_path), "two wings other")
