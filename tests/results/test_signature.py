"""The line that says how results were made."""

import hashlib
from dataclasses import replace

import pytest
from support import B1, imported

from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.protocol.protocol import AsvModel, Attacker
from privacy_eval.report.main_results import main_results_table
from privacy_eval.report.sections import report_sections
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.records import Results
from privacy_eval.results.signature import network_notes, signature

A, B, C = (character * 64 for character in "abc")


def with_provenance(results: Results, **provenance: object) -> Results:
    first, *rest = results.verification
    return replace(results, verification=(replace(first, provenance=provenance), *rest))


def test_signature_of_evaluated_results() -> None:
    results = with_provenance(
        imported(B1),
        version="1.0",
        inputs={"scores": {"path": "a", "sha256": B}, "model": {"sha256": {"plda": A}}},
        options={"bootstrap": 1000, "seed": 0},
    )
    inputs = hashlib.sha256((A + B).encode()).hexdigest()[:8]
    assert signature(results, variant="exact") == (
        f"privacy_eval 1.0|protocol:vpc2020|variant:exact|boot:1000 speakers seed 0|inputs:{inputs}"
    )
    assert "|variant:challenge|" in signature(results)


def test_signature_changes_with_any_input_and_names_all_bootstraps() -> None:
    results = imported(B1)
    options = {"bootstrap": 10, "seed": 1}
    one = signature(with_provenance(results, inputs={"scores": {"sha256": A}}, options=options))
    other = signature(with_provenance(results, inputs={"scores": {"sha256": C}}, options=options))
    assert one.rpartition(":")[0] == other.rpartition(":")[0]
    assert one != other
    assert "|boot:10 speakers seed 1|" in one
    assert "|boot:none|" in signature(results)


def expecting(results: Results, sha256: str) -> Results:
    """Results under a protocol that knows the network of its ASV models."""
    models = tuple(replace(m, sha256=sha256) for m in results.protocol.asv_models)
    return replace(results, protocol=replace(results.protocol, asv_models=models))


def test_signature_names_the_network_of_the_scores() -> None:
    results = with_provenance(imported(B1), inputs={"extractor": {"path": "x", "sha256": A}})
    assert "|asv:aaaaaaaa (not known to be the challenge's)" in signature(results)
    assert "|asv:" not in signature(imported(B1))
    assert signature(expecting(results, A)).endswith("|asv:aaaaaaaa")
    assert "|asv:aaaaaaaa (not the protocol's)" in signature(expecting(results, C))
    for odd in ("a" * 63 + "|", 5, {}):
        untrusted = with_provenance(imported(B1), inputs={"extractor": {"sha256": odd}})
        assert "|asv:" not in signature(untrusted)


def test_another_network_is_noted_below_the_tables_and_first_in_the_report() -> None:
    results = with_provenance(imported(B1), inputs={"extractor": {"path": "x", "sha256": A}})
    other = expecting(results, C)
    (note,) = network_notes(other)
    assert "aaaaaaaa is not the protocol's" in note and results.systems[0] in note
    assert "not known" in network_notes(results)[0]
    data = ReportData(other, cells_from_results(other))
    tables = {t.name: t.notes for t in system_tables(data, results.systems[0], "")}
    assert {name for name, notes in tables.items() if note not in notes} == {"asr"}
    summary = main_results_table(data)
    assert summary is not None and note in summary.notes
    front, _, remarks = report_sections(data)
    assert note in dict(front.warnings) and note in remarks
    for part in (expecting(results, A), imported(B1)):
        assert network_notes(part) == []


GE2E = "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"


def own_speech(results: Results, encoder: str) -> Results:
    """Results of somebody's own speech, as attacked by vectors of an encoder."""
    own = Attacker("cosine", "cosine", scoring="cosine", encoder=encoder)
    folder = AsvModel("original", own.vectors.folder, backend="cosine")
    others = [replace(m, backend="cosine") for m in results.protocol.asv_models[1:]]
    models = (folder, *others)
    protocol = replace(results.protocol, name="speech", attackers=(own,), asv_models=models)
    return replace(results, protocol=protocol)


@pytest.mark.parametrize(
    ("encoder", "path", "sha256", "name"),
    [
        ("ge2e", "ge2e", GE2E, "ge2e"),
        ("ge2e-raw", "ge2e-raw", hashlib.sha256(f"{GE2E} ge2e-raw".encode()).hexdigest(), ""),
        ("/home/me/mine.onnx", "/home/me/mine.onnx", A, "mine aaaaaaaa"),
        ("exp/models/wespeaker", "exp/models/wespeaker", B, "wespeaker bbbbbbbb"),
    ],
)
def test_encoders_of_own_speech_are_named_without_a_caution(
    encoder: str, path: str, sha256: str, name: str
) -> None:
    """No challenge prescribes a model for speech of one's own."""
    inputs = {"extractor": {"path": path, "sha256": sha256}}
    results = own_speech(with_provenance(imported(B1), inputs=inputs), encoder)
    assert signature(results).endswith(f"|asv:{name or encoder}")
    assert network_notes(results) == []


def test_a_network_that_the_protocol_does_not_name_stays_a_caution() -> None:
    inputs = {"extractor": {"path": "exp/models/asv/final.raw", "sha256": C}}
    results = own_speech(with_provenance(imported(B1), inputs=inputs), "ge2e")
    assert "cccccccc (not known" in signature(results)
    assert "not known to be the challenge's" in network_notes(results)[0]


def test_a_pinned_encoder_in_the_place_of_the_challenges_model_is_named_in_the_caution() -> None:
    inputs = {"extractor": {"path": "anything", "sha256": GE2E}}
    results = with_provenance(imported(B1), inputs=inputs)
    (note,) = network_notes(results)
    assert "ge2e is not the challenge's" in note and "published" in note
    first, *rest = results.verification
    other = replace(first, condition=replace(first.condition, attacker="d-vector"))
    assert network_notes(replace(results, verification=(other, *rest))) == []
