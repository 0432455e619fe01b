"""THE average: its value, its digits, what is missing from it."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import pytest
from support import side_by_side

from privacy_eval.metrics import CAVEATS, METRICS
from privacy_eval.numbers.cells import interval_of
from privacy_eval.numbers.means import Means, averaged_conditions, mean_of
from privacy_eval.protocol.protocol import Protocol, load_protocol
from privacy_eval.results.measurements import Row

PROTOCOL = load_protocol("vpc2020")
SETS = [(d.id, gender) for d in PROTOCOL.data_sets for gender in PROTOCOL.genders]
#: A value, or columns of its row.
Value = float | Mapping[str, object]

WEIGHTS = [Decimal("0.25")] * 2 + [Decimal("0.20")] * 2 + [Decimal("0.05")] * 2


def mean(*values: Value | None, metric: str = "eer", protocol: Protocol = PROTOCOL) -> Row:
    present = {
        (metric, "a", "dev", *of_set, "s"): value
        for of_set, value in zip(SETS, values, strict=True)
        if value is not None
    }
    return Means(side_by_side(present, ("s",)), protocol).of(metric, "a", "dev", "s")


def test_a_half_way_mean_is_rounded_up_in_any_order() -> None:
    """35.625 % of values with few decimals: binary sums are on either side of it."""
    printed = [Decimal(p) for p in ("0.1", "0.7", "0.3", "0.2", "0.45")]
    rest = Decimal("0.35625") - sum(w * v for w, v in zip(WEIGHTS, printed, strict=False))
    values = [*printed, rest / WEIGHTS[-1]]
    assert all(0 <= v <= 1 for v in values)
    exact = sum(w * v for w, v in zip(WEIGHTS, values, strict=True))
    assert exact == Decimal("0.35625")
    text = str((100 * exact).quantize(Decimal("0.01"), ROUND_HALF_UP))
    sums, texts = set(), set()
    for order in itertools.permutations(range(6)):
        pairs = [(float(WEIGHTS[i]), float(values[i])) for i in order]
        sums.add(sum(w * v for w, v in pairs))
        cells = {("eer", "a", "dev", str(i), "f", "s"): v for i, (_, v) in enumerate(pairs)}
        weights = {key: w for key, (w, _) in zip(cells, pairs, strict=True)}
        texts.add(mean_of(side_by_side(cells, ("s",)), "eer", weights)["printed"])
    assert len(sums) > 1  # or this would test nothing
    assert texts == {text} == {"35.63"}


@pytest.mark.parametrize(
    ("weights", "expected", "conditions"),
    [({}, 0.3, 6), ({"f": 3, "m": 1}, 0.25, 6), ({"f": 3}, 0.25, 6), ({"f": 0}, 0.4, 3)],
)
def test_a_mean_has_the_weights_of_genders(
    weights: dict[str, float], expected: float, conditions: int
) -> None:
    """Women have 0.2 and men 0.4 in each of three data sets: with weights 3 and 1 the mean is
    (3 * 0.2 + 1 * 0.4) / (3 + 1) = 0.25; a gender without a weight has 1, and 0 leaves it out."""
    protocol = replace(PROTOCOL, gender_weights=weights)
    of_sets = [{"f": 0.2, "m": 0.4}[gender] for _, gender in SETS]
    assert mean(*of_sets, protocol=protocol)["value"] == expected
    assert averaged_conditions(protocol) == conditions


def test_a_missing_part_is_named() -> None:
    whole = [v / 10 for v in range(1, 7)]
    for index, of_set in enumerate(SETS):
        of_rest = mean(*whole[:index], None, *whole[index + 1 :])
        assert of_rest["missing"] == [" ".join(of_set)]
        assert of_rest["value"] is None
        weights = WEIGHTS[:index] + WEIGHTS[index + 1 :]
        rest = [Decimal(v) / 10 for v in range(1, 7) if v != index + 1]
        expected = sum(w * v for w, v in zip(weights, rest, strict=True)) / sum(weights)
        assert of_rest["of_present"] == pytest.approx(float(expected))
        assert of_rest["printed"] == METRICS["eer"].format(of_rest["of_present"])
    assert mean(*whole)["missing"] == []
    names = ", ".join(" ".join(of_set) for of_set in SETS[1:4])
    assert mean(whole[0], *[None] * 5)["why_blank"].endswith(f"5 of 6: {names}, ...")
    assert mean(*whole[:3], *[None] * 3)["why_blank"][-1:] != "."
    nothing = mean(*[None] * 6)
    assert (nothing["value"], nothing["printed"], len(nothing["missing"])) == (None, "", 6)


def test_a_part_without_weight_is_neither_averaged_nor_missing() -> None:
    keys = [("cllr", None, "dev", name, "f", "s") for name in "abc"]
    cells = side_by_side({keys[0]: 0.5, keys[1]: math.inf}, ("s",))
    of_one = mean_of(cells, "cllr", {keys[0]: 2.0, keys[1]: 0.0, keys[2]: 0.0})
    assert of_one["value"] == 0.5 and len(of_one["parts"]) == 1
    assert mean_of(cells, "cllr", dict.fromkeys(keys[:2], 1.0))["value"] == math.inf


def test_a_mean_over_a_marked_part_is_blank_and_names_it() -> None:
    for caveat in CAVEATS.values():
        cells = [0.1] * 5
        of_all = mean(*cells, {"value": 0.1, "caveat": caveat})
        assert (of_all["value"] is None) is (of_all["printed"] == "") is not caveat.ranked
        if not caveat.ranked:
            assert (of_all["of_present"], interval_of(of_all)) == (None, None)
            name = " ".join(SETS[-1])
            assert of_all["withheld"] == [name] and of_all["caveat"] is caveat
            assert of_all["why_blank"] == f"{caveat.word}: 1 of 6 values, {name}"


def test_the_strictest_caveat_of_the_parts_counts() -> None:
    plain = 0.1
    few, weak, inverted = (
        {"value": plain, "caveat": CAVEATS[key]}
        for key in ("few_targets", "weak_attacker", "inverted")
    )
    for cell, caveat in ((plain, None), (weak, None), (inverted, "inverted"), (few, "few_targets")):
        found = mean(*[plain] * 5, cell, metric="linkability")["caveat"]
        assert found is (caveat and CAVEATS[caveat])
    both = mean(inverted, *[plain] * 4, few, metric="linkability")
    assert both["caveat"] is CAVEATS["few_targets"] and len(both["withheld"]) == 2
