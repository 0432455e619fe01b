"""Scores that cannot be right, or hardly: what score files say before any metric is believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.files import digest
from ..io.scores import PairedTrials, TrialKey, pair, read_scores, read_trials
from ..io.text_table import Column, hash_rows, unique_fields
from ..metrics import IMPLAUSIBLE_EER, Eer, TrialScores, kaldi_eer
from ..protocol.protocol import ORIGINAL
from ..stages.jobs import Progress
from ..tree.conditions import Condition
from ..tree.discovery import score_file
from .differences import key_errors
from .findings import Finding

#: EER of original speech by a model of original speech. The challenge's are between 1.1 and
#: 8.7 % (2020 supplement, tables 2 and 3); a model that errs twice as often does not attack.
MAX_ORIGINAL_EER = 0.20
#: Of the original EER. Anonymization hides speakers; of the published systems K2 alone comes
#: below half, and that only for a few sets.
FAR_BELOW = 0.5
#: Share of trials that tie with one of the other class. Scores of a back end hardly ever do;
#: where many do, every metric depends on how ties are broken.
MAX_TIED = 0.10
#: In standard deviations of the scores. Float sums differ by processor in the 5th digit, and any
#: change of a voice changes more.
NEARLY = 1e-3

HIGH = f"EER of original speech above {100 * MAX_ORIGINAL_EER:.0f} % (wrong model, trials or key?)"
SWAPPED = (
    f"EER above {100 * IMPLAUSIBLE_EER:.0f} % (labels swapped, or distances instead of scores?)"
)
LOW = "anonymized speech is easier to attack than original speech, its EER less than half"
SAME = "scores that are those of another condition"
EQUAL = "all scores are equal"
BY_SPEAKER = "scores depend on the enrolled speaker only"
BY_UTTERANCE = "scores depend on the trial utterance only"
TIED = f"more than {100 * MAX_TIED:.0f} % of the trials tie with one of the other class"
LEFT_OUT = "trials without a score or scores without a trial, left out"


@dataclass
class Judged:
    """What was read of conditions.

    Attributes
    ----------
    trials : dict
        Number of trials of the conditions that can be evaluated.
    wrong : dict
        What cannot be, to the message.
    keys_wrong : list of str
    findings : list of Finding
    """

    trials: dict[Condition, int]
    wrong: dict[Condition, str]
    keys_wrong: list[str]
    findings: list[Finding]


@dataclass(frozen=True)
class _Scores:
    """A condition's scores in an order that depends on its trials only."""

    condition: Condition
    trials: NDArray[np.uint64]
    values: NDArray[np.float64]
    eer: Eer

    @property
    def digest(self) -> str:
        return digest(self.trials.tobytes() + self.values.tobytes())


def judge(
    conditions: Iterable[Condition],
    *,
    scores: bool = True,
    allow_missing: bool = False,
    progress: Progress | None = None,
) -> Judged:
    """Read the keys and scores of conditions that have both.

    Parameters
    ----------
    scores : bool
        False: only the keys are read.
    allow_missing : bool
        Trials without a score, and scores without a trial, are no error.
    """
    there = [c for c in conditions if c.trials is not None]
    groups: dict[tuple[str, str, str], list[Condition]] = {}
    for c in sorted(there, key=lambda c: (c.system, c.results_folder, c.name)):
        groups.setdefault((c.data_set, c.split, c.gender), []).append(c)
    judged = Judged({}, {}, [], [])
    done = 0
    for group in groups.values():
        keys = _keys(group, judged)
        seen: dict[str, Condition] = {}
        for system in dict.fromkeys(c.system for c in group):
            read: list[_Scores] = []
            for c in (c for c in group if c.system == system):
                done += 1
                if scores and c.scores is not None and c.trials in keys:
                    read += _read(c, keys[c.trials], allow_missing, judged)
                if scores and progress is not None:
                    progress(done, len(there), title(c))
            _compare(read, seen, judged)
    return judged


def title(c: Condition) -> str:
    """A condition as a message calls it."""
    return f"{c.system} {c.name}" + (f" ({c.results_folder})" if c.results_folder else "")


def _keys(group: Sequence[Condition], judged: Judged) -> dict[Path, TrialKey]:
    """The keys of a trial set, original and anonymized, which list the same trials."""
    users: dict[Path, list[Condition]] = {}
    for c in group:
        if c.trials is not None:
            users.setdefault(c.trials, []).append(c)
    keys = {}
    for path in sorted(users):
        try:
            keys[path] = read_trials(path)
        except PrivacyEvalError as error:
            judged.keys_wrong.append(str(error))
            judged.wrong |= dict.fromkeys(users[path], str(error))
    judged.keys_wrong += key_errors(keys)
    return keys


