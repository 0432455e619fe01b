"""Implausible scores: constant, tied, copied, with swapped labels or too high an EER."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import counted
from ..io.files import OPEN_END, digest
from ..io.score_formats import line_limit
from ..io.scores import read_scores, read_trials
from ..metrics import CAVEATS, Eer, find_caveats, find_ties, kaldi_eer
from ..metrics.caveats import CONSTANT
from ..metrics.pairing import pair
from ..metrics.trials import Trials
from ..products.freshness import Progress
from ..protocol.protocol import ORIGINAL, WORDS
from ..stages.access import TreeAccess
from ..stages.privacy_metrics import scores_and_key
from ..tree.conditions import ConditionFiles
from .findings import INCOMPLETE, READY, Finding

#: Fraction of the original EER. Anonymization raises the EER; among the published systems only
#: K2 falls below half of it, for a few sets.
FAR_BELOW = 0.5
#: In standard deviations of the scores. Float sums differ by processor in the 5th digit; any
#: change of a voice changes scores by more.
NEARLY_EQUAL = 1e-3

LOW = "EER of anonymized speech below half that of original speech"
SAME = "scores (nearly) identical to those of another condition"
LEFT_OUT = "trials without a score or scores without a trial, left out"


@dataclass(frozen=True)
class _Scores:
    """A condition's scores, sorted by trial."""

    files: ConditionFiles
    trials: NDArray[np.int64]
    values: NDArray[np.float64]
    eer: Eer


def check_scores(
    conditions: Iterable[ConditionFiles],
    access: TreeAccess,
    *,
    read: bool = True,
    ids: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[dict[ConditionFiles, Exception], list[Finding], dict[ConditionFiles, str]]:
    """Read the scores of conditions that have trial keys; return why some cannot be read,
    implausible scores, and digests that tell other scores apart, in any order.

    Parameters
    ----------
    read : bool
        False: read only the keys.
    ids : sequence of str
        As of `pair`.
    """
    readable = [c for c in conditions if c.outside or c.scores is None or c.trials is not None]
    readable.sort(key=lambda c: (c.condition.system, c.condition.label))
    trial_sets = grouped(
        readable, lambda c: (c.condition.data_set, c.condition.split, c.condition.gender)
    )
    errors: dict[ConditionFiles, Exception] = {}
    findings: list[Finding] = []
    digests: dict[ConditionFiles, str] = {}
    done = 0
    for of_set in trial_sets.values():
        keys: dict[Path, Trials] = {}
        first_with: dict[str, ConditionFiles] = {}
        for group in grouped(of_set, lambda c: c.condition.system).values():
            scores: list[_Scores] = []
            for c in group:
                done += 1
                try:
                    trials = _read(c, keys, access, read, ids)
                    if trials is not None:
                        findings += _implausible(c, trials, scores)
                except Exception as error:  # whatever is wrong with one submission
                    errors[c] = error
                if read and progress is not None:
                    progress(done, len(readable), f"{c.condition.system} {c.condition.label}")
            findings += _compare(scores, first_with, digests)
    return errors, findings, digests


def _read(
    c: ConditionFiles,
    keys: dict[Path, Trials],
    access: TreeAccess,
    read: bool,
    ids: Sequence[str],
) -> Trials | None:
    """Read a condition's trial key, unless it is one of `keys`, and its scores."""
    inputs = access.inputs
    path, key = scores_and_key(c, access.tree, inputs)
    if key not in keys:
        keys[key] = read_trials(inputs.load(key), format="kaldi")
    if not read:
        return None
    inputs.sha256(path, line_limit(key, len(keys[key])))
    scores = read_scores(inputs.load(path), format="kaldi")
    return pair(scores, keys[key], allow_missing=access.allow_missing, ids=ids)


def _implausible(c: ConditionFiles, trials: Trials, others: list[_Scores]) -> Iterator[Finding]:
    """Check the scores of a single condition; add them to `others` unless they are constant."""

    def finding(problem: str, text: str = "", **more: Any) -> Finding:
        item = f"{c.condition.label} ({text})" if text else c.condition.label
        return Finding(problem, item, c.condition.system, file=c.scores, **more)

    scores = trials.scores
    for file in trials.ends_open:
        yield replace(finding(OPEN_END), file=file)
    yield from map(finding, trials.remarks)
    if trials.missing or trials.extra:
        left_out = f"{counted(trials.missing, 'trial')}, {counted(trials.extra, 'score')}"
        yield finding(LEFT_OUT, left_out, status=INCOMPLETE)
    eer = kaldi_eer(scores)
    is_baseline = c.condition.is_original and c.condition.asv_model == ORIGINAL
    ties = find_ties(trials)
    counts = eer.n_target, eer.n_nontarget
    caveats = find_caveats(eer.value, *counts, is_original=is_baseline, ties=ties)
    for key, reason in caveats.items():
        if CAVEATS[key].announced and CAVEATS[key].concerns("eer"):
            unranked = not (CAVEATS[key].ranked or c.condition.is_original)
            status = INCOMPLETE if unranked else READY
            problem = CAVEATS[key].reason
            text = reason.removeprefix(problem).strip(": ") or f"{100 * eer.value:.1f} %"
            yield finding(problem, text, status=status)
    if CONSTANT in caveats:
        return
    others.append(_Scores(c, *trials.in_order_of_names, eer))


def _compare(
    of_system: Sequence[_Scores],
    first_with: dict[str, ConditionFiles],
    digests: dict[ConditionFiles, str],
) -> Iterator[Finding]:
    """Compare a system's scores of one trial set with each other and those of other systems."""
    originals = {s.files.condition.asv_model: s for s in of_system if s.files.condition.is_original}
    baseline = originals.get(ORIGINAL)
    for scores in of_system:
        c = scores.files
        system, label = c.condition.system, c.condition.label
        scale = np.median(np.abs(scores.values)) or 1.0  # whatever single scores are
        with np.errstate(over="ignore"):
            coarse = (scores.values / scale).astype(np.float16) + np.float16(0)  # no -0
        content = digests[scores.files] = digest(scores.trials.tobytes() + coarse.tobytes())
        same = first_with.setdefault(content, c)
        if c.condition.is_original:
            continue
        base = originals.get(c.condition.asv_model)
        if same is c and base is not None and _nearly_equal(scores, base):
            same = base.files
        if same is not c and c.condition.attacker != WORDS:
            other, its_label = same.condition.system, same.condition.label
            name = its_label if other == system else f"{other} {its_label}"
            yield Finding(SAME, f"{label} = {name}", system, file=c.scores)
            if other != system:
                yield Finding(SAME, f"{its_label} = {system} {label}", other, file=same.scores)
        if baseline is not None and _far_below(scores.eer, baseline.eer):
            values = f"{100 * scores.eer.value:.1f}, original: {100 * baseline.eer.value:.1f} %"
            yield Finding(LOW, f"{label} ({values})", system, file=c.scores)


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
