"""From conditions to records: metrics of every score file, computed once.

Each condition has a record (JSON) and its curves (.npz) below `<out>/records/`. One
whose inputs and options have the digests noted in its record is left as it is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..errors import PrivacyEvalError, abbreviate
from ..io.confine import outside_message
from ..io.data_dir import read_utt2spk
from ..io.files import digest, file_names, read_bytes, relative
from ..io.scores import PairedTrials, pair, read_scores, read_trials
from ..io.text_table import unique_fields
from ..metrics import (
    VARIANTS,
    Interval,
    TrialScores,
    bengio_mariethoz_interval,
    ece_profile,
    linkability,
    of_kind,
    score_metrics,
    zebra_tag,
)
from ..metrics.confidence import BootstrapReplicates, speaker_bootstrap
from ..metrics.curves import dcf_profile, densities, det_curve
from ..results.record_files import read_record, sweep_record, write_record
from ..results.records import VerificationRecord
from ..tree.conditions import ConditionFiles, System
from ..tree.discovery import score_file
from .jobs import Announce, Cost, Progress, likely_lines, metrics_cost, share

#: Which arrays are stored beside a record: one with others is made anew.
_CURVES = 2


@dataclass(frozen=True)
class Options:
    """What changes the numbers of a record.

    Attributes
    ----------
    bootstrap : int
        Replicates of the bootstrap over speakers; 0 for none.
    seed : int
    allow_missing : bool
        Leave out trials without scores and scores without trials, and count them.
    utt2spk : Path or None
        Speakers of the trial utterances, instead of `utt2spk` beside the trial key.
    """

    bootstrap: int = 0
    seed: int = 0
    allow_missing: bool = False
    utt2spk: Path | None = None


@dataclass(frozen=True)
class Failure:
    """A condition that could not be evaluated, and why."""

    system: str
    condition: str
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What an evaluation did: names of conditions computed and found up to date."""

    computed: tuple[str, ...]
    up_to_date: tuple[str, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class _Task:
    condition: ConditionFiles
    record: Path
    tree: Path
    options: Options


def evaluate(
    systems: Iterable[System],
    out: Path,
    *,
    tree: Path,
    options: Options = Options(),
    nj: int = 1,
    job: tuple[int, int] = (1, 1),
    announce: Announce | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Compute and write the records of all conditions that are not up to date.

    A condition that fails does not keep the others from being evaluated.

    Parameters
    ----------
    out : Path
        Where `records/` is written.
    tree : Path
        The folder that the paths noted in records are relative to.
    nj : int
        Processes at once.
    job : (int, int)
        Which of how many shares of the conditions to do, from 1; shares take about
        equally long, by the sizes of score files.
    dry_run : bool
        Write nothing: find out what would be computed.
    """
    systems = list(systems)
    tasks = condition_tasks(systems, out, tree, options)
    costs = [condition_cost(task.condition, options) for task in tasks]
    tasks, costs = share(tasks, costs, job), share(costs, costs, job)
    if announce is not None:
        announce(costs)
    computed: list[str] = []
    up_to_date: list[str] = []
    failures: list[Failure] = []

    def note(task: _Task, outcome: str | Failure) -> None:
        name = f"{task.condition.condition.system} {task.condition.condition.label}"
        if isinstance(outcome, Failure):
            failures.append(outcome)
        else:
            (computed if outcome == "computed" else up_to_date).append(name)
        if progress is not None:
            progress(len(computed) + len(up_to_date) + len(failures), len(tasks), name)

    if nj <= 1 or len(tasks) <= 1:
        for task in tasks:
            note(task, _do(task, dry_run))
    else:
        with ProcessPoolExecutor(
            min(nj, len(tasks)), initializer=_end_with_parent, initargs=(os.getpid(),)
        ) as pool:
            try:
                futures = {pool.submit(_do, task, dry_run): task for task in tasks}
                for future in as_completed(futures):
                    note(futures[future], future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    order = {
        (t.condition.condition.system, t.condition.condition.label): i for i, t in enumerate(tasks)
    }
    failures.sort(key=lambda f: order[f.system, f.condition])
    if job[0] == 1:
        failures += [Failure(s.name, "as a whole", s.problem) for s in systems if s.problem]
    return Outcome(tuple(sorted(computed)), tuple(sorted(up_to_date)), tuple(failures))


def condition_cost(condition: ConditionFiles, options: Options = Options()) -> Cost:
    """What a condition is likely to cost, by the size of its score file."""
    return metrics_cost(likely_lines(condition.scores), options.bootstrap)


def evaluate_trials(
    trials: PairedTrials, options: Options, utt2spk: Path | None
) -> tuple[
    dict[str, dict[str, float]], dict[str, str], dict[str, dict[str, Interval]], TrialScores
]:
    """All metrics of paired trials in both variants.

    Returns
    -------
    metrics, tags, intervals : dict
        By variant; intervals are empty unless `options.bootstrap`.
    scores : TrialScores
        What they were computed from.
    """
    scores = TrialScores.from_labels(trials.score, trials.is_target)
    metrics: dict[str, dict[str, float]] = {}
    tags: dict[str, str] = {}
    for variant in VARIANTS:
        metrics[variant] = score_metrics(scores, variant=variant)
        tags[variant] = zebra_tag(metrics[variant], variant)
    return metrics, tags, _intervals(_resamples(trials, options, utt2spk)), scores


def _resamples(
    trials: PairedTrials, options: Options, utt2spk: Path | None
) -> BootstrapReplicates | None:
    """Metrics of both variants under resampling of speakers, if `options.bootstrap`."""
    if not options.bootstrap:
        return None
    if options.bootstrap < 2:
        raise PrivacyEvalError(f"a bootstrap needs at least 2 resamplings, not {options.bootstrap}")
    if utt2spk is None or not utt2spk.is_file():
        raise PrivacyEvalError(
            f"{utt2spk or 'utt2spk'}: no such file; a bootstrap over speakers needs the "
            "speakers of the trial utterances: put utt2spk beside the trials or name it "
            "with --utt2spk"
        )
    enrolled, speaking = _trial_speakers(trials, utt2spk)
    return speaker_bootstrap(
        trials.score,
        trials.is_target,
        enrolled,
        speaking,
        statistic=_both_variants,
        replicates=options.bootstrap,
        seed=options.seed,
    )


def _intervals(resamples: BootstrapReplicates | None) -> dict[str, dict[str, Interval]]:
    """By variant, then by metric."""
    intervals: dict[str, dict[str, Interval]] = {}
    if resamples is None:
        return intervals
    for name in resamples.values:
        variant, metric = name.split(" ", 1)
        intervals.setdefault(variant, {})[metric] = resamples.interval(name)
    return intervals


def _end_with_parent(parent: int) -> None:
    """Let a worker end soon after its parent is gone: a killed parent cannot end it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def condition_tasks(
    systems: Iterable[System], out: Path, tree: Path, options: Options
) -> list[_Task]:
    systems = list(systems)
    names = file_names(system.name for system in systems)
    return [
        _Task(
            condition,
            out
            / "records"
            / f"{names[system.name]}{condition.condition.results_folder}"
            / f"{condition.condition.name}.json",
            tree,
            options,
        )
        for system in systems
        for condition in system.conditions
    ]


def _do(task: _Task, dry_run: bool) -> str | Failure:
    """Bring one condition up to date."""
    try:
        record = stored_record(task)
        if record is not None:
            left_out = task.options.allow_missing and record.left_out > 0
            if record.provenance == _provenance(task, left_out=left_out):
                if not dry_run:
                    sweep_record(task.record)
                return "up to date"
        if not dry_run:
            _write_record(task)
    except PrivacyEvalError as error:
        return Failure(task.condition.condition.system, task.condition.condition.label, str(error))
    except MemoryError:
        reason = f"{task.condition.scores}: there is not enough memory"
        return Failure(task.condition.condition.system, task.condition.condition.label, reason)
    return "computed"


def stored_record(task: _Task) -> VerificationRecord | None:
    """The condition's record on disk, if it and its curves are whole."""
    record = read_record(task.record, VerificationRecord)
    if record is None:
        return None
    whole = record.condition == task.condition.condition and all(
        record.metrics.get(variant, {}).keys() == of_kind("scores").keys() for variant in VARIANTS
    )
    return record if whole else None


def same_inputs(task: _Task, record: VerificationRecord) -> bool:
    """Whether a record is of the present score file and trial key."""
    try:
        present = _provenance(task, left_out=False)
    except PrivacyEvalError:
        return False
    noted = record.provenance.get("inputs")
    if not isinstance(noted, dict) or record.provenance.get("version") != __version__:
        return False
    return all(noted.get(name) == value for name, value in present["inputs"].items())


def _inputs(task: _Task) -> tuple[Path, Path, Path | None]:
    """Score file, trial key, and utt2spk where a bootstrap needs it."""
    condition = task.condition
    if condition.outside:
        raise PrivacyEvalError(outside_message(condition.outside[0]))
    scores = score_file(condition)
    if condition.trials is None:
        tried = ", ".join(relative(path, task.tree) for path in condition.key_candidates)
        raise PrivacyEvalError(
            f"{scores}: no trial key for {condition.condition.trial_set}; looked for {tried}"
        )
    if not task.options.bootstrap:
        return scores, condition.trials, None
    return (
        scores,
        condition.trials,
        task.options.utt2spk or condition.utt2spk or condition.trials.parent / "utt2spk",
    )


def _provenance(task: _Task, *, left_out: bool) -> dict[str, Any]:
    """What a record notes of its making; allowing trials to be missing only matters
    where some were."""
    scores, trials, utt2spk = _inputs(task)
    inputs = {"scores": scores, "trials": trials}
    if utt2spk is not None and utt2spk.is_file():
        inputs["utt2spk"] = utt2spk
    options = task.options
    return {
        "version": __version__,
        "curves": _CURVES,
        "inputs": {
            name: {"path": relative(path, task.tree), "sha256": digest(read_bytes(path))}
            for name, path in inputs.items()
        },
        "options": {
            "bootstrap": options.bootstrap,
            "seed": options.seed if options.bootstrap else 0,
            "allow_missing": left_out,
        },
    }


def _write_record(task: _Task) -> None:
    score_path, trials_path, utt2spk = _inputs(task)
    score_file, trials = read_scores(score_path), read_trials(trials_path)
    paired = pair(score_file, trials, allow_missing=task.options.allow_missing)
    metrics, tags, _, scores = evaluate_trials(paired, Options(), utt2spk)
    resamples = _resamples(paired, task.options, utt2spk)
    provenance = _provenance(task, left_out=bool(paired.missing or paired.extra))
    noted = {name: entry["sha256"] for name, entry in provenance["inputs"].items()}
    if (noted["scores"], noted["trials"]) != (score_file.digest, trials.digest):
        raise PrivacyEvalError(f"{score_path}: changed, or its trials did, while it was evaluated")
    record = VerificationRecord(
        task.condition.condition,
        metrics=metrics,
        zebra_tag=tags,
        n_target=scores.n_target,
        n_nontarget=scores.n_nontarget,
        eer_interval_if_independent=bengio_mariethoz_interval(
            metrics["exact"]["eer"], scores.n_target, scores.n_nontarget
        ),
        speaker_intervals={
            variant: {metric: (i.low, i.high) for metric, i in by_metric.items()}
            for variant, by_metric in _intervals(resamples).items()
        },
        trials_without_score=paired.missing,
        scores_without_trial=paired.extra,
        provenance=provenance,
    )
    write_record(task.record, record, {**_curves(scores), **_replicates(resamples)})


def _replicates(resamples: BootstrapReplicates | None) -> dict[str, NDArray[Any]]:
    """What systems are compared by; `report.ranking` reads it."""
    if resamples is None:
        return {}
    return {
        **{
            f"bootstrap_{name.replace(' ', '_', 1)}": values.astype(np.float32)
            for name, values in resamples.values.items()
        },
        "bootstrap_design": np.array(resamples.design),
        "bootstrap_seed": np.array(resamples.seed),
        "bootstrap_speakers": np.array(resamples.n_speakers),
    }


def _curves(scores: TrialScores) -> dict[str, NDArray[np.float64]]:
    """What figures are drawn from: some 30 kB, however many trials there are."""
    profile, link = ece_profile(scores), linkability(scores)
    det, cost, density = det_curve(scores), dcf_profile(scores), densities(scores)
    return dict(
        prior_log_odds=profile.prior_log_odds,
        ece_zero_evidence=profile.zero_evidence,
        ece_minimum=profile.minimum,
        ece_actual=profile.actual,
        dcf_minimum=cost.minimum,
        dcf_actual=cost.actual,
        det_miss=det.miss,
        det_false_alarm=det.false_alarm,
        linkability_edges=link.edges,
        linkability_target_mass=link.target_mass,
        linkability_nontarget_mass=link.nontarget_mass,
        linkability_local=link.local,
        density_scores=density.scores,
        density_target=density.target,
        density_nontarget=density.nontarget,
    )


def _both_variants(scores: TrialScores) -> dict[str, float]:
    return {
        f"{variant} {name}": value
        for variant in VARIANTS
        for name, value in score_metrics(scores, variant=variant).items()
    }


def _trial_speakers(
    trials: PairedTrials, utt2spk: Path
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    speaker_of = read_utt2spk(utt2spk)
    utterances, spoken = unique_fields(trials.utterance)
    unknown = sorted(u for u in utterances if u not in speaker_of)
    if unknown:
        raise PrivacyEvalError(
            f"{utt2spk}: {len(unknown)} trial utterances have no speaker: {abbreviate(unknown)}"
        )
    speakers, enrolled = unique_fields(trials.speaker)
    return np.array(speakers)[enrolled], np.array([speaker_of[u] for u in utterances])[spoken]
