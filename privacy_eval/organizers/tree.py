"""Check a tree before it is evaluated: what is missing, and implausible scores (constant, tied,
copied, with swapped labels or too high an EER). No command is run and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError, abbreviate, counted
from ..io.files import OPEN_END, Inputs, digest, relative
from ..io.names import look_alike
from ..io.score_formats import line_limit
from ..io.scores import read_scores, read_trials
from ..metrics import Eer, find_caveats, find_ties, kaldi_eer
from ..metrics.caveats import CAVEATS, CONSTANT, SAME_SCORES
from ..metrics.pairing import pair
from ..metrics.trials import Trials
from ..products.freshness import NOTE, Content, Product, Progress, absent
from ..protocol.protocol import ORIGINAL, WORDS, Protocol
from ..results.challenge_text import recognition_records
from ..results.record_caveats import described, names_of
from ..results.records import Record, Results
from ..stages import similarity
from ..stages.access import AsvSystems, Experiment, SystemUnderTest, TreeAccess, owners_of
from ..stages.collect import read_emotion, read_recognition, records_of_kind
from ..stages.privacy_metrics import scores_and_key
from ..tree.conditions import Condition, ConditionFiles, System, is_needed, original_trial_sets
from ..tree.discovery import (
    attacker_problems,
    data_folders,
    sibling_results_folders,
    suffix_hint,
    teams_without_systems,
    unmatched_folders,
)
from ..wings import provided
from .findings import (
    CREATABLE,
    ERROR,
    EVALUATION,
    INCOMPLETE,
    NO_SCORES,
    OUTDATED,
    READY,
    SHARED,
    Finding,
    Remedies,
    Report,
    failure,
)
from .mismatches import DataSets

NO_ORIGINAL = "no scores of original speech, which all systems share"
NO_SYSTEM = "no scores of any system (folders of models; --conf)"
NO_KEY, UNUSABLE = "no trial key", "cannot be evaluated"
NO_SIMILARITY = "no voice similarity"
SUFFIX = "anonymization suffix"
WORD_ERRORS = "word error rates that cannot be used"
EMOTIONS = "emotion recognition that cannot be used"
NO_WORD_ERRORS = "no word error rates of sets that other systems have"
NO_EMOTIONS = "no emotion recognition, which other systems have"
UNKNOWN_FOLDERS = "folders that match no condition of the protocol (--conf, --anon-suffix)"
UNCLAIMED_SCORES = "scores in folders that name no attacker of the protocol, left out"
ATTACKER_WITHOUT_SCORES = "attackers of the protocol without scores"
SIBLING_RESULTS = "results folders beside each other, each treated as a separate system"
SIMILAR_NAMES = "names that look alike"
NO_RECOGNITION = "no recognition of anonymized speech, so that word error rates will be left out"
NO_EMOTION = "no emotion recognition, so that recalls of emotions will be left out"


def check_tree(
    systems: Sequence[System],
    asv: AsvSystems,
    new: SystemUnderTest,
    *,
    read: bool = True,
    out: Path | None = None,
    confirm: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Find what is missing or wrong in a tree.

    Parameters
    ----------
    systems : sequence of System
        The systems in the tree; empty before any scoring.
    asv : AsvSystems
        The tree and its protocol.
    new : SystemUnderTest
        The system that stage 5 would score if there are none.
    read : bool
        Read the score files and check their plausibility.
    out : Path, optional
        Where results are: measures of speech that were made are checked, too.
    confirm : sequence of str
        As of `Results.confirm`.
    """
    access, protocol = asv.access, asv.protocol
    teams = [SystemUnderTest.of(s, access.results, protocol) for s in systems] or [new]
    owners = owners_of((team.anon_suffix, team.name) for team in teams)
    remedies = Remedies(asv, {suffix for suffix, owner in owners.items() if not owner})
    present = {c.condition: c for system in systems for c in system.conditions}
    errors, findings, digests = check_scores(
        present.values(), access, read=read, ids=protocol.ids, progress=progress
    )
    original = original_trial_sets(systems)
    counts = {}
    for team in teams:
        conditions = list(_expected(team, protocol, present))
        unusable = list(_conditions(team, conditions, remedies, present, errors))
        counts[team.name] = len(conditions) - len(unusable), len(conditions)
        findings += unusable
        findings += _original_speech(team, protocol, original)
        findings += _similarity(team, remedies)
    for folder in teams_without_systems(access.results, systems, protocol):
        counts[folder.name] = 0, min((expected for _, expected in counts.values()), default=0)
        findings.append(Finding(NO_SYSTEM, folder.name, folder.name, INCOMPLETE, folder))
    if read:
        found: dict[str, Any] = {"recognition": (), "emotion": ()}
        findings += _recognition(systems, asv, found)
        of_teams = AsvSystems(access, protocol, teams if systems else ())
        experiment = Experiment([*systems], out or access.results, of_teams)
        measures, _ = records_of_kind(experiment, "measures")
        scores = []  # records that tell only which scores they are of
        for c in present.values():
            if c.scores is not None and c.trials is not None and c not in errors:
                sha256 = digests.get(c) or access.inputs.sha256(c.scores)
                made_of = {"inputs": {"scores": {"sha256": sha256}}}
                scores.append(Record(c.condition, "verification", (), provenance=made_of))
        results = Results(protocol, tuple(scores), measures=tuple(measures), **found)
        findings += _with_caveats(results.confirm(confirm))
    genders = {c.trials.parent: c.condition.gender for c in present.values() if c.trials}
    findings += DataSets(asv).mismatches(owners, genders)
    findings += _folders(systems, asv)
    hint = suffix_hint(access.tree, protocol, [*owners])
    if hint is not None and any(f.status == INCOMPLETE for f in findings):
        findings.append(Finding(SUFFIX, hint))
    return Report(counts, findings)


