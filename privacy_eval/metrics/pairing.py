"""Scores and their labels, joined on (enrolled id, utterance); by their order without ids."""

from __future__ import annotations

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..choices import ID_RULES, grouped
from ..errors import InputWarning, PrivacyEvalError, counted
from .trials import IDS, Table, Trials, match

#: Remedy for trials and scores that do not match.
ALLOW_MISSING = "--allow-missing (allow_missing=True in Python) leaves them out; the results say so"
#: Ids of two files are the same ones if as many of the fewer match.
_NEARLY_ALL = 0.9
#: Of so many ids, only single rules are tried.
_MANY = 200_000
_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z]\w{1,4}$")


def pair(
    scores: Table,
    trials: Table = None,
    *,
    allow_missing: bool = False,
    hint: str = ALLOW_MISSING,
    ids: str | Sequence[str] = (),
) -> Trials:
    """Join scores and labels on the pair (enrolled id, utterance), in any order; scores without
    ids, as many as trials, in the order of these.

    Parameters
    ----------
    scores : Trials, or what they are made of
        With scores.
    trials : Trials, or what they are made of, optional
        With labels and what else is known of the trials; without them, the scores have labels.
    allow_missing : bool
        Leave out trials without a score and scores without a trial, and count them in `missing`
        and `extra`.
    hint : str
        Remedy that the error suggests.
    ids : sequence of str, or str
        Of `ID_RULES`, in a text separated by commas: what is done, in this order, with the ids of
        both before they are compared; `swap` exchanges those of the key.

    Returns
    -------
    Trials
        In the order of the scores, with the ids of the key.

    Raises
    ------
    PrivacyEvalError
        Unless allowed: how many trials have no score, how many scores no trial, and the first
        five of each. In any case: no target or no nontarget trial with a score; labels of the
        scores that contradict the key; two ids that become one.

    Warns
    -----
    InputWarning
        Scores without ids.

    Examples
    --------
    >>> scores = Trials(enrolled=["a", "a"], utterance=["u.wav", "v.wav"], score=[1.5, -2])
    >>> key = Trials(enrolled=["a", "a"], utterance=["v", "u"], label=["nontarget", "target"])
    >>> pair(scores, key, ids=["strip-extension"]).is_target
    array([ True, False])
    """
    scores = Trials.of(scores)
    _ = scores.score  # an error without
    trials = _labels(scores, None if trials is None else Trials.of(trials))
    ids = ids.split(",") if isinstance(ids, str) else ids
    matched = _bridged(scores, trials, ids)
    rows = _rows(*matched)
    if (rows[0].size < len(scores) or rows[1].size < len(trials)) and not allow_missing:
        raise PrivacyEvalError(_mismatch(*matched, rows, hint))
    if ids and trials is not scores:  # the ids are those of the key
        scores = scores.with_columns(enrolled=None, utterance=None)
        trials = _bridged(trials, trials, {*ids} & {"swap"})[1]
    paired = _joined(scores, trials, rows)
    for name, empty in (
        ("target", not paired.is_target.any()),
        ("nontarget", bool(paired.is_target.all())),
    ):
        if empty:
            raise PrivacyEvalError(f"{trials.name}: no {name} trials with a score")
    return paired


def pair_shard(scores: Trials, trials: Trials | None = None) -> Trials:
    """Label scores whose trials may be only a part of the key's, of one class, too.

    Parameters
    ----------
    scores : Trials
    trials : Trials, optional
        As of `pair`.

    Returns
    -------
    Trials

    Raises
    ------
    PrivacyEvalError
        Scores without a trial; labels of the scores that contradict the key.
    """
    trials = _labels(scores, trials)
    rows = _rows(scores, trials)
    if left := _others(scores, rows[0]):
        raise PrivacyEvalError(
            f"{scores.where(left[0])}: {counted(len(left), 'score')} without a trial in "
            f"{trials.name}: {scores.quote(left)}"
        )
    return _joined(scores, trials, rows)


def rows_of_same(trials: Trials, other: Trials) -> NDArray[np.int64]:
    """Return the row of each trial of a system in the same trials of another system.

    Parameters
    ----------
    trials, other : Trials
        With labels; without ids, both are in one order.

    Returns
    -------
    int array, shape (P,)

    Raises
    ------
    PrivacyEvalError
        The trials or their labels differ: how many, and the first ones.
    """
    named = ["enrolled" in of and "utterance" in of for of in (trials, other)]
    if not all(named):
        if any(named) or len(trials) != len(other):
            raise PrivacyEvalError(
                f"{len(trials)} and {len(other)} trials, not all of which have ids: give those of "
                "both, or the same trials in one order"
            )
        rows = (np.arange(len(trials)),) * 2
    else:
        rows = match(trials, other)
    sides = (trials, other, "first"), (other, trials, "second")
    for (of, lacking, which), matched in zip(sides, rows, strict=True):
        if left := _others(of, matched):
            raise PrivacyEvalError(
                f"systems are compared on the same trials, but the {which} one lacks {len(left)}: "
                f"{of.quote(left)}; its ids are such as {lacking.quote([0])}"
            )
    weights = (of["weight"] if "weight" in of else np.ones(len(of)) for of in (trials, other))
    if n := np.count_nonzero(next(weights) != next(weights)[rows[1]]):
        raise PrivacyEvalError(f"systems have different weights of {n} trials: give all the same")
    contrary = np.flatnonzero(trials.is_target != other.is_target[rows[1]]).tolist()
    if contrary:
        which = trials.quote(contrary) if all(named) else trials.where(contrary[0])
        raise PrivacyEvalError(f"systems have different labels of {len(contrary)} trials: {which}")
    return rows[1]


