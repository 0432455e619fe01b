"""A new metric is one entry of the registry: every output has it. So it is with a gender."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import (
    B1,
    SMALL_PROTOCOL,
    import_results_txt,
    imported,
    rows_record,
    scored,
    similarity_record,
    three_conditions,
)

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import METRICS, VARIANTS, Label, Metric, TrialScores, of_kind
from privacy_eval.metrics.registry import score_metrics, similarity_metrics
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.means import Means
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import Protocol, load_protocol, protocol_from_dict
from privacy_eval.report.comparison_tables import comparison_tables
from privacy_eval.report.main_results import ranking_table
from privacy_eval.report.side_by_side import across_tables
from privacy_eval.report.system_tables import system_tables, table_groups
from privacy_eval.report.table_formats import table_files
from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.outputs import to_csv
from privacy_eval.results.records import Results, merge
from privacy_eval.stages.collect import collect
from privacy_eval.stages.privacy_metrics import evaluate_tree
from privacy_eval.tree.conditions import set_condition
from privacy_eval.tree.discovery import find_systems

KINDS = {
    "scores": lambda scores, *, variant: scores.n_target / 10,
    "matrices": lambda similarity: similarity.deid / 2,
    "utility": None,
}


@pytest.fixture(params=KINDS)
def toy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Metric:
    metric = Metric(
        request.param,
        "fraction",
        "toy rate",
        key="toy",
        function=KINDS[request.param],
        best="higher",
        range=(0, 1),
        column_label=Label("Toy, %"),
        percent=True,
        line="Toy: {toy}%",
        line_number=lambda value: f"{100 * value:.1f}",
    )
    monkeypatch.setitem(METRICS, "toy", metric)
    return metric


def measured(system: str, kind: str, value: float) -> Results:
    """Results of a system with the metric in every place."""
    results = imported(B1, system=system)
    protocol = results.protocol
    conditions = [
        set_condition(t, protocol.results_folders[0], system) for t in protocol.trial_sets()
    ]
    metrics = {"challenge": {"toy": value}}
    if kind == "scores":
        records = tuple(scored(r, metrics=metrics) for r in results.verification)
        return replace(results, verification=records)
    if kind == "matrices":
        similarity = tuple(similarity_record(c, metrics) for c in conditions)
        return replace(results, similarity=similarity)
    of_sets = (replace(c, asv_model="") for c in conditions)
    row = {"metric": "toy", "value": value}
    utility = tuple(rows_record("utility", c, [row]) for c in of_sets)
    return replace(results, utility=utility)


def test_a_new_metric_is_in_every_output(toy: Metric, tmp_path: Path) -> None:
    results = merge([measured("A", toy.kind, 0.25), measured("B", toy.kind, 0.5)])
    results.check()
    path = tmp_path / "results.json"
    path.write_text(to_json(results))
    assert json.loads(path.read_text())["metrics"]["toy"]["unit"] == "fraction"
    assert read_results(path) == results
    rows = [line for line in to_csv(results).splitlines() if ",toy,fraction,0.25," in line]
    assert rows
    files = table_files(table_groups(ReportData(results)), "t")
    assert any("Toy, %" in text and "25.000" in text for text in files.values())
    cells = cells_from_results(results)
    across = {t.name: t for t in comparison_tables(Means(cells, results.protocol))}
    assert "25.000" in across["comparison_toy_dev"].rows[0]
    (ranking,) = map(
        ranking_table,
        ReportData(results, cells, sources=ReportSources(rank_by="toy")).rankings["dev"],
    )
    assert [row[1:3] for row in ranking.rows] == [("B", "50.000"), ("A", "25.000")]
    text = to_results_txt(results, "A", "")
    assert "  Toy: 25.0%\n" in text
    assert import_results_txt(text, "r", results.protocol, system="A") == results.of("A")


def test_the_curve_of_a_new_metric_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_targets = Metric(
        "scores",
        "",
        "toy",
        key="toy",
        function=lambda _, variant: 0.5,
        curves=lambda s: {"toy_x": s.target},
    )
    monkeypatch.setitem(METRICS, "toy", sorted_targets)
    tree = three_conditions(tmp_path / "tree")
    (tree.root / "small.yaml").write_text(SMALL_PROTOCOL)
    protocol = load_protocol("small.yaml", base=tree.root)
    systems = find_systems(tree.root, tree.root / "exp", protocol)
    assert not evaluate_tree(systems, tree.root / "out", tree=tree.root).failed
    results = collect(systems, tree.root / "out", protocol, tree=tree.root)
    stored = StoredArrays([(results, tree.root / "out" / "results.json")])
    for record in results.verification:
        arrays = stored.of(record)
        assert arrays is not None and arrays["toy_x"].size == record.facts["n_target"]
        assert {"det_miss", "ece_minimum", "dcf_actual", "density_target"} <= arrays.keys()


def test_a_new_metric_on_scores_has_intervals_averages_and_a_strongest_attack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metric = Metric(
        "scores", "fraction", "toy rate", key="toy", best="lower", column_label=Label("Toy")
    )
    monkeypatch.setitem(METRICS, "toy", metric)
    results = imported(B1, system="A")
    values = {"ignorant": 0.25, "lazy-informed": 0.5}
    records = tuple(
        scored(
            r,
            metrics={"challenge": {"toy": values.get(r.condition.attack_model or "", 0.75)}},
            speaker_intervals={"challenge": {"toy": (0.125, 0.875)}},
        )
        for r in results.verification
    )
    data = ReportData(replace(results, verification=records))
    tables = {t.name: t for t in system_tables(data, "A", "")}
    texts = {text for row in tables["toy"].rows for text in row}
    assert {f"{v:.3f} [0.125, 0.875]" for v in (0.25, 0.5, 0.75)} < texts
    assert all("0.500 lazy-informed" in row for row in tables["strongest"].rows)
    column = [c.title for c in tables["attacks"].columns].index("Toy")
    assert {row[1]: row[column] for row in tables["attacks"].rows} == {
        "Original": "0.750",
        "Ignorant": "0.250",
        "Lazy-informed": "0.500",
    }


def test_a_new_metric_is_computed(toy: Metric) -> None:
    values: dict[str, float] = {}
    if toy.kind == "scores":
        values = score_metrics(TrialScores([1.0, 2.0], [0.0]))
    elif toy.kind == "matrices":
        diagonal = SimpleNamespace(d_diag=0.5)
        found: Any = SimpleNamespace(deid=0.4, gvd_db=0, oo=diagonal, oa=diagonal, aa=diagonal)
        values = similarity_metrics(found)
    assert values.get("toy", 0.2) == 0.2
    assert "toy" in of_kind(toy.kind)


def test_the_protocol_chooses_the_eer_of_tables_and_averages() -> None:
    """SpeechBrain's instead of Kaldi's, with both in a table of their own."""
    plain = {**load_protocol("vpc2020").to_dict(), "eer": "eer_speechbrain"}
    protocol = protocol_from_dict(plain, "mine.yaml")
    imported = [import_results_txt(B1.read_text(), "r", protocol, system=s) for s in ("A", "B")]
    records = tuple(
        scored(
            record,
            metrics={
                v: {**record.by_variant()["challenge"], "eer_speechbrain": 0.25} for v in VARIANTS
            },
        )
        for part in imported
        for record in part.verification
    )
    results = Results(protocol, records)
    tables = {t.name: t for t in system_tables(ReportData(results), "A", "")}
    assert "EER (SpeechBrain), %" in [c.title for c in tables["asv"].columns]
    assert "EER, %" not in [c.title for c in tables["asv"].columns]
    assert {row[1:] for row in tables["averages"].rows if "EER" in row[0]} == {("25.000",) * 2}
    assert [c.title for c in tables["variants"].columns][2:] == [
        "challenge / Kaldi",
        "exact / SpeechBrain",
    ]
    (name, title, kaldi, speechbrain), *_ = tables["variants"].rows
    assert title == "EER, %"
    (record,) = (r for r in records if (r.condition.system, r.condition.name) == ("A", name))
    assert (kaldi, speechbrain) == (f"{100 * record.values('exact')['eer']:.3f}", "25.000")
    across, _ = across_tables(ReportData(results, cells_from_results(results)))
    assert any("EER (SpeechBrain), %" in h for t in across for h in map(str, t.headings))
    rankings = [t for t in across if "ranking" in t.name]
    assert rankings and all(row[-1].startswith("25.00") for t in rankings for row in t.rows)
    with pytest.raises(PrivacyEvalError, match="eer must be one of"):
        protocol_from_dict({**plain, "eer": "cllr"}, "mine.yaml")


# --- genders, attack models


def of_gender(gender: str) -> Protocol:
    """The protocol of 2020 with other ids, as a YAML file has them."""
    plain = load_protocol("vpc2020").to_dict()
    plain["genders"] = {gender: "all speakers"}
    for attack in plain["attack_models"]:
        attack["id"] = f"x-{attack['id']}"
    plain["average_attack_model"] = "x-lazy-informed"
    for attacker in plain["attackers"]:
        if "attack_model" in attacker:
            attacker["attack_model"] = f"x-{attacker['attack_model']}"
    return protocol_from_dict(plain, "mine.yaml")


def test_a_mixed_gender_and_other_attack_models_need_yaml_alone(tmp_path: Path) -> None:
    protocol = of_gender("mixed")
    kept = [
        block.replace("trials_f", "trials_mixed")
        for block in B1.read_text().split("ASV-")[1:]
        if "trials_f" in block.split("\n")[0]
    ]
    text = "".join(f"ASV-{block.split('ASR-')[0]}" for block in kept)
    parts = [import_results_txt(text, "r", protocol, system=s) for s in ("A", "B")]
    results = merge(parts)
    original = results.verification[0].condition
    assert (original.gender, original.attack_model) == ("mixed", "x-original")
    cells = cells_from_results(results)
    tables = comparison_tables(Means(cells, protocol))
    assert {row[1] for row in tables[0].rows} == {"all speakers", ""}
    assert tables[0].columns[2].title == "Orig" and tables[0].rows[0][2]
    assert ReportData(results, cells).rankings["dev"]
    files = table_files(table_groups(ReportData(results)), "t")
    assert "mixed" in files["A_asv.tex"]
