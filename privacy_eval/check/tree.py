"""Check a tree before it is evaluated. No command is run and nothing is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tabulate import tabulate

from ..errors import PrivacyEvalError, abbreviate, printable
from ..protocol.protocol import ResultsFolder
from ..stages.asv_scores import Models, Target, is_ours
from ..stages.jobs import (
    Cost,
    Progress,
    likely_lines,
    metrics_cost,
    needed_bytes,
    scoring_cost,
    share,
    similarity_cost,
)
from ..tree.conditions import Condition, System, named_comparisons
from ..tree.confine import leaves_tree
from ..tree.discovery import beside_each_other, no_scores, unknown_folders
from .findings import Finding, Report, Section
from .implausible import ScoreCheck, check_scores
from .mismatches import DataSets
from .missing import OUTDATED, TEAM, Inputs, Missing, stages

INVALID = "invalid file"
SUFFIX = "anonymization suffix"
UNUSABLE = "cannot be evaluated"
UNKNOWN_FOLDERS = "folders that match no condition of the protocol (--conf, --anon-suffix)"
BESIDE = "results folders beside each other, each treated as a separate system"
NO_RECOGNITION = "no ASR-* folders, so that word error rates will be left out"
MEMORY = "more memory than this machine has (use fewer --nj)"
EXTERNAL = "written by another tool"


@dataclass(frozen=True)
class _Output:
    """A condition of the protocol, or the voice similarity of a trial set.

    Attributes
    ----------
    system, name : str
    missing : list of Missing
        Missing inputs; those of a condition are its scores if stage 5 can create them.
    costs : mapping
        Costs by stage, of the stages whose inputs are there.
    errors : list of Finding
        Why the condition cannot be evaluated although it has a folder.
    """

    system: str
    name: str
    missing: list[Missing]
    costs: Mapping[str, Cost]
    errors: list[Finding] = field(default_factory=list)


def check_tree(
    systems: Sequence[System],
    models: Models,
    target: Target,
    *,
    read: bool = True,
    nj: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Find what is missing or wrong in a tree.

    Parameters
    ----------
    systems : sequence of System
        Those in the tree; none before anything was scored.
    models : Models
        The tree and its protocol.
    target : Target
        The system that stage 5 would score if there are none.
    read : bool
        Read the score files and check their plausibility.
    nj : int
        Number of jobs that memory is estimated for.
    """
    protocol, place = models.protocol, models.place
    systems = systems or [System(target.name, (), target.anon_suffix, (), (), (), None)]
    inside = [c for system in systems for c in system.conditions if not c.outside]
    scores = check_scores(inside, scores=read, allow_missing=place.allow_missing, progress=progress)
    inputs, sets = Inputs(models, systems), DataSets(models)
    parts = [(system, part) for system in systems for part in protocol.results_folders]
    conditions = [o for s, part in parts for o in _conditions(s, part, inputs, scores)]
    similarity = [o for s, part in parts for o in _similarity(s, part, inputs, sets)]
    memory, too_much = _memory([*conditions, *similarity], nj)
    warnings = [
        Section(
            "original/anonymized mismatches",
            sets.mismatches(list(dict.fromkeys(s.anon_suffix for s in systems))),
        ),
        Section("implausible scores", scores.findings),
        Section("folders and jobs", [*_folders(systems, models), *too_much]),
    ]
    errors = [error for output in conditions for error in output.errors]
    errors += sets.gender_mismatches({c.trials.parent: c.gender for c in inside if c.trials})
    errors += [Finding(f"{s.name}: {SUFFIX}", s.problem) for s in systems if s.problem is not None]
    errors += [Finding(INVALID, text) for text in (*scores.key_errors, *sets.errors)]
    missing = list(_missing(conditions))
    for system in systems:
        lacking = [o for o in similarity if o.missing and o.system == system.name]
        kind = f"voice similarity [{stages('similarity')}], from {_summary(lacking)}"
        missing += _by_system(kind, [(o.system, o.name) for o in lacking], "trial set")
    external = [
        (c.system, _with_suffix(c.name, c.results_folder))
        for c in inside
        if read and c.scores is not None and not _is_ours(c)
    ]
    return Report(
        ready=not errors,
        head=(
            _status(conditions, len(systems), errors, warnings),
            f"protocol: {protocol.title} ({protocol.name}); tree: {place.tree}; "
            f"results: {place.results}",
            *_table(systems, conditions, similarity),
        ),
        sections=(
            Section("errors", errors),
            Section("missing inputs [and what creates each]", missing),
            *warnings,
            Section(
                "external scores, kept by stage 5",
                list(_by_system(EXTERNAL, external, "condition")),
            ),
        ),
        foot=(*memory, *([] if read else ["score files were not read (--quick)"])),
    )