def _read(c: Condition, key: TrialKey, allow_missing: bool, judged: Judged) -> list[_Scores]:
    try:
        trials = pair(read_scores(score_file(c)), key, allow_missing=allow_missing)
        scores = TrialScores.from_labels(trials.score, trials.is_target)
    except PrivacyEvalError as error:
        judged.wrong[c] = str(error)
        return []
    judged.trials[c] = trials.score.size
    eer = kaldi_eer(scores)
    found = _alone(c, trials, scores, eer)
    if trials.missing or trials.extra:
        found.append(Finding(LEFT_OUT, f"{title(c)} ({trials.missing} and {trials.extra})"))
    judged.findings += found
    hashes = hash_rows((trials.speaker, trials.utterance))
    order = np.argsort(hashes)
    # Equal scores are equal to those of any other such condition, and have been named.
    equal = any(f.kind == EQUAL for f in found)
    return [] if equal else [_Scores(c, hashes[order], trials.score[order], eer)]


def _alone(c: Condition, trials: PairedTrials, scores: TrialScores, eer: Eer) -> list[Finding]:
    """What is odd in the scores of a single condition."""
    name = title(c)
    if np.all(trials.score == trials.score[0]):
        return [Finding(EQUAL, f"{name} ({trials.score[0]:g})")]
    found = []
    of_original = _original(c) and c.asv_model == ORIGINAL
    if eer.value > IMPLAUSIBLE_EER and (of_original or eer.interval[0] > 0.5):
        found.append(Finding(SWAPPED, f"{name} ({100 * eer.value:.1f} %)"))
    elif of_original and eer.value > MAX_ORIGINAL_EER:
        found.append(Finding(HIGH, f"{name} ({100 * eer.value:.1f} %)"))
    for kind, column in ((BY_SPEAKER, trials.speaker), (BY_UTTERANCE, trials.utterance)):
        if _constant_within(column, trials.score):
            found.append(Finding(kind, name))
    tied = np.isin(scores.target, scores.nontarget).sum()
    tied += np.isin(scores.nontarget, scores.target).sum()
    share = tied / trials.score.size
    if share > MAX_TIED:
        found.append(Finding(TIED, f"{name} ({100 * share:.0f} %)"))
    return found


def _constant_within(column: Column, score: NDArray[np.float64]) -> bool:
    """Whether trials of one id have one score, and there are ids of several trials."""
    ids, of_row = unique_fields(column)
    if len(ids) == score.size:
        return False
    first = np.empty(len(ids), dtype=np.float64)
    first[of_row] = score
    return bool(np.all(first[of_row] == score))


def _compare(read: Sequence[_Scores], seen: dict[str, Condition], judged: Judged) -> None:
    """What is odd in the scores of a system's conditions on one trial set, beside each other
    and those of other systems."""
    originals = [s for s in read if _original(s.condition)]
    of_original_model = next((s for s in originals if s.condition.asv_model == ORIGINAL), None)
    for scores in read:
        c = scores.condition
        if _original(c):
            seen.setdefault(scores.digest, c)
            continue
        base = next((s for s in originals if s.condition.results_folder == c.results_folder), None)
        before = seen.get(scores.digest)
        if before is not None or (base is not None and _nearly(scores, base)):
            other = before or (base.condition if base is not None else c)
            judged.findings.append(Finding(SAME, f"{title(c)} = {_beside(other, c)}"))
        seen.setdefault(scores.digest, c)
        if of_original_model is not None and _far_below(scores.eer, of_original_model.eer):
            values = f"{100 * scores.eer.value:.1f}, not {100 * of_original_model.eer.value:.1f} %"
            judged.findings.append(Finding(LOW, f"{title(c)} ({values})"))


def _beside(other: Condition, c: Condition) -> str:
    """Another condition, without what the two share."""
    return title(other) if other.system != c.system else title(other).removeprefix(f"{c.system} ")


def _nearly(a: _Scores, b: _Scores) -> bool:
    return np.array_equal(a.trials, b.trials) and bool(
        np.all(np.abs(a.values - b.values) <= NEARLY * np.std(b.values))
    )


def _far_below(anonymized: Eer, original: Eer) -> bool:
    """Below by more than chance, and by much."""
    return (
        anonymized.value < FAR_BELOW * original.value
        and anonymized.interval[1] < original.interval[0]
    )


def _original(c: Condition) -> bool:
    return (c.enrollment, c.trial) == (ORIGINAL, ORIGINAL)
