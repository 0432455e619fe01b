"""Several attackers of a tree: the challenge's own, and those beside it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from support import (
    Tree,
    lines_to,
    score_lines,
    side_by_side,
    three_conditions,
    trial_lines,
    write_outputs,
)

from privacy_eval.metrics.caveats import WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS
from privacy_eval.metrics.confidence import BootstrapReplicates, least_replicates, needed_for_tests
from privacy_eval.numbers.attackers import Tried
from privacy_eval.numbers.attackers import with_attackers as attacked
from privacy_eval.numbers.means import Means
from privacy_eval.numbers.rankings import Ranking, with_attackers
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import Attacker, Protocol, load_protocol
from privacy_eval.report.attackers_in_words import _first_by_strongest, overestimates
from privacy_eval.report.figures.plane import Plane, draw_plane
from privacy_eval.report.first_screen import front, text_for_a_paper
from privacy_eval.report.latex import Layout
from privacy_eval.report.main_results import (
    _tests,
    attackers_table,
    main_results_table,
    pairs_table,
    ranking_table,
)
from privacy_eval.report.side_by_side import paper_tables
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.arrays import with_differences
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Record, Results, merge
from privacy_eval.stages.collect import collect
from privacy_eval.stages.options import MetricOptions
from privacy_eval.stages.privacy_metrics import evaluate_tree
from privacy_eval.tree.discovery import find_systems

CONFIG = load_protocol("vpc2020")
LISTENERS = replace(CONFIG, attackers=(*CONFIG.attackers, Attacker("listeners", "listeners")))
O_A = "ASV-libri_dev_enrolls-libri_dev_trials_f_anon"
A_A = "ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon"
#: Of one trial set, so that averages are of all conditions.
ONE_SET = replace(
    LISTENERS,
    splits=("dev",),
    genders={"f": "female"},
    data_sets=CONFIG.data_sets[:1],
    table_rows=("libri",),
)


def scores_of_listeners(tree: Tree) -> Path:
    folder = tree.root / f"exp/results-now/{O_A}/listeners"
    return lines_to(folder / "scores", score_lines("listeners"))


def evaluated(tree: Tree, protocol: Protocol = LISTENERS, bootstrap: int = 0) -> Results:
    systems, out = find_systems(tree.root, tree.root / "exp", protocol), tree.root / "out"
    options = MetricOptions(bootstrap=bootstrap)
    assert not evaluate_tree(systems, out, tree=tree.root, options=options).failed
    return collect(systems, out, protocol, tree=tree.root)


def with_perfect(tree: Tree, attacker: str) -> None:
    """Scores of an attacker who is always right."""
    lines = (line.split() for line in trial_lines())
    path = tree.root / f"exp/results-now/{O_A}/{attacker}/scores"
    lines_to(path, (f"{s} {u} {int(kind == 'target')}" for s, u, kind in lines))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return three_conditions(tmp_path / "tree")


def test_an_attacker_states_its_attack_model(tree: Tree) -> None:
    """Scores in the condition of the same speech; other speech has the model of its condition."""
    told = replace(LISTENERS.attackers[-1], attack_model="semi-informed")
    protocol = replace(LISTENERS, attackers=(*LISTENERS.attackers[:-1], told))
    for name in (O_A, A_A):
        path = tree.root / f"exp/results-now/{name}/{told.id}/scores"
        lines_to(path, score_lines(told.id))
    results = evaluated(tree, protocol)
    stated = {
        r.condition.name: (r.condition.attack_model, r.condition.asv_model)
        for r in results.verification
        if r.condition.attacker == told.id
    }
    assert stated == {O_A: ("ignorant", "original"), A_A: ("semi-informed", "anonymized")}
    stored = tree.root / "out/stated.json"
    stored.write_text(to_json(results))
    kept = {r.condition for r in read_results(stored).verification}
    assert kept == {r.condition for r in results.verification}


def test_scores_of_another_program_are_an_attacker_of_their_own(tree: Tree) -> None:
    alone = evaluated(tree)
    scores_of_listeners(tree)
    both = evaluated(tree)
    assert both.by_challenge() == alone
    (other,) = (r for r in both.verification if not r.condition.is_by_challenge)
    assert other.condition.attacker == "listeners"
    assert other.condition.attack_model == "ignorant"
    assert {r.condition.attacker for r in alone.verification} == {"plda"}
    record = tree.root / "out/records/now" / f"{O_A}.listeners.json"
    assert json.loads(record.read_text())["attacker"] == "listeners"
    assert {row["attacker"] for row in both.to_rows()} == {"plda", "listeners"}


def test_numbers_of_the_challenge_are_those_of_its_own_attacker(tree: Tree) -> None:
    alone = evaluated(tree)
    scores_of_listeners(tree)
    both = evaluated(tree)
    assert to_results_txt(both, "now", "") == to_results_txt(alone, "now", "")
    write_outputs(both, tree.root / "out")
    data = read_report_data(ReportSources((tree.root / "out/results.json",)))
    assert data.results.verification == alone.verification
    assert [r.condition.attacker for r in data.others] == ["listeners"]


def test_attackers_may_be_in_several_results_files(tree: Tree) -> None:
    alone = evaluated(tree)
    scores_of_listeners(tree)
    both = evaluated(tree)
    others = tuple(r for r in both.verification if not r.condition.is_by_challenge)
    parts = [replace(alone, protocol=CONFIG), replace(both, verification=others)]
    merged = merge(parts)
    assert merged.protocol == LISTENERS
    assert merged.verification == (*alone.verification, *others)


@pytest.mark.parametrize(("conf", "own"), [("vpc2022", "plda"), ("vpc2024", "cosine")])
def test_files_of_before_there_were_several_are_of_the_challenge(
    tree: Tree, tmp_path: Path, conf: str, own: str
) -> None:
    plain = json.loads(to_json(replace(evaluated(tree), protocol=CONFIG)))
    plain["protocol"] = load_protocol(conf).to_dict()
    del plain["protocol"]["attackers"]
    for record in plain["verification"]:
        del record["attacker"]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(plain))
    read = read_results(path)
    assert {r.condition.attacker for r in read.verification} == {own}
    assert read.by_challenge() == read


def test_another_attacker_alone_is_no_missing_condition(tree: Tree) -> None:
    (tree.root / "exp/results-now" / O_A / "scores").unlink()
    scores_of_listeners(tree)
    of_folder = [r.condition for r in evaluated(tree).verification if r.condition.name == O_A]
    assert [c.attacker for c in of_folder] == ["listeners"]


# --- attackers side by side


def with_words(tree: Tree, kind: str) -> Results:
    """Results with the words attacker: perfect, or all scores are the same."""
    with_perfect(tree, "words")
    if kind == "useless":
        path = tree.root / f"exp/results-now/{O_A}/words/scores"
        lines_to(path, (f"{line.rpartition(' ')[0]} 0" for line in trial_lines()))
    return evaluated(tree)


def report_data(results: Results, folder: Path) -> ReportData:
    write_outputs(results, folder)
    return read_report_data(ReportSources((folder / "results.json",)))


def test_words_that_tell_more_than_a_voice_attacker_are_a_caveat(tree: Tree) -> None:
    results = with_words(tree, "perfect")
    noted = {r.condition.name for r in results.verification if WEAKER_THAN_WORDS in r.caveats}
    own = {r.condition.name: r for r in results.by_challenge().verification}
    assert (
        noted == {O_A, A_A} and "0.00 %, by point estimates" in own[O_A].caveats[WEAKER_THAN_WORDS]
    )
    plain = json.loads(to_json(results))["verification"]
    assert sum(WEAKER_THAN_WORDS in r["caveats"] for r in plain) == 2
    data = report_data(results, tree.root / "out")
    table = attackers_table(data)
    assert table is not None and "overestimated" in " ".join(table.notes)
    (row,) = table.rows
    titles = [column.title for column in table.columns]
    assert row[titles.index("Words alone")] == "0.00"
    assert [titles[n] for n in Layout(table).named] == ["System", "Split"]
    assert table.bold == {(0, titles.index("Words alone"))}
    ignorant = [m for m in data.protocol.attack_models if m.id == "ignorant"]
    (note,) = overestimates(data, data.protocol.splits, ignorant)
    assert "ignorant" in note and "lazy-informed" not in note
    papers = [part for paper in paper_tables(data) for part in paper.parts or (paper,)]
    assert any("overestimated" in note for part in papers for note in part.notes)


def test_words_that_tell_less_are_none(tree: Tree) -> None:
    results = with_words(tree, "useless")
    assert not [r for r in results.verification if WEAKER_THAN_WORDS in r.caveats]
    table = attackers_table(report_data(results, tree.root / "out"))
    assert table is not None and "overestimated" not in " ".join(table.notes)


def test_without_other_attackers_there_is_no_table(tree: Tree) -> None:
    assert attackers_table(report_data(evaluated(tree), tree.root / "out")) is None


def test_the_first_screen_says_what_the_words_reach(tree: Tree) -> None:
    data = report_data(with_words(tree, "perfect"), tree.root / "out")
    said = " ".join(sentence for _, sentences in front(data).answers for sentence in sentences)
    assert "overestimated" in said and "words alone reaches an EER of 0.00 %" in said
    assert "The strongest of 3 attackers that were tried is words alone" in said


def test_sentences_keep_the_case_of_titles(tree: Tree) -> None:
    with_perfect(tree, "listeners")
    results = evaluated(tree)
    *others, _ = results.protocol.attackers
    named = replace(results.protocol, attackers=(*others, Attacker("listeners", "WavLM by ACME")))
    shown = front(report_data(replace(results, protocol=named), tree.root / "out"))
    said = " ".join([shown.verdict, *(s for _, sentences in shown.answers for s in sentences)])
    assert "WavLM by ACME" in said and "(ignorant)" in said and "(Ignorant)" not in said


class Replicates:
    """Stored arrays whose EERs are given by attacker, and repeated."""

    def __init__(
        self, eers: dict[str, list[float]], seeds: dict[str, int] | None = None, times: int = 25
    ) -> None:
        self.eers, self.seeds, self.times = eers, seeds or {}, times

    def replicates(self, record: Record, variant: str, metric: str) -> BootstrapReplicates:
        attacker = record.condition.attacker
        values = {metric: np.tile(self.eers[attacker], self.times)}
        return BootstrapReplicates(values, 1000, "design", self.seeds.get(attacker, 0))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([0.1, 0.1, 0.2, 0.1], "difference [20.00, 30.00] points"),  # 0.3, 0.3, 0.4, 0.4 less these
        ([0.1, 0.1, 0.4, 0.1], ""),  # the third difference is 0
    ],
)
def test_the_paired_difference_decides_where_there_are_replicates(
    tree: Tree, tmp_path: Path, words: list[float], reason: str
) -> None:
    arrays = Replicates({"plda": [0.3, 0.3, 0.4, 0.4], "words": words})
    results = with_differences(with_words(tree, "perfect"), cast(Any, arrays))
    caveats = {
        r.condition.name: r.caveats[WEAKER_THAN_WORDS]
        for r in results.verification
        if WEAKER_THAN_WORDS in r.caveats
    }
    assert set(caveats) == ({O_A, A_A} if reason else set())
    assert all(reason in text for text in caveats.values())
    path = tmp_path / "results.json"
    path.write_text(to_json(results))
    assert read_results(path) == results


@pytest.mark.parametrize(("seeds", "times"), [({"words": 1}, 25), ({}, 2)])
def test_other_or_few_draws_leave_point_estimates(
    tree: Tree, seeds: dict[str, int], times: int
) -> None:
    results = with_words(tree, "perfect")
    arrays = Replicates({"plda": [0.3] * 4, "words": [0.4] * 4}, seeds, times)
    assert with_differences(results, cast(Any, arrays)) == results
    assert '"above"' not in to_json(results)


def test_aligned_variants_of_the_same_condition_are_compared(tree: Tree) -> None:
    with_perfect(tree, "procrustes")
    results = evaluated(tree, CONFIG)
    weaker = [r for r in results.verification if WEAKER_THAN_VARIANT in r.caveats]
    assert [(r.condition.name, r.condition.attacker) for r in weaker] == [(O_A, "plda")]
    assert "0.00 % (procrustes)" in weaker[0].caveats[WEAKER_THAN_VARIANT]
    data = report_data(results, tree.root / "out")
    said = " ".join(sentence for _, sentences in front(data).answers for sentence in sentences)
    assert "an attacker with aligned x-vectors (rotation) reaches 0.00 %" in said
    table = attackers_table(data)
    assert table is not None and "alignment" in " ".join(table.notes)


@pytest.mark.parametrize(
    ("other", "attacker", "is_variant"),
    [
        ("ridge-reverse", "plda", True),
        ("ridge-reverse-asnorm", "plda", True),
        ("plda-snorm", "plda", True),
        ("procrustes-asnorm", "procrustes", True),
        ("plda", "plda", False),
        ("plda", "procrustes", False),
        ("procrustes", "procrustes-asnorm", False),
        ("ridge-reverse", "procrustes", False),
        ("words", "plda", False),
        ("fused", "plda", False),
    ],
)
def test_variants_are_told_by_their_ids(other: str, attacker: str, is_variant: bool) -> None:
    assert CONFIG.is_variant(other, attacker) == is_variant


def test_the_first_screen_names_attackers_that_were_tried_and_others(tree: Tree) -> None:
    scores_of_listeners(tree)
    screen = front(report_data(evaluated(tree), tree.root / "out"))
    tried = " ".join(screen.attackers)
    assert "PLDA of x-vectors (ignorant, lazy-informed)" in tried and "listeners" in tried
    others = [a for a in CONFIG.other_attackers if a.scoring != "outside"]
    (untried,) = (titles for text, titles in screen.warnings if text.startswith("Not tried"))
    assert untried == tuple(a.title for a in others) and "words alone" in untried
    assert any(f"--attackers {','.join(a.id for a in others)} runs" in h for h in screen.hints)


def of_system(
    name: str, lowest: float | None, corrected: float | None, attackers: str = "xy"
) -> dict[str, Any]:
    """A system, whose challenge's EER is 50 %, with what attackers reach."""
    best = None if corrected is None else SimpleNamespace(corrected=corrected)
    found = None if lowest is None else {"of_present": lowest}
    tried = SimpleNamespace(strongest=best, lowest=found, titles=frozenset(attackers))
    return {"system": name, "metric": "eer", "value": 0.5, "tried": tried}


