"""Several attackers of a tree: the challenge's own, and those beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support import (
    Tree,
    lines_to,
    score_lines,
    three_conditions,
    trial_lines,
    write_outputs,
)

from privacy_eval.metrics.caveats import WEAKER_THAN_WORDS
from privacy_eval.numbers.report_data import ReportData, read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import Attacker, load_protocol
from privacy_eval.report.attacker_tables import attackers_table
from privacy_eval.report.first_screen import front
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results, merge
from privacy_eval.stages.collect import collect
from privacy_eval.stages.privacy_metrics import Options, evaluate_tree
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


def evaluated(tree: Tree) -> Results:
    systems = find_systems(tree.root, tree.root / "exp", LISTENERS)
    assert not evaluate_tree(systems, tree.root / "out", tree=tree.root).failed
    return collect(systems, tree.root / "out", LISTENERS, tree=tree.root)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return three_conditions(tmp_path / "tree")


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
    lines = [line.split() for line in trial_lines()]
    score = {"target": 1 if kind == "perfect" else 0, "nontarget": 0}
    folder = tree.root / f"exp/results-now/{O_A}/words"
    lines_to(folder / "scores", (f"{s} {u} {score[kind]}" for s, u, kind in lines))
    return evaluated(tree)


def report_data(results: Results, folder: Path) -> ReportData:
    write_outputs(results, folder)
    return read_report_data(ReportSources((folder / "results.json",)))


def test_words_that_tell_more_than_a_voice_attacker_are_a_caveat(tree: Tree) -> None:
    results = with_words(tree, "perfect")
    noted = {r.condition.name for r in results.verification if WEAKER_THAN_WORDS in r.caveats}
    own = {r.condition.name: r for r in results.by_challenge().verification}
    assert noted == {O_A, A_A} and own[O_A].caveats[WEAKER_THAN_WORDS].endswith("0.00 %")
    plain = json.loads(to_json(results))["verification"]
    assert sum(WEAKER_THAN_WORDS in r["caveats"] for r in plain) == 2
    data = report_data(results, tree.root / "out")
    table = attackers_table(data)
    assert table is not None and "overestimated" in " ".join(table.notes)
    (row,) = table.rows
    titles = [column.title for column in table.columns]
    assert row[titles.index("Words alone")] == "0.00"
    assert table.bold == {(0, titles.index("Words alone"))}


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
    assert "The strongest of 3 attackers that were tried: words alone" in said


@pytest.mark.parametrize("bootstrap", [0, 20])
def test_the_lowest_eer_is_corrected_where_there_are_replicates(tree: Tree, bootstrap: int) -> None:
    scores_of_listeners(tree)
    systems = find_systems(tree.root, tree.root / "exp", ONE_SET)
    options = Options(bootstrap=bootstrap)
    evaluate_tree(systems, tree.root / "out", tree=tree.root, options=options)
    results = collect(systems, tree.root / "out", ONE_SET, tree=tree.root)
    data = report_data(results, tree.root / "out")
    ((_, row),) = data.tried.items()
    table = attackers_table(data)
    assert table is not None
    assert ("Strongest" in [c.title for c in table.columns]) == bool(bootstrap)
    if bootstrap:
        assert row.strongest is not None and row.lowest is not None
        assert row.strongest.minimum == row.lowest.value <= row.strongest.corrected
        assert row.strongest.lower <= row.strongest.upper
