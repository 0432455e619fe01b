"""Whether a tree is complete, what it lacks, what in it cannot be right, and what it would
cost to evaluate. Nothing is run and nothing is written.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabulate import tabulate

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_spk2gender, read_utt2spk
from ..protocol.protocol import Protocol
from ..results.records import SimilarityRecord
from ..stages.asv_scores import Models, is_ours, new_target
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
from ..tree.conditions import ConditionFiles, System, trial_conditions
from ..tree.confine import leaves_tree
from ..tree.discovery import beside_each_other, no_scores, unknown_folders
from ..tree.keys import trial_keys
from .differences import Sets
from .findings import ROWS, Finding, Report, Section, cut, printable
from .lacking import SCORES, Lack, Needs, Subject
from .plausible import Judged, judge, title

#: Width of a system's name in the table.
_NAME_WIDTH = 30
_GIB = 2**30

UNUSABLE = "cannot be evaluated"
KEYLESS = "scores without a trial key"
ANEW = "scores that fit the trials of now"
VALID = "scores that can be evaluated"
GENDERS = "speakers without a gender, or of another one than their set"
UNKNOWN_FOLDERS = "folders that are no conditions of the plan (--conf, --anon-suffix)"
BESIDE = "results folders beside each other, each of which counts as a system"
WITHOUT_RECOGNITION = "no ASR-* folders, so that word error rates will be left out"
MEMORY = "more memory than this machine has (--nj takes fewer jobs)"


@dataclass
class _State:
    """A system and what it lacks.

    Attributes
    ----------
    lacks : dict
        What every condition of the plan lacks, by its results folder's suffix and name.
    similarity : dict
        What the voice similarity of every trial set lacks, by results folder's suffix and
        name.
    """

    subject: Subject
    lacks: dict[tuple[str, str], list[Lack]] = field(default_factory=dict)
    similarity: dict[tuple[str, str], list[Lack]] = field(default_factory=dict)

    @property
    def row(self) -> tuple[str, ...]:
        system = self.subject.system
        return (
            cut(printable(self.subject.name), _NAME_WIDTH),
            _share(self.lacks),
            _share(self.similarity),
            str(len(system.recognition) if system else 0),
            _summary(self.lacks) or "nothing",
        )


def check_tree(
    systems: Iterable[System],
    models: Models,
    *,
    name: str | None = None,
    anon_suffix: str | None = None,
    read: bool = True,
    nj: int = 1,
    replicates: int = 0,
    progress: Progress | None = None,
) -> Report:
    """What there is to say of a tree.

    Parameters
    ----------
    systems : iterable of System
        Those found; none where nothing is scored yet.
    models : Models
        The tree and its plan.
    name, anon_suffix : str, optional
        Of a system that is not there yet, see `new_target`.
    read : bool
        Read the score files and say what in them cannot be right.
    nj, replicates : int
        Jobs and resamplings that costs are estimated for.
    """
    systems, protocol, place = list(systems), models.protocol, models.place
    inside = [c for s in systems for c in s.conditions if not c.outside]
    outside = dict.fromkeys(path for s in systems for c in s.conditions for path in c.outside)
    judged = judge(inside, scores=read, allow_missing=place.allow_missing, progress=progress)
    sets = Sets(models)
    states = [_State(subject) for subject in _subjects(systems, models, name, anon_suffix)]
    needs = Needs(models)
    errors = [Finding(leaves_tree(path)) for path in outside]
    for state in states:
        errors += _look(state, needs, judged, protocol)
    suffixes = list(dict.fromkeys(state.subject.anon_suffix for state in states))
    different = sets.differences(suffixes)
    for folder, marks in _model_folders(protocol, place.tree, suffixes).items():
        different += sets.vectors(folder, marks)
    errors += [Finding(s.problem) for s in systems if s.problem is not None]
    errors += [Finding(text) for text in (*judged.keys_wrong, *sets.wrong)]
    errors = list(dict.fromkeys((*errors, *_gender_errors(inside, models))))
    warnings = [*judged.findings, *different, *_names(systems, place.results, protocol)]
    costs, more = _costs(states, judged, needs, sets, nj, replicates)
    warnings += more
    lacking = _lacking(states)
    return Report(
        ready=not errors,
        verdict=_verdict(states, errors, warnings),
        head=(
            f"protocol: {protocol.title} ({protocol.name}); tree: {place.tree}; "
            f"results: {place.results}",
        ),
        rows=tuple(
            tabulate(
                [state.row for state in sorted(states, key=_order(states, errors))],
                headers=("system", "scores", "similarity", "ASR", "lacks"),
                tablefmt="plain",
                disable_numparse=True,
            ).splitlines()
        ),
        whole=sum(not any(state.lacks.values()) for state in states) if errors else 0,
        sections=(
            Section("errors:", tuple(errors)),
            Section("not there, and who makes it:", tuple(lacking)),
            Section("warnings:", tuple(dict.fromkeys(warnings))),
        ),
        foot=(*costs, _what_was_read(read)),
    )


def _subjects(
    systems: Sequence[System], models: Models, name: str | None, anon_suffix: str | None
) -> list[Subject]:
    """The systems, or the one that stage 5 would make scores of."""
    if not systems:
        new = new_target(models.place, models.protocol, name=name, anon_suffix=anon_suffix)
        return [Subject(new.name, new.anon_suffix, None, alone=True)]
    having = Counter(s.anon_suffix for s in systems)
    return [Subject(s.name, s.anon_suffix, s, having[s.anon_suffix] == 1) for s in systems]


def _look(state: _State, needs: Needs, judged: Judged, protocol: Protocol) -> list[Finding]:
    """Fill in what a system lacks; what of it cannot be evaluated."""
    subject, errors = state.subject, []
    system = subject.system
    there = {
        (c.condition.results_folder, c.condition.name): c
        for c in (system.conditions if system else ())
    }
    for part in protocol.results_folders:
        for name, condition in trial_conditions(protocol, part, subject.anon_suffix).items():
            c = there.get((part.suffix, name))
            lacks: list[Lack] = []
            if c is not None and c.scores is None and any(c.folder.glob("[sS]core*")):
                lacks = [Lack(VALID, "their owner")]
                errors.append(_error(c, no_scores(c)))
            elif c is None or c.scores is None:
                lacks = needs.scores(condition, part, subject)
            elif c.trials is None:
                lacks = needs.key(condition)
                tried = ", ".join(str(path) for path in c.keys_tried[:2])
                errors.append(Finding(KEYLESS, f"{title(c)} (looked for {tried}, ...)"))
            elif c in judged.wrong:
                remade = _ours(c.scores.parent) and _only_scores(
                    needs.scores(condition, part, subject)
                )
                lacks = [Lack(ANEW, "stage 5") if remade else Lack(VALID, "their owner")]
                if not remade:
                    errors.append(_error(c, judged.wrong[c]))
            elif c.outside:
                lacks = [Lack(VALID, "their owner")]
            state.lacks[part.suffix, name] = lacks
        for trial_set in protocol.trial_sets():
            lacks = needs.similarity(trial_set, part, subject)
            state.similarity[part.suffix, trial_set.trials_name] = lacks
    return errors


def _error(c: ConditionFiles, message: str) -> Finding:
    """Why a condition cannot be evaluated: the reason first, which of a long line stays."""
    reason, where = " ".join(message.split()), c.condition.name + _in(c.condition.results_folder)
    place = ""
    scores, key = re.escape(str(c.scores)), re.escape(str(c.trials))
    for start in (
        rf"({scores}(?::\d+)?): ",
        rf"({scores}) and {key} do not hold the same trials: ",
        rf"(){re.escape(c.condition.system)}: the folder {re.escape(c.condition.name)} ",
    ):
        if found := re.match(start, reason):
            place, reason = found[1], reason[found.end() :]
    return Finding(f"{c.condition.system}: {UNUSABLE}", f"{reason} ({where})", place)


def _ours(folder: Path) -> bool:
    try:
        return is_ours(folder)
    except PrivacyEvalError:  # said already: it was read before
        return False


def _only_scores(lacks: Sequence[Lack]) -> bool:
    """Whether stage 5 can make a condition's scores (anew)."""
    return [(lack.what, lack.stage) for lack in lacks] in (
        [(SCORES, "stage 5")],
        [(ANEW, "stage 5")],
    )


