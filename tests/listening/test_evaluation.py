"""Evaluation of listening tests against a slow second implementation and by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_subjective as slow
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from listening_support import PROTOCOL, Evaluated, ratings_of, simulated
from support import csv_rows, snapshot

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.files import digest
from privacy_eval.io.schema import to_plain
from privacy_eval.listening.evaluation import (
    DETECTION_METRICS,
    QUANTITIES,
    evaluate_ratings,
    mann_whitney,
    normalized_ranks,
    rated_speakers,
)
from privacy_eval.listening.ratings import Ratings, read_ratings
from privacy_eval.listening.store import FILES, evaluators_csv, listening_files, read_listening_test
from privacy_eval.metrics import TrialScores, score_metrics
from privacy_eval.metrics.confidence import holm
from privacy_eval.results.measurements import PRESENT
from privacy_eval.simulate.demo_tree import INVERTS, ONE_VALUE, STOPS_EARLY

ONE_METRIC = {"quantity": "similarity", "system": "B1", "metric": "eer", "variant": "exact"}
ONE_METRIC |= {"value": 0.5, "n_target": 1, "n_nontarget": 1}
LOUDNESS = {"evaluator": "a", "quantity": "loudness", "metric": "rating_mean", "n_ratings": 1}
LOUDNESS |= {"value": 5.0}
NO_QUARTILES = {"quantity": "naturalness", "system": "B1", "metric": "rank_mean", "value": 0.5}
NO_QUARTILES |= {"n_ratings": 1}
TIED = st.lists(st.integers(1, 5), min_size=1, max_size=25)


@pytest.fixture(scope="module", name="ratings")
def _ratings(tmp_path_factory: pytest.TempPathFactory) -> Ratings:
    places = [("libri", "f"), ("vctk_common", "m")]
    text = simulated("B1", "B2", places=places, speakers=4)
    return ratings_of(text, tmp_path_factory.mktemp("ratings"))


@pytest.fixture(scope="module")
def evaluated(ratings: Ratings) -> Evaluated:
    return evaluate_ratings(ratings, PROTOCOL)


# --- against the second implementation


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc")), min_size=1, max_size=40))
def test_normalized_ranks_agree_with_counting(rated: list[tuple[int, str]]) -> None:
    scores, groups = zip(*rated, strict=True)
    expected = slow.normalized_ranks(scores, groups)
    np.testing.assert_allclose(normalized_ranks(scores, groups), expected, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(TIED, TIED)
def test_mann_whitney_agrees_with_counting_pairs(one: list[int], other: list[int]) -> None:
    (u, p), (u_back, p_back) = mann_whitney(one, other), mann_whitney(other, one)
    np.testing.assert_allclose((u, p), slow.mann_whitney(one, other), rtol=1e-9, atol=1e-12)
    assert u + u_back == len(one) * len(other)
    assert 0 <= p <= 1 and p == pytest.approx(p_back, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_agrees_with_its_definition(p_values: list[float]) -> None:
    np.testing.assert_allclose(holm(p_values), slow.holm(p_values), rtol=1e-12)


def test_mean_opinions_are_of_ratings_as_given_by_listener_and_speaker(
    ratings: Ratings, evaluated: Evaluated
) -> None:
    result, _ = evaluated
    assert result.opinion_units == "speakers"
    of_system = result.measurements.select(against=None, evaluator=None)
    opinions, means = (
        {(r["quantity"], r["system"]): (r["n_ratings"], r["value"]) for r in of_system.select(**of)}
        for of in ({"metric": "opinion"}, {"metric": "rating_mean"})
    )
    assert opinions == means and len(means) == 12
    rows = [
        i
        for i in range(len(ratings))
        if (ratings.metric[i], ratings.system[i]) == ("naturalness", "B1")
    ]
    (opinion,) = of_system.select(metric="opinion", quantity="naturalness", system="B1")
    units = (
        [str(ratings.evaluator[i]) for i in rows],
        [str(ratings.trial[i]).split("-")[0] for i in rows],
    )
    assert (opinion["n_listeners"], opinion["n_speakers"]) == tuple(len(set(u)) for u in units)
    mean = opinion["value"]
    influence = [(ratings.score[i] - mean) / len(rows) for i in rows]
    error, freedom, _ = slow.opinion(influence, *units, mean)
    half = error * scipy.stats.t.ppf(0.975, freedom)
    expected = max(1, mean - half), min(10, mean + half)
    assert (opinion["low"], opinion["high"]) == pytest.approx(expected)
    for quantity in QUANTITIES:
        of = {"metric": "opinion", "quantity": quantity, "against": PRESENT}
        tests = result.measurements.select(**of).to_rows()
        assert len(tests) == 3
        for t in tests:
            one, other = (opinions[quantity, t[name]][1] for name in ("system", "against"))
            assert t["value"] == pytest.approx(one - other)
        p_values = [t["p"] for t in tests if "p" in t]
        assert [t["p_corrected"] for t in tests] == pytest.approx(slow.holm(p_values))


@pytest.mark.parametrize(
    ("trials", "speaker", "units"),
    [
        (["1089-1-1", "1089-1-2", "61-7-3"], "", {"1089", "61"}),
        (["p226_1", "p226_2", "61-7-3"], "", {"p226", "61"}),
        (["id1/a_b.wav", "id2/a-b.wav", "id2/c.wav"], "", {"id1", "id2"}),
        (["utt-1", "utt-2", "utt-3"], "", {"utt-1", "utt-2", "utt-3"}),
        (["1-1", "2-1", "x"], "", {"1-1", "2-1", "x"}),
        (["1-1", "2-1", "x"], "ann", {"ann"}),
    ],
)
def test_speakers_of_trials(
    tmp_path: Path, trials: list[str], speaker: str, units: set[str]
) -> None:
    last = f",{speaker}" * bool(speaker)
    lines = [f"e,B1,{trial},{5 + n}{last}" for n, trial in enumerate(trials)]
    header = "evaluator,system,trial,naturalness" + ",speaker" * bool(speaker)
    speakers, what = rated_speakers(ratings_of("\n".join([header, *lines, ""]), tmp_path))
    assert set(speakers.tolist()) == units
    assert what == ("utterances" if set(trials) == units else "speakers")


def test_distributions_and_p_values_against_slow_reference(
    ratings: Ratings, evaluated: Evaluated
) -> None:
    """Ranks within evaluators, pooled by system and kind of pair, then tested."""
    result, _ = evaluated
    groups = list(zip(ratings.metric.tolist(), ratings.evaluator.tolist(), strict=True))
    normalized: list[float] = [0.0] * len(ratings)
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        scores = [ratings.score[i] for i in rows]
        for i, rank in zip(rows, slow.normalized_ranks(scores, [0] * len(rows)), strict=True):
            normalized[i] = rank

    def sample(quantity: str, system: str) -> list[float]:
        metric, _, kind = quantity.partition("_")
        wanted = {"": (-1, 0, 1), "same_speaker": (1,), "different_speaker": (0,)}[kind]
        return [
            round(normalized[i], 12)
            for i in range(len(ratings))
            if (ratings.metric[i], ratings.system[i]) == (metric, system)
            and ratings.same_speaker[i] in wanted
        ]

    assert len(result.distributions) == 4 * 3
    for (quantity, system), d in result.distributions.items():
        values = sample(quantity, system)
        (row,) = result.measurements.select(metric="rank_mean", quantity=quantity, system=system)
        assert row["n_ratings"] == len(values)
        assert d["rank_mean"] == pytest.approx(sum(values) / len(values))
        middle = sorted(values)[(len(values) - 1) // 2]
        assert d["rank_median"] == pytest.approx(middle, abs=0.03)
    tests = result.measurements.select(metric="mann_whitney")
    assert len(tests) == 4 * 3
    for t in tests:
        samples = (sample(t["quantity"], t[name]) for name in ("system", "against"))
        expected = slow.mann_whitney(*samples)
        assert (t["value"], t["p"]) == pytest.approx(expected, rel=1e-6)
    for quantity in QUANTITIES:
        of_quantity = tests.select(quantity=quantity)
        corrected = slow.holm(of_quantity["p"].tolist())
        assert of_quantity["p_corrected"].tolist() == pytest.approx(corrected)


# --- singular cases


def test_ranks_and_tests_in_singular_cases() -> None:
    assert mann_whitney([3, 3], [3, 3, 3]) == (3.0, 1.0)
    assert normalized_ranks([5, 5, 5, 9], ["a", "a", "a", "b"]).tolist() == [0.5] * 4
    assert normalized_ranks([], []).size == 0
    of_one, of_other = (normalized_ranks(scores, [0] * 3) for scores in ([1, 2, 3], [2, 7, 8]))
    assert of_one.tolist() == of_other.tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="3 scores but 2 groups"):
        normalized_ranks([1, 2, 3], ["a", "a"])


# --- detection


def test_detection_tasks_have_the_trials_of_their_definition(
    ratings: Ratings, evaluated: Evaluated
) -> None:
    result, _ = evaluated
    pooled = {
        (quantity, system): (of[0]["n_target"], of[0]["n_nontarget"])
        for (quantity, system, data_set, _), of in result.detections.items()
        if data_set is None
    }

    def count(metric: str, system: str, *same: int) -> int:
        chosen = (ratings.metric == metric) & (ratings.system == system)
        return int(np.count_nonzero(chosen & np.isin(ratings.same_speaker, same)))

    same, different, original, system = 1, 0, "Original", "B1"
    assert ("naturalness", "Original") not in pooled
    for quantity, target, nontarget in (
        ("naturalness", (original, same, different), (system, same, different)),
        ("similarity_same_speaker", (system, same), (original, different)),
        ("similarity_different_speaker", (original, same), (system, different)),
        ("similarity", (system, same), (system, different)),
    ):
        metric = quantity.partition("_")[0]
        assert pooled[quantity, "B1"] == (count(metric, *target), count(metric, *nontarget))


def test_metrics_are_those_of_the_normalized_ratings(ratings: Ratings) -> None:
    result, _ = evaluate_ratings(ratings, PROTOCOL)
    of_metric = ratings.take(ratings.metric == "similarity")
    scores = normalized_ranks(of_metric.score, of_metric.evaluator)
    kept = (of_metric.system == "B2") & (of_metric.data_set == "libri")
    kept &= of_metric.gender == "f"
    same = of_metric.same_speaker == 1
    trials = TrialScores(scores[kept & same], scores[kept & ~same])
    of = result.detections["similarity", "B2", "libri", "f"]
    values = {(r.get("variant"), r["metric"]): r["value"] for r in of}
    for variant in ("exact", "challenge"):
        expected = score_metrics(trials, variant=variant)
        actual = {key: values[variant, key] for key in DETECTION_METRICS}
        assert actual == {key: expected[key] for key in DETECTION_METRICS}
    assert values["exact", "cllr_min"] != values["challenge", "cllr_min"]


def test_curve_eer_is_where_the_det_curve_meets_the_diagonal(evaluated: Evaluated) -> None:
    result, curves = evaluated
    assert [*result.detections] == [*curves.det]
    for place, (miss, false_alarm) in curves.det.items():
        of = {r["metric"]: r["value"] for r in result.detections[place]}
        equal = of["curve_eer"]
        # Between the ends of a straight piece, and in line with them.
        to_left, to_right = equal - miss[:-1], miss[1:] - equal
        above, below = false_alarm[:-1] - equal, equal - false_alarm[1:]
        between = np.minimum.reduce([to_left, to_right, above, below]) > -1e-12
        in_line = np.abs(to_left * below - to_right * above) < 1e-12
        assert np.any(between & in_line)


def test_original_speech_alone_and_systems_alone(ratings: Ratings) -> None:
    alone, _ = evaluate_ratings(ratings.take(ratings.system == "Original"), PROTOCOL)
    assert not len(alone.measurements.select(against=PRESENT)) and alone.reference is None
    assert {quantity for quantity, *_ in alone.detections} == {*QUANTITIES[2:], "similarity"}
    without, curves = evaluate_ratings(ratings.take(ratings.system != "Original"), PROTOCOL)
    assert {quantity for quantity, *_ in without.detections} == {"similarity"}
    assert without.reference == "B1"
    assert len(curves.densities) == len(without.distributions) == 8


def test_densities_are_of_unit_mass_within_the_range(evaluated: Evaluated, tmp_path: Path) -> None:
    _, curves = evaluated
    step = curves.at[1] - curves.at[0]
    for density in curves.densities.values():
        assert 0.8 < density.sum() * step < 1.05
    text = "evaluator,system,trial,naturalness\na,B1,u,3\na,B1,v,3\n"
    _, one_value = evaluate_ratings(ratings_of(text, tmp_path), PROTOCOL)
    (density,) = one_value.densities.values()
    assert curves.at[density > 0].tolist() == [0.5]


# --- evaluators


def test_unusual_evaluators_are_flagged(ratings: Ratings, evaluated: Evaluated) -> None:
    result, _ = evaluated
    flags = {e["evaluator"]: set(e["flags"]) for e in result.flagged}
    assert flags.keys() == {ONE_VALUE, STOPS_EARLY, INVERTS}
    assert "one value" in flags[ONE_VALUE] and "few ratings" in flags[STOPS_EARLY]
    assert "disagrees" in {
        f for e in result.flagged if e["evaluator"] == INVERTS for f in e["flags"]
    }
    assert result.n_evaluators == len(set(ratings.evaluator.tolist()))
    assert sum(result.n_ratings.values()) == len(ratings)


def test_agreement_is_spearmans_with_the_mean_of_the_others(tmp_path: Path) -> None:
    scores = {"a": [2, 4, 5, 9], "b": [1, 1, 7, 8], "c": [9, 3, 2, 5]}  # of B1 twice, of B2 twice
    lines = [
        f"{name},{system},{system}{i},{rating}"
        for name, of_name in scores.items()
        for i, (system, rating) in enumerate(zip(("B1", "B1", "B2", "B2"), of_name, strict=True))
    ]
    text = "\n".join(["evaluator,system,trial,intelligibility", *lines]) + "\n"
    result, _ = evaluate_ratings(ratings_of(text, tmp_path), PROTOCOL, min_ratings=2)
    ranks = {name: slow.normalized_ranks(of_name, [0] * 4) for name, of_name in scores.items()}
    for e in result.evaluators:
        others = [r for name, r in ranks.items() if name != e["evaluator"]]
        b1, b2 = (sum(r[i] + r[i + 1] for r in others) / 4 for i in (0, 2))
        expected = slow.spearman(scores[e["evaluator"]], [b1, b1, b2, b2])
        assert e["agreement"] == pytest.approx(expected)
    assert [e["flags"] for e in result.evaluators] == [(), (), ("disagrees",)]


def test_order_of_systems_and_evaluators_left_out(ratings: Ratings) -> None:
    result, _ = evaluate_ratings(ratings, PROTOCOL, systems=["B2", "unrated"])
    assert (result.systems, result.reference) == (("Original", "B2", "B1"), "B2")
    result, _ = evaluate_ratings(ratings, PROTOCOL, leave_out=[INVERTS])
    expected, _ = evaluate_ratings(ratings.take(ratings.evaluator != INVERTS), PROTOCOL)
    assert result.evaluators_left_out == (INVERTS,)
    assert to_plain(replace(result, evaluators_left_out=())) == to_plain(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "'train' .*known: dev, test"),
        ({"reference": "B7"}, "'B7'; rated: Original, B1, B2"),
        ({"leave_out": ["nobody"]}, "nobody"),
        ({"leave_out": [f"listener{i:02}" for i in range(1, 37)]}, "no remaining ratings"),
    ],
)
def test_invalid_options_are_refused(
    ratings: Ratings, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        evaluate_ratings(ratings, PROTOCOL, **options)


# --- files


def write(folder: Path, evaluated: Evaluated) -> None:
    for name, content in zip(FILES, listening_files(*evaluated), strict=True):
        (folder / name).write_bytes(content)


def test_results_round_trip_and_rewrite_to_the_same_bytes(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    write(tmp_path, evaluated)
    before = snapshot(tmp_path)
    read, curves = read_listening_test(tmp_path / "subjective.json")
    sha256 = digest((tmp_path / "subjective.npz").read_bytes())
    assert to_plain(read) == to_plain(replace(evaluated[0], curves_sha256=sha256))
    assert curves.densities.keys() == evaluated[1].densities.keys()
    assert curves.det.keys() == evaluated[1].det.keys()
    arrays = [
        [
            *one.densities.values(),
            *(rates for curve in one.det.values() for rates in curve),
        ]
        for one in (curves, evaluated[1])
    ]
    assert all(np.array_equal(*pair) for pair in zip(*arrays, strict=True))
    write(tmp_path, evaluated)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a subjective.json"),
        ({"split": "train"}, "unknown splits: train"),
        ({"reference": "B9"}, "unknown systems: B9"),
        ({"surprise": 1}, "unknown entry 'surprise'"),
        ({"measurements": 0}, "measurements: expected a list"),
        ({"measurements": [0]}, r"measurements\[0\]: expected a mapping"),
        ({"measurements": [{"metrik": "eer"}]}, r"measurements\[0\]: metrik: did you mean metric"),
        ({"measurements": [{"value": "low"}]}, r"measurements\[0\].value: expected a number"),
        ({"measurements": [{"n_target": 0.5}]}, r"n_target: expected a whole number"),
        ({"measurements": [ONE_METRIC | {"data_set": "x"}]}, "unknown data sets: x"),
        ({"measurements": [ONE_METRIC]}, "similarity, B1: missing: challenge cllr, .*, curve_eer"),
        ({"measurements": [NO_QUARTILES]}, "naturalness, B1: missing: rank_lower_quartile"),
        ({"measurements": [{"value": 0.5}]}, r"measurements\[0\]: no metric"),
        ({"measurements": [NO_QUARTILES | {"n_ratings": None}]}, r"measurements\[0\].n_ratings"),
        ({"measurements": [ONE_METRIC | {"metric": "mann_whitney"}]}, "no against, p, p_corrected"),
        ({"measurements": [LOUDNESS]}, "unknown quantities: loudness"),
        ({"measurements": [LOUDNESS | {"quantity": QUANTITIES[2]}]}, "unknown rated metrics: sim"),
        ({"measurements": [LOUDNESS | {"quantity": "similarity"}]}, "a, sim.*missing: agreement, "),
        ({"measurements": [LOUDNESS | {"metric": "loud"}]}, "unknown metrics: loud"),
        ({"curves_sha256": "0"}, "subjective.npz: does not match"),
    ],
)
def test_damaged_results_are_refused(
    change: dict[str, object], message: str, evaluated: Evaluated, tmp_path: Path
) -> None:
    write(tmp_path, evaluated)
    path = tmp_path / "subjective.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(PrivacyEvalError, match=message):
        read_listening_test(path)


def test_missing_arrays_are_named(evaluated: Evaluated, tmp_path: Path) -> None:
    write(tmp_path, evaluated)
    path = tmp_path / "subjective.json"
    path.with_suffix(".npz").unlink()
    with pytest.raises(PrivacyEvalError, match="subjective.npz"):
        read_listening_test(path)


def test_csv_has_every_value(evaluated: Evaluated) -> None:
    result, _ = evaluated
    text = listening_files(*evaluated)[FILES.index("subjective.csv")].decode()
    rows = csv_rows(text)
    stored = [row for row in result.measurements if "value" in row]
    assert len(rows) == len(stored) > 500
    for row, of in zip(rows, stored, strict=True):
        numbers = {n: float(row[n]) for n in ("value", "low", "high", "p", "n_target") if row[n]}
        assert numbers == {n: of[n] for n in ("value", "low", "high", "p", "n_target") if n in of}
        words = {n: row[n] for n in ("quantity", "system", "against", "metric") if row[n]}
        assert words == {n: of[n] for n in ("quantity", "system", "against", "metric") if n in of}
    assert {r["metric"] for r in rows if not r["unit"]} == {"agreement"}
    named = csv_rows(evaluators_csv(result))
    assert len(named) == len(result.evaluators)
    assert {r["evaluator"] for r in named if r["flags"]} == {ONE_VALUE, STOPS_EARLY, INVERTS}


def test_provenance_has_file_names_not_paths(tmp_path: Path) -> None:
    text = "evaluator,system,trial,naturalness\na,B1,u,3\n"
    paths = [tmp_path / place / "ratings.csv" for place in ("one", "other")]
    for path, name in zip(paths, "ab", strict=True):
        path.parent.mkdir()
        path.write_text(text.replace("a,B1", f"{name},B1"))
    alone, _ = evaluate_ratings(read_ratings(paths[:1]), PROTOCOL)
    assert list(alone.provenance["inputs"]) == ["ratings.csv"]
    both, _ = evaluate_ratings(read_ratings(paths), PROTOCOL)
    assert list(both.provenance["inputs"]) == [str(path) for path in paths]


@pytest.mark.parametrize("places", [(1, 2), (1, 1, 1, 2, 3, 3)])
def test_every_density_has_mass_somewhere(tmp_path: Path, places: tuple[int, ...]) -> None:
    """Also where a score lies half-way between two points of the density."""
    lines = [f"a,S{i % 2},u{i},{place}" for i, place in enumerate(places)]
    lines += [f"b,S0,v{i},{1 + i % 9}" for i in range(101)]
    text = "\n".join(["evaluator,system,trial,naturalness", *lines]) + "\n"
    _, curves = evaluate_ratings(ratings_of(text, tmp_path), PROTOCOL)
    assert all(density.max() > 0 for density in curves.densities.values())