def of_attacker(
    title: str, value: float, genders: str, drawn: Any = None, speakers: int = 1000
) -> dict[str, Any]:
    """An attacker with scores of some genders, and replicates."""
    replicates = None
    if drawn is not None:
        replicates = BootstrapReplicates({"eer": np.array(drawn)}, speakers, "", 0)
    return {
        "metric": "eer",
        "of_present": value,
        "parts": tuple({"data_set": "libri", "gender": g} for g in genders),
        "replicates": replicates,
        "attacker": title,
        "title": title,
        "model": CONFIG.attack_models[1],
    }


def test_attackers_of_some_trial_sets_are_not_compared() -> None:
    whole, part = of_attacker("whole", 0.3, "fm"), of_attacker("part", 0.1, "f")
    row = Tried("now", "dev", (whole, part), CONFIG)
    assert [a["title"] for a in row.compared] == ["whole"] and row.lowest is None
    assert [a["title"] for a in row.partial] == ["part"]


@pytest.mark.parametrize("too_few", [False, True])
def test_attackers_are_like_the_strongest_only_by_a_test(too_few: bool) -> None:
    one, other = (
        of_attacker(title, eer, "f", np.tile([low, 0.4], 2 if too_few else 50))
        for title, eer, low in (("one", 0.3, -0.1), ("other", 0.1, 0.1))
    )
    row = Tried("now", "dev", (one, other), CONFIG)
    tested = {"too_few": "speakers" if too_few else "", "significant": False}
    vars(row)["pairs"] = [{**tested, "one": one, "other": other, "p_holm": 0.1}]
    assert row.like_lowest == (set() if too_few else {"one"})
    assert row.untested == ({"one"} if too_few else set())
    assert row.is_weaker(one, other) == too_few  # by the EERs where there is no test
    assert ("not tested" in row.how_compared) == too_few


