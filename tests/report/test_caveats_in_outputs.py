"""Implausible scores in every output: said so, without a category, rank or bold print."""

import json
import re
from dataclasses import replace

import pytest
from support import (
    ANON,
    B1,
    Run,
    Tree,
    cli,
    csv_rows,
    declared_table,
    import_results_txt,
    imported,
    inverted,
    lines_to,
    metrics_of,
    scored,
    three_conditions,
    with_eer,
    with_first,
)

from privacy_eval.metrics import CAVEATS, METRICS, VARIANTS
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.notes import front_notes, identical_scores
from privacy_eval.report.sections import report_sections
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results, merge
from privacy_eval.results.rows import rows_of

#: Of few nontarget scores.
FEW = ["few_nontargets_0.01", "few_nontargets_0.001"]
IMPLAUSIBLE = "EER above 65 % is implausible"


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = three_conditions(tmp_path_factory.mktemp("tree"))
    original = tree.root / "exp/results-now/ASV-libri_dev_enrolls-libri_dev_trials_f/scores"
    keys = (tree.root / "data/libri_dev_trials_f/trials").read_text().splitlines()
    lines_to(
        original,
        [
            f"{' '.join(k.split()[:2])} {-4.0 * k.endswith(' target') + 0.01 * i}"
            for i, k in enumerate(keys)
        ],
    )
    return tree


@pytest.fixture(name="runs", scope="module")
def _runs(tree: Tree) -> dict[str, Run]:
    common = ("--tree", tree.root, "--results", "exp", "--out", "out")
    metrics = cli("stage", "privacy-metrics", *common)
    again = cli("stage", "privacy-metrics", *common)
    collect = cli("stage", "collect", *common, "--allow-missing")
    out, results = tree.root / "out", ("--results", tree.root / "out/results.json")
    return {
        "privacy-metrics": metrics,
        "privacy-metrics again": again,
        "collect": collect,
        "export": cli("export", out / "results.json", "--format", "averages"),
        "tables": cli("tables", *results),
        "tables in a folder": cli(
            "tables", *results, "--formats", "md,txt", "--out", out / "tables"
        ),
        "report": cli("report", *results, "--out", out / "report.html"),
    }


def test_every_verb_warns(runs: dict[str, Run]) -> None:
    for verb, run in runs.items():
        assert run.code == 0, (verb, run.err)
        assert IMPLAUSIBLE in run.err, verb
        assert "fewer than 20 target scores" in run.err, verb
        assert "false alarms" not in run.err, verb


WITH_ZEBRA = ["metrics", pytest.param("zebra", marks=pytest.mark.wing("compat"))]


@pytest.mark.parametrize("verb", WITH_ZEBRA)
def test_single_files(tree: Tree, verb: str) -> None:
    folder = "exp/results-now/ASV-libri_dev_enrolls-libri_dev_trials_f"
    files = ("--scores", tree.root / folder / "scores")
    files = (*files, "--trials", tree.root / "data/libri_dev_trials_f/trials")
    run = cli(verb, *files)
    assert IMPLAUSIBLE in run.out and run.code == 0
    assert not re.search(r"\([0A-F]\)", run.out) and "(n/a)" in run.out
    assert re.search("^Linkability +n/a$", cli("metrics", *files).out, re.M)
    plain = json.loads(cli("metrics", *files, "--format", "json").out)
    assert set(plain["caveats"]) == {"inverted", "coarse_eer", "few_targets", *FEW}
    assert isinstance(plain["exact"]["linkability"], float)


def test_json_has_the_numbers_beside_the_caveats(tree: Tree, runs: dict[str, Run]) -> None:
    path = tree.root / "out/results.json"
    plain = json.loads(path.read_text())
    first, *others = plain["verification"]
    assert list(first["caveats"]) == ["inverted", "coarse_eer", "few_targets", *FEW]
    assert metrics_of(first)["exact"]["linkability"] >= 0
    for record in others:  # of the system, though their EER is plausible
        assert list(record["caveats"]) == ["inverted_original", "coarse_eer", "few_targets", *FEW]
    results = read_results(path)
    assert json.loads(to_json(results)) == plain
    for record in plain["verification"]:  # as written before there were caveats
        del record["caveats"]
    path.with_name("before.json").write_text(json.dumps(plain))
    assert read_results(path.with_name("before.json")) == results


