"""The statement for a data protection impact assessment: what it says, and what it must not."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from disclosure_support import Galleries
from support import B1, B2, cli, imported, ok, scored, write, write_outputs

from privacy_eval.disclosure.linkage import SinglingOutCurve, SpeakerLinkage
from privacy_eval.disclosure.statement import statement_parts
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.report.tables_and_report import Publication

NOT_TESTED = "What was not tested, and what follows"
ATTRIBUTES = {
    "orig_to_orig": {
        "uar": 0.9,
        "interval": [0.8, 1.0],
        "bits": 0.5,
        "risk": 0.7,
        "risk_interval": [0.4, 0.9],
    },
    "anon_to_anon": {
        "uar": 0.61,
        "interval": [0.47, 0.74],
        "bits": 0.02,
        "risk": 0.11,
        "risk_interval": [0.0, 0.35],
    },
    "reported": "anon_to_anon",
}
AMOUNT = {
    "amount_of_equal_speakers": {
        "1": {"speakers": 20, "rank1": 0.22, "rank1_interval": [0.15, 0.29]},
        "30": {"speakers": 20, "rank1": 0.55, "rank1_interval": None},
    }
}
GROUPS = {
    "groups": {
        "accent": {
            "groups": {
                "us": {"within": {"eer": 0.31}},
                "uk": {"within": {"eer": 0.22}},
                "none": {"within": {"eer": None}},
            },
            "test": {
                "us": {"difference": 0.05, "se": 0.02, "p_value": 0.04},
                "uk": {"difference": -0.09, "se": 0.03, "p_value": 0.01},
                "none": None,
            },
        }
    }
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_outputs(imported(B1, system="<b>B1|x</b>"), folder)
    return folder / "results.json"


def statement(results: Path, out: Path, *more: object) -> str:
    ok(cli("report", "--results", results, "--statement", "--out", out, *more))
    return out.read_text()


def test_published_results_say_what_was_not_measured(results: Path, tmp_path: Path) -> None:
    text = statement(results, tmp_path / "s.md")
    rows = [line.split(" | ") for line in text.splitlines() if "nothing can be said" in line]
    why = {criterion.strip("| "): how for criterion, how, _ in rows}
    assert "--attribute" in why["inference"] and "stage 7" in why["singling out"]
    assert "Inference of gender, accent" in text
    assert "not a legal assessment" in text
    titles = re.findall(r"^## (.*)$", text, re.M)
    assert (titles[0], len(titles)) == ("In short", 9)
    assert not re.search(r"\b(is|are) (safe|anonymous|compliant|sufficient)\b", text)


def test_the_summary_names_the_attack_that_finds_most() -> None:
    """Published EERs, and rates of finding a person made up here: one of three is always found."""
    speakers = [SpeakerLinkage(s, n, 1.0, 1.0, 1.0) for s, n in (("a", 7), ("b", 9))]
    speakers.append(SpeakerLinkage("c", 8, 0.5, 0.5, 0.5))
    results = imported(B1, system="B1")
    found = {"original": 0.98, "ignorant": 0.2, "lazy-informed": 0.9}
    records = tuple(
        Galleries(
            r.condition,
            (2, 5),
            (0.95, found[r.condition.attack_model]),
            speakers_size=5,
            speakers=tuple(speakers),
        ).record
        for r in results.verification
        if r.condition.attack_model in found
        and (r.condition.data_set, r.condition.split, r.condition.gender) == ("libri", "test", "f")
    )
    results = replace(results, identification=records)
    data = ReportData(results, cells_from_results(results))
    parts = {part.title: part for part in statement_parts(data)}
    found_most, worst, errs, untried, missing = parts["In short"].items
    assert "has the same tool" in found_most and "90 % of tests" in found_most
    assert "20 % by guessing" in found_most
    assert "2 people are each named in 7 of 7 tests, or as often" in worst
    assert "worst of 6 results" in worst
    assert "98 % with unprotected speech" in found_most
    assert "trains on processed speech" in untried
    assert any(item.startswith("Semi-informed") for item in parts[NOT_TESTED].items)
    assert re.search(r"before comparing errs in \d+\.\d\d % of cases", errs)
    assert "Guessing errs in 50 %" in errs
    assert "singling out" in missing and "inference" in missing
    criteria = [
        row[0]
        for row in parts["The three criteria of Opinion 05/2014 on anonymization (WP 216)"].rows
    ]
    assert criteria.count("linkability") == 5 and "linkage" not in criteria


@pytest.mark.parametrize("on_original", [True, False])
def test_the_same_attacker_is_compared_on_original_speech(on_original: bool) -> None:
    """The strongest attacker errs in 1 %, in 2 % of original speech if it tried that."""
    results = imported(B1, system="B1")
    others = [
        scored(
            r,
            condition=replace(r.condition, attacker="words"),
            metrics={v: {"eer": 0.02 if r.condition.is_original else 0.01} for v in r.by_variant()},
        )
        for r in results.verification
        if r.condition.split == "test"
        and r.condition.attack_model in ("ignorant", *["original"] * on_original)
    ]
    data = ReportData(results, cells_from_results(results), others=tuple(others))
    (errs,) = (i for i in statement_parts(data)[0].items if "given person?" in i)
    own = f"protocol's own attacker errs in {data.original_eer['printed']} %"
    assert "errs in 1.00 % of cases" in errs
    assert ("It errs in 2.00 % with unprotected" in errs) == on_original
    assert (own in errs) == (not on_original)


@pytest.mark.parametrize(
    ("value", "p", "also"), [(0.9, 0.002, True), (0.9, 0.2, False), (0.01, 0.002, False)]
)
def test_that_the_least_protected_is_named_for_everybody_is_said_beside(
    value: float, p: float, also: bool
) -> None:
    results = imported(B1, system="B1")
    place = ("libri", "test", "f", "ignorant")
    (condition,) = (
        c
        for c in (r.condition for r in results.verification)
        if (c.data_set, c.split, c.gender, c.attack_model) == place
    )
    instead = {"metric": "named_instead", "gallery": 5, "rank": 1, "n_tests": 100}
    instead |= {"speaker": "a", "value": value, "n_speakers": 4, "p": p}
    speakers = (SpeakerLinkage("a", 7, 1.0, 1.0, 1.0), SpeakerLinkage("b", 9, 0.5, 0.5, 0.5))
    rates = Galleries(
        condition, (2, 5), (0.9, 0.5), speakers_size=5, speakers=speakers, instead=(instead,)
    )
    results = replace(results, identification=(rates.record,))
    data = ReportData(results, cells_from_results(results))
    said = "Others are taken for this person in 90 % of tests"
    parts = statement_parts(data)
    (worst,) = (item for item in parts[0].items if "least protected" in item)
    (row,) = (row[2] for part in parts for row in part.rows if "least protected" in row[1])
    assert [said in text for text in (worst, row, data.disclosed.worst("B1"))] == [also] * 3
    (cell,) = (of["B1"] for title, of in data.disclosed.columns().items() if "Least" in title)
    assert cell.endswith("also for others") == also


def test_evidence_of_other_verbs(results: Path, tmp_path: Path) -> None:
    files = []
    for name, plain in (("gender", ATTRIBUTES), ("amount", AMOUNT)):
        files += ["--evidence", write(tmp_path / f"{name}.json", json.dumps(plain))]
    text = statement(results, tmp_path / "s.md", *files)
    assert "gender: a classifier" in text
    assert "average recall 61 % [47, 74], of original speech 90 %" in text
    assert "0.11 [0.00, 0.35]" in text
    assert "With 30 sentences instead of 1, the right person is found 55 % instead of 22 %" in text
    assert "Inference of accent, age, health, origin, other attributes: it may" in text
    assert "More than 30 sentences of one person" in text and "Long or repeated" not in text
    assert "Finding a person in a group: it may" in text and "Singling out: it may" in text


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ((), ["gender", "accent", "age", "health", "origin"]),
        (("language", "speaker-age"), ["gender", "accent", "health", "origin"]),
        (("speakers_Accent", "gender", "mood"), ["age", "health", "origin"]),
    ],
)
def test_a_reservation_loses_the_attributes_that_were_measured(
    names: tuple[str, ...], left: list[str], results: Path, tmp_path: Path
) -> None:
    files: list[object] = []
    for name in names:
        files += ["--evidence", write(tmp_path / f"{name}.json", json.dumps(ATTRIBUTES))]
    text = statement(results, tmp_path / "s.md", *files)
    (line,) = re.findall(r"\* Inference of (.*): it may", text)
    assert line.split(", ") == [*left, "other attributes"]


def test_singling_out_that_was_refused_says_why() -> None:
    results = imported(B1, system="B1")
    why = "1 enrolled speakers have the 10 tests needed"
    refused = SinglingOutCurve(n_speakers=1, refused=why)
    (record,) = (
        Galleries(r.condition, (2, 5), (0.5, 0.2), singling_out=refused).record
        for r in results.verification
        if (r.condition.attack_model, r.place()) == ("ignorant", ("libri", "test", "f"))
    )
    results = replace(results, identification=(record,))
    data = ReportData(results, cells_from_results(results))
    parts = {part.title: part for part in statement_parts(data)}
    rows = next(part.rows for title, part in parts.items() if "criteria" in title)
    assert [row[1] for row in rows if row[0] == "singling out"] == [f"not measured: because {why}"]
    untested = parts[NOT_TESTED].items
    assert "Singling out: it may be possible." in untested
    assert not any("Finding a person" in item for item in untested)


def test_groups_of_metrics(results: Path, tmp_path: Path) -> None:
    files = ["--evidence", write(tmp_path / "b1.json", json.dumps(GROUPS))]
    text = statement(results, tmp_path / "s.md", *files)
    assert "By accent (b1), EER within each group: uk 22.0 %; us 31.0 %" in text
    assert (
        "In standard errors, uk differs most: -9.0 points" in text
        and "significant (p = 0.010" in text
    )
    rest = text.split("For which groups")[1].split("##")[0]
    assert "groups by age, language, other properties differ was not tested" in rest
    plain = json.loads(json.dumps(GROUPS))
    plain["groups"]["accent"]["test"] = dict.fromkeys(("us", "uk", "none"))
    files = ["--evidence", write(tmp_path / "b2.json", json.dumps(plain))]
    assert "No group has enough speakers" in statement(results, tmp_path / "s.md", *files)


def test_names_of_strangers_are_escaped(results: Path, tmp_path: Path) -> None:
    page = statement(results, tmp_path / "s.html")
    assert "<b>" not in page
    assert "&lt;b&gt;B1|x&lt;/b&gt;" in page
    assert "\\<b\\>B1\\|x" in statement(results, tmp_path / "s.md")


@pytest.mark.parametrize(
    "plain",
    [
        "[]",
        "{}",
        "3",
        '{"reported": "x"}',
        '{"reported": "anon_to_anon"}',
        '{"amount_of_equal_speakers": {"x": {}}}',
        '{"amount_of_equal_speakers": {}}',
        json.dumps(ATTRIBUTES).replace("0.61", "61"),
        json.dumps(ATTRIBUTES).replace("0.61", '"0.61"'),
        json.dumps(ATTRIBUTES).replace("[0.47, 0.74]", "[0.47]"),
        json.dumps(GROUPS).replace("0.31", "31"),
        json.dumps(GROUPS).replace("-0.09", '"x"'),
        '{"groups": {"accent": []}}',
    ],
)
def test_files_that_are_no_evidence(plain: str, results: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "x.json", plain)
    out = tmp_path / "s.md"
    options = ("--statement", "--evidence", file, "--out", out)
    run = cli("report", "--results", results, *options)
    assert (run.code, f"{file}: not the JSON" in run.err, out.exists()) == (1, True, False)


def test_options_that_do_not_go_together(results: Path, tmp_path: Path) -> None:
    run = cli("report", "--results", results, "--statement", "--out", tmp_path / "s.pdf")
    assert (run.code, ".html or .md" in run.err) == (2, True)
    evidence = ("--evidence", results, "--out", tmp_path / "r.html")
    assert cli("report", "--results", results, *evidence).code == 2


def test_many_systems_need_a_choice(tmp_path: Path) -> None:
    paths = []
    for n in range(4):
        write_outputs(imported((B1, B2)[n % 2], system=f"S{n}"), tmp_path / str(n))
        paths.append(tmp_path / str(n) / "results.json")
    options = ("--statement", "--out", tmp_path / "s.md")
    run = cli("report", "--results", *paths, *options)
    assert (run.code, "not 4 systems" in run.err) == (2, True)
    assert cli("report", "--results", *paths, "--system", "S2", *options).code == 0


def test_a_public_report_keeps_caveats_that_follow_from_other_attackers(tmp_path: Path) -> None:
    """Numbering makes all records anew, those of the words alone among them."""
    results = imported(B1, system="B1")
    own = next(r for r in results.verification if r.condition.attack_model == "ignorant")
    condition = replace(own.condition, attacker="words")
    better = {variant: {"eer": 0.01} for variant in own.by_variant()}
    words = scored(own, condition=condition, metrics=better)
    whole = replace(results, verification=(*results.verification, words))
    assert any("words" in reason for r in whole.verification for reason in r.caveats.values())
    write_outputs(whole, tmp_path)
    data = read_report_data(ReportSources((tmp_path / "results.json",)))
    public = Publication(public=True).data(data)
    assert [r.caveats for r in public.results.verification] == [
        r.caveats for r in data.results.verification
    ]
    assert [r.condition for r in public.others] == [words.condition]