def score_table(files: Sequence[Trials], trials: Trials) -> NDArray[np.float64]:
    """Join the scores of several files for the same trials, in the order of the key.

    Parameters
    ----------
    files : sequence of Trials
        Scores.
    trials : Trials
        The key.

    Returns
    -------
    float64 array, shape (P, files)

    Raises
    ------
    PrivacyEvalError
        As `pair`: a file has other trials than the key.
    """
    for file in files:
        pair(file, trials, hint="scores are of the same trials")
    return np.column_stack([file.score[match(trials, file)[1]] for file in files])


def check_same_trials(key: Trials, other: Trials) -> None:
    """Check that two keys have the same trials with the same labels, in any order.

    Parameters
    ----------
    key, other : Trials

    Raises
    ------
    PrivacyEvalError
        Names both files, and the first trial of `other` with another label, else the first
        trial that only one of them has; how many labels differ and how many trials are in one
        key only.
    """
    key_row, other_row = match(key, other)
    contrary = other_row[key.is_target[key_row] != other.is_target[other_row]].tolist()
    only_other, only_key = _others(other, other_row), _others(key, key_row)
    for at, rows, file, what in (
        (other, contrary, key, "has another label"),
        (other, only_other, key, "is missing"),
        (key, only_key, other, "is missing"),
    ):
        if rows:
            row, unmatched = min(rows), len(only_key) + len(only_other)
            raise PrivacyEvalError(
                f"{at.where(row)}: trial {at.quote([row])} {what} in {file.name}: two keys of one "
                f"trial set ({len(contrary)} of {key_row.size} labels differ, {unmatched} trials "
                "are in one only); remove the wrong one, or name a folder with --keys"
            )


def _labels(scores: Trials, trials: Trials | None) -> Trials:
    """Return the labels of scores: of a key, or their own."""
    if trials is None and "is_target" not in scores:
        raise PrivacyEvalError(f"{scores.name}: no labels: a trial key is needed")
    return scores if trials is None else trials


