"""Records of a tree: what they hold, when they are made anew, and that nothing breaks them."""

import errno
import gzip
import json
import os
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import (
    Tree,
    cli,
    intervals_of,
    lines_to,
    metrics_of,
    models_of,
    ok,
    score_lines,
    snapshot,
    three_conditions,
    utterances,
    write_outputs,
)

from privacy_eval import PrivacyEvalError, __version__
from privacy_eval.errors import OutputError
from privacy_eval.io.files import Inputs, Loaded, digest, refuse_symlinks_below
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.metrics import TrialScores, of_kind, score_metrics
from privacy_eval.metrics.pairing import pair
from privacy_eval.products.freshness import NOTE, Outcome, Run
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.stages.collect import collect
from privacy_eval.stages.options import MetricOptions
from privacy_eval.stages.privacy_metrics import condition_products, evaluate_tree, evaluate_trials
from privacy_eval.tree.discovery import find_systems

CONFIG = load_protocol("vpc2020")
O_O = "ASV-libri_dev_enrolls-libri_dev_trials_f"
O_A, A_A = f"{O_O}_anon", "ASV-libri_dev_enrolls_anon-libri_dev_trials_f_anon"
NAMES = {f"now {name}" for name in (O_O, O_A, A_A)}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return three_conditions(tmp_path / "tree")


def scores_of(tree: Tree, name: str) -> Path:
    return tree.root / "exp/results-now" / name / "scores"


PLAIN = MetricOptions()


def run(tree: Tree, out: str = "out", options: MetricOptions = PLAIN, **how: Any) -> Outcome:
    systems = find_systems(tree.root, tree.root / "exp", CONFIG)
    return evaluate_tree(systems, tree.root / out, tree=tree.root, options=options, run=Run(**how))


def record_of(tree: Tree, name: str, out: str = "out") -> Path:
    return tree.root / out / "records/now" / f"{name}.json"


def collected(tree: Tree, out: str = "out"):  # type: ignore[no-untyped-def]
    systems = find_systems(tree.root, tree.root / "exp", CONFIG)
    return collect(systems, tree.root / out, CONFIG, tree=tree.root)


# --- records


def test_a_record_holds_metrics_counts_and_digests(tree: Tree) -> None:
    outcome = run(tree)
    assert set(outcome.made) == NAMES
    assert (outcome.current, outcome.failed) == ([], {})
    record = json.loads(record_of(tree, O_A).read_text())
    scores, key = scores_of(tree, O_A), tree.root / "data/libri_dev_trials_f/trials"
    paired = pair(read_scores(scores), read_trials(key))
    trials = TrialScores.from_labels(paired.score, paired.is_target)
    for variant in ("challenge", "exact"):
        assert metrics_of(record)[variant] == score_metrics(trials, variant=variant)
        assert list(metrics_of(record)[variant]) == list(of_kind("scores"))
    assert (record["facts"]["n_target"], record["facts"]["n_nontarget"]) == (12, 36)
    assert (record["system"], record["condition"], record["attack_model"]) == (
        "now",
        O_A,
        "ignorant",
    )
    assert record["provenance"] == {
        "version": __version__,
        "inputs": {
            "scores": {
                "path": f"exp/results-now/{O_A}/scores",
                "sha256": digest(scores.read_bytes()),
            },
            "trials": {
                "path": "data/libri_dev_trials_f/trials",
                "sha256": digest(key.read_bytes()),
            },
        },
        "options": {"bootstrap": 0, "seed": 0, "allow_missing": False},
    }
    low, high = record["facts"]["eer_interval_if_independent"]
    assert low <= metrics_of(record)["exact"]["eer"] <= high
    assert intervals_of(record) == {}


def test_curves_stand_beside_the_record(tree: Tree) -> None:
    run(tree)
    curves = dict(np.load(record_of(tree, O_O).with_suffix(".npz")))
    priors = curves["prior_log_odds"]
    assert np.all(np.diff(priors) > 0)
    for name in ("ece_zero_evidence", "ece_minimum", "ece_actual"):
        assert curves[name].shape == priors.shape
    assert np.all(curves["ece_minimum"] <= curves["ece_actual"] + 1e-12)
    at_even_odds = np.interp(0.0, priors, curves["ece_minimum"])
    record = json.loads(record_of(tree, O_O).read_text())
    assert at_even_odds == pytest.approx(metrics_of(record)["exact"]["cllr_min"], abs=1e-3)
    assert curves["linkability_edges"].size == curves["linkability_local"].size + 1


