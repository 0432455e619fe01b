"""What a tree holds and lacks, as text for its owner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .config import Config
from .errors import PrivacyEvalError
from .io.data_dir import read_spk2gender, read_utt2spk
from .io.scores import read_trials, same_trials
from .tree import Condition, System, leaves_tree

_SHOWN = 6


@dataclass(frozen=True)
class Report:
    """Lines to print, and whether what is there can be evaluated."""

    lines: tuple[str, ...]
    ready: bool


def check_systems(systems: Iterable[System], config: Config, tree: Path) -> Report:
    """Which conditions of each system have scores and keys, and what is missing for
    which stage."""
    systems = list(systems)
    lines = [f"plan: {config.title} ({config.name})"]
    conditions = [c for system in systems for c in system.conditions]
    inside = [c for c in conditions if not c.outside]
    outside = dict.fromkeys(path for c in conditions for path in c.outside)
    wrong = [*map(leaves_tree, outside), *_gender_errors(inside), *_key_errors(inside)]
    ready = not wrong
    for system in systems:
        scored = [c for c in system.conditions if c.scores is not None]
        keyless = [c for c in scored if c.trials is None]
        scoreless = [c.name for c in system.conditions if c.scores is None]
        missing = system.missing(config)
        lines.append(f"system {system.name}: {len(scored)} conditions with scores")
        lines += [f"  in {folder}" for folder in system.folders]
        lines += _listed("  without a trial key (stage 6 needs it)", [c.trial_set for c in keyless])
        if keyless:
            tried = ", ".join(str(p) for p in keyless[0].keys_tried[:4])
            lines.append(f"    looked for {tried}, ...")
        lines += _listed("  folders without `scores` (stage 5)", scoreless)
        absent = [name for name in missing if name not in scoreless]
        lines += _listed("  of the plan, not there (stage 5)", absent)
        if not missing:
            lines.append("  complete: every condition of the plan has scores")
        decoded = len(system.recognition)
        wanted = 2 * len(config.splits) * len(config.recognition.data_sets)
        lines.append(
            f"  speech recognition: {decoded} ASR-* folders"
            + ("" if decoded else f" of {wanted}; the tables of word error rates will be left out")
        )
        lines += _listed("  folders the plan has no place for", [p.name for p in system.unknown])
        if system.problem:
            lines.append(f"  {system.problem}")
        ready &= not keyless and system.problem is None
    if len(lines) == 1:
        lines.append("no scores yet: nothing to evaluate before stage 5")
    lines += _data_lines(tree / "data", config)
    lines += wrong
    lines.append("looked at names, trial keys and genders; score files are read in stage 6")
    return Report(tuple(lines), ready)


def _data_lines(data: Path, config: Config) -> list[str]:
    """Which data folders of the plan are there, original and anonymized."""
    if not data.is_dir():
        return [f"{data}: not there (stages 1 to 5; trial keys may also come from keys-*)"]
    trial_sets = list(config.trial_sets())
    names = [*(t.enrollment_name for t in trial_sets), *(t.trials_name for t in trial_sets)]
    sets = list(dict.fromkeys(names))
    lines = []
    for title, suffix, stage in (
        ("original sets", "", "stages 1 and 3"),
        ("anonymized sets", config.anon_suffix, "stage 4"),
    ):
        missing = [name + suffix for name in sets if not (data / (name + suffix)).is_dir()]
        lines.append(f"data: {len(sets) - len(missing)} of {len(sets)} {title}")
        lines += _listed(f"  not there ({stage})", missing)
    return lines


def _key_errors(conditions: Iterable[Condition]) -> list[str]:
    """Trial keys that are malformed, and keys of one trial set, original and anonymized,
    that do not list the same trials."""
    keys: dict[tuple[str, str, str], set[Path]] = {}
    for c in conditions:
        if c.trials is not None:
            keys.setdefault((c.data_set, c.split, c.gender), set()).add(c.trials)
    errors = []
    for _, paths in sorted(keys.items()):
        try:
            first, *others = (read_trials(path) for path in sorted(paths))
        except PrivacyEvalError as error:
            errors.append(str(error))
            continue
        errors += [
            f"{other.path}: other trials or labels than in {first.path}"
            for other in others
            if not same_trials(first, other)
        ]
    return errors


def _gender_errors(conditions: Iterable[Condition]) -> list[str]:
    """What is wrong with the genders of the trial sets' speakers, where both utt2spk and
    spk2gender stand beside the trial key: results are reported by gender."""
    folders = {c.trials.parent: c.gender for c in conditions if c.trials is not None}
    errors = []
    for folder, gender in sorted(folders.items()):
        utt2spk, spk2gender = folder / "utt2spk", folder / "spk2gender"
        if not (utt2spk.is_file() and spk2gender.is_file()):
            continue
        try:
            speakers = sorted(set(read_utt2spk(utt2spk).values()))
            genders = read_spk2gender(spk2gender)
        except PrivacyEvalError as error:
            errors.append(str(error))
            continue
        unknown = [s for s in speakers if s not in genders]
        other = [s for s in speakers if genders.get(s, gender) != gender]
        errors += _listed(f"{spk2gender}: speakers without a gender", unknown)
        errors += _listed(f"{spk2gender}: speakers of another gender than {gender}", other)
    return errors


def _listed(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return [f"{title}: {len(names)}: {shown}"]
