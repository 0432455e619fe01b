"""Implausible scores: constant, tied, copied, with swapped labels or too high an EER."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.files import digest
from ..io.inputs import Inputs
from ..io.scores import (
    OPEN_END,
    PairedTrials,
    TrialKey,
    line_limit,
    pair,
    read_scores,
    read_trials,
)
from ..io.text_table import Column, hash_rows, unique_fields
from ..metrics import CAVEATS, Eer, TrialScores, find_caveats, kaldi_eer
from ..products.freshness import Progress
from ..protocol.protocol import ORIGINAL
from ..tree.conditions import ConditionFiles
from ..tree.discovery import score_file
from ..tree.keys import find_key
from .findings import Finding

#: Fraction of the original EER. Anonymization raises the EER; among the published systems only
#: K2 falls below half of it, for a few sets.
FAR_BELOW = 0.5
#: Fraction of trials that tie with one of the other class. Scores of a back end hardly ever do;
#: with many ties, every metric depends on how they are broken.
MAX_TIED = 0.10
#: In standard deviations of the scores. Float sums differ by processor in the 5th digit; any
#: change of a voice changes scores by more.
NEARLY_EQUAL = 1e-3

LOW = "EER of anonymized speech below half that of original speech"
SAME = "scores (nearly) identical to those of another condition"
CONSTANT = "all scores are equal"
BY_SPEAKER = "scores depend on the enrolled speaker only"
BY_UTTERANCE = "scores depend on the trial utterance only"
TIED = f"more than {100 * MAX_TIED:.0f} % of the trials tie with one of the other class"
LEFT_OUT = "trials without a score or scores without a trial, left out"


@dataclass
class ScoreCheck:
    """Result of reading scores and trial keys.

    Attributes
    ----------
    trials : dict
        Number of trials of the conditions that can be evaluated.
    errors : dict
        Conditions that cannot be evaluated, with the reason.
    key_errors : list of str
        Unreadable trial keys, and keys of one trial set that list different trials.
    findings : list of Finding
        Implausible scores.
    """

    trials: dict[ConditionFiles, int] = field(default_factory=dict)
    errors: dict[ConditionFiles, str] = field(default_factory=dict)
    key_errors: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class _Scores:
    """A condition's scores, sorted by trial."""

    files: ConditionFiles
    trials: NDArray[np.uint64]
    values: NDArray[np.float64]
    eer: Eer


def check_scores(
    conditions: Iterable[ConditionFiles],
    inputs: Inputs,
    *,
    scores: bool = True,
    allow_missing: bool = False,
    progress: Progress | None = None,
) -> ScoreCheck:
    """Read the trial keys and scores of conditions that have both.

    Parameters
    ----------
    scores : bool
        False: read only the keys.
    allow_missing : bool
        Accept trials without a score, and scores without a trial.
    """
    keyed = [c for c in conditions if c.trials is not None]
    trial_sets: dict[tuple[str, str, str], list[ConditionFiles]] = {}
    for c in sorted(keyed, key=lambda c: (c.condition.system, c.condition.label)):
        cell = (c.condition.data_set, c.condition.split, c.condition.gender)
        trial_sets.setdefault(cell, []).append(c)
    check = ScoreCheck()
    done = 0
    for group in trial_sets.values():
        keys = _keys(group, inputs, check)
        seen: dict[str, ConditionFiles] = {}
        for system in dict.fromkeys(c.condition.system for c in group):
            read: list[_Scores] = []
            for c in (c for c in group if c.condition.system == system):
                done += 1
                if scores and c.scores is not None and c.trials in keys and c not in check.errors:
                    read += _read(c, keys[c.trials], inputs, allow_missing, check)
                if scores and progress is not None:
                    progress(done, len(keyed), title(c))
            check.findings += _compare(read, seen)
    return check


def title(c: ConditionFiles) -> str:
    """System, name and results folder of a condition, for messages."""
    return f"{c.condition.system} {c.condition.label}"


def _keys(
    group: Sequence[ConditionFiles], inputs: Inputs, check: ScoreCheck
) -> dict[Path, TrialKey]:
    """Read the keys of a trial set; all copies must agree."""
    keys: dict[Path, TrialKey] = {}
    for c in group:
        try:
            key = find_key(c.key_candidates, inputs)
            if key is not None and key not in keys:
                keys[key] = read_trials(inputs.load(key))
        except PrivacyEvalError as error:
            check.errors[c] = str(error)
    check.key_errors += dict.fromkeys(check.errors[c] for c in group if c in check.errors)
    return keys