def test_csv_has_a_column(tree: Tree, runs: dict[str, Run]) -> None:
    rows = csv_rows((tree.root / "out/results.csv").read_text())
    original = [r for r in rows if r["trial"] == r["enrollment"] == "original"]
    assert original and all(IMPLAUSIBLE in r["caveats"] for r in original)
    for row in rows:
        assert ("fewer than 20" in row["caveats"]) is (row["metric"] == "linkability")
        assert ("is not estimable" in row["caveats"]) is row["metric"].startswith("miss_at_fa")
        float(row["value"])


def test_results_txt_has_no_category_and_is_read_back(tree: Tree, runs: dict[str, Run]) -> None:
    text = (tree.root / "out/results.txt").read_text()
    assert text.count("linkability: n/a") == text.count("(n/a)") == 3
    assert IMPLAUSIBLE in text and "linkability: 0" not in text
    results = read_results(tree.root / "out/results.json")
    back = import_results_txt(text, "results.txt", results.protocol, system="now")
    lines = "".join(metric.line for metric in METRICS.values())
    hidden = {"linkability", "eer_speechbrain"}  # withheld, and not the protocol's
    absent = {*hidden, *(key for key in METRICS if f"{{{key}}}" not in lines)}
    assert {"min_dcf_0.01", "miss_at_fa_0.001"} < absent
    for one, other in zip(results.verification, back.verification, strict=True):
        challenge = other.by_variant()["challenge"].keys()
        assert challenge == one.by_variant()["challenge"].keys() - absent
        assert {"eer", "cllr", "zebra_individual"} < challenge
    again = to_results_txt(back, "now", "")
    assert "(n/a)" in again and not re.search(r"\([0A-F]\)", again)


def test_tables_and_the_first_screen(tree: Tree, runs: dict[str, Run]) -> None:
    for table in (tree.root / "out/tables").rglob("now_*.md"):
        text = table.read_text()
        assert not re.search(r"\| [0A-F] +\|", text)  # a category
        if table.name.startswith(("now_asv", "now_zebra", "now_rocch")):
            assert "?" in text and "is implausible" in text, table.name
    for name in ("linkability", "miss_rate"):  # no value is available
        assert not (tree.root / f"out/tables/more/now_{name}.txt").exists()
    page = (tree.root / "out/report.html").read_text()
    first, _, rest = page.partition('<section id="answer">')[2].partition("</section>")
    assert "far above guessing" in first and 'class="axis"' in first
    first += rest.partition("</section>")[0]
    assert IMPLAUSIBLE in first and "no average (implausible: " in first
    assert "leaves an EER of" not in first


def test_a_weak_attacker_is_on_the_first_screen_and_below_tables() -> None:
    results = imported(B1, system="mine")
    first = results.verification[0]
    assert first.condition.is_original
    for record, is_noted in ((with_eer(first, 0.25), True), (first, False)):
        changed = with_first(results, record)
        data = ReportData(changed, cells_from_results(changed))
        front, _, _ = report_sections(data)
        reason = CAVEATS["weak_attacker"].reason
        assert any(reason in text for text, _ in front.warnings) is is_noted
        tables = {t.name: t for t in system_tables(data, "mine", "")}
        for name in ("asv_dev", "zebra"):
            if name in tables:
                assert any(reason in n for n in tables[name].notes) is is_noted, name
        tag = changed.verification[0].tag("challenge")
        assert tag == first.tag("challenge")  # a weak attacker is graded all the same


def test_one_inverted_system_leaves_the_others_alone() -> None:
    results = inverted("mine")
    assert {r.condition.system for r in results.verification if r.caveats} == {"mine"}
    assert all(r.caveats for r in results.verification if r.condition.system == "mine")
    assert not any(r.caveats for r in inverted().verification)


