"""Similarity matrices: the blocks are the stored arrays, under one scale of colours."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from report.figures.figure_data import CONFIG, ODD

from privacy_eval.curves import matrices
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.report.figures import style
from privacy_eval.report.figures.drawing import Drawing
from privacy_eval.results.records import Record, Results
from privacy_eval.tree.conditions import Condition


@dataclass(frozen=True)
class Stored:
    """Replacement of `StoredArrays`: arrays generated from the record."""

    speakers: int = 5

    def of(self, record: Record) -> dict[str, Any] | None:
        if record.curves == "gone":
            return None
        seed = sum(
            f"{record.condition.system}{record.condition.asv_model}{record.condition.gender}".encode()
        )
        random = np.random.default_rng(seed)
        arrays = {
            f"{variant}_{part}": random.random((self.speakers, self.speakers))
            for variant in ("challenge", "exact")
            for part in ("oo", "oa", "aa")
        }
        return {"speakers": np.array([f"s{i}" for i in range(self.speakers)]), **arrays}


STORED: Any = Stored()


def record(system: str, model: str = "original", curves: str | None = "a.npz", **place: str) -> Any:
    at = {"data_set": "libri", "split": "test", "gender": "f"} | place
    condition = Condition(system, "", "t", **at, asv_model=model)
    return Record(condition, "similarity", (), curves=curves)


def figures(*records: Record, protocol: Any = CONFIG, stored: Any = STORED) -> list[Drawing]:
    results = Results(protocol, similarity=records)
    return list(matrices.figures(ReportData(results, arrays=stored)))


def by_default(*records: Record) -> list[Drawing]:
    return [drawing for drawing in figures(*records) if drawing.default]


def panels(drawing: Drawing) -> list[Axes]:
    return [a for a in drawing.canvas.axes if a.images]


def test_blocks_contain_the_four_matrices() -> None:
    arrays = STORED.of(record("B1"))
    made = matrices.block(arrays, "exact")
    np.testing.assert_array_equal(made[:5, :5], arrays["exact_oo"])
    np.testing.assert_array_equal(made[:5, 5:], arrays["exact_oa"])
    np.testing.assert_array_equal(made[5:, :5], arrays["exact_oa"].T)
    np.testing.assert_array_equal(made[5:, 5:], arrays["exact_aa"])


def shown(axes: Axes) -> np.ndarray:
    (image,) = axes.images
    assert image.get_clim() == (0, 1)
    return np.asarray(image.get_array())


def test_systems_are_side_by_side_with_one_colour_scale() -> None:
    records = [record("B1"), record(ODD)]
    (drawing,) = by_default(*records)
    assert drawing.name == "matrices_libri_test_f"
    assert [a.get_title() for a in panels(drawing)] == ["B1", style.escape_mathtext(ODD)]
    for axes, r in zip(panels(drawing), records, strict=True):
        np.testing.assert_array_equal(shown(axes), matrices.block(STORED.of(r), "exact"))
        for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
            assert [t.get_text() for t in labels] == ["original", "anonymized"]
        across, down = axes.lines
        assert across.get_ydata()[0] == down.get_xdata()[0] == 4.5
    (bar,) = [a for a in drawing.canvas.axes if not a.images]
    assert bar.get_ylabel() == "Voice similarity"


def test_models_are_in_rows_the_original_one_first() -> None:
    systems = [("B1", "anonymized"), ("B1", "original"), ("B2", "original")]
    systems += [("M1", "original"), ("M1", "anonymized")]
    records = {one: record(*one) for one in systems}
    one, compared = by_default(*records.values())
    assert [a.get_title() for a in panels(one)] == ["B1", "B2", "M1"]
    assert compared.name == "matrices_models_libri_test_f"
    rows = [(s, m) for m in ("original", "anonymized") for s in ("B1", "M1")]
    for axes, place in zip(panels(compared), rows, strict=True):
        assert axes.get_title() == place[0]
        block = matrices.block(STORED.of(records[place]), "exact")
        np.testing.assert_array_equal(shown(axes), block)
    labels = [panels(compared)[i].get_ylabel() for i in (0, 2)]
    assert [label.split()[-2] for label in labels] == ["original", "anonymized"]


def test_captions_describe_the_matrices() -> None:
    records = (record("B1"), record("B1", "anonymized"))
    for variant in ("challenge", "exact"):
        drawings = figures(*records, protocol=replace(CONFIG, variant=variant))
        assert len(drawings) == (3 if variant == "challenge" else 2)
        titles = [d.canvas.get_suptitle() for d in drawings]
        assert titles == ["LibriSpeech test, female"] * len(drawings)
        for d in drawings:
            assert "Rows: speakers i, columns: speakers j of the trial set" in d.caption
            assert "nrollment" not in d.caption
            replica = d.name.startswith("matrices_challenge")
            assert ("half of the pairs" in d.caption) == replica
            assert d.default == (not replica)


def test_the_replica_of_the_script_is_drawn_on_request() -> None:
    one = record("B1")
    (drawing,) = (d for d in figures(one) if d.name.startswith("matrices_challenge"))
    (axes,) = panels(drawing)
    np.testing.assert_array_equal(shown(axes), matrices.block(STORED.of(one), "challenge"))
    assert not drawing.default


def test_at_most_six_blocks_to_a_figure() -> None:
    records = [record(f"S{i}", m) for i in range(8) for m in ("original", "anonymized")]
    drawings = by_default(*records)
    assert [(d.name.removeprefix("matrices_"), len(panels(d))) for d in drawings] == [
        ("libri_test_f", 4),
        ("libri_test_f_2", 4),
        ("models_libri_test_f", 6),
        ("models_libri_test_f_2", 6),
        ("models_libri_test_f_3", 4),
    ]


def test_records_without_arrays_are_omitted() -> None:
    records = [record("B1"), record("B2", curves=None), record("K2", curves="gone")]
    (drawing,) = by_default(*records, record("B2", curves="gone", gender="m"))
    assert [a.get_title() for a in panels(drawing)] == ["B1"]