def _rows(scores: Trials, trials: Trials) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Match scores and trials, by their ids or, if the scores have none, by their order."""
    if all(name in scores for name in IDS[:2]):
        return match(scores, trials)
    rows = np.arange(len(scores))
    if trials is not scores:
        if len(scores) != len(trials):
            raise PrivacyEvalError(
                f"{scores.name}: {len(scores)} scores without ids, but {len(trials)} trials in "
                f"{trials.name}: give one score for each trial, in their order, or ids beside the "
                "scores"
            )
        order = f"{len(scores)} scores without ids are read in the order of {trials.name}"
        warnings.warn(f"{scores.name}: {order}", InputWarning, stacklevel=3)
    return rows, rows


def _without_speaker(name: str, speakers: Collection[str]) -> str:
    """Strip speakers and the mark behind them from the beginning of an utterance."""
    ends = (mark.span() for mark in re.finditer("[-_/]", name))
    rest = next((name[end:] for begin, end in ends if name[:begin] in speakers), "")
    return _without_speaker(rest, speakers) if rest else name


#: The rules: what an id becomes beside enrolled ids, and what is stripped.
_RULES: Mapping[str, tuple[Callable[..., str], str]] = {
    "basename": (lambda name, speakers: re.split(r"[/\\]", name)[-1] or name, "a folder in front"),
    "strip-extension": (lambda name, speakers: _EXTENSION.sub("", name), "an extension"),
    "strip-speaker": (_without_speaker, "a speaker in front"),
    "lower": (lambda name, speakers: name.lower(), "capital letters"),
}


def _bridged(scores: Trials, trials: Trials, rules: Collection[str]) -> tuple[Trials, Trials]:
    """Apply rules to the ids of scores and key; `swap` to the key alone."""
    tables = [scores, trials]
    for rule in rules:
        if rule not in ID_RULES:
            raise PrivacyEvalError(f"ids must be of {', '.join(ID_RULES)}, not {rule!r}")
        if rule == "swap":
            columns = {"enrolled": trials.utterance, "utterance": trials.enrolled}
            tables[1] = trials = trials.with_columns(**columns)
            continue
        enrolled = {name for table in tables for name in table.enrolled.used}
        tables = [_renamed(table, rule, enrolled) for table in tables]
        trials = tables[1]
    return tables[0], tables[1]


def _renamed(trials: Trials, rule: str, enrolled: Collection[str]) -> Trials:
    new = {}
    for side, speakers in zip(IDS[:2], ((), enrolled), strict=True):
        change, old = partial(_RULES[rule][0], speakers=speakers), trials[side]
        new[side] = old.renamed(change)
        if len(new[side].used) < len(old.used):
            alike = next(names for names in grouped(old.used, change).values() if len(names) > 1)
            raise PrivacyEvalError(
                f"{trials.name}: {rule} makes one id of {alike[0]!r} and {alike[1]!r}; "
                "ids must stay different"
            )
    return trials.with_columns(**new)


def _difference(scores: Trials, trials: Trials) -> str:
    """Tell by which rule ids of scores and key differ, with examples and the option; else ""."""
    few = len(scores.utterance.names) + len(trials.utterance.names) < _MANY
    several = (itertools.combinations(_RULES, n + 1) for n in range(len(_RULES) if few else 1))
    for rules in ((), *itertools.chain.from_iterable(several), ("swap",)):
        with contextlib.suppress(PrivacyEvalError):  # two ids become one
            bridged = _bridged(scores, trials, rules)
            sides = ([{*table[side].used} for table in bridged] for side in IDS[:2])
            if all(len(a & b) >= _NEARLY_ALL * min(len(a), len(b)) for a, b in sides):
                break
    else:
        return ""
    if "swap" in rules and len(trials.enrolled.used) <= len(trials.utterance.used):
        what = f"the first two columns of the scores are exchanged ({scores.quote([0])})"
        return f"{what}: --columns enrolled=2,utterance=1,score=3 (columns={{...}}) reads them"
    if "swap" in rules:
        what = f"the first two columns of the key are exchanged ({trials.quote([0])})"
        return f"{what}: --ids swap (ids=['swap']) exchanges those of the key"
    examples = []
    for side in IDS[:2]:
        of_key = dict(zip(bridged[1][side].used, trials[side].used, strict=True))
        for old, new in zip(scores[side].used, bridged[0][side].used, strict=True):
            if old != of_key.get(new, old):
                examples.append(f"{old!r} in the scores is {of_key[new]!r} in the key")
    what = f"ids differ by {' and '.join(_RULES[rule][1] for rule in rules)}"
    option = f"--ids {','.join(rules)} (ids={[*rules]}; in a tree, the protocol's entry ids)"
    return f"{what}: {', '.join(examples[:2])}: use {option}" if rules else ""


def _others(trials: Trials, rows: NDArray[np.int64]) -> list[int]:
    """Return the rows that are not among some ascending or unordered ones."""
    return [] if rows.size == len(trials) else np.delete(np.arange(len(trials)), rows).tolist()


def _joined(
    scores: Trials, trials: Trials, rows: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> Trials:
    """Join paired rows; labels of both must be the same."""
    paired = scores if rows[0].size == len(scores) else scores.take(rows[0])
    if trials is scores:
        return paired
    in_order = rows[1].size == len(trials) and bool(np.all(rows[1] == np.arange(rows[1].size)))
    labelled = trials if in_order else trials.take(rows[1])
    if "is_target" in paired:
        contrary = np.flatnonzero(paired.is_target != labelled.is_target)
        if contrary.size:
            row = int(contrary[0])
            raise PrivacyEvalError(
                f"{paired.where(row)}: {contrary.size} labels contradict {trials.name} "
                f"(first: {labelled.quote([row])})"
            )
    missing, extra = len(trials) - rows[1].size, len(scores) - rows[0].size
    return paired.beside(labelled, missing=missing, extra=extra)


def _mismatch(
    scores: Trials, trials: Trials, rows: tuple[NDArray[np.int64], NDArray[np.int64]], hint: str
) -> str:
    lines = [f"{scores.name} and {trials.name} do not contain the same trials:"]
    missing, extra = _others(trials, rows[1]), _others(scores, rows[0])
    if not rows[0].size:
        other = "no trial is in both, so they are of different sets: name the key of these scores"
        lines.append(f"  {_difference(scores, trials) or other}:")
        hint = hint.removesuffix(ALLOW_MISSING).rstrip("; ")
    elif not extra and rows[1].max() < missing[0]:
        lines.append("  the scores end early, as in a truncated file; copy it again:")
    sides = ("trial", "score", trials, missing), ("score", "trial", scores, extra)
    for what, other, of, left in sides:
        if left:
            said = f"{counted(len(left), what)} without a {other}"
            lines.append(f"  {said} (first at {of.where(left[0])}): {of.quote(left)}")
    if hint:
        lines.append(f"  ({hint})")
    return "\n".join(lines)