@pytest.mark.parametrize(("speakers", "attackers"), [(8, 3), (30, 4)])
def test_the_replicates_that_all_pairs_need_are_named(speakers: int, attackers: int) -> None:
    """Exactly so many are enough: with one less, no pair can be significant among all."""
    tests = attackers * (attackers - 1) // 2
    needed = int(least_replicates(speakers, tests=tests))

    def tried(replicates: int) -> Tried:
        every = (
            of_attacker(f"a{n}", 0.1 * n, "f", np.full(replicates, 0.1 * n), speakers)
            for n in range(attackers)
        )
        return Tried("now", "dev", tuple(every), CONFIG)

    lacking, enough = tried(needed - 1), tried(needed)
    assert len(lacking.pairs) == tests
    assert all(p["significant"] and p["p_holm"] >= 0.05 for p in lacking.pairs)
    assert f"{tests} comparisons needs --bootstrap {needed} " in lacking.lacking_replicates
    assert min(p["p_holm"] for p in enough.pairs) < 0.05 and not enough.lacking_replicates
    few = least_replicates(6, tests=21)
    assert few > 1e9 and "cannot be reached" in needed_for_tests(6, 21)


def test_systems_are_ranked_by_the_lowest_eer_as_measured_on_request() -> None:
    """Not by the corrected EER, by which A were second and C not ranked."""
    systems = [of_system("A", 0.1, 0.25), of_system("B", 0.2, 0.22), of_system("C", 0.3, None)]
    systems += [of_system("E", 0.4, 0.4, "x"), of_system("D", None, None)]
    tried = {(of["system"], "dev"): of["tried"] for of in systems if of["system"] != "D"}
    given = tuple({**of, "tried": None} for of in systems)
    means = Means(side_by_side({}), replace(CONFIG, eer="eer"))
    ranking = Ranking(means, "eer", "ignorant", "dev", given, {})
    beside = with_attackers(ranking, cast(Any, tried), by_strongest=False)
    assert [r["system"] for r in beside.ranked] == ["A", "B", "C", "E", "D"]
    assert [r["tried"] for r in beside.ranked] == [*tried.values(), None]
    ordered = with_attackers(ranking, cast(Any, tried), by_strongest=True)
    assert [r["system"] for r in ordered.ranked] == ["C", "B", "A"]
    assert "no other attacker" in ordered.unranked["D"]
    assert "fewer attackers" in ordered.unranked["E"]
    other = replace(ranking, metric="cllr_min")
    assert with_attackers(other, cast(Any, tried), by_strongest=True) is other
    del tried["C", "dev"]
    two = with_attackers(ranking, cast(Any, tried), by_strongest=True)
    assert [r["system"] for r in two.ranked] == ["B", "A"]
    assert "of the corrected one: A and B" in _tests(two)
    same = replace(two, ranked=tuple(of_system(s, e, e) for s, e in (("B", 0.2), ("A", 0.1))))
    assert "of the corrected one" not in _tests(same)