# --- up to date by content


def state(tree: Tree, out: str = "out") -> dict[str, tuple[int, int]]:
    """Which files there are and whether they were written again."""
    return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in (tree.root / out).rglob("*.*")}


def test_a_changed_byte_concerns_its_condition_only(tree: Tree) -> None:
    run(tree)
    path = scores_of(tree, O_A)
    old = path.stat()
    text = path.read_text()
    digit = next(i for i in range(len(text) - 2, 0, -1) if text[i].isdigit())
    path.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1 :])
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    outcome = run(tree)
    assert outcome.made == [f"now {O_A}"]
    assert set(outcome.current) == NAMES - set(outcome.made)


def test_a_changed_key_concerns_the_conditions_that_use_it(tree: Tree) -> None:
    """The original key is that of all conditions; a copy that agrees does not count."""
    run(tree)
    key, copy = (tree.root / f"data/libri_dev_trials_f{s}/trials" for s in ("", "_anon"))
    copy.write_text("\n" + copy.read_text())
    assert set(run(tree).current) == NAMES
    key.write_text("\n" + key.read_text())
    assert set(run(tree).made) == NAMES


def _exchange_labels(path: Path) -> None:
    """Exchange the labels of the first target and of the first nontarget trial: lines 1 and 4."""
    lines = path.read_text().splitlines()
    lines[0], lines[3] = lines[0][:-6] + "nontarget", lines[3][:-9] + "target"
    lines_to(path, lines)


@pytest.mark.parametrize("copy", ["_anon/trials", "_anon/trials.gz", "/trials.gz"])
def test_a_copy_of_the_key_that_differs_is_an_error(tree: Tree, copy: str) -> None:
    """What anonymization wrote beside the original key does not decide labels."""
    run(tree)
    before = record_of(tree, O_A).read_bytes()
    key, other = (tree.root / f"data/libri_dev_trials_f{end}" for end in ("/trials", copy))
    other.write_bytes(key.read_bytes())
    assert set(run(tree).current) == NAMES
    _exchange_labels(other)
    failed = run(tree).failed
    assert set(failed) == (NAMES if copy == "/trials.gz" else NAMES - {f"now {O_O}"})
    for failure in failed.values():
        assert failure.startswith(f"{other}:1: trial 's1 s1-u0' has another label in {key}")
    assert record_of(tree, O_A).read_bytes() == before


@pytest.mark.parametrize(
    "options",
    [
        MetricOptions(allow_missing=True),
        MetricOptions(bootstrap=3),
        MetricOptions(bootstrap=3, seed=1),
        MetricOptions(bootstrap=4),
    ],
)
def test_changed_options_recompute_records(tree: Tree, options: MetricOptions) -> None:
    run(tree, options=MetricOptions(bootstrap=3, seed=7))
    assert set(run(tree, options=options).made) == NAMES
    assert set(run(tree, options=options).current) == NAMES


def test_a_seed_without_a_bootstrap_changes_nothing(tree: Tree) -> None:
    run(tree)
    assert set(run(tree, options=MetricOptions(seed=9)).current) == NAMES


def test_changed_speakers_recompute_records_only_with_a_bootstrap(tree: Tree) -> None:
    run(tree, "plain")
    run(tree, "boot", MetricOptions(bootstrap=3))
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    utt2spk.write_text(utt2spk.read_text() + "another s9\n")
    assert run(tree, "plain").made == []
    assert set(run(tree, "boot", MetricOptions(bootstrap=3)).made) == NAMES


# --- shares, processes, failures


def test_processes_do_not_change_a_byte(tree: Tree) -> None:
    options = MetricOptions(bootstrap=5, seed=1)
    one, two = run(tree, "one", options), run(tree, "two", options, nj=2)
    assert one == two
    assert snapshot(tree.root / "one") == snapshot(tree.root / "two")


@pytest.mark.parametrize("nj", [1, 2])
def test_a_failure_does_not_keep_others_back(tree: Tree, nj: int) -> None:
    path = scores_of(tree, O_A)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:4], "s1 s1-u0 x", *lines[5:]]) + "\n")
    outcome = run(tree, nj=nj)
    assert set(outcome.made) == NAMES - {f"now {O_A}"}
    (failure,) = outcome.failed.values()
    assert list(outcome.failed) == [f"now {O_A}"]
    assert failure.startswith(f"{path}:5: expected a finite decimal number as score")
    assert not record_of(tree, O_A).exists()
    assert not record_of(tree, O_A).with_suffix(".npz").exists()


