"""The verb of listening tests, and its section of the report, end to end."""

import json
import re
import shutil
from inspect import signature
from pathlib import Path

import pytest
from support import B1, ROOT, Run, cli, imported, ok, options_of, refused, snapshot, undrawn

from privacy_eval.listening import evaluation
from privacy_eval.listening.evaluation import evaluate_ratings
from privacy_eval.listening.ratings import TEMPLATE, read_ratings
from privacy_eval.listening.store import read_listening_test
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import to_json
from privacy_eval.simulate.demo_tree import INVERTS, simulate_ratings

PROTOCOL = load_protocol("vpc2020")
KEY = "".join(
    f"{{0}}{e} {{0}}{s}-{u} {'target' if e == s else 'nontarget'}\n"
    for e in range(3)
    for s in range(3)
    for u in range(5)
)


def ratings(*systems: str) -> str:
    places = [("libri", "f"), ("vctk_common", "m")]
    return simulate_ratings(systems, {place: KEY.format("".join(place)) for place in places})


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "ratings.csv").write_text(ratings("B1"))
    (tmp_path / "results.json").write_text(to_json(imported(B1)))
    return tmp_path


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A tree with what the verb wrote, which tests leave as it is, and what it said."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "ratings.csv").write_text(ratings("B1"))
    (folder / "results.json").write_text(to_json(imported(B1)))
    return folder, cli(*run(folder))


def run(tree: Path, *more: object, min_ratings: int = 7) -> tuple[object, ...]:
    return (
        "listening",
        "--ratings",
        tree / "ratings.csv",
        "--results",
        tree / "results.json",
        "--format",
        "png",
        "--min-ratings",
        min_ratings,
        "--out",
        tree / "out",
        *more,
    )


def test_one_run_writes_everything_and_a_second_one_the_same(evaluated: tuple[Path, Run]) -> None:
    tree, first = evaluated
    assert first.code == 0, first.err
    flagged = f"listener05 (one value), listener11 (few ratings), {INVERTS} (disagrees)"
    assert flagged in first.err and "--leave-out" in first.err
    made = snapshot(tree / "out")
    tables = {n for n in made if n.startswith("tables/") and n.endswith(".tex")}
    assert {Path(n).stem for n in tables} == {
        "tables",
        "subjective_opinions",
        "subjective_opinion_tests",
        "subjective_summary",
        "subjective_tests_similarity",
        "subjective_tests_speech",
        "objective_subjective",
        "subjective_pooled",
        "subjective_variants",
        "subjective_evaluators",
    }
    figures = {Path(n).stem for n in made if n.endswith(".png")}
    assert {"subjective_violin", "subjective_det_pooled", "subjective_scatter_cllr"} <= figures
    assert {"subjective.json", "subjective.npz", "subjective.csv", "evaluators.csv"} <= set(made)
    assert re.search(r"11 files of tables, 11 figures up to date", first.out)
    second = cli(*run(tree))
    assert "11 figures up to date\n" in second.out and second.err == first.err
    assert snapshot(tree / "out") == made


def test_unchanged_ratings_are_not_evaluated_again(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undrawn(monkeypatch)
    assert cli(*run(tree)).code == 0
    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "evaluate_ratings", lambda *_, **__: pytest.fail("evaluated"))
        assert cli(*run(tree)).code == 0
    before = (tree / "out/subjective.json").read_bytes()
    for change in (["--holm"], ["--leave-out", INVERTS]):
        assert cli(*run(tree, *change)).code == 0
        changed = (tree / "out/subjective.json").read_bytes()
        assert changed != before
        before = changed
    (tree / "ratings.csv").write_text(ratings("B1", "B2"))
    assert cli(*run(tree, "--any-system")).code == 0
    assert read_listening_test(tree / "out/subjective.json")[0].systems[1:] == ("B1", "B2")
    (tree / "out/subjective.csv").write_text("edited")
    assert cli(*run(tree, "--any-system")).code == 0
    assert "edited" not in (tree / "out/subjective.csv").read_text()


