"""Check a tree before it is evaluated. No command is run and nothing is written."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate, counted, printable
from ..io.confine import outside_message
from ..io.inputs import Inputs
from ..io.names import look_alike
from ..products.freshness import Progress
from ..products.jobs import (
    Cost,
    estimate_lines,
    metrics_cost,
    needed_bytes,
    scoring_cost,
    similarity_cost,
    split,
)
from ..protocol.protocol import ResultsFolder
from ..stages.access import AsvSystems, SystemUnderTest
from ..stages.asv_scores import has_computed_scores
from ..stages.collect import read_recognition
from ..tree.conditions import ConditionFiles, System, trial_conditions
from ..tree.discovery import (
    missing_scores_message,
    sibling_results_folders,
    suffix_hint,
    unmatched_folders,
)
from ..tree.keys import data_folders
from .findings import Finding, Report, Section
from .implausible import ScoreCheck, check_scores
from .mismatches import DataSets
from .missing import OUTDATED, SCORES, TEAM, Missing, MissingInputs, stages

INVALID = "invalid file"
SUFFIX = "anonymization suffix"
WER_LINES = "word error rates that cannot be used"
UNUSABLE = "cannot be evaluated"
UNKNOWN_FOLDERS = "folders that match no condition of the protocol (--conf, --anon-suffix)"
SIBLING_RESULTS = "results folders beside each other, each treated as a separate system"
SIMILAR_NAMES = "names that look alike"
NO_RECOGNITION = "no ASR-* folders, so that word error rates will be left out"
MEMORY = "more memory than this machine has (use fewer --nj)"
EXTERNAL = "written by another tool"

SIMILARITY = "voice similarity"
SCORING, EVALUATION = stages("asv_scores"), stages("privacy_metrics")


@dataclass(frozen=True)
class _Output:
    """A trial condition of the protocol, or a trial set whose voice similarity is measured.

    Attributes
    ----------
    kind : {"scores", "voice similarity"}
    name : str
        Of the condition, or what is measured of the set.
    system : str
    missing : list of Missing
        Missing inputs; those of a trial condition are its scores if they can be created.
    costs : mapping
        Costs by stage, of the stages whose inputs are there.
    files : ConditionFiles or None
        Files of the condition in the tree, if there are any.
    errors : list of str
        Why it cannot be evaluated.
    """

    kind: str
    name: str
    system: str
    missing: list[Missing]
    costs: Mapping[str, Cost]
    files: ConditionFiles | None = None
    errors: list[str] = field(default_factory=list)


def check_tree(
    systems: Sequence[System],
    asv: AsvSystems,
    new: SystemUnderTest,
    *,
    read: bool = True,
    nj: int = 1,
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
    nj : int
        Number of jobs that memory is estimated for.
    """
    protocol, access = asv.protocol, asv.access
    expected = systems or [System(new.name, (), new.anon_suffix, (), (), (), None)]
    inside = [c for system in systems for c in system.conditions if not c.outside]
    scores = check_scores(
        inside,
        access.inputs,
        scores=read,
        allow_missing=access.allow_missing,
        progress=progress,
    )
    inputs, sets = MissingInputs(asv, systems), DataSets(asv)
    outputs: list[_Output] = []
    for system, part in itertools.product(expected, protocol.results_folders):
        outputs += _conditions(system, part, inputs, scores)
        outputs += _similarity(system, part, inputs, sets)
    memory, warned = _memory(outputs, nj)
    missing = list(_missing(outputs))
    used = list(dict.fromkeys(system.anon_suffix for system in expected))
    other_suffixes = suffix_hint(access.tree, protocol, used) if missing else None
    if other_suffixes is not None:
        warned.append(Finding(SUFFIX, other_suffixes))
    warnings = [
        Section("original/anonymized mismatches", sets.mismatches(used)),
        Section("implausible scores", scores.findings),
        Section("folders and jobs", [*_folders(systems, asv), *warned]),
    ]
    found = [
        *(_error(o.files, text, access.tree) for o in outputs if o.files for text in o.errors),
        *_errors_of_inputs(systems, sets, access.tree, read),
        *(Finding(INVALID, text) for text in (*scores.key_errors, *sets.errors)),
    ]
    errors = Section("errors", found)
    external = [
        o
        for o in outputs
        if read and not (o.files and o.files.outside) and _is_external(o.files, access.inputs)
    ]
    return Report(
        ready=not found,
        head=(
            _status(outputs, len(errors), sum(map(len, warnings))),
            f"protocol: {protocol.title} ({protocol.name}); tree: {access.tree}; "
            f"results: {access.results}",
            *_table(expected, outputs),
        ),
        sections=(
            errors,
            Section("missing inputs [and what creates each]", missing),
            *warnings,
            Section(f"external scores, kept by {SCORING}", list(_by_system(EXTERNAL, external))),
        ),
        foot=(*memory, *([] if read else ["score files were not read (--quick)"])),
    )


