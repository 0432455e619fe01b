"""The strongest attacker: golden intervals, a slow second implementation, and `metrics`."""

import json
import statistics
from pathlib import Path

import numpy as np
import pytest
from attacker_support import REAL_B2
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from support import GOLDEN, Run, cli, ok, printed

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.io.scores import with_speakers
from privacy_eval.metrics.strongest import average_ranks, strongest

CASES = json.loads((GOLDEN.parent / "attackers/strongest.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["true"]))
def test_intervals_are_golden(case: dict) -> None:
    result = strongest(case["estimates"], case["replicates"])
    assert result.rivals == tuple(case["rivals"])
    assert (result.name, result.attackers) == (
        int(np.argmin(case["estimates"])),
        len(case["estimates"]),
    )
    for field in ("minimum", "corrected", "lower", "upper"):
        assert getattr(result, field) == pytest.approx(case[field], rel=0, abs=1e-12)


def quantile(values: list[float], level: float) -> float:
    """Linear between the order statistics."""
    ordered, place = sorted(values), level * (len(values) - 1)
    below = min(int(place), len(values) - 2)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def average_rank(value: float, values: list[float]) -> float:
    below = sum(v < value for v in values)
    return below + (sum(v == value for v in values) + 1) / 2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(2, 12), st.integers(0, 999))
def test_intervals_are_those_of_loops(attackers: int, replicates: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    estimates = generator.random(attackers).tolist()  # replicates tie; no difference is a limit
    drawn = (generator.integers(0, 12, (attackers, replicates)) / 12).tolist()
    best = estimates.index(min(estimates))
    rivals = [
        k
        for k in range(attackers)
        if estimates[k] - estimates[best]
        <= 2 * statistics.stdev(a - b for a, b in zip(drawn[k], drawn[best], strict=True))
    ]
    highest = [
        max((average_rank(drawn[k][r], drawn[k]) - 0.5) / replicates for k in rivals)
        for r in range(replicates)
    ]
    level = quantile(highest, 0.975)
    optimism = []
    for r in range(replicates):
        column = [of_attacker[r] for of_attacker in drawn]
        optimism.append(estimates[column.index(min(column))] - min(column))
    result = strongest(estimates, drawn)
    assert result.rivals == tuple(rivals)
    assert result.lower == pytest.approx(min(quantile(d, 0.025) for d in drawn))
    assert result.upper == pytest.approx(min(quantile(drawn[k], level) for k in rivals))
    corrected = statistics.fmean(optimism) + statistics.fmean(drawn[best])
    assert result.corrected == pytest.approx(corrected)


def test_one_attacker_has_its_own_interval() -> None:
    drawn = np.random.default_rng(0).normal(0.3, 0.05, (1, 400))
    result = strongest([0.31], drawn)
    expected = tuple(np.quantile(drawn, [0.025, 0.975]))  # up to the place between two replicates
    assert (result.lower, result.upper) == pytest.approx(expected, abs=1e-3)
    assert result.minimum == result.corrected == pytest.approx(0.31)


@pytest.mark.parametrize(
    ("estimates", "replicates"),
    [([], []), ([0.1], [[0.1]]), ([0.1], [[0.1, np.nan]]), ([0.1, 0.2], [[0.1, 0.2]])],
)
def test_what_is_no_comparison_is_an_error(estimates: list, replicates: list) -> None:
    with pytest.raises(ValueError, match=r"estimates|replicates|finite"):
        strongest(estimates, replicates)


def test_trials_have_the_strongest_of_their_replicates() -> None:
    """As the command line finds it on the same files; not among trials of other speakers."""
    key = pe.read_trials(REAL_B2 / "trials")
    attackers = {
        name: with_speakers(
            pe.pair(pe.read_scores(REAL_B2 / f"scores/{name}.gz"), key), REAL_B2 / "test_utt2spk"
        )
        for name in ATTACKS
    }
    result = pe.strongest(attackers, bootstrap=20)
    plain = json.loads(metrics(*ATTACKS, more=(*STRONGEST, "--format", "json")).out)["strongest"]
    for field in ("minimum", "corrected", "lower", "upper", "attackers"):
        assert getattr(result, field) == pytest.approx(plain[field], abs=1e-12)
    rows = {row["attacker"]: row for row in result.to_rows()}
    assert [*rows] == [*ATTACKS] and rows["ridge_reverse"]["corrected"] == result.corrected
    assert [n for n in ATTACKS if rows[n]["low"] is not None] == ["ridge_reverse"]
    assert "ridge_reverse" in repr(result) and any("widened" in note for note in result.notes)
    someone = attackers["words"].trial_speaker.used[0]
    rest = [name for name in attackers["words"].trial_speaker.used if name != someone]
    attackers["words"] = attackers["words"].select(trial_speaker=rest)
    with pytest.raises(PrivacyEvalError, match="different speakers"):
        pe.strongest(attackers, bootstrap=20)


# --- metrics --strongest


def metrics(*names: str, more: tuple[object, ...] = ()) -> Run:
    scores = [word for name in names for word in ("--scores", REAL_B2 / f"scores/{name}.gz")]
    key = ("--trials", REAL_B2 / "trials", "--utt2spk", REAL_B2 / "test_utt2spk")
    return cli("metrics", *scores, *key, *more)


STRONGEST = ("--strongest", "--bootstrap", 20, "--variant", "exact")
ATTACKS = ("cosine", "ridge_reverse", "procrustes", "words")


def test_the_strongest_is_that_of_paired_replicates() -> None:
    """Of all files, in their order; a system alone has the replicates that it has among others."""
    run = metrics(*ATTACKS, more=(*STRONGEST, "--format", "json"))
    assert run.code == 0 and run.err == ""
    plain = json.loads(run.out)
    result, files = plain["strongest"], [str(REAL_B2 / f"scores/{n}.gz") for n in ATTACKS]
    assert list(result) == [
        *("name", "attackers", "minimum", "corrected", "lower", "upper", "rivals")
    ]
    facts = json.loads((REAL_B2 / "vectors.json").read_text())["attackers"]
    eers = [plain["attackers"][file]["exact"]["eer"] for file in files]
    for name, eer in zip(ATTACKS[:3], eers, strict=False):
        assert eer == pytest.approx(facts[name]["eer_kaldi"], abs=1e-12)
    assert result["name"] == files[1] and result["minimum"] == min(eers) == eers[2]
    assert result["attackers"] == 4 and result["rivals"][:2] == files[1:3]
    alone = json.loads(metrics(ATTACKS[1], more=(*STRONGEST, "--format", "json")).out)
    interval = alone["attackers"][files[1]]["intervals"]
    assert interval == plain["attackers"][files[1]]["intervals"]
    assert alone["strongest"]["corrected"] == pytest.approx(alone["strongest"]["minimum"])
    assert alone["strongest"]["lower"] >= result["lower"]
    assert any("Too few" in caveat for caveat in plain["caveats"])


def test_the_strongest_is_printed_for_a_person() -> None:
    run = ok(metrics("cosine", "ridge_reverse_snorm", more=STRONGEST))
    rows = {Path(row["Attacker"]).name: row for row in printed(run.out)}
    row = rows["ridge_reverse_snorm.gz"]
    assert (row["Value"], row["Compared"]) == ("10.000 %", "strongest")
    assert [*rows][-1].startswith("strongest of 2 attackers, corrected")
    few = metrics("ridge_reverse_asnorm", more=("--strongest", "--bootstrap", 20)).out
    assert "Too few" in few


@pytest.mark.parametrize("bootstrap", [20, 300])
def test_attackers_that_overestimate_privacy_are_named(bootstrap: int) -> None:
    """Cosine, of 32 %, is weaker than the words, 26 %, and than its aligned variant, 12 %; with
    enough replicates, the paired difference shows the latter only."""
    names = "cosine", "ridge_reverse", "words"
    base = ("--strongest", "--bootstrap", bootstrap)
    plain = json.loads(metrics(*names, more=(*base, "--format", "json")).out)["attackers"]
    weaker = {
        (Path(file).stem, key): text
        for file, of_file in plain.items()
        for key, text in of_file["caveats"].items()
        if key.startswith("weaker")
    }
    variant, words = ("cosine", "weaker_than_variant"), ("cosine", "weaker_than_words")
    assert set(weaker) == ({variant} if bootstrap == 300 else {variant, words})
    assert "12.00 %" in weaker[variant] and "ridge_reverse" in weaker[variant]
    assert ("point estimates" in weaker[variant]) == (bootstrap == 20)
    out = metrics(*names, more=base).out
    assert all(f"cosine.gz: {text}" in out for text in weaker.values())
    assert "widened" in out


@pytest.mark.parametrize(
    ("names", "more"),
    [
        (("cosine", "words"), ()),
        (("cosine", "words"), ("--strongest",)),
        (("cosine", "cosine"), STRONGEST),
        (("cosine", "words"), (*STRONGEST, "--speakers")),
        (("cosine",), (*STRONGEST, "--versus", REAL_B2 / "scores/words.gz")),
    ],
)
def test_what_does_not_go_with_strongest_is_wrong_usage(
    names: tuple[str, ...], more: tuple[object, ...]
) -> None:
    run = metrics(*names, more=more)
    assert run.code == 2 and "--strongest" in run.err and run.out == ""


@pytest.mark.parametrize("shape", [(1,), (40,), (3, 40), (2, 3, 7)])
@pytest.mark.parametrize("different", [1, 5, 1000])
def test_ranks_are_scipys(shape: tuple[int, ...], different: int) -> None:
    values = np.random.default_rng(0).integers(0, different, shape) / 7
    assert np.array_equal(average_ranks(values), rankdata(values, axis=-1))