def _conditions(
    system: System, part: ResultsFolder, inputs: Inputs, scores: ScoreCheck
) -> Iterator[_Output]:
    present = {c.name: c for c in system.conditions if c.results_folder == part.suffix}
    for name, meaning in named_comparisons(inputs.protocol, system.anon_suffix).items():
        c = present.get(name)
        missing: list[Missing] = []
        errors: list[str] = []
        if c is None or (c.scores is None and not any(c.folder.glob("[sS]core*"))):
            missing = inputs.of_scores(meaning, part)
        elif c.scores is None:
            errors = [no_scores(c)]
        elif c.trials is None:
            missing = inputs.of_key(meaning)
            errors = [f"no trial key (looked for {abbreviate([str(p) for p in c.keys_tried])})"]
        elif c in scores.errors:
            if _is_ours(c) and all(m.is_creatable for m in inputs.of_scores(meaning, part)):
                missing = [Missing(OUTDATED, stages("asv_scores"))]
            else:
                errors = [scores.errors[c]]
        if c is not None:
            errors += [leaves_tree(path) for path in c.outside]
        if errors and not missing:
            missing = [Missing("valid scores", TEAM)]
        costs = {}
        if any(m.is_creatable for m in missing):
            trials = likely_lines(inputs.key(meaning))
            costs = {"stage 5": scoring_cost(trials), "stage 6": metrics_cost(trials)}
        elif c is not None and not missing:
            costs = {"stage 6": metrics_cost(scores.trials.get(c) or likely_lines(c.scores))}
        findings = [_error(c, text) for text in errors] if c is not None else []
        yield _Output(system.name, _with_suffix(name, part.suffix), missing, costs, findings)


def _similarity(
    system: System, part: ResultsFolder, inputs: Inputs, sets: DataSets
) -> Iterator[_Output]:
    for trial_set in inputs.protocol.trial_sets():
        name = trial_set.trials_name
        missing = inputs.of_similarity(trial_set, part, system.anon_suffix)
        cost = similarity_cost(len(sets.speakers(name) or ()))
        costs = {} if missing else {stages("similarity"): cost}
        yield _Output(system.name, _with_suffix(name, part.suffix), missing, costs)


def _error(c: Condition, message: str) -> Finding:
    """Report the reason first, then the condition and the file."""
    reason, file = " ".join(message.split()), ""
    scores, key = re.escape(str(c.scores)), re.escape(str(c.trials))
    for start in (
        rf"({scores}(?::\d+)?): ",
        rf"({scores}) and {key} do not hold the same trials: ",
        rf"(){re.escape(c.system)}: the folder {re.escape(c.name)} ",
    ):
        if found := re.match(start, reason):
            file, reason = found[1], reason[found.end() :]
    where = _with_suffix(c.name, c.results_folder)
    return Finding(f"{c.system}: {UNUSABLE}", f"{reason} ({where})", file)


def _is_ours(c: Condition) -> bool:
    try:
        return is_ours(c.folder)
    except PrivacyEvalError:  # reported when its scores were read
        return False


def _status(
    conditions: Sequence[_Output],
    systems: int,
    errors: Sequence[Finding],
    warnings: Sequence[Section],
) -> str:
    complete = sum(not c.missing for c in conditions)
    creatable = sum("stage 5" in c.costs for c in conditions)
    of = f"{len(conditions)} conditions of {_count(systems, 'system')} have scores and a trial key"
    if errors:
        text = f"not ready: {_count(len(set(errors)), 'error')}"
    elif complete == len(conditions):
        text = f"ready: all {of}"
    elif complete:
        text = f"ready in part: {complete} of {of}"
    else:
        text = f"no scores yet of {len(conditions)} conditions"
    if creatable:
        text += f"; stage 5 can create {creatable}"
    elif not (complete or errors):
        text += ", and inputs of stage 5 are missing"
    number = sum(len(set(section.findings)) for section in warnings)
    return text + (f"; {_count(number, 'warning')}" if number else "")