def _errors_of_inputs(
    systems: Sequence[System], sets: DataSets, tree: Path, read: bool
) -> Iterator[Finding]:
    """Find genders that contradict, word error rates that cannot be used, unknown suffixes."""
    inside = [c for s in systems for c in s.conditions if not c.outside]
    genders = {c.trials.parent: c.condition.gender for c in inside if c.trials is not None}
    yield from sets.gender_mismatches(genders)
    yield from _wer_errors(systems, tree) if read else ()
    for system in systems:
        if system.problem is not None:
            yield Finding(f"{system.name}: {SUFFIX}", system.problem)


def _conditions(
    system: System, part: ResultsFolder, inputs: MissingInputs, scores: ScoreCheck
) -> Iterator[_Output]:
    present = {c.condition: c for c in system.conditions}
    suffix = system.anon_suffix
    for condition in trial_conditions(inputs.protocol, part, suffix, system.name).values():
        c = present.get(condition)
        missing: list[Missing] = []
        errors: list[str] = []
        if c is None or (c.scores is None and not any(c.folder.glob("[sS]core*"))):
            missing = inputs.of_scores(condition, suffix)
        elif c.scores is None:
            errors = [missing_scores_message(c)]
        elif c.trials is None:
            missing = inputs.of_key(condition)
            errors = [f"no trial key (looked for {abbreviate([str(p) for p in c.key_candidates])})"]
        elif c in scores.errors:
            if not _is_external(c, inputs.access.inputs) and all(
                m.is_creatable for m in inputs.of_scores(condition, suffix)
            ):
                missing = [Missing(OUTDATED, SCORING)]
            else:
                errors = [scores.errors[c]]
        errors += [outside_message(path) for path in (c.outside if c is not None else ())]
        if errors and not missing:
            missing = [Missing("valid scores", TEAM)]
        costs = {}
        if any(m.is_creatable for m in missing):
            trials = estimate_lines(inputs.access.trial_key(condition, inputs.protocol)[0])
            costs = {SCORING: scoring_cost(trials), EVALUATION: metrics_cost(trials)}
        elif c is not None and not missing:
            costs = {EVALUATION: metrics_cost(scores.trials.get(c) or estimate_lines(c.scores))}
        yield _Output(SCORES, condition.label, system.name, missing, costs, c, errors)


def _similarity(
    system: System, part: ResultsFolder, inputs: MissingInputs, sets: DataSets
) -> Iterator[_Output]:
    protocol = inputs.protocol
    for trial_set in () if protocol.has_own_scoring else protocol.trial_sets():
        missing = inputs.of_similarity(trial_set, part, system.anon_suffix)
        cost = similarity_cost(len(sets.speakers(trial_set.trials_name) or ()))
        costs = {} if missing else {stages("similarity"): cost}
        name = f"{SIMILARITY} of {trial_set.trials_name}{part.suffix}"
        yield _Output(SIMILARITY, name, system.name, missing, costs)


def _error(c: ConditionFiles, message: str, tree: Path) -> Finding:
    """Report an error with short paths."""
    message = text = " ".join(message.split())
    for folder in (c.folder.parent.parent, tree):
        text = text.replace(f"{folder}/", "") if folder.name else text
    name = c.condition.name
    item = text if name in text else f"{c.folder.parent.name}/{name}: {text}"
    return Finding(f"{c.condition.system}: {UNUSABLE}", item, message)


def _wer_errors(systems: Iterable[System], tree: Path) -> Iterator[Finding]:
    for system, files in ((s, files) for s in systems for files in s.recognition):
        for why in read_recognition(files)[2]:
            item = why.replace(f"{tree}/", "") if tree.name else why
            yield Finding(f"{system.name}: {WER_LINES}", item, why)


def _is_external(c: ConditionFiles | None, inputs: Inputs) -> bool:
    """Whether scores were written by another tool."""
    try:
        return c is not None and c.scores is not None and not has_computed_scores(c.folder, inputs)
    except PrivacyEvalError:  # reported when its scores were read
        return True


def _status(outputs: Sequence[_Output], errors: int, warnings: int) -> str:
    conditions = [o for o in outputs if o.kind == SCORES]
    complete = sum(not c.missing for c in conditions)
    creatable = sum(SCORING in c.costs for c in conditions)
    systems = counted(len({c.system for c in conditions}), "system")
    if errors:
        text = f"not ready: {counted(errors, 'error')}"
    elif complete:
        text = "ready: all" if complete == len(conditions) else f"ready in part: {complete} of"
        text += f" {counted(len(conditions), 'condition')} of {systems} have scores and a trial key"
    else:
        text = f"no scores yet of {counted(len(conditions), 'condition')}"
    if creatable:
        text += f"; {SCORING} can create {creatable}"
    elif not (complete or errors):
        text += f", and inputs of {SCORING} are missing"
    return text + (f"; {counted(warnings, 'warning')}" if warnings else "")