def _verdict(
    states: Sequence[_State],
    errors: Sequence[Finding],
    warnings: Sequence[Finding],
) -> str:
    whole = sum(len(state.lacks) for state in states)
    there = sum(not lacks for state in states for lacks in state.lacks.values())
    makeable = sum(_only_scores(lacks) for state in states for lacks in state.lacks.values())
    of_systems = _number(len(states), "system")
    if errors:
        text = f"cannot be evaluated as it is: {_number(len(errors), 'error')}"
    elif there == whole:
        text = "complete: every condition of the plan has scores and a key "
        text += f"({there} of {whole}, {of_systems})"
    elif there:
        text = f"can be evaluated, but lacks {whole - there} of {whole} conditions of {of_systems}"
        text += f", stage 5 can make {makeable}" if makeable else ""
    elif makeable:
        text = f"no scores yet: stage 5 can make those of {makeable} of {whole} conditions"
    else:
        text = "no scores yet, and stage 5 lacks what they are made of"
    return text + (f"; {_number(len(dict.fromkeys(warnings)), 'warning')}" if warnings else "")


def _lacking(states: Sequence[_State]) -> list[Finding]:
    """What is not there: for every kind of thing and those who lack it, which."""
    wanted_by: dict[Lack, dict[str, list[str]]] = {}
    for state in states:
        for (suffix, name), lacks in state.lacks.items():
            for lack in lacks:
                where = wanted_by.setdefault(lack, {})
                where.setdefault(state.subject.name, []).append(name + _in(suffix))
    alike: dict[tuple[str, tuple[str, ...]], list[Lack]] = {}
    for lack, users in wanted_by.items():
        alike.setdefault((_kind(lack), tuple(users)), []).append(lack)
    found = []
    for (kind, systems), lacks in alike.items():
        conditions = {(s, c) for lack in lacks for s in systems for c in wanted_by[lack][s]}
        whom = f"{kind}, for {_number(len(conditions), 'condition')} of {abbreviate(systems)}"
        for lack, system in itertools.product(lacks, systems):
            names = ", ".join(wanted_by[lack][system])
            if lack.name:
                found.append(Finding(whom, lack.name, f"for {system} {names}"))
            else:
                number = _number(len(wanted_by[lack][system]), "condition")
                found.append(Finding(kind, f"{system} ({number})", names))
    for state in states:
        unmeasured = [name + _in(suffix) for (suffix, name), own in state.similarity.items() if own]
        if unmeasured:
            kind = f"stage 7: voice similarity, for want of {_summary(state.similarity)}"
            number = f"{len(unmeasured)} of {len(state.similarity)} trial sets"
            found.append(Finding(kind, f"{state.subject.name} ({number})", ", ".join(unmeasured)))
    return found