def test_a_condition_that_fails_now_does_not_keep_its_old_record_in_results(tree: Tree) -> None:
    run(tree)
    scores_of(tree, O_A).write_text("s1 s1-u0 1\n")
    assert len(run(tree).failed) == 1
    results = collected(tree)
    assert [r.condition.name for r in results.verification] == [O_O, A_A]
    assert results.not_evaluated[0].startswith(f"now {O_A} (no record ")


@pytest.mark.parametrize("form", ["text", "gzip"])
@pytest.mark.parametrize("allow_missing", [False, True])
def test_rows_are_bounded_by_the_trial_key(tree: Tree, form: str, allow_missing: bool) -> None:
    """Without the bound, 100 kB of gzip take gigabytes."""
    path = scores_of(tree, O_A)
    key = tree.root / "data/libri_dev_trials_f/trials"
    rows = b"a b 1\n" * 2_000_000
    path.write_bytes(gzip.compress(rows) if form == "gzip" else rows)
    outcome = run(tree, options=MetricOptions(allow_missing=allow_missing))
    (failure,) = outcome.failed.values()
    trials = len(key.read_text().splitlines())
    match = re.match(rf"{path}:(\d+): more than \d+ lines \({key} has only {trials} ", failure)
    assert match and int(match[1]) < 20_000
    assert set(outcome.made) == NAMES - {f"now {O_A}"}