def _read(
    c: ConditionFiles, key: TrialKey, inputs: Inputs, allow_missing: bool, check: ScoreCheck
) -> list[_Scores]:
    """Read a condition's scores; none if they are invalid or constant."""
    try:
        path = score_file(c)
        inputs.sha256(path, line_limit(key.path, len(key.speaker)))
        given = read_scores(inputs.load(path), format="kaldi")
        trials = pair(given, key, allow_missing=allow_missing)
        scores = TrialScores.from_labels(trials.score, trials.is_target)
    except PrivacyEvalError as error:
        check.errors[c] = str(error)
        return []
    check.trials[c] = trials.score.size
    for file in trials.ends_open:
        check.findings.append(Finding(OPEN_END, "/".join(file.parts[-4:])))
    if trials.missing or trials.extra:
        item = f"{title(c)} ({trials.missing} and {trials.extra})"
        check.findings.append(Finding(LEFT_OUT, item))
    if np.all(trials.score == trials.score[0]):
        check.findings.append(Finding(CONSTANT, f"{title(c)} ({trials.score[0]:g})"))
        return []
    eer = kaldi_eer(scores)
    check.findings += _implausible(c, trials, scores, eer)
    hashes = hash_rows((trials.speaker, trials.utterance))
    order = np.argsort(hashes)
    return [_Scores(c, hashes[order], trials.score[order], eer)]


def _implausible(
    c: ConditionFiles, trials: PairedTrials, scores: TrialScores, eer: Eer
) -> Iterator[Finding]:
    """Check the scores of a single condition."""
    name = title(c)
    is_baseline = c.condition.is_original and c.condition.asv_model == ORIGINAL
    found = find_caveats(eer.value, eer.n_target, eer.n_nontarget, is_original=is_baseline)
    for key, reason in found.items():
        if CAVEATS[key].concerns("eer"):
            yield Finding(reason, f"{name} ({100 * eer.value:.1f} %)")
    for kind, column in ((BY_SPEAKER, trials.speaker), (BY_UTTERANCE, trials.utterance)):
        if _constant_within(column, trials.score):
            yield Finding(kind, name)
    tied = np.isin(scores.target, scores.nontarget).sum()
    tied += np.isin(scores.nontarget, scores.target).sum()
    if tied > MAX_TIED * trials.score.size:
        yield Finding(TIED, f"{name} ({100 * tied / trials.score.size:.0f} %)")


def _constant_within(column: Column, score: NDArray[np.float64]) -> bool:
    """Whether every id has a single score, and some id has several trials."""
    ids, of_row = unique_fields(column)
    if len(ids) == score.size:
        return False
    first = np.empty(len(ids), dtype=np.float64)
    first[of_row] = score
    return bool(np.all(first[of_row] == score))


def _compare(read: Sequence[_Scores], seen: dict[str, ConditionFiles]) -> Iterator[Finding]:
    """Compare a system's scores of one trial set with each other and those of other systems."""
    originals = {s.files.condition.asv_model: s for s in read if s.files.condition.is_original}
    baseline = originals.get(ORIGINAL)
    for scores in read:
        c = scores.files
        same = seen.setdefault(digest(scores.trials.tobytes() + scores.values.tobytes()), c)
        if c.condition.is_original:
            continue
        base = originals.get(c.condition.asv_model)
        if same is c and base is not None and _nearly_equal(scores, base):
            same = base.files
        if same is not c:
            is_other_system = same.condition.system != c.condition.system
            name = title(same) if is_other_system else same.condition.label
            yield Finding(SAME, f"{title(c)} = {name}")
        if baseline is not None and _far_below(scores.eer, baseline.eer):
            values = f"{100 * scores.eer.value:.1f}, original: {100 * baseline.eer.value:.1f} %"
            yield Finding(LOW, f"{title(c)} ({values})")


def _nearly_equal(a: _Scores, b: _Scores) -> bool:
    return np.array_equal(a.trials, b.trials) and bool(
        np.all(np.abs(a.values - b.values) <= NEARLY_EQUAL * np.std(b.values))
    )


def _far_below(anonymized: Eer, original: Eer) -> bool:
    """Whether an EER is significantly and substantially lower."""
    return (
        anonymized.value < FAR_BELOW * original.value
        and anonymized.interval_if_independent[1] < original.interval_if_independent[0]
    )