@pytest.mark.parametrize(
    ("one", "other", "first"),
    [
        (of_system("A", 0.2, 0.25), of_system("B", 0.3, 0.31), "B"),
        (of_system("A", 0.2, None), of_system("B", 0.3, 0.31), "B"),  # not both corrected
        (of_system("A", 0.2, 0.32), of_system("B", 0.3, 0.31), ""),  # the orders differ
        (of_system("A", 0.2, 0.25), of_system("B", 0.3, 0.31, "x"), ""),  # other attackers
        (of_system("A", 0.3, 0.31), of_system("B", 0.2, 0.25), ""),  # as the challenge's
    ],
)
def test_the_headline_reverses_an_order_only_where_both_numbers_do(
    one: dict[str, Any], other: dict[str, Any], first: str
) -> None:
    ranking, cells = SimpleNamespace(ranked=(one, other)), SimpleNamespace(own={"A", "B"})
    data = SimpleNamespace(main_ranking=ranking, cells=cells)
    assert _first_by_strongest(cast(Any, data)) == first


def test_the_option_makes_other_products(tree: Tree) -> None:
    scores_of_listeners(tree)
    write_outputs(evaluated(tree), tree.root / "out")
    path = (tree.root / "out/results.json",)
    digests = {ReportSources(path, by_strongest=b).digest() for b in (False, True)}
    assert len(digests) == 2