def _expected(
    team: SystemUnderTest, protocol: Protocol, present: Collection[Condition]
) -> Iterator[tuple[Path, Condition]]:
    """Yield the conditions that a team should have, or has, with their folders."""
    for folder, c in team.conditions(protocol):
        is_shared = protocol.has_own_scoring and c.is_original
        if c in present or (is_needed(c, protocol) and not is_shared):
            yield folder, c


def _original_speech(
    team: SystemUnderTest, protocol: Protocol, original: Collection[tuple[str, str, str]]
) -> Iterator[Finding]:
    """Yield the conditions of original speech that no team has, as all may share them."""
    for _, c in team.conditions(protocol) if protocol.has_own_scoring else ():
        is_shared = c.is_original and is_needed(c, protocol)
        if is_shared and (c.data_set, c.split, c.gender) not in original:
            yield Finding(NO_ORIGINAL, c.label, remedy=_of_evaluation(team, c))


def _of_evaluation(team: SystemUnderTest, condition: Condition) -> str:
    """Return what creates scores in the tree of an edition with its own evaluation."""
    is_able = any(condition == c for _, c in team.by_checkpoint)
    return CREATABLE if is_able else EVALUATION


def _conditions(
    team: SystemUnderTest,
    conditions: Iterable[tuple[Path, Condition]],
    remedies: Remedies,
    present: Mapping[Condition, ConditionFiles],
    errors: Mapping[ConditionFiles, Exception],
) -> Iterator[Finding]:
    """Yield a finding for every expected condition that cannot be evaluated."""
    asv, suffix = remedies.asv, team.anon_suffix
    for folder, condition in conditions:
        c, incomplete = present.get(condition), (condition.label, team.name, INCOMPLETE)
        lacking, remedy = remedies.lacking(condition, suffix)
        remedy = _of_evaluation(team, condition) if remedy == EVALUATION else remedy
        if c is None or (c.scores is None and not any(c.folder.glob("[sS]core*"))):
            file = None if asv.protocol.has_own_scoring else folder / "scores"
            why = "; ".join(map(str, lacking))
            yield Finding(NO_SCORES, *incomplete, file, remedy=remedy, detail=why)
        elif c.scores is not None and c.trials is None and not c.outside:
            tried = abbreviate([relative(path, asv.access.tree) for path in c.key_candidates])
            item = f"{condition.label} (looked for {tried})"
            key = absent(partial(asv.access.find_key, condition, asv.protocol))
            remedy = remedies.of_inputs(key, suffix)
            yield Finding(NO_KEY, item, team.name, ERROR, c.scores, remedy=remedy)
        elif c in errors:
            file = c.scores or c.folder
            error = failure(UNUSABLE, errors[c], item=condition.label, team=team.name, file=file)
            is_ours = _has_computed_scores(c.folder, asv.access.inputs)
            if error.file == c.scores and is_ours and remedy == CREATABLE:
                error = Finding(OUTDATED, *incomplete, file, remedy=remedy)
            yield error


def _has_computed_scores(folder: Path, inputs: Inputs) -> bool:
    """Whether the scores in a condition's folder were computed by this toolkit, and can be read."""
    scores = folder / "scores"
    product = Product("", folder, folder / NOTE, (scores,), lambda _: {}, lambda *_: Content({}))
    try:
        return scores.is_file() and not product.is_foreign(inputs)
    except PrivacyEvalError:
        return False


def _similarity(team: SystemUnderTest, remedies: Remedies) -> Iterator[Finding]:
    """Yield the trial sets whose voice similarity cannot be measured."""
    asv, suffix = remedies.asv, team.anon_suffix
    if asv.protocol.has_own_scoring:
        return
    if suffix in remedies.shared:
        yield Finding(NO_SIMILARITY, team.name, status=INCOMPLETE, remedy=SHARED)
        return
    for _, part in team.folders:
        for trial_set in asv.protocol.trial_sets():
            lacking = similarity.missing_inputs(trial_set, part, suffix, asv)
            if lacking:
                item = f"{team.name} {trial_set.trials_name}{part.suffix}"
                remedy, why = remedies.of_inputs(lacking, suffix), "; ".join(map(str, lacking))
                yield Finding(NO_SIMILARITY, item, "", INCOMPLETE, remedy=remedy, detail=why)