def _kind(lack: Lack) -> str:
    where = f" in {lack.where}" if lack.where else ""
    only = ", all else is there" if _only_scores([lack]) else ""
    return f"{lack.stage}: {lack.what}{where}{only}"


def _names(systems: Sequence[System], results: Path, protocol: Protocol) -> list[Finding]:
    """What the plan has no place for, what may be counted twice, and what is left out of
    tables."""
    found = [
        Finding(UNKNOWN_FOLDERS, f"{folder} ({len(names)})", ", ".join(names))
        for folder, names in unknown_folders(systems).items()
    ]
    found += [
        Finding(BESIDE, f"{folder} ({', '.join(names)})")
        for folder, names in beside_each_other(systems, results).items()
    ]
    without = [s for s in systems if protocol.recognition.data_sets and not s.recognition]
    return found + [Finding(WITHOUT_RECOGNITION, s.name) for s in without]


def _model_folders(
    protocol: Protocol, tree: Path, suffixes: Iterable[str]
) -> dict[Path, list[str]]:
    """The model folders of a plan, and what marks the anonymized sets that each is for."""
    wanted = {part.asv_model for part in protocol.results_folders}
    folders: dict[Path, list[str]] = {}
    for model in protocol.asv_models:
        for suffix in suffixes if model.trained_on in wanted else ():
            folders.setdefault(tree / model.model_folder(suffix), []).append(suffix)
    return folders


