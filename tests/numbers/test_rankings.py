"""Rankings: by the strongest attacker of each system; the records that they are of."""

from dataclasses import replace

import pytest
from support import B1, imported, side_by_side

from privacy_eval.numbers.attackers import Tried
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.means import Means
from privacy_eval.numbers.rankings import Ranking, rank, with_attackers
from privacy_eval.protocol.protocol import Attacker, load_protocol

PROTOCOL = load_protocol("vpc2020")


def tried(**eers: float) -> Tried:
    """Attackers by their mean EER."""
    model = PROTOCOL.attack_models[0]
    attackers = (
        {"title": a, "model": model, "of_present": eer, "parts": ()} for a, eer in eers.items()
    )
    return Tried("", "dev", tuple(attackers), PROTOCOL)


def test_who_knows_the_words_is_not_called_weaker_than_the_words_alone() -> None:
    of = {"plda": (0.3, ()), "words": (0.1, ("words",)), "fused": (0.2, ("trial", "words"))}
    attackers = tuple(Attacker(name, name, knows, name) for name, (_, knows) in of.items())
    model = PROTOCOL.attack_models[0]
    rows = (
        {
            "attacker": name,
            "is_words": name == "words",
            "model": model,
            "of_present": eer,
            "parts": (),
        }
        for name, (eer, _) in of.items()
    )
    found = Tried("", "dev", tuple(rows), replace(PROTOCOL, attackers=attackers))
    assert [a["attacker"] for a, _ in found.weaker["words"]] == ["plda"]


#: Of a the lowest EER is 0.1, of b 0.3; c was attacked by one attacker, d by two of the three.
TRIED = {
    ("a", "dev"): tried(plda=0.5, cosine=0.1, words=0.4),
    ("b", "dev"): tried(plda=0.4, cosine=0.35, words=0.3),
    ("c", "dev"): tried(plda=0.3),
    ("d", "dev"): tried(plda=0.2, cosine=0.25),
    ("b", "test"): tried(plda=0.4, cosine=0.01, words=0.4),
}
MEANS = {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2}
RANKED = tuple({"system": system, "value": eer} for system, eer in MEANS.items())
NO_CELLS = Means(side_by_side({}), PROTOCOL)
BY_MEAN = Ranking(NO_CELLS, "eer", "ignorant", "dev", RANKED, {"e": "no values"})


def test_systems_are_ranked_by_their_strongest_attacker() -> None:
    ranking = with_attackers(BY_MEAN, TRIED, by_strongest=True)
    found = [(r["system"], r["tried"].lowest["of_present"]) for r in ranking.ranked]
    assert found == [("b", 0.3), ("a", 0.1)] and len(ranking.ranked) == 2
    assert ranking.by_strongest and ranking.unranked.keys() == {"c", "d", "e"}
    assert "no other attacker" in ranking.unranked["c"]
    assert "fewer attackers" in ranking.unranked["d"]


def test_the_strongest_attacker_stands_beside_the_mean() -> None:
    ranking = with_attackers(BY_MEAN, TRIED, by_strongest=False)
    assert [r["system"] for r in ranking.ranked] == list("abcd") and not ranking.by_strongest
    assert [r["tried"] for r in ranking.ranked] == [TRIED[s, "dev"] for s in "abcd"]


@pytest.mark.parametrize("by_strongest", [False, True])
def test_attackers_do_not_change_rankings_that_they_are_not_of(by_strongest: bool) -> None:
    of_others = {key: one for key, one in TRIED.items() if key[1] == "test"}
    for ranking, attackers in (
        (replace(BY_MEAN, metric="cllr_min"), TRIED),
        (replace(BY_MEAN, shared_sets="LibriSpeech"), TRIED),
        (BY_MEAN, of_others),
        (BY_MEAN, {}),
    ):
        assert with_attackers(ranking, attackers, by_strongest=by_strongest) == ranking


@pytest.mark.parametrize("attack_model", ["ignorant", "lazy-informed"])
@pytest.mark.parametrize("split", ["dev", "test"])
def test_records_of_a_ranking_are_of_its_attack_model_and_split(
    attack_model: str, split: str
) -> None:
    """Two genders of three data sets."""
    results = imported(B1)
    means = Means(cells_from_results(results), PROTOCOL)
    found = rank(means, metric="eer", attack_model=attack_model, split=split).records
    conditions = [r.condition for r in found]
    assert {(c.attack_model, c.split) for c in conditions} == {(attack_model, split)}
    assert len({(c.data_set, c.gender) for c in conditions}) == len(conditions) == 6