@pytest.mark.parametrize("how", [{"isolated": True}, {"nj": 2}])
def test_a_condition_that_kills_its_process_fails_by_name(
    tree: Tree, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process that takes more memory than there is: the others are done."""
    here = os.getpid()

    def read(path: Path | Loaded, **options: Any) -> Any:
        if Path(path) == scores_of(tree, O_A) and os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read_scores(path, **options)

    monkeypatch.setattr("privacy_eval.io.scores.read_scores", read)
    begun: list[str] = []
    outcome = run(tree, begin=lambda *now: begun.append(now[2]), **how)
    assert outcome.failed.keys() == {f"now {O_A}"}
    assert "killed by signal 9" in outcome.failed[f"now {O_A}"]
    assert set(begun) == NAMES
    assert {*outcome.made, *outcome.current} == NAMES - {f"now {O_A}"}
    assert record_of(tree, O_O).exists() and record_of(tree, A_A).exists()


def test_a_full_disk_raises_one_error(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    for how in ({}, {"isolated": True}, {"nj": 2}):
        with pytest.raises(OutputError, match="out/.*: cannot be written .No space left"):
            run(tree, **how)


def test_progress_counts_every_condition(tree: Tree) -> None:
    scores_of(tree, O_A).write_text("")
    seen: list[tuple[int, int, str]] = []
    run(tree, progress=lambda *args: seen.append(args))
    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {name for _, _, name in seen} == NAMES


def test_no_scores_and_no_key_are_named(tree: Tree) -> None:
    scores_of(tree, O_O).unlink()
    shutil.rmtree(tree.root / "data")
    reasons = {name.split()[1]: reason for name, reason in run(tree).failed.items()}
    assert reasons[O_O] == f"now: no score file in {O_O}"
    assert reasons[O_A].startswith(
        f"{scores_of(tree, O_A)}: no trial key for libri_dev_trials_f_anon; looked for "
        "data/libri_dev_trials_f/trials, data/libri_dev_trials_f/trials.gz, "
    )


# --- trials left out


def test_what_is_left_out_is_recorded(tree: Tree) -> None:
    path = scores_of(tree, O_A)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:-2], "s1 other 0.5"]) + "\n")
    (failure,) = run(tree).failed.values()
    assert "2 trials without a score" in failure
    assert "1 score without a trial" in failure
    assert run(tree, options=MetricOptions(allow_missing=True)).failed == {}
    record = json.loads(record_of(tree, O_A).read_text())
    assert (record["facts"]["trials_without_score"], record["facts"]["scores_without_trial"]) == (
        2,
        1,
    )
    assert record["provenance"]["options"]["allow_missing"] is True
    assert record["facts"]["n_target"] + record["facts"]["n_nontarget"] == 46
    whole = json.loads(record_of(tree, O_O).read_text())
    assert (whole["facts"]["trials_without_score"], whole["facts"]["scores_without_trial"]) == (
        0,
        0,
    )
    write_outputs(collected(tree), tree.root / "out")
    (line,) = (tree.root / "out/left_out.txt").read_text().splitlines()
    assert line.startswith("now: trials of 1 condition ")
    assert f"{O_A} (2 trials without a score, 1 score without a trial)" in line


def test_ids_that_differ_by_rule(tree: Tree) -> None:
    before = run(tree)
    assert not before.failed
    whole = json.loads(record_of(tree, O_A).read_text())
    path = scores_of(tree, O_A)
    fields = [line.split() for line in path.read_text().splitlines()]
    path.write_text("".join(f"{s} {u}.wav {score}\n" for s, u, score in fields))
    (failure,) = run(tree).failed.values()
    assert "--ids strip-extension" in failure
    bridged = run(tree, options=MetricOptions(ids=("strip-extension",)))
    assert bridged.failed == {} and set(bridged.made) == NAMES
    assert metrics_of(json.loads(record_of(tree, O_A).read_text())) == metrics_of(whole)


def test_what_was_not_evaluated_is_left_out(tree: Tree) -> None:
    run(tree)
    scores_of(tree, O_A).write_text("s1 s1-u0 nan\n")
    scores_of(tree, A_A).write_text("")
    results = collected(tree)
    write_outputs(replace(results, not_evaluated=results.not_evaluated[::-1]), tree.root / "out")
    lines = (tree.root / "out/left_out.txt").read_text().splitlines()
    assert [line.split(" (")[0] for line in lines] == [f"now {O_A}", f"now {A_A}"]
    assert all("stage 6" in line for line in lines)


# --- bootstrap


def test_intervals_of_the_bootstrap(tree: Tree) -> None:
    run(tree, options=MetricOptions(bootstrap=20, seed=1))
    record = json.loads(record_of(tree, A_A).read_text())
    for variant in ("challenge", "exact"):
        assert list(intervals_of(record)[variant]) == list(of_kind("scores"))
        for low, high in intervals_of(record)[variant].values():
            assert float(low) <= float(high)
    assert record["provenance"]["options"] == {"bootstrap": 20, "seed": 1, "allow_missing": False}
    assert record["provenance"]["inputs"]["utt2spk"]["path"] == "data/libri_dev_trials_f/utt2spk"
    other = run(tree, "other", MetricOptions(bootstrap=20, seed=2))
    assert other.failed == {}
    changed = json.loads(record_of(tree, A_A, "other").read_text())
    assert intervals_of(changed) != intervals_of(record)
    assert metrics_of(changed) == metrics_of(record)


def test_speakers_that_change_meanwhile_are_those_of_the_digest(tree: Tree) -> None:
    """Changed on disk between hashing and the bootstrap: the record is of the content that its
    digest names, and stale."""
    options = MetricOptions(bootstrap=20, seed=1)
    systems = find_systems(tree.root, tree.root / "exp", CONFIG)
    out, inputs = tree.root / "out", Inputs()
    run(tree, options=options)
    expected = record_of(tree, O_O).read_bytes()
    product = condition_products(systems, out, tree.root, options)[0]
    made_of, paths = product.fingerprint(inputs)
    lines_to(paths["utt2spk"], (f"{u} s9" for u in utterances()))
    product.write(inputs, product.make(inputs, paths, made_of), made_of)
    assert record_of(tree, O_O).read_bytes() == expected
    assert not product.is_current(Inputs())


def test_a_bootstrap_needs_speakers(tree: Tree) -> None:
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    utt2spk.unlink()
    (failure,) = run(tree, options=MetricOptions(bootstrap=3)).failed.values()
    assert failure.startswith(f"{utt2spk}: no such file")
    assert "--utt2spk" in failure and "--columns trial_speaker=" in failure
    named = lines_to(tree.root / "speakers", (f"{u} {s}" for u, s in utterances().items()))
    assert run(tree, options=MetricOptions(bootstrap=3, utt2spk=named)).failed == {}


def test_an_utterance_without_a_speaker(tree: Tree) -> None:
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    lines = utt2spk.read_text().splitlines()
    utt2spk.write_text("\n".join(lines[:5]) + "\n")
    (failure,) = set(run(tree, options=MetricOptions(bootstrap=3)).failed.values())
    assert failure == (
        f"{utt2spk}: 7 trial utterances have no speaker: s2-u2, s3-u0, s3-u1, s3-u2, s4-u0, ..."
    )


def test_speakers_that_contradict_the_key(tree: Tree) -> None:
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    utt2spk.write_text(utt2spk.read_text().replace("s1-u0 s1", "s1-u0 s2"))
    (failure,) = set(run(tree, options=MetricOptions(bootstrap=3)).failed.values())
    assert "2 trials contradict their speakers" in failure


def test_one_replicate_is_no_bootstrap(tree: Tree) -> None:
    assert len(run(tree, options=MetricOptions(bootstrap=1)).failed) == 3


# --- collecting


def test_collect_names_what_is_stale_or_missing(tree: Tree) -> None:
    run(tree)
    whole = collected(tree)
    assert {r.condition.name for r in whole.verification} == {O_O, O_A, A_A}
    path = scores_of(tree, O_A)
    path.write_text(path.read_text() + "\n")
    record_of(tree, A_A).unlink()
    part = collected(tree)
    assert [r.condition.name for r in part.verification] == [O_O]
    assert [n.partition(" (")[0] for n in part.not_evaluated] == [f"now {O_A}", f"now {A_A}"]
    write_outputs(part, tree.root / "out")
    assert read_results(tree.root / "out/results.json").not_evaluated == part.not_evaluated


def test_a_key_that_changed_makes_records_stale(tree: Tree) -> None:
    run(tree)
    (tree.root / "data/libri_dev_trials_f/trials").write_text("s1 s1-u0 target\n")
    results = collected(tree)
    assert not results.verification and len(results.not_evaluated) == 3


def test_word_error_rates_are_collected(tree: Tree) -> None:
    run(tree)
    line = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/asr_eval/decode_x_tglarge/wer_9_0.5"
    path = lines_to(tree.root / "exp/results-now/ASR-vctk_dev_asr_anon/WER", [line])
    (record,) = collected(tree).recognition
    c = record.condition
    assert (c.data_set, c.split, c.trial) == ("vctk", "dev", "anonymized")
    assert models_of(record) == ("large", "original")
    assert record.find("wer")["value"] == 0.0525
    assert record.provenance["inputs"] == {
        "exp/results-now/ASR-vctk_dev_asr_anon/WER": digest(path.read_bytes())
    }
    write_outputs(collected(tree), tree.root / "out")
    assert (
        (tree.root / "out/results.txt").read_text().endswith(f"ASR-vctk_dev_asr_anon\n  {line}\n")
    )


def test_a_refused_word_error_rate_does_not_take_the_other_with_it(tree: Tree) -> None:
    run(tree)
    good = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/asr_eval/decode_x_tglarge/wer_9_0.5"
    bad = good.replace("5.25", "0.01").replace("tglarge", "tgsmall")
    lines_to(tree.root / "exp/results-now/ASR-vctk_dev_asr_anon/WER", [bad, good])
    results = collected(tree)
    assert [models_of(record)[0] for record in results.recognition] == ["large"]
    (reason,) = results.not_evaluated
    assert "WER:1: %WER 0.01 contradicts" in reason
    write_outputs(results, tree.root / "out")
    assert (tree.root / "out/left_out.txt").read_text() == f"{reason}\n"
    lines_to(tree.root / "exp/results-now/ASR-vctk_dev_asr_anon/WER", [good])
    write_outputs(collected(tree), tree.root / "out")
    assert not (tree.root / "out/left_out.txt").exists()


def test_an_unfinished_decoding_can_be_left_out(tree: Tree) -> None:
    run(tree)
    (tree.root / "exp/results-now/ASR-vctk_dev_asr").mkdir()
    (reason,) = collected(tree).not_evaluated
    assert "ASR-vctk_dev_asr" in reason and "no '%WER' line" in reason


def test_several_systems_share_a_results_txt(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri("exp/b team/results-1")
    tree.libri("exp/a/results-1")
    run(tree)
    results = collected(tree)
    write_outputs(results, tree.root / "out")
    alone = [(tree.root / f"out/results/{name}.txt").read_text() for name in ("a", "b_team")]
    text = (tree.root / "out/results.txt").read_text()
    assert text == f"# a\n{alone[0]}# b team\n{alone[1]}"
    assert (tree.root / "out/results.json").read_text() == to_json(results)


def test_a_read_only_tree_stays_as_it_was(tree: Tree, tmp_path: Path) -> None:
    """With --out elsewhere nothing is written into the tree."""
    before = snapshot(tree.root)
    systems = find_systems(tree.root, tree.root / "exp", CONFIG)
    out = tmp_path / "elsewhere"
    evaluate_tree(systems, out, tree=tree.root)
    write_outputs(collect(systems, out, CONFIG, tree=tree.root), out)
    assert snapshot(tree.root) == before
    assert {p.name for p in out.iterdir()} == {
        f".results{NOTE}",
        "records",
        "results.json",
        "results.csv",
        "results.txt",
    }


def test_no_byte_depends_on_the_folder(tmp_path: Path) -> None:
    found = []
    for name in ("here", "somewhere/else entirely"):
        tree = three_conditions(tmp_path / name)
        run(tree, options=MetricOptions(bootstrap=4, seed=3))
        write_outputs(collected(tree), tree.root / "out")
        found.append(snapshot(tree.root / "out"))
    assert found[0] == found[1]
    assert len(found[0]) == 3 * 3 + 4
    assert not any(str(tmp_path).encode() in content for content in found[0].values())


def test_an_output_that_cannot_be_written(tree: Tree) -> None:
    (tree.root / "out").write_text("a file")
    failures = run(tree).failed.values()
    assert len(failures) == 3
    assert all("cannot be written" in f for f in failures)


def test_scores_in_another_order_give_the_same_metrics(tree: Tree) -> None:
    run(tree)
    before = json.loads(record_of(tree, O_A).read_text())
    path = scores_of(tree, O_A)
    path.write_text("\n".join(sorted(path.read_text().splitlines(), reverse=True)) + "\n")
    run(tree)
    after = json.loads(record_of(tree, O_A).read_text())
    assert metrics_of(after) == metrics_of(before)
    assert after["provenance"] != before["provenance"]
    assert score_lines("a") != score_lines("b")


# --- what does not hinder the others


def test_a_system_with_an_unknown_mark_fails_alone(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri("exp/good/results-1")
    tree.libri("exp/odd/results-1", suffix="_mcadams")
    systems = find_systems(tree.root, tree.root / "exp", CONFIG)
    outcome = evaluate_tree(systems, tree.root / "out", tree=tree.root)
    (failure,) = outcome.failed.values()
    assert list(outcome.failed) == ["odd as a whole"]
    assert "--anon-suffix" in failure
    assert len(outcome.made) == 3 + 1
    partial = collect(systems, tree.root / "out", CONFIG, tree=tree.root)
    assert partial.systems == ["good", "odd"]
    assert any("--anon-suffix" in reason for reason in partial.not_evaluated)


def test_allow_missing_keeps_complete_records_current(tree: Tree) -> None:
    run(tree)
    assert run(tree, options=MetricOptions(allow_missing=True)).made == []
    scores = tree.root / "exp/results-now" / O_A / "scores"
    lines_to(scores, scores.read_text().splitlines()[1:])
    assert run(tree, options=MetricOptions(allow_missing=True)).made == [f"now {O_A}"]
    assert run(tree, options=MetricOptions(allow_missing=True)).made == []
    assert len(run(tree).failed) == 1


def test_speakers_for_keys_of_a_folder_come_from_the_data(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    trials = tree.root / "data/libri_dev_trials_f/trials"
    lines_to(trials.parent / "utt2spk", (f"{u} {s}" for u, s in utterances().items()))
    (tree.root / "keys-2020").mkdir()
    trials.rename(tree.root / "keys-2020/libri_dev_trials_f")
    outcome = run(tree, options=MetricOptions(bootstrap=2))
    assert (len(outcome.made), outcome.failed) == (3, {})


def test_outputs_of_a_system_that_is_gone_go_too(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    for name in ("a", "b", "c"):
        tree.libri(f"exp/{name}/results-1")
    run(tree)
    out = tree.root / "out"
    (out / "results").mkdir()
    (out / "results" / "mine.txt").write_text("not ours")
    write_outputs(collected(tree), out)
    assert {p.name for p in (out / "results").iterdir()} == {"a.txt", "b.txt", "c.txt", "mine.txt"}
    shutil.rmtree(tree.root / "exp/c")
    write_outputs(collected(tree), out)
    assert {p.name for p in (out / "results").iterdir()} == {"a.txt", "b.txt", "mine.txt"}


# --- strangers' files


def test_links_out_of_the_tree_are_refused(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path / "tree")
    secret = lines_to(tmp_path / "secret", ["root:x:0:0"])
    scores = tree.root / "exp/results-now" / O_A / "scores"
    moved = scores.rename(tmp_path / "moved")
    scores.symlink_to(secret)
    (failure,) = run(tree).failed.values()
    assert "outside the tree" in failure and "--allow-outside" in failure
    assert "root:x" not in failure
    scores.unlink()
    scores.symlink_to(moved)
    assert len(run(tree).failed) == 1
    systems = find_systems(tree.root, tree.root / "exp", CONFIG, allow_outside=True)
    assert evaluate_tree(systems, tree.root / "out", tree=tree.root).failed == {}


@pytest.mark.parametrize("name", ["WER", "best_wer"])
def test_word_error_rates_are_not_read_from_outside(tmp_path: Path, name: str) -> None:
    tree = three_conditions(tmp_path / "tree")
    folder = tree.root / "exp/results-now/ASR-libri_dev_asr"
    folder.mkdir()
    (folder / name).symlink_to(lines_to(tmp_path / "secret", ["%WER secret"]))
    run(tree)
    (reason,) = collected(tree).not_evaluated
    assert "outside the tree" in reason and "WER secret" not in reason


@pytest.mark.parametrize(
    "link",
    [
        "privacy_eval",
        "privacy_eval/records",
        "privacy_eval/tables",
        "privacy_eval/subjective",
        "privacy_eval/subjective/figures",
    ],
)
def test_output_folders_that_are_links_in_a_submission(tmp_path: Path, link: str) -> None:
    results = tmp_path / "exp" / "results-1"
    precious = tmp_path / "precious"
    precious.mkdir()
    (results / link).parent.mkdir(parents=True)
    (results / link).symlink_to(precious)
    with pytest.raises(PrivacyEvalError, match="through a symlink"):
        refuse_symlinks_below(results / "privacy_eval", results)
    refuse_symlinks_below(tmp_path / "elsewhere", results)
    (tmp_path / "mine").symlink_to(precious)
    refuse_symlinks_below(tmp_path / "mine", results)  # the user's choice


def test_scores_that_change_while_they_are_evaluated(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is of the content that was read, and stale afterwards."""
    scores = tree.root / "exp/results-now" / O_A / "scores"

    def change(*arguments: object) -> object:
        result = evaluate_trials(*arguments)  # type: ignore[arg-type]
        scores.write_text(scores.read_text() + "\n")
        return result

    monkeypatch.setattr("privacy_eval.stages.privacy_metrics.evaluate_trials", change)
    systems = [
        replace(s, conditions=tuple(c for c in s.conditions if c.condition.name == O_A))
        for s in find_systems(tree.root, tree.root / "exp", CONFIG)
    ]
    read = digest(scores.read_bytes())
    assert evaluate_tree(systems, tree.root / "out", tree=tree.root).failed == {}
    record = json.loads(record_of(tree, O_A).read_text())
    assert record["provenance"]["inputs"]["scores"]["sha256"] == read
    monkeypatch.undo()
    assert run(tree).rebuilt == {f"now {O_A}": "scores"}


def test_a_score_file_that_may_be_cut_is_noted_in_outcome_record_and_run(tree: Tree) -> None:
    path = scores_of(tree, O_A)
    path.write_text(path.read_text()[:-3])
    options = ("--tree", tree.root, "--results", "exp", "--out", "out")
    run = ok(cli("stage", "privacy-metrics", *options))
    (line,) = (line for line in run.err.splitlines() if "no newline" in line)
    assert f"now {O_A}: exp/results-now/{O_A}/scores" in line
    collected = cli("stage", "collect", *options)
    assert f"{O_A}/scores: no newline" in collected.err
    results = read_results(tree.root / "out/results.json")
    noted = {r.condition.name: len(r.remarks) for r in results.verification}
    assert noted == {O_O: 0, O_A: 1, A_A: 0}


def test_a_tree_without_scores_names_the_stage_that_computes_them(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    common = ("--tree", tree.root, "--results", "exp")
    assert "missing" not in cli("stage", "privacy-metrics", *common).out
    for scores in (tree.root / "exp").rglob("scores"):
        scores.unlink()
    text = cli("stage", "privacy-metrics", *common).out
    assert re.search(r"(\d+) of \1 score files missing: stage 5 computes them\n", text)