def _gender_errors(conditions: Iterable[ConditionFiles], models: Models) -> list[Finding]:
    """What is wrong with the genders of the trial sets' speakers, where both utt2spk and
    spk2gender stand beside the trial key: results are reported by gender."""
    folders = {c.trials.parent: c.condition.gender for c in conditions if c.trials is not None}
    errors = []
    for folder, gender in sorted(folders.items()):
        utt2spk, spk2gender = folder / "utt2spk", folder / "spk2gender"
        if not (utt2spk.is_file() and spk2gender.is_file()):
            continue
        try:
            models.check_inside(utt2spk, spk2gender)
            speakers = sorted(set(read_utt2spk(utt2spk).values()))
            genders = read_spk2gender(spk2gender)
        except PrivacyEvalError as error:
            errors.append(Finding(str(error)))
            continue
        wrong = [s for s in speakers if genders.get(s) != gender]
        if wrong:
            number = f"{len(wrong)} not {gender}: {abbreviate(wrong)}"
            errors.append(Finding(GENDERS, f"{spk2gender} ({number})"))
    return errors


def _costs(
    states: Sequence[_State],
    judged: Judged,
    needs: Needs,
    sets: Sets,
    nj: int,
    replicates: int,
) -> tuple[list[str], list[Finding]]:
    """What the stages would cost, as lines; a warning if that is too much."""
    known = {
        (c.condition.system, c.condition.results_folder, c.condition.name): n
        for c, n in judged.trials.items()
    }
    to_score: list[float] = []
    to_evaluate: list[float] = []
    utterances: list[float] = []
    for state in states:
        subject = state.subject
        named = {
            (part.suffix, name): condition
            for part in needs.protocol.results_folders
            for name, condition in trial_conditions(
                needs.protocol, part, subject.anon_suffix
            ).items()
        }
        there = {(c.condition.results_folder, c.condition.name): c for c in _conditions_of(subject)}
        for (suffix, name), lacks in state.lacks.items():
            if _only_scores(lacks):
                place = needs.place
                key, _ = trial_keys(
                    named[suffix, name], needs.protocol, place.tree, place.results, place.keys
                )
                trials = likely_lines(key)
                to_score.append(trials)
            elif not lacks:
                c = there[suffix, name]
                trials = known.get((subject.name, suffix, name)) or likely_lines(c.scores)
            else:
                continue
            to_evaluate.append(trials)
        utterances += [
            len(sets.speakers(name) or ())
            for (_, name), lacks in state.similarity.items()
            if not lacks
        ]
    cores = _cores()
    stages = [
        _Work("stage 5", "condition", "trials to score", to_score, 1, scoring_cost),
        _Work(
            "stage 6", "condition", "trials", to_evaluate, 1, lambda n: metrics_cost(n, replicates)
        ),
        _Work("stage 7", "trial set", "pairs of utterances", utterances, 2, similarity_cost),
    ]
    rows, most = [], 0.0
    for work in stages:
        if not work.sizes:
            continue
        costs = [work.cost(size) for size in work.sizes]
        jobs = [share(costs, costs, (j, nj)) for j in range(1, nj + 1)]
        seconds = [sum(c.seconds for c in job) for job in jobs]
        memory = [needed_bytes(job) for job in jobs if job]
        most = max(most, sum(memory))
        rows.append(
            (
                f"  {work.stage}",
                _number(len(costs), work.what),
                f"{_size(sum(size**work.power for size in work.sizes))} {work.of}",
                _time(max(max(seconds), sum(seconds) / cores)),
                f"{max(memory) / _GIB:.1f} GiB in the largest job",
            )
        )
    if not rows:
        return [], []
    resampled = f", {replicates} resamplings" if replicates else ""
    heading = (
        f"to make all anew, about ({_number(nj, 'job')} on {_number(cores, 'core')}{resampled}):"
    )
    present = _memory_here()
    found = []
    if present is not None and most > present:
        found = [
            Finding(MEMORY, f"{most / _GIB:.1f} GiB for {nj} jobs, {present / _GIB:.1f} there")
        ]
    table = tabulate(rows, tablefmt="plain", disable_numparse=True, preserve_whitespace=True)
    return [heading, *table.splitlines()], found


