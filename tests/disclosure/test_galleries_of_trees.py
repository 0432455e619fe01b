"""The stage identification: records of a tree, and their way to results, tables and figures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    TRIALS,
    SpeechTree,
    csv_rows,
    declared_table,
    lines_to,
    ok,
    refused,
    times,
    utterances,
    utterances_of,
    vectors_for,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.disclosure import figures
from privacy_eval.io.vectors import write_vectors
from privacy_eval.numbers.cells import interval_of
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.results.json_store import read_results
from privacy_eval.results.measurements import without_blanks
from privacy_eval.results.records import Results, galleries

STAGES = ("asv-scores", "privacy-metrics", "similarity", "identification", "collect")


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    """A tree with all results, not to be changed."""
    tree = SpeechTree(tmp_path_factory.mktemp("made") / "tree")
    for verb in STAGES:
        options = ("--bootstrap", "20") if verb == "identification" else ()
        ok(tree.run(verb, *options))
    return tree


@pytest.fixture(name="tree")
def _tree(made: SpeechTree, tmp_path: Path) -> SpeechTree:
    return made.copied(tmp_path / "tree")


def results_of(tree: SpeechTree) -> Results:
    return read_results(tree.root / "exp/privacy_eval/results.json")


def test_records_are_those_of_single_files(made: SpeechTree) -> None:
    records = {r.condition.attack_model: r for r in results_of(made).identification}
    assert len(records) == 3
    for record in records.values():
        options = ("--format", "json", "--bootstrap", "20")
        found = json.loads(made.identified(record.condition, *options).out)
        rows = galleries(record)
        assert rows["gallery"].tolist() == found["sizes"]
        assert rows["value"].tolist() == found["linkage"]
        bounds = [[i["low"], i["high"]] for i in found["intervals"]]
        assert [list(interval_of(row)) for row in rows] == bounds
        assert record.facts["n_enrolled"] == found["n_enrolled"]
        with np.load(made.root / f"exp/privacy_eval/records/{record.curves}") as arrays:
            assert arrays["beaten"].size == record.facts["n_tests"] == found["n_tests"]


def test_again_nothing_is_written_and_a_change_is_noticed(tree: SpeechTree) -> None:
    files = list((tree.root / "exp/privacy_eval/records").rglob("*identification*"))
    before = times(files)
    assert "3 up to date\n" in tree.run("identification", "--bootstrap", "20").out
    assert times(files) == before
    tree.vectors(f"{TRIALS}_anon", seed=3)
    refused(tree.run("collect"), TRIALS)
    assert "3 up to date (2 new)" in tree.run("identification", "--bootstrap", "20").out


def test_other_options_are_other_numbers(tree: SpeechTree) -> None:
    before = results_of(tree).identification
    assert tree.run("identification", "--rank", "2").code == 0
    assert tree.run("collect").code == 0
    after = results_of(tree).identification
    for one, two in zip(before, after, strict=True):
        rates = galleries(two)
        assert two.facts["rank"] == 2 and "low" not in rates.columns
        both = zip(galleries(one)["value"], rates["value"], strict=True)
        assert all(a <= b for a, b in both)


def test_other_back_ends_need_no_model(tree: SpeechTree) -> None:
    for file in (tree.root / BACKEND).iterdir():
        if file.name in ("plda", "mean.vec", "transform.mat"):
            file.unlink()
    assert "3 of 3 missing" in tree.run("identification").out
    assert "(3 new)" in tree.run("identification", "--backend", "cosine").out
    assert "3 up to date\n" in tree.run("identification", "--backend", "cosine").out
    assert tree.run("collect", "--allow-missing").code == 0
    table = declared_table(results_of(tree), "identification")
    assert any("cosine" in note for note in table.notes)


def test_missing_vectors_are_named(tree: SpeechTree) -> None:
    tree.scp(f"{ENROLLS}_anon").unlink()
    run = tree.run("identification", "--bootstrap", "20")
    assert " 1 of " in run.out
    assert f"xvect_{ENROLLS}_anon" in run.err


def test_distractors_are_a_data_set_of_the_tree(tree: SpeechTree) -> None:
    """20 speakers t0 to t19, original and anonymized; once half of them are male, 10 are left."""
    sets = [tree.training_set(f"train{suffix}", MODEL) for suffix in ("", "_anon")]
    options = ("--distractors", "train")
    run = tree.run("identification", *options)
    assert "(3 new)" in run.out, run.err
    assert tree.run("collect").code == 0
    for record in results_of(tree).identification:
        with_train = (
            *("--distractors", sets[record.condition.enrollment == "anonymized"]),
            *("--distractors-spk2utt", tree.root / "data/train/utt2spk", "--format", "json"),
        )
        found = json.loads(tree.identified(record.condition, *with_train).out)
        names = ("n_enrolled", "n_distractors", "distractors")
        assert [record.facts[name] for name in names] == [24, 20, "train"]
        assert "genders" not in record.facts  # those of the distractors are not known
        assert galleries(record)["value"].tolist() == found["linkage"]
        assert record.facts["refused"] == found["singling_out"]["refused"] != ""
    *_, note = declared_table(results_of(tree), "identification").notes
    assert "20 are distractors of train" in note
    genders = "".join(f"t{i} {'fm'[i % 2]}\n" for i in range(20))
    for suffix in ("", "_anon"):
        (tree.root / f"data/train{suffix}/spk2gender").write_text(genders)
    assert tree.run("collect").code == 1
    assert "(3 new)" in tree.run("identification", *options).out
    assert tree.run("collect").code == 0
    for record in results_of(tree).identification:
        assert [record.facts[n] for n in ("n_distractors", "genders")] == [10, ("f",)]
    tree.training_set("train_anon", MODEL, seed=1)
    refused(tree.run("collect"), f"{ENROLLS}_anon")
    assert "3 up to date (1 new)" in tree.run("identification", *options).out


def test_distractors_that_do_not_exist(tree: SpeechTree) -> None:
    for name in ("nobody", f"../data/{ENROLLS}"):
        refused(tree.run("identification", "--distractors", name), name, code=2)


def test_speakers_are_singled_out_where_there_are_enough_tests(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    spoken = utterances(each=10)
    for name in (TRIALS, f"{TRIALS}_anon"):
        lines_to(tree.root / f"data/{name}/utt2spk", (f"{u} {s}" for u, s in spoken.items()))
        write_vectors(tree.scp(name), list(spoken), vectors_for(name, spoken), tree=tree.root)
    for verb in STAGES:
        run = tree.run(verb)
        assert run.code == 0 or verb != "identification", run.err
    assert tree.run("collect", "--allow-missing").code == 0
    every = csv_rows(tree.root / "exp/privacy_eval/results.csv")
    rows = [r for r in every if r["metric"] == "singling_out"]
    records = results_of(tree).identification
    singled = [galleries(r, "singling_out") for r in records]
    assert [of["gallery"].tolist() for of in singled] == [[2, 4]] * 3
    assert [float(r["value"]) for r in rows] == [v for of in singled for v in of["value"]]


def test_utterances_without_vectors_are_left_out_on_request(tree: SpeechTree) -> None:
    lost, *_ = utterances_of(TRIALS)
    tree.vectors(f"{TRIALS}_anon", without=[lost])
    refused(tree.run("identification", "--bootstrap", "20"), lost)
    allowed = ("--bootstrap", "20", "--allow-missing")
    run = ok(tree.run("identification", *allowed))
    assert "1 utterances without x-vectors left out" in run.err
    assert tree.run("collect", "--allow-missing").code == 0
    records = {r.condition.trial_set: r for r in results_of(tree).identification}
    whole, less = records[TRIALS], records[f"{TRIALS}_anon"]
    assert less.facts["n_tests"] == whole.facts["n_tests"] - 1
    name = "utterances_left_out"
    assert less.facts[name] == whole.facts[name] + 1
    assert "3 up to date\n" in tree.run("identification", *allowed).out


def test_the_way_to_csv_table_and_figure(made: SpeechTree) -> None:
    results, out = results_of(made), made.root / "exp/privacy_eval"
    every = csv_rows(out / "results.csv")
    rows = [r for r in every if r["metric"] == "linkage" and not r["speaker"]]
    values = [p for r in results.identification for p in galleries(r)["value"]]
    assert [float(r["value"]) for r in rows] == values
    assert all(float(r["low"]) <= float(r["value"]) <= float(r["high"]) for r in rows)
    table = declared_table(results, "identification")
    record = results.identification[0]
    *_, last = galleries(record)
    cell = "{:.1f} [{:.1f}, {:.1f}]".format(*(100 * last[n] for n in ("value", "low", "high")))
    assert cell in table.rows[0]
    data = read_report_data(ReportSources((out / "results.json",)))
    ignorant, lazy = figures.identification_figures(data)
    (panel,) = (panel for _, _, panel in ignorant.plot.panels())
    own, original, chance = (c for c in panel.curves if not c.fill)
    drawn = next(r for r in results.identification if r.condition.attack_model == "ignorant")
    assert own.y.tolist() == pytest.approx([100 * p for p in galleries(drawn)["value"]])
    assert own.x.tolist() == pytest.approx(np.log10(galleries(drawn)["gallery"].tolist()).tolist())
    assert original.name == "Orig"
    assert chance.y[-1] == pytest.approx(100 / drawn.facts["n_enrolled"])
    assert "lazy" in lazy.name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": None}, "every gallery size"),
        ({"value": 1.5}, "0 to 1"),
        ({"low": 0.3, "high": 0.2}, "low <= high"),
        ({"gallery": 99}, "gallery size"),
        ({"n_tests": 0}, "n_tests"),
    ],
)
def test_records_are_checked(made: SpeechTree, change: dict[str, object], message: str) -> None:
    results = results_of(made)
    record = results.identification[0]
    row = without_blanks({**galleries(record).to_rows()[0], **change})
    facts = {"n_tests": row.pop("n_tests")} if "n_tests" in row else {}
    changed = replace(record, rows=(row, *record.rows[1:])).with_facts(**facts)
    with pytest.raises(PrivacyEvalError, match=message):
        replace(results, identification=(changed,)).check()