def test_scores_that_two_systems_share_are_named() -> None:
    """Of anonymized speech: every ninth score file is the same in all systems."""

    def scores_of(system: str, number: int) -> Results:
        results = imported(B1, system=system)
        records = tuple(
            replace(r, provenance={"inputs": {"scores": {"sha256": f"{n % 9 and number}-{n}"}}})
            for n, r in enumerate(results.verification)
        )
        return replace(results, verification=records)

    results = merge([scores_of("a", 1), scores_of("b", 2), scores_of("c", 3)])
    assert results.verification
    every_ninth = scores_of("a", 1).verification[::9]
    shared = [r for r in every_ninth if not r.condition.is_original]
    (text,) = identical_scores(results)
    assert text == f"Identical scores of a, b and c: {len(shared)} score files"
    data = ReportData(results, cells_from_results(results))
    assert (text, ()) in front_notes(data, ())
    assert not list(identical_scores(merge([scores_of("a", 1)])))


@pytest.mark.wing("disclosure")
def test_linkability_of_few_targets_is_marked_in_every_output() -> None:
    """70 target trials: of the variant challenge it is too low, of exact it is not."""
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    results = imported(ANON, protocol="vpc2022", system="mine")
    assert results.protocol.variant == "challenge"
    few = tuple(scored(r, n_target=70, n_nontarget=50_000) for r in results.verification)
    results = replace(results, verification=few)
    record = few[-1]
    value = METRICS["linkability"].format(record.values("challenge")["linkability"], detailed=True)
    assert record.caveat("linkability", "challenge") is CAVEATS["few_targets_challenge"]
    assert record.caveat("eer", "challenge") is None
    data = ReportData(results, cells_from_results(results))
    tables = {t.name: t for t in system_tables(data, "mine", "")}
    cells = [cell for row in tables["linkability"].rows for cell in row]
    assert f"{value}?" in cells and not any(
        "reads as privacy" in n for n in tables["asv_dev"].notes
    )
    assert any(n.startswith("?") and "reads as privacy" in n for n in tables["linkability"].notes)
    assert "reads as privacy" in to_results_txt(results, "mine", "")
    rows = [r for r in rows_of(record) if r["metric"] == "linkability"]
    assert ["reads as privacy" in str(r["caveats"]) for r in rows] == [True]
    for mean in data.attacks["mine"][-1]["means"].values():
        if mean["metric"] == "linkability":
            assert mean["value"] is None and "too few targets" in mean["why_blank"]
    rule = Rule("few", "linkability", at_most=1.0, interval="optional")
    (verdict,) = judge(Policy((rule,)), results)
    assert verdict.decision == "UNDECIDED" and "reads as privacy" in verdict.deciding.reason


@pytest.mark.wing("disclosure")
def test_groups_of_few_trials_are_marked_and_not_judged() -> None:
    from privacy_eval.disclosure.gate import Policy, Rule, judge
    from privacy_eval.disclosure.group_records import summary_rows
    from privacy_eval.metrics.strata import Stratum

    results = imported(ANON, protocol="vpc2022", system="mine")
    summaries = {
        name: Stratum(n, 5000, 5, eer=0.4, linkability=0.1)
        for name, n in (("few", 9), ("some", 40), ("many", 50))
    }
    changes = {
        "n_target": 99,
        "n_nontarget": 50_000,
        "of_groups": [*summary_rows("accent", summaries)],
    }
    records = tuple(
        scored(r, metrics=dict.fromkeys(VARIANTS, r.values("challenge")), **changes)
        for r in results.verification
    )
    results = replace(results, verification=records)
    of_groups = (r for r in rows_of(records[-1]) if "group" in r)
    rows = {(r["group"], r["metric"]): "".join(r["caveats"].values()) for r in of_groups}
    assert "vary by chance" in str(rows["few", "eer"]) and not rows["some", "eer"]
    assert "reads as privacy" in str(rows["some", "linkability"])
    assert not rows["many", "linkability"]
    for metric, judged in (("eer", {"some", "many"}), ("linkability", {"many"})):
        entry = {"at_least": 0.1} if metric == "eer" else {"at_most": 0.2}
        rule = Rule("accents", metric, each="accent", interval="optional", **entry)
        (verdict,) = judge(Policy((rule,)), results)
        decided = {n for c in verdict.cases if c.decision == "PASS" for n in summaries if n in c.of}
        assert decided == judged
    table = declared_table(results, "groups_0")
    cells = [(row[-9], row[-5]) for row in table.rows]
    assert {*cells} >= {("few", "40.00?")}, table.rows[:3]