@dataclass(frozen=True)
class _Work:
    """Pieces of work of one stage: their sizes, and what a size to some power counts."""

    stage: str
    what: str
    of: str
    sizes: Sequence[float]
    power: int
    cost: Callable[[float], Cost]


def _conditions_of(subject: Subject) -> tuple[ConditionFiles, ...]:
    return subject.system.conditions if subject.system else ()


def _cores() -> int:
    """Those that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Linux has it
        return os.cpu_count() or 1


def _memory_here() -> float | None:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (ValueError, OSError):  # a system that does not say
        return None


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _size(number: float) -> str:
    """A number of three digits or so."""
    for power, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= power:
            return f"{number / power:.3g}{unit}"
    return f"{number:.0f}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _share(lacks: Mapping[tuple[str, str], list[Lack]]) -> str:
    return f"{sum(not own for own in lacks.values())}/{len(lacks)}"


def _summary(lacks: Mapping[tuple[str, str], list[Lack]]) -> str:
    """What of all that is lacking, and who makes it."""
    kinds = dict.fromkeys((lack.what, lack.stage) for own in lacks.values() for lack in own)
    return ", ".join(f"{what} ({stage})" for what, stage in kinds)


def _in(suffix: str) -> str:
    return f" ({suffix})" if suffix else ""


def _order(
    states: Sequence[_State], errors: Sequence[Finding]
) -> Callable[[_State], tuple[bool, str]]:
    """By name; where a screen does not show all, those that lack something first."""
    apart = len(states) > ROWS or bool(errors)
    return lambda state: (apart and not any(state.lacks.values()), state.subject.name)


def _what_was_read(scores: bool) -> str:
    if scores:
        return "keys, lists and score files were read, x-vectors sampled; --details: every item"
    return "score files were not read (--quick); --details: every item"


def not_there(
    systems: Iterable[System],
    protocol: Protocol,
    tree: Path,
    results: Path,
    keys: Path | None,
    similarity: Iterable[SimilarityRecord],
) -> list[str]:
    """Per system, conditions whose trials the tree has but that have no scores, and trial
    sets whose voice similarity was not measured: what its results do not hold. Systems that
    lack the same share a line."""
    measured = {
        (s.condition.system, s.condition.results_folder, s.condition.trial_set) for s in similarity
    }
    lacking: dict[str, list[str]] = {}
    for system in systems:
        scored = {
            (c.condition.results_folder, c.condition.name)
            for c in system.conditions
            if c.scores is not None
        }
        for part in protocol.results_folders:
            if part.suffix not in system.parts:
                continue
            where = f"{system.name}{part.suffix}"
            unscored = [
                name
                for name, condition in trial_conditions(protocol, part, system.anon_suffix).items()
                if (part.suffix, name) not in scored
                and trial_keys(condition, protocol, tree, results, keys)[0] is not None
            ]
            unmeasured = [
                t.trials_name
                for t in protocol.trial_sets()
                if (system.name, part.suffix, t.trials_name) not in measured
                and (tree / "data" / t.trials_name / "utt2spk").is_file()
            ]
            for what, names in (("scores", unscored), ("voice similarity", unmeasured)):
                if names:
                    text = f"no {what} of {len(names)}: {', '.join(names)}"
                    lacking.setdefault(text, []).append(where)
    return [f"{', '.join(systems)}: {text}" for text, systems in lacking.items()]