def test_the_plane_has_the_strongest_attacker_beside_the_challenge_s(tree: Tree) -> None:
    best = SimpleNamespace(corrected=0.25, lower=0.1, upper=0.3, is_too_low=False)
    utility = {"wer": {"metric": "wer", "value": 0.05}}
    one = {"system": "A", "metric": "eer", "value": 0.4, "utility": utility}
    tried: Any = SimpleNamespace(lowest=of_attacker("x", 0.2, "f"), strongest=best)
    data = ReportData(evaluated(tree))
    data = replace(data, cells=replace(data.cells, systems=("A",), own=frozenset({"A"})))
    for by_strongest, x in ((False, 40), (True, 20)):
        (drawn,) = attacked([one], {("A", "dev"): tried}, "dev", by_strongest=by_strongest)
        canvas = draw_plane(Plane(data, "dev", (drawn,), ("wer",)))
        lines = {line.get_gid(): line.get_xdata() for line in canvas.axes[0].lines}
        assert lines["A"] == pytest.approx([x])
        assert ("A, strongest attacker" in lines) == (not by_strongest)
        assert by_strongest or lines["A, strongest attacker"] == pytest.approx([20])


def test_low_eers_are_said_to_have_too_short_intervals(tree: Tree) -> None:
    with_perfect(tree, "listeners")
    data = report_data(evaluated(tree, ONE_SET, 20), tree.root / "out")
    assert "too short" in text_for_a_paper(data)
    (ranking,) = data.rankings["dev"]
    table = ranking_table(ranking)
    assert "too short" in " ".join(table.notes)
    titles = [column.title for column in table.columns]
    (((*_, attacker),),) = [[row[: titles.index("Attacker") + 1] for row in table.rows]]
    assert attacker == "Listeners"


