"""Values of many systems: from records, from published tables, and side by side."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from support import (
    ANON,
    B1,
    B2,
    imported,
    rows_record,
    scored,
    side_by_side,
    similarity_record,
    with_first,
    with_line,
)

from privacy_eval.metrics import describe
from privacy_eval.numbers.cells import (
    Cells,
    Place,
    cells_from_published,
    cells_from_results,
    interval_of,
    merge_cells,
    text_of,
)
from privacy_eval.numbers.means import Means
from privacy_eval.protocol.protocol import Protocol, load_protocol
from privacy_eval.protocol.published import load_published, load_published_results
from privacy_eval.results.records import Record, merge
from privacy_eval.results.signature import comparability_notes
from privacy_eval.tree.conditions import Condition

PROTOCOL = load_protocol("vpc2020")
PUBLISHED = cells_from_published(load_published_results("vpc2020"))


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("eer", 0.5014, "50.14"),
        ("rocch_eer", 0.2, "20.000"),
        ("cllr", 42.857, "42.9"),
        ("cllr_min", 0.304, "0.304"),
        ("deid", 0.7805, "78.0"),
        ("gvd_db", -1.9394, "-1.94"),
        ("linkability", 1.0, "1.000"),
        ("zebra_individual", 3.9794, "3.979"),
        ("cllr", math.inf, "inf"),
    ],
)
def test_decimals_of_the_supplement(metric: str, value: float, text: str) -> None:
    assert describe(metric).format(value) == text


def test_published_cells_are_digit_for_digit() -> None:
    tables = [v for v in load_published("vpc2020") if v.table < 18]
    for v in tables:
        cell = PUBLISHED.get(v.metric, v.attack_model, v.split, v.data_set, v.gender, v.system)
        assert cell is not None and (text_of(cell), cell["value"]) == (v.value, v.number)


def test_the_order_under_an_attack_model_is_that_of_its_tables() -> None:
    assert PUBLISHED.columns("semi-informed")[:6] == ("B1", "B2", "O1", "M1", "S2", "K2")
    assert sorted(PUBLISHED.columns("semi-informed")) == sorted(PUBLISHED.systems)
    assert PUBLISHED.columns("ignorant") == PUBLISHED.systems
    assert side_by_side({}, ("a",)).columns("any") == ("a",)


def test_original_speech_is_one_column_under_every_attack_model() -> None:
    both = cells_from_results(merge([imported(B1, system="x"), imported(B1, system="y")]))
    assert both.systems == ("x", "y") and both.own == {"x", "y"} and both.notes == ()
    for model in ("ignorant", "lazy-informed", "semi-informed"):
        cell = both.get("eer", model, "dev", "libri", "f", "Orig")
        assert cell is not None and text_of(cell) == "8.66"


def test_systems_that_disagree_on_original_speech_are_named() -> None:
    cells = cells_from_results(merge([imported(B1, system="B1"), imported(B2, system="B2")]))
    assert len(cells.notes) == 1 and cells.notes[0].startswith("Original speech differs")
    differing = {
        r.condition.name
        for r, other in zip(*(imported(x).verification for x in (B1, B2)), strict=True)
        if r.condition.is_original and r.by_variant() != other.by_variant()
    }
    assert cells.notes[0].endswith(f": {len(differing)} conditions of B2")


def test_a_submitted_system_and_a_published_one_of_its_name() -> None:
    own = cells_from_results(imported(B1, system="B1"))
    document = load_published_results("vpc2020")
    cells = merge_cells([own, cells_from_published(document, beside=own.systems)])
    assert cells.systems[0] == "B1" and "B1 (published)" in cells.systems
    assert cells.own == {"B1"}
    assert cells.family["B1 (published)"] == "B1" and "B1" not in cells.family
    assert cells.columns("semi-informed")[:3] == ("B1", "B1 (published)", "B2")
    place = ("cllr_min", "ignorant", "dev", "libri", "f")
    for system in ("B1", "B1 (published)"):
        cell = cells.get(*place, system)
        assert cell is not None and text_of(cell) == "0.996"


def test_two_systems_of_one_name_are_refused() -> None:
    own = cells_from_results(imported(B1, system="x"))
    with pytest.raises(ValueError, match="duplicate system"):
        merge_cells([own, own])


def test_original_speech_of_the_first_source_is_noted() -> None:
    results = imported(B1, system="mine")
    cells = merge_cells([cells_from_results(results), PUBLISHED])
    cell = cells.get("eer", "ignorant", "dev", "libri", "f", "Orig")
    assert cell is not None and text_of(cell) == "8.66"
    assert not any("differ" in note for note in cells.notes)
    # Linkability and disclosure are not in this file; the published ones are shown.
    (note,) = [n for n in cells.notes if "published results vpc2020 if missing in your own" in n]
    assert "linkability (dev)" in note and "subjective" not in note
    first = scored(results.verification[0], metrics={"challenge": {"eer": 0.1}})
    assert first.condition.attack_model == "original"
    changed = with_first(results, first)
    cells = merge_cells([cells_from_results(changed), PUBLISHED])
    (note,) = [n for n in cells.notes if "sources differ in 1 of" in n]
    assert "your own evaluation" in note


def test_original_speech_has_an_average_where_one_source_prints_all_of_it() -> None:
    def original(**of: str) -> Cells:
        """Cllr of original speech of test, by data set and gender."""
        return side_by_side(
            {
                ("cllr", "original", "test", *at.split("__"), "Orig"): {
                    "value": float(v),
                    "printed": v,
                }
                for at, v in of.items()
            }
        )

    libri = {"libri__f": "1.0", "libri__m": "2.0"}
    vctk = {f"vctk_{kind}__{g}": "3.0" for kind in ("common", "different") for g in "fm"}
    mean = pytest.approx(2 * 0.25 * 1.5 + 2 * 0.25 * 3.0, abs=1e-12)

    def of(*parts: Cells) -> float | None:
        return Means(merge_cells(parts), PROTOCOL).of("cllr", "ignorant", "test", "Orig")["value"]

    assert of(original(**libri, **vctk)) == mean
    assert of(original(**libri), original(**libri, **vctk)) == mean
    assert of(original(**libri, **vctk), original(**{**libri, "libri__m": "9.0"})) == mean
    assert of(original(**libri), original(**{**libri, "libri__m": "9.0"}, **vctk)) is None
    assert of(original(**libri), original(**vctk)) is None


@pytest.mark.parametrize("models", [("original", "anonymized"), ("anonymized", "original")])
def test_voice_similarity_is_by_the_model_of_original_speech(models: tuple[str, str]) -> None:
    """Its G_VD is -1 dB, that by the model trained on anonymized speech -9 dB, in either order."""
    values = {"original": -1.0, "anonymized": -9.0}
    results = imported(ANON, protocol="vpc2022")
    records = tuple(
        similarity_record(
            replace(results.similarity[0].condition, asv_model=m),
            {"challenge": {"gvd_db": values[m]}},
        )
        for m in models
    )
    both = cells_from_results(replace(results, similarity=records))
    assert both.rows.select(metric="gvd_db").values("value") == [-1.0]
    of_one = cells_from_results(replace(results, similarity=records[:1]))
    assert of_one.rows.select(metric="gvd_db").values("value") == [values[models[0]]]


def test_a_system_called_like_original_speech_is_kept_apart() -> None:
    cells = cells_from_results(imported(B1, system="Orig"))
    assert cells.systems == ("Orig (system)",)
    cell = cells.get("eer", "ignorant", "dev", "libri", "f", "Orig (system)")
    assert cell is not None and text_of(cell) == "50.14"


def test_an_average_needs_all_values_and_has_the_weights_of_the_protocol() -> None:
    values = {
        ("cllr", "a", "dev", d.id, g, "s"): value
        for (d, g), value in zip(
            ((d, g) for d in PROTOCOL.data_sets for g in PROTOCOL.genders), range(6), strict=True
        )
    }

    def of(cells: Mapping[Place, float], protocol: Protocol = PROTOCOL) -> float | None:
        return Means(side_by_side(cells, ("s",)), protocol).of("cllr", "a", "dev", "s")["value"]

    expected = 0.25 * (0 + 1) + 0.20 * (2 + 3) + 0.05 * (4 + 5)
    assert of(values) == pytest.approx(expected, abs=1e-12)
    for place in values:
        rest = {p: c for p, c in values.items() if p != place}
        assert of(rest) is None
    infinite = {**values, ("cllr", "a", "dev", "libri", "f", "s"): math.inf}
    assert of(infinite) == math.inf
    weightless = replace(
        PROTOCOL, data_sets=(replace(PROTOCOL.data_sets[0], weight=0.0), *PROTOCOL.data_sets[1:])
    )
    assert of(infinite, weightless) == pytest.approx((0.20 * 5 + 0.05 * 9) / 0.5)


def test_values_of_the_only_variant_keep_their_intervals() -> None:
    """Under the other variant, too, as the values themselves do."""
    results = imported(B1)
    first = next(r for r in results.verification if not r.condition.is_original)
    assert set(first.by_variant()) == {"challenge"}
    first = scored(first, speaker_intervals={"challenge": {"eer": (0.1, 0.9)}})
    protocol = replace(results.protocol, variant="exact")
    cells = cells_from_results(replace(results, protocol=protocol, verification=(first,)))
    assert [interval_of(row) for row in cells.rows.select(metric="eer")] == [(0.1, 0.9)]


def test_other_levels_are_named() -> None:
    """Matched by set: the second set of original speech is 20 dB softer, as its copy is."""
    results = imported(B1)
    condition = Condition("B1", "", "x", "libri", "test", "f", trial="anonymized")

    def record(level: float, **of: str) -> Record:
        row = {"metric": "level_db", "value": level}
        facts = {"source": "quality", "n_utterances": 1, "utterances_left_out": 0}
        return rows_record("measures", replace(condition, **of), [row], **facts)

    original = [record(-26, trial="original"), record(-46, trial="original", gender="m")]
    for levels, said in (
        ((-33, -53), "B1 x -7.0 dB"),
        ((-19, -39), "B1 x +7.0 dB"),
        ((-31, -51), ""),
    ):
        anonymized = [record(levels[0]), record(levels[1], gender="m")]
        measures = (*original, *anonymized)
        notes = list(comparability_notes(replace(results, measures=measures)))
        found = [note.rpartition(": ")[2] for note in notes if "level" in note]
        assert found == [said] * bool(said)
        marked = [r for r in replace(results, measures=measures).measures if r.caveats]
        assert len(marked) == 2 * bool(said)
    assert not list(comparability_notes(replace(results, measures=(record(-90, gender="m"),))))


def test_partial_word_error_rates_are_named() -> None:
    results = imported(B1)
    first, *others = results.recognition
    partial = with_line(first, partial=True)
    notes = list(comparability_notes(replace(results, recognition=(partial, *others))))
    (note,) = (text for text in notes if "partial" in text)
    assert "WER of original speech (B1), libri dev" in note
    assert not any("partial" in text for text in comparability_notes(results))
