"""Several attackers of a tree: the challenge's own, and those beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support import Tree, lines_to, score_lines, three_conditions

from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import Attacker, load_protocol
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.outputs import write_outputs
from privacy_eval.results.records import Results, merge
from privacy_eval.stages.collect import collect
from privacy_eval.stages.privacy_metrics import evaluate_tree
from privacy_eval.tree.discovery import find_systems

CONFIG = load_protocol("vpc2020")
LISTENERS = replace(CONFIG, attackers=(*CONFIG.attackers, Attacker("listeners", "listeners")))
O_A = "ASV-libri_dev_enrolls-libri_dev_trials_f_anon"


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