def strong(strength: float, seed: int) -> list[str]:
    """Scores of an attacker of a strength."""
    generator = np.random.default_rng(seed)
    lines = (line.split() for line in trial_lines())
    return [
        f"{s} {u} {generator.normal(strength * (kind == 'target')):.5f}" for s, u, kind in lines
    ]


def test_the_headline_says_that_the_strongest_attacker_reverses_the_order(tree: Tree) -> None:
    """The voice attacker finds speakers of one system more often, the listeners of the other."""
    tree.libri("exp/results-later")
    strengths = {"now": (0.5, 9.0), "later": (2.0, 0.1)}
    for system, (voice, listeners) in strengths.items():
        folder = tree.root / f"exp/results-{system}"
        lines_to(folder / A_A / "scores", strong(voice, 1))
        lines_to(folder / O_A / "scores", strong(voice, 2))
        lines_to(folder / O_A / "listeners/scores", strong(listeners, 3))
        original = folder / O_A.removesuffix("_anon")
        lines_to(original / "listeners/scores", strong(0.1, 4))
    data = report_data(evaluated(tree, ONE_SET, 20), tree.root / "out")
    screen = front(data)
    order, _, reversal = screen.verdict.partition(" But by the strongest attacker, ")
    assert order.startswith(("now protects better", "Perhaps now protects better"))
    assert reversal.startswith("later protects better: now ") and ", later " in reversal
    assert any("--by-strongest" in hint for hint in screen.hints)
    assert "weak attacker" in " ".join(screen.attackers)
    table = attackers_table(data)
    assert table is not None and "weak attacker" in " ".join(table.notes)
    rows = {
        row[0]: dict(zip([c.title for c in table.columns], row, strict=True)) for row in table.rows
    }
    original = rows["Original speech"]
    assert float(original["Listeners"]) > 20 and original["Corrected"] == "n/a"
    assert original["Ignorant"] == original["Lazy-informed"] == data.original_eer["printed"]
    bold = {table.rows[row][0]: table.columns[column].title for row, column in table.bold}
    assert bold["now"] == "Listeners" and bold["later"] != "Listeners"
    assert "Original speech" not in bold