def _table(systems: Iterable[System], outputs: Sequence[_Output]) -> list[str]:
    rows = []
    for system in sorted(systems, key=lambda s: s.name):
        row = [printable(system.name)]
        own = [o for o in outputs if o.system == system.name]
        for kind in (SCORES, SIMILARITY):
            of_kind = [o for o in own if o.kind == kind]
            row.append(f"{sum(not o.missing for o in of_kind)}/{len(of_kind)}")
        missing = (m for o in own if o.kind == SCORES for m in o.missing)
        summary = dict.fromkeys(f"{m.what} ({m.source})" for m in missing)
        rows.append((*row, str(len(system.recognition)), ", ".join(summary) or "nothing"))
    headers = ("system", "scores", "similarity", "ASR", "missing")
    from tabulate import tabulate

    return tabulate(rows, headers, tablefmt="plain", disable_numparse=True).splitlines()


def _missing(outputs: Iterable[_Output]) -> Iterator[Finding]:
    """List missing inputs and the conditions and voice similarities that need them."""
    needed_by: dict[Missing, list[_Output]] = {}
    for output in outputs:
        for missing in output.missing:
            needed_by.setdefault(missing, []).append(output)
    for missing, users in needed_by.items():
        folder = f" in {missing.folder}" if missing.folder else ""
        yield from _by_system(f"{missing.what}{folder} [{missing.source}]", users, missing.name)


def _by_system(kind: str, outputs: Sequence[_Output], name: str = "") -> Iterator[Finding]:
    """Yield findings of a kind, or of one missing item, with the affected outputs per system."""
    systems: dict[str, list[_Output]] = {}
    for output in outputs:
        systems.setdefault(output.system, []).append(output)
    for system, own in systems.items():
        names = ", ".join(output.name for output in own)
        if name:
            item = f"{name} (for {_tally(outputs)} of {abbreviate(list(systems))})"
            yield Finding(kind, item, f"{system}: {names}")
        else:
            yield Finding(kind, f"{system} ({_tally(own)})", names)


def _tally(outputs: Iterable[_Output]) -> str:
    nouns = {SCORES: "condition", SIMILARITY: SIMILARITY}
    counts = Counter(nouns[o.kind] for o in outputs)
    return ", ".join(counted(n, noun) for noun, n in counts.items())


def _folders(systems: Sequence[System], asv: AsvSystems) -> list[Finding]:
    """List skipped folders, folders that may count twice, and systems without recognition."""
    results, recognition = asv.access.results, asv.protocol.recognition.data_sets
    findings = [
        Finding(UNKNOWN_FOLDERS, f"{folder} ({len(names)})", ", ".join(names))
        for folder, names in unmatched_folders(systems).items()
    ]
    for folder, names in sibling_results_folders(systems, results).items():
        findings.append(Finding(SIBLING_RESULTS, f"{folder} ({', '.join(names)})"))
    for kind, names in (
        ("systems", [system.name for system in systems]),
        ("data sets", [folder.name for folder in data_folders(asv.access.tree)]),
    ):
        findings += [
            Finding(SIMILAR_NAMES, f"{kind} {', '.join(group)}") for group in look_alike(names)
        ]
    if recognition:
        findings += [Finding(NO_RECOGNITION, s.name) for s in systems if not s.recognition]
    return findings


def _memory(outputs: Iterable[_Output], nj: int) -> tuple[list[str], list[Finding]]:
    """Estimate the memory of each stage's jobs; warn if it exceeds that of this machine."""
    stage_costs: dict[str, list[Cost]] = {}
    for output in outputs:
        for stage, cost in output.costs.items():
            stage_costs.setdefault(stage, []).append(cost)
    largest, findings = [], []
    available = _machine_gib()
    for stage, costs in sorted(stage_costs.items()):
        most = min(nj, len(costs))
        jobs = [split(costs, costs, (j, most)) for j in range(1, most + 1)]
        gib = [needed_bytes(job) / 2**30 for job in jobs]
        largest.append(f"{stage} {max(gib):.1f} GiB")
        if 0 < available < sum(gib):
            number = counted(len(jobs), "job")
            item = f"{stage} ({sum(gib):.1f} GiB for {number}, {available:.1f} available)"
            findings.append(Finding(MEMORY, item))
    head = f"memory of the largest of {counted(nj, 'job')}: "
    return ([head + ", ".join(largest)] if largest else []), findings


def _machine_gib() -> float:
    """Return the memory of this machine in GiB; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError):
        return 0.0