def test_options_reach_what_is_written(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undrawn(monkeypatch)
    done = cli(
        *run(tree, "--holm", "--leave-out", INVERTS, "--reference", "Original", min_ratings=50),
        *("--split", "dev"),
    )
    assert done.code == 0, done.err
    result, _ = read_listening_test(tree / "out" / "subjective.json")
    assert (result.holm, result.reference, result.split) == (True, "Original", "dev")
    assert (result.evaluators_left_out, result.min_ratings) == ((INVERTS,), 50)
    assert all("few ratings" in e["flags"] for e in result.evaluators)
    assert f"Left out on request: {INVERTS}." in done.err


def test_the_report_has_a_section(evaluated: tuple[Path, Run], tmp_path: Path) -> None:
    tree, _ = evaluated
    path = tmp_path / "report.html"
    report = ("report", "--results", tree / "results.json", "--out", path)
    assert cli(*report).code == 0
    assert "Subjective evaluation" not in path.read_text()
    assert cli(*report, "--listening", tree / "out").code == 0
    page = path.read_text()
    assert cli(*report, "--listening", tree / "out", "--by-strongest").code == 0
    assert "<h2>Subjective evaluation</h2>" in page
    for name in ("subjective_tests_similarity", "objective_subjective", "subjective_evaluators"):
        assert f'<table id="tab-{name}">' in page
    assert page.count("<img ") == 5 and page.count("DET curves of normalized ratings") >= 6
    assert "36 evaluators, 2 systems" in page


def test_a_report_of_what_has_changed_is_refused(
    evaluated: tuple[Path, Run], tmp_path: Path
) -> None:
    tree = tmp_path / "copy"
    shutil.copytree(evaluated[0], tree)
    report = (
        *("report", "--results", tree / "results.json", "--out", tree / "report.html"),
        *("--listening", tree / "out"),
    )
    path = tree / "results.json"
    text = path.read_text()
    plain = json.loads(text)
    path.write_text(json.dumps({**plain, "not_evaluated": ["one"]}))
    refused(cli(*report), "figures of other ratings or results; draw them again")
    path.write_text(text)
    assert cli(*report).code == 0
    other = to_json(imported(B1, protocol="vpc2022"))
    path.write_text(other)
    refused(cli(*report), "protocol vpc2020, but the results are of protocol vpc2022")
    assert not cli(*report[:-1], tree / "nothing").code == 0


WRONG = {
    "off the scale": (lambda t: re.sub(r"(?m),\d+$", ",11", t, count=1), "outside the scale"),
    "missing column": (
        lambda t: t.replace("evaluator,", "", 1),
        "the column 'evaluator' is missing",
    ),
    "unknown system": (lambda t: t.replace(",B1,", ",B7,", 1), "unknown system: expected Orig"),
    "rated twice": (lambda t: t + t.splitlines()[1] + "\n", "duplicate rating.* first in"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_ends_with_1_and_its_line(tree: Path, change: object, message: str) -> None:
    path = tree / "ratings.csv"
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    done = cli(*run(tree))
    assert done.code == 1 and not done.out
    assert re.search(rf"^privacy-eval: {re.escape(str(path))}:\d+: .*({message})", done.err)
    assert not (tree / "out").exists()


def test_other_systems_and_scales_on_request(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undrawn(monkeypatch)
    path = tree / "ratings.csv"
    path.write_text(ratings("B1", "anchor"))
    assert "found 'anchor'" in cli(*run(tree)).err
    assert cli(*run(tree, "--systems", "anchor")).code == 0
    result, _ = read_listening_test(tree / "out" / "subjective.json")
    assert result.systems == ("Original", "B1", "anchor")
    done = cli(*run(tree, "--systems", "anchor", "--scale", "1", "5"))
    assert done.code == 1 and "outside the scale from 1 to 5" in done.err
    assert cli(*run(tree, "--any-system")).code == 0
    alone = (*("listening", "--ratings", path, "--format", "png"), "--out", tree / "alone")
    assert cli(*alone).code == 0  # without results any system will do


def test_published_tests_alone(tmp_path: Path) -> None:
    ok(cli("listening", "--published", "vpc2020", "--format", "png", "--out", tmp_path))
    names = {p.stem for p in (tmp_path / "tables").glob("*.tex")} - {"tables"}
    assert names == {
        "subjective_tests_similarity",
        "subjective_tests_speech",
        "objective_subjective",
    }
    assert len(list((tmp_path / "figures").glob("*.png"))) == 4
    assert not (tmp_path / "subjective.json").exists()


def test_the_template_is_a_file_of_ratings(tmp_path: Path) -> None:
    done = cli("listening", "--template")
    assert (done.code, done.out) == (0, TEMPLATE)
    (tmp_path / "ratings.csv").write_text(done.out)
    read = cli(
        *("listening", "--ratings", tmp_path / "ratings.csv", "--format", "png"),
        *("--out", tmp_path / "out"),
    )
    assert read.code == 0, read.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "neither --ratings nor --published"),
        (("--results", "r.json", "--published", "vpc2020"), "--ratings is missing"),
        (("--ratings", "nothing.csv"), "nothing.csv: cannot be read"),
        (("--published", "vpc1999"), "no published results of this name"),
    ],
)
def test_impossible_requests_are_reported(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = cli("listening", *arguments, "--out", tmp_path / "out")
    assert done.code == (2 if "vpc1999" in arguments else 1) and message in done.err


def test_the_page_names_every_column() -> None:
    text = (ROOT / "docs/listening.md").read_text()
    for column in TEMPLATE.splitlines()[0].split(","):
        assert f"`{column}`" in text, column


def test_options_are_the_keywords_of_the_functions() -> None:
    options = options_of("listening")
    keywords = {
        name: parameter.default
        for function in (evaluate_ratings, read_ratings)
        for name, parameter in signature(function).parameters.items()
        if parameter.kind == parameter.KEYWORD_ONLY
    }
    assert keywords.keys() - {"data_sets", "genders"} <= options.keys()
    for name in ("scale", "min_ratings", "min_agreement", "holm", "reference", "split"):
        assert options[name].default == keywords[name]