@pytest.mark.parametrize("bootstrap", [0, 20])
def test_the_lowest_eer_is_corrected_where_there_are_replicates(tree: Tree, bootstrap: int) -> None:
    scores_of_listeners(tree)
    data = report_data(evaluated(tree, ONE_SET, bootstrap), tree.root / "out")
    ((_, row),) = data.tried.items()
    table = attackers_table(data)
    assert ("Corrected" in [c.title for c in table.columns]) == bool(bootstrap)
    if bootstrap:
        assert row.strongest.minimum == row.lowest["of_present"] <= row.strongest.corrected
        assert row.strongest.lower <= row.strongest.upper
    summary = main_results_table(data)
    (line,) = (of for of in summary.rows if of[2] == "Strongest of 3")
    assert any(row.lowest["phrase"] in note for note in summary.notes)
    assert line[4] == row.lowest["printed"]
    beside = [of[4] for of in summary.rows if of[2] == "Corrected (of 3)"]
    assert beside == ([row.corrected_text.split()[0]] if bootstrap else [])
    pairs = pairs_table(data, "now")
    compared = pairs.rows if pairs is not None else []
    assert len(compared) == (3 if bootstrap else 0)  # of 3 attackers
    own = [t for t in system_tables(data, "now", "") if t.section == "System now"]
    narrow = {t.name for t in own if any("Too few" in note for note in t.notes)}
    assert narrow == {t.name for t in own if "[" in str(t.groups)}
    assert bool(narrow) == bool(bootstrap) and "attacker_pairs" not in narrow  # none is tested
    eers = {a["title"]: a["of_present"] for a in row.attackers}
    for _, one, other, text, *_ in compared:
        assert float(text.split()[0]) == pytest.approx(100 * (eers[one] - eers[other]), abs=0.01)


@pytest.mark.wing("disclosure")
def test_the_lowest_eer_leads_everywhere_and_tables_name_the_corrected_one(tree: Tree) -> None:
    """Three attackers that are nearly equal: the corrected EER of the lowest is above all of
    them, and would overclaim in its place."""
    from privacy_eval.disclosure.statement import statement_parts

    folder = tree.root / "exp/results-now"
    for seed, path in enumerate((A_A, O_A, f"{O_A}/listeners"), start=1):
        lines_to(folder / path / "scores", strong(0.9, seed))
    lines_to(folder / O_A.removesuffix("_anon") / "listeners/scores", strong(9.0, 5))
    data = report_data(evaluated(tree, ONE_SET, 50), tree.root / "out")
    ((_, row),) = data.tried.items()
    lowest, corrected = row.lowest["printed"], row.corrected_text.split()[0]
    assert row.strongest.corrected > row.lowest["of_present"] + 0.001
    parts = {part.title: part for part in statement_parts(data)}
    said = [front(data).verdict, " ".join(parts["In short"].items)]
    said += [" ".join(parts["Attackers, and what each of them knows"].items)]
    said += ["; ".join(*(of for _, of in front(data).answers))]
    of_table = [" ".join(of) for of in parts[list(parts)[4]].rows if "strongest of" in of[1]]
    with_corrected = [*of_table, text_for_a_paper(data)]
    assert (len(said), len(with_corrected)) == (4, 2)
    for text in (*said, *with_corrected):
        name = row.lowest["phrase"]
        measured = re.search(rf"{name}.*?\b{lowest} %|\b{lowest} % .{name}", text)
        assert measured is not None, text
        words = f"corrected for the choice among 3: {corrected} %"
        assert (words in text[measured.end() :]) == (text in with_corrected)
    table = ranking_table(data.rankings["dev"][0])
    cells = dict(zip([c.title for c in table.columns], table.rows[0], strict=True))
    assert (cells["Lowest"], cells["Attacker"]) == (lowest, row.lowest["title"])
    assert cells["Corrected"] == row.corrected_text


@pytest.mark.wing("disclosure")
@pytest.mark.parametrize("interval", ["required", "optional"])
def test_the_gate_does_not_pass_by_the_correction(tree: Tree, interval: Any) -> None:
    """The bound is between the lowest EER and the corrected one."""
    from privacy_eval.disclosure.gate import Policy, Rule, judge

    folder = tree.root / "exp/results-now"
    for seed, path in enumerate((A_A, O_A, f"{O_A}/listeners"), start=1):
        lines_to(folder / path / "scores", strong(0.9, seed))
    results = evaluated(tree, ONE_SET, 50)
    ((_, row),) = report_data(results, tree.root / "out").tried.items()
    assert row.strongest is not None and row.strongest.minimum < row.strongest.corrected
    bound = (row.strongest.minimum + row.strongest.corrected) / 2
    rule = Rule("lowest", "eer", at_least=bound, interval=interval)
    (verdict,) = judge(Policy((rule,)), results)
    assert verdict.decision in ("UNDECIDED", "FAIL")
    judged = [case.value for case in verdict.cases if case.value is not None]
    assert min(judged) == row.strongest.minimum