def _table(
    systems: Iterable[System], conditions: Sequence[_Output], similarity: Sequence[_Output]
) -> list[str]:
    rows = []
    for s in sorted(systems, key=lambda s: s.name):
        outputs = [[o for o in kind if o.system == s.name] for kind in (conditions, similarity)]
        counts = [f"{sum(not o.missing for o in kind)}/{len(kind)}" for kind in outputs]
        summary = _summary(outputs[0]) or "nothing"
        rows.append((printable(s.name), *counts, str(len(s.recognition)), summary))
    headers = ("system", "scores", "similarity", "ASR", "missing")
    return tabulate(rows, headers, tablefmt="plain", disable_numparse=True).splitlines()


def _missing(conditions: Iterable[_Output]) -> Iterator[Finding]:
    """List missing inputs and the conditions that need them."""
    needed_by: dict[Missing, list[tuple[str, str]]] = {}
    for condition in conditions:
        for missing in condition.missing:
            needed_by.setdefault(missing, []).append((condition.system, condition.name))
    for missing, users in needed_by.items():
        folder = f" in {missing.folder}" if missing.folder else ""
        kind = f"{missing.what}{folder} [{missing.source}]"
        if missing.name:
            systems = _grouped(users)
            needed = f"{_count(len(users), 'condition')} of {abbreviate(list(systems))}"
            for system, names in systems.items():
                detail = f"{system}: {', '.join(names)}"
                yield Finding(kind, f"{missing.name} (for {needed})", detail)
        else:
            yield from _by_system(kind, users, "condition")


def _by_system(kind: str, named: Iterable[tuple[str, str]], noun: str) -> Iterator[Finding]:
    for system, names in _grouped(named).items():
        yield Finding(kind, f"{system} ({_count(len(names), noun)})", ", ".join(names))


def _grouped(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by system."""
    systems: dict[str, list[str]] = {}
    for system, name in named:
        systems.setdefault(system, []).append(name)
    return systems


def _folders(systems: Sequence[System], models: Models) -> list[Finding]:
    """List skipped folders, those perhaps counted twice, and systems without recognition."""
    results, recognition = models.place.results, models.protocol.recognition.data_sets
    return [
        *(
            Finding(UNKNOWN_FOLDERS, f"{folder} ({len(names)})", ", ".join(names))
            for folder, names in unknown_folders(systems).items()
        ),
        *(
            Finding(BESIDE, f"{folder} ({', '.join(names)})")
            for folder, names in beside_each_other(
                [s for s in systems if s.folders], results
            ).items()
        ),
        *(
            Finding(NO_RECOGNITION, s.name)
            for s in systems
            if s.folders and recognition and not s.recognition
        ),
    ]


def _memory(outputs: Iterable[_Output], nj: int) -> tuple[list[str], list[Finding]]:
    """Estimate the memory of each stage's jobs; warn if it exceeds that of this machine."""
    stage_costs: dict[str, list[Cost]] = {}
    for output in outputs:
        for stage, cost in output.costs.items():
            stage_costs.setdefault(stage, []).append(cost)
    largest, findings = [], []
    available = _machine_gib()
    for stage, costs in sorted(stage_costs.items()):
        jobs = [job for j in range(1, nj + 1) if (job := share(costs, costs, (j, nj)))]
        gib = [needed_bytes(job) / 2**30 for job in jobs]
        largest.append(f"{stage} {max(gib):.1f} GiB")
        if 0 < available < sum(gib):
            numbers = (
                f"{sum(gib):.1f} GiB for {_count(len(jobs), 'job')}, {available:.1f} available"
            )
            findings.append(Finding(MEMORY, f"{stage} ({numbers})"))
    head = f"memory of the largest of {_count(nj, 'job')}: "
    return ([head + ", ".join(largest)] if largest else []), findings


def _machine_gib() -> float:
    """Memory of this machine; 0 where the operating system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError):
        return 0.0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _summary(outputs: Iterable[_Output]) -> str:
    """Kinds of missing inputs and their sources."""
    kinds = dict.fromkeys((m.what, m.source) for output in outputs for m in output.missing)
    return ", ".join(f"{what} ({source})" for what, source in kinds)


def _with_suffix(name: str, suffix: str) -> str:
    return f"{name} ({suffix})" if suffix else name
