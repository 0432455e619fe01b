"""What is computed of a listening test, against a slow second implementation and by hand."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import reference_subjective as slow
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.ratings import Ratings, read_ratings
from privacy_eval.listening.evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    Subjective,
    SubjectiveCurves,
    evaluate_ratings,
    holm_corrected,
    mann_whitney,
    normalised_ranks,
)
from privacy_eval.listening.store import evaluators_csv, read_subjective, to_csv, write_subjective
from privacy_eval.metrics import TrialScores, score_metrics
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.simulate.ratings import ONE_VALUE, STOPS_EARLY, TURNED, simulate_ratings

PLAN = load_protocol("vpc2020")
KEY = "".join(
    f"{{0}}{e} {{0}}{s}-{u} {'target' if e == s else 'nontarget'}\n"
    for e in range(4)
    for s in range(4)
    for u in range(6)
)
TIED = st.lists(st.integers(1, 5), min_size=1, max_size=25)


def keys(*places: tuple[str, str]) -> dict[tuple[str, str], str]:
    return {place: KEY.format("".join(place)) for place in places}


def ratings_of(text: str, folder: Path) -> Ratings:
    path = folder / "ratings.csv"
    path.write_text(text)
    return read_ratings([path])


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Ratings:
    text = simulate_ratings(["B1", "B2"], keys(("libri", "f"), ("vctk_common", "m")), seed=3)
    return ratings_of(text, tmp_path_factory.mktemp("ratings"))


@pytest.fixture(scope="module")
def evaluated(simulated: Ratings) -> tuple[Subjective, SubjectiveCurves]:
    return evaluate_ratings(simulated, PLAN)


# --- against the second implementation


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), min_size=1, max_size=40))
def test_normalised_ranks_agree_with_counting(rated: list[tuple[int, str]]) -> None:
    scores, groups = zip(*rated, strict=True)
    expected = slow.normalised_ranks(scores, groups)
    np.testing.assert_allclose(normalised_ranks(scores, groups), expected, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(TIED, TIED)
def test_mann_whitney_agrees_with_counting_pairs(one: list[int], other: list[int]) -> None:
    np.testing.assert_allclose(
        mann_whitney(one, other), slow.mann_whitney(one, other), rtol=1e-9, atol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(TIED, TIED)
def test_mann_whitney_is_symmetric(one: list[int], other: list[int]) -> None:
    (u, p), (u_back, p_back) = mann_whitney(one, other), mann_whitney(other, one)
    assert u + u_back == len(one) * len(other)
    assert p == pytest.approx(p_back, abs=1e-12)
    assert 0 <= p <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_agrees_with_its_definition(p_values: list[float]) -> None:
    np.testing.assert_allclose(holm_corrected(p_values), slow.holm(p_values), rtol=1e-12)


def test_every_number_of_a_test_from_its_ratings(
    simulated: Ratings, evaluated: tuple[Subjective, SubjectiveCurves]
) -> None:
    """Ranks within evaluators, pooled by system and kind of pair, then tested."""
    result, _ = evaluated
    groups = list(zip(simulated.metric.tolist(), simulated.evaluator.tolist(), strict=True))
    normalised: list[float] = [0.0] * len(simulated)
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        scores = [simulated.score[i] for i in rows]
        for i, rank in zip(rows, slow.normalised_ranks(scores, [0] * len(rows)), strict=True):
            normalised[i] = rank

    def sample(quantity: str, system: str) -> list[float]:
        metric, _, kind = quantity.partition("_")
        wanted = {"": (-1, 0, 1), "same_speaker": (1,), "different_speaker": (0,)}[kind]
        return [
            round(normalised[i], 12)
            for i in range(len(simulated))
            if (simulated.metric[i], simulated.system[i]) == (metric, system)
            and simulated.same_speaker[i] in wanted
        ]

    assert len(result.distributions) == 4 * 3
    assert len(result.tests) == 4 * 3
    for d in result.distributions:
        values = sample(d.quantity, d.system)
        assert d.n == len(values)
        assert d.mean == pytest.approx(sum(values) / len(values))
        assert d.median == pytest.approx(sorted(values)[(len(values) - 1) // 2], abs=0.03)
    for t in result.tests:
        expected = slow.mann_whitney(
            sample(t.quantity, t.system), sample(t.quantity, t.other_system)
        )
        assert (t.statistic, t.p_value) == pytest.approx(expected, rel=1e-6)
    for quantity in QUANTITIES:
        of_quantity = [t for t in result.tests if t.quantity == quantity]
        corrected = slow.holm([t.p_value for t in of_quantity])
        assert [t.p_holm for t in of_quantity] == pytest.approx(corrected)


# --- singular cases


def test_ranks_that_say_nothing_are_in_the_middle() -> None:
    assert normalised_ranks([5, 5, 5, 9], ["a", "a", "a", "b"]).tolist() == [0.5] * 4
    assert normalised_ranks([], []).size == 0


def test_samples_of_one_value_do_not_differ() -> None:
    assert mann_whitney([3, 3], [3, 3, 3]) == (3.0, 1.0)
    assert mann_whitney([3], [3]) == (0.5, 1.0)


def test_ranks_do_not_depend_on_how_the_scale_is_used() -> None:
    of_one, of_other = (normalised_ranks(scores, [0] * 3) for scores in ([1, 2, 3], [2, 7, 8]))
    assert of_one.tolist() == of_other.tolist() == [0, 0.5, 1]


def test_every_score_needs_a_group() -> None:
    with pytest.raises(ValueError, match="3 scores but 2 groups"):
        normalised_ranks([1, 2, 3], ["a", "a"])


# --- detection


def test_tasks_take_the_right_classes(
    simulated: Ratings, evaluated: tuple[Subjective, SubjectiveCurves]
) -> None:
    result, _ = evaluated
    pooled = {
        (d.quantity, d.system): (d.n_target, d.n_nontarget)
        for d in result.detections
        if d.data_set is None
    }
    count = {
        (metric, system, same): int(
            np.count_nonzero(
                (simulated.metric == metric)
                & (simulated.system == system)
                & np.isin(simulated.same_speaker, same)
            )
        )
        for metric in ("naturalness", "similarity")
        for system in ("Original", "B1")
        for same in ((0,), (1,), (0, 1))
    }
    both = (0, 1)
    assert pooled["naturalness", "B1"] == (
        count["naturalness", "Original", both],
        count["naturalness", "B1", both],
    )
    assert ("naturalness", "Original") not in pooled
    assert pooled["similarity_same_speaker", "B1"] == (
        count["similarity", "B1", (1,)],
        count["similarity", "Original", (0,)],
    )
    assert pooled["similarity_different_speaker", "B1"] == (
        count["similarity", "Original", (1,)],
        count["similarity", "B1", (0,)],
    )
    assert pooled["similarity", "B1"] == (
        count["similarity", "B1", (1,)],
        count["similarity", "B1", (0,)],
    )


def test_metrics_are_those_of_the_normalised_ratings(simulated: Ratings) -> None:
    result, _ = evaluate_ratings(simulated, PLAN)
    of_metric = simulated.take(simulated.metric == "similarity")
    scores = normalised_ranks(of_metric.score, of_metric.evaluator)
    kept = (of_metric.system == "B2") & (of_metric.data_set == "libri")
    kept &= of_metric.gender == "f"
    same = of_metric.same_speaker == 1
    trials = TrialScores(scores[kept & same], scores[kept & ~same])
    (found,) = [
        d
        for d in result.detections
        if (d.quantity, d.system, d.data_set, d.gender) == ("similarity", "B2", "libri", "f")
    ]
    for variant in ("exact", "challenge"):
        expected = score_metrics(trials, variant=variant)
        assert found.metrics[variant] == {key: expected[key] for key in DETECTION_METRICS}
    assert found.metrics["exact"]["cllr_min"] != found.metrics["challenge"]["cllr_min"]


def test_curves_meet_the_diagonal_where_they_are_marked(
    evaluated: tuple[Subjective, SubjectiveCurves],
) -> None:
    result, curves = evaluated
    for d, miss, false_alarm in zip(
        result.detections, curves.miss, curves.false_alarm, strict=True
    ):
        # On one of the straight pieces: between its ends and in line with them.
        to_left, to_right = d.curve_eer - miss[:-1], miss[1:] - d.curve_eer
        above, below = false_alarm[:-1] - d.curve_eer, d.curve_eer - false_alarm[1:]
        between = np.minimum.reduce([to_left, to_right, above, below]) > -1e-12
        in_line = np.abs(to_left * below - to_right * above) < 1e-12
        assert np.any(between & in_line)


def test_only_original_speech_or_none_of_it(simulated: Ratings) -> None:
    alone, _ = evaluate_ratings(simulated.take(simulated.system == "Original"), PLAN)
    assert alone.tests == () and alone.reference is None
    assert {d.quantity for d in alone.detections} == {*QUANTITIES[2:], "similarity"}
    without, curves = evaluate_ratings(simulated.take(simulated.system != "Original"), PLAN)
    assert {d.quantity for d in without.detections} == {"similarity"}
    assert without.reference == "B1"
    assert len(curves.densities) == len(without.distributions) == 8


def test_densities_are_of_unit_mass_within_the_range(
    evaluated: tuple[Subjective, SubjectiveCurves], tmp_path: Path
) -> None:
    _, curves = evaluated
    step = curves.at[1] - curves.at[0]
    for density in curves.densities:
        assert 0.8 < density.sum() * step < 1.05
    text = "evaluator,system,trial,naturalness\na,B1,u,3\na,B1,v,3\n"
    _, one_value = evaluate_ratings(ratings_of(text, tmp_path), PLAN)
    (density,) = one_value.densities
    assert curves.at[density > 0].tolist() == [0.5]


# --- evaluators


def test_odd_evaluators_are_named_and_kept(
    simulated: Ratings, evaluated: tuple[Subjective, SubjectiveCurves]
) -> None:
    result, _ = evaluated
    flags = {(e.evaluator, f) for e in result.flagged for f in e.flags}
    assert (ONE_VALUE, "one value") in flags
    assert (STOPS_EARLY, "few ratings") in flags
    assert (TURNED, "disagrees") in flags
    assert {name for name, _ in flags} == {ONE_VALUE, STOPS_EARLY, TURNED}
    assert result.n_evaluators == len(set(simulated.evaluator.tolist()))
    assert sum(result.n_ratings.values()) == len(simulated)


def test_agreement_is_spearmans_with_the_mean_of_the_others(tmp_path: Path) -> None:
    rows = {
        "a": {"B1": [2, 4], "B2": [5, 9]},
        "b": {"B1": [1, 1], "B2": [7, 8]},
        "c": {"B1": [9, 3], "B2": [2, 5]},
    }
    lines = [
        f"{name},{system},{system}{i},{score}"
        for name, of_system in rows.items()
        for system, scores in of_system.items()
        for i, score in enumerate(scores)
    ]
    text = "\n".join(["evaluator,system,trial,intelligibility", *lines]) + "\n"
    result, _ = evaluate_ratings(ratings_of(text, tmp_path), PLAN, min_ratings=2)
    ranks = {name: slow.normalised_ranks([*r["B1"], *r["B2"]], [0] * 4) for name, r in rows.items()}
    for e in result.evaluators:
        others = [r for name, r in ranks.items() if name != e.evaluator]
        means = [sum(r[i] + r[i + 1] for r in others) / 4 for i in (0, 2)]
        own = [*rows[e.evaluator]["B1"], *rows[e.evaluator]["B2"]]
        expected = slow.spearman(own, [means[0], means[0], means[1], means[1]])
        assert e.agreement == pytest.approx(expected)
    assert [e.flags for e in result.evaluators] == [(), (), ("disagrees",)]


def test_an_evaluator_is_left_out_only_on_request(simulated: Ratings) -> None:
    result, _ = evaluate_ratings(simulated, PLAN, leave_out=[TURNED])
    assert result.evaluators_left_out == (TURNED,)
    assert TURNED not in {e.evaluator for e in result.evaluators}
    kept = simulated.take(simulated.evaluator != TURNED)
    expected, _ = evaluate_ratings(kept, PLAN)
    assert replace(result, evaluators_left_out=()) == expected
    with pytest.raises(PrivacyEvalError, match="no evaluator 'nobody' to be left out"):
        evaluate_ratings(simulated, PLAN, leave_out=["nobody"])
    with pytest.raises(PrivacyEvalError, match="no ratings are left"):
        evaluate_ratings(simulated, PLAN, leave_out=sorted(set(simulated.evaluator.tolist())))


def test_wrong_options_are_refused(simulated: Ratings) -> None:
    with pytest.raises(PrivacyEvalError, match="no split 'train' in the plan vpc2020; known: dev"):
        evaluate_ratings(simulated, PLAN, split="train")
    with pytest.raises(PrivacyEvalError, match="reference system 'B7'; rated: Original, B1, B2"):
        evaluate_ratings(simulated, PLAN, reference="B7")


def test_systems_come_in_the_order_asked_for(simulated: Ratings) -> None:
    result, _ = evaluate_ratings(simulated, PLAN, systems=["B2", "unrated"])
    assert result.systems == ("Original", "B2", "B1")
    assert result.reference == "B2"


# --- files


def test_what_is_written_is_read_again(
    evaluated: tuple[Subjective, SubjectiveCurves], tmp_path: Path
) -> None:
    written = write_subjective(tmp_path, *evaluated)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    read, curves = read_subjective(tmp_path / "subjective.json")
    assert read == written
    for name in ("densities", "miss", "false_alarm"):
        for mine, theirs in zip(getattr(curves, name), getattr(evaluated[1], name), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    write_subjective(tmp_path, *evaluated)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_damaged_files_are_refused(
    evaluated: tuple[Subjective, SubjectiveCurves], tmp_path: Path
) -> None:
    write_subjective(tmp_path, *evaluated)
    path = tmp_path / "subjective.json"
    plain = json.loads(path.read_text())

    def refused(change: dict[str, object], message: str) -> None:
        path.write_text(json.dumps({**plain, **change}))
        with pytest.raises(PrivacyEvalError, match=message):
            read_subjective(path)

    refused({"format": "other"}, "not a subjective.json")
    refused({"split": "train"}, "unknown splits: train")
    refused({"reference": "B9"}, "unknown systems: B9")
    refused({"surprise": 1}, "unknown entry 'surprise'")
    refused({"detections": [{**plain["detections"][0], "metrics": {}}]}, "expected .* variants")
    refused({"curves_sha256": "0"}, "not the curves that subjective.json was written with")
    path.write_text(json.dumps(plain))
    (tmp_path / "subjective.npz").unlink()
    with pytest.raises(PrivacyEvalError, match="subjective.npz: cannot be read"):
        read_subjective(path)


def test_csv_holds_every_number(evaluated: tuple[Subjective, SubjectiveCurves]) -> None:
    result, _ = evaluated
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    p_values = [float(r["value"]) for r in rows if r["metric"] == "p_value"]
    assert p_values == [t.p_value for t in result.tests]
    eers = [float(r["value"]) for r in rows if r["metric"] == "eer" and r["variant"] == "exact"]
    assert eers == [d.metrics["exact"]["eer"] for d in result.detections]
    assert all(r["unit"] for r in rows)
    named = list(csv.DictReader(io.StringIO(evaluators_csv(result))))
    assert len(named) == len(result.evaluators)
    assert {r["evaluator"] for r in named if r["flags"]} == {ONE_VALUE, STOPS_EARLY, TURNED}


def test_results_do_not_depend_on_where_files_lie(tmp_path: Path) -> None:
    text = "evaluator,system,trial,naturalness\na,B1,u,3\n"
    paths = [tmp_path / place / "ratings.csv" for place in ("one", "other")]
    for path, name in zip(paths, "ab", strict=True):
        path.parent.mkdir()
        path.write_text(text.replace("a,B1", f"{name},B1"))
    alone, _ = evaluate_ratings(read_ratings(paths[:1]), PLAN)
    assert list(alone.provenance["inputs"]) == ["ratings.csv"]
    both, _ = evaluate_ratings(read_ratings(paths), PLAN)
    assert list(both.provenance["inputs"]) == [str(path) for path in paths]


@pytest.mark.parametrize("places", [(1, 2), (1, 1, 1, 2, 3, 3)])
def test_every_density_has_mass_somewhere(tmp_path: Path, places: tuple[int, ...]) -> None:
    """Also where a score lies half-way between two points of the density."""
    lines = [f"a,S{i % 2},u{i},{place}" for i, place in enumerate(places)]
    lines += [f"b,S0,v{i},{1 + i % 9}" for i in range(101)]
    text = "\n".join(["evaluator,system,trial,naturalness", *lines]) + "\n"
    _, curves = evaluate_ratings(ratings_of(text, tmp_path), PLAN)
    assert all(density.max() > 0 for density in curves.densities)