def _recognition(
    systems: Sequence[System], asv: AsvSystems, read: dict[str, Any]
) -> Iterator[Finding]:
    """Yield results of speech and emotion recognition that cannot be used; `read` gets the records
    of the others."""
    access, count = asv.access, provided("word errors of rated transcripts", needed=False)
    for system in systems:
        for folder in system.recognition:
            try:
                counts = count and count(folder, access.inputs, access.allow_missing)
                lines, _, refused = read_recognition(folder, access.inputs, counts)
            except Exception as error:
                yield failure(WORD_ERRORS, error, team=system.name, file=folder.folder)
            else:
                place = asv.protocol, folder.condition
                read["recognition"] += (*recognition_records(lines, *place, {}),)
                for message in refused:
                    yield failure(WORD_ERRORS, PrivacyEvalError(message), team=system.name)
        for table in system.emotion:
            try:
                read["emotion"] += read_emotion(
                    table, system, asv.protocol, access.tree, access.inputs
                )
            except Exception as error:
                yield failure(EMOTIONS, error, team=system.name, file=table.path)
    yield from _fewer_than_others(systems)


def _with_caveats(results: Results) -> Iterator[Finding]:
    """Yield the caveats of records that follow from others, and what ends them."""
    for r in results.records():
        for key in r.caveats:
            caveat, system = CAVEATS[key], r.condition.system
            item = r.condition.name if key == SAME_SCORES else described(r, key)
            status = READY if caveat.ranked else INCOMPLETE
            remedy = f"--confirm {names_of(r, key)[0]}" * caveat.confirmable
            yield Finding(caveat.reason, item, system, status, remedy=remedy)


def _fewer_than_others(systems: Sequence[System]) -> Iterator[Finding]:
    """Yield the measures of utility that a system lacks and another one has."""
    decoded = {
        s.name: {
            f"{f.condition.data_set} {f.condition.split}"
            for f in s.recognition
            if f.condition.trial != ORIGINAL
        }
        for s in systems
    }
    every = set().union(*decoded.values())
    for name, own in decoded.items():
        for item in sorted(every - own):
            yield Finding(NO_WORD_ERRORS, item, name)
    if any(s.emotion for s in systems):
        for system in systems:
            if not system.emotion:
                yield Finding(NO_EMOTIONS, system.name, system.name)


def _folders(systems: Sequence[System], asv: AsvSystems) -> Iterator[Finding]:
    """Yield skipped folders and scores, folders that may count twice, and systems without
    recognition."""
    results = asv.access.results
    owners = {folder: s.name for s in reversed(systems) for folder in s.folders}
    for folder, names in unmatched_folders(systems).items():
        for name in names:
            yield Finding(UNKNOWN_FOLDERS, name, owners.get(folder, ""), file=folder / name)
    for system in systems:
        if system.problem is not None:
            error = PrivacyEvalError(system.problem)
            yield failure(SUFFIX, error, team=system.name)
    for name, text, found in attacker_problems(systems, asv.protocol):
        kind = ATTACKER_WITHOUT_SCORES if found is None else UNCLAIMED_SCORES
        yield Finding(kind, text, name, file=found)
    for folder, names in sibling_results_folders(systems, results).items():
        yield Finding(SIBLING_RESULTS, f"{folder} ({', '.join(names)})")
    for kind, names in (
        ("systems", [system.name for system in systems]),
        ("data sets", [folder.name for folder in data_folders(asv.access.tree)]),
    ):
        for group in look_alike(names):
            yield Finding(SIMILAR_NAMES, f"{kind} {', '.join(group)}")
    for system in systems:
        shared = {ORIGINAL} if asv.protocol.has_own_scoring else set()
        own = {files.condition.trial for files in system.recognition} - shared
        if asv.protocol.recognition.data_sets and not own:
            yield Finding(NO_RECOGNITION, system.name)
        if asv.protocol.emotion and not system.emotion:
            yield Finding(NO_EMOTION, system.name)


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
    done, inputs = 0, access.inputs
    for of_set in trial_sets.values():
        keys: dict[Path, Trials] = {}
        first_with: dict[str, ConditionFiles] = {}
        for group in grouped(of_set, lambda c: c.condition.system).values():
            scores: list[_Scores] = []
            for c in group:
                done += 1
                try:
                    path, key = scores_and_key(c, access.tree, inputs)
                    if key not in keys:
                        keys[key] = read_trials(inputs.load(key), format="kaldi")
                    if read:
                        inputs.sha256(path, line_limit(key, len(keys[key])))
                        found = read_scores(inputs.load(path), format="kaldi")
                        trials = pair(found, keys[key], allow_missing=access.allow_missing, ids=ids)
                        findings += _implausible(c, trials, scores)
                except Exception as error:  # whatever is wrong with one submission
                    errors[c] = error
                if read and progress is not None:
                    progress(done, len(readable), f"{c.condition.system} {c.condition.label}")
            findings += _compare(scores, first_with, digests)
    return errors, findings, digests


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
