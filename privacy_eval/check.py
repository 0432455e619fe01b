"""What a tree holds and lacks, as text for its owner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .asv import TreeVectors, back_end_folder
from .config import Config
from .errors import PrivacyEvalError
from .io.data_dir import read_spk2gender, read_utt2spk
from .io.scores import read_trials, same_trials
from .results import SimilarityRecord
from .tree import Condition, System, leaves_tree, named_comparisons, trial_keys

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
    suffixes = list(dict.fromkeys(s.anon_suffix for s in systems)) or [config.anon_suffix]
    lines += _data_lines(tree / "data", config, suffixes)
    lines += _model_lines(tree, config, suffixes)
    lines += wrong
    lines.append("looked at names, trial keys and genders; score files are read in stage 6")
    return Report(tuple(lines), ready)


def not_there(
    systems: Iterable[System],
    config: Config,
    tree: Path,
    results: Path,
    keys: Path | None,
    similarity: Iterable[SimilarityRecord],
) -> list[str]:
    """Per system, conditions whose trials the tree has but that have no scores, and trial
    sets whose voice similarity was not measured: what its results do not hold."""
    measured = {(s.system, s.results_folder, s.trial_set) for s in similarity}
    lines = []
    for system in systems:
        named = named_comparisons(config, system.anon_suffix)
        scored = {(c.results_folder, c.name) for c in system.conditions if c.scores is not None}
        for part in config.results_folders:
            if part.suffix not in system.parts:
                continue
            where = f"{system.name}{part.suffix}"
            unscored = [
                name
                for name, meaning in named.items()
                if (part.suffix, name) not in scored
                and trial_keys(meaning, config, tree, results, keys)[0] is not None
            ]
            unmeasured = [
                t.trials_name
                for t in config.trial_sets()
                if (system.name, part.suffix, t.trials_name) not in measured
                and (tree / "data" / t.trials_name / "utt2spk").is_file()
            ]
            if unscored:
                lines.append(f"{where}: no scores of {len(unscored)}: {', '.join(unscored)}")
            if unmeasured:
                lines.append(
                    f"{where}: no voice similarity of {len(unmeasured)}: {', '.join(unmeasured)}"
                )
    return lines


def _data_lines(data: Path, config: Config, suffixes: Iterable[str]) -> list[str]:
    """Which data folders of the plan are there, original and anonymized."""
    if not data.is_dir():
        return [f"{data}: not there (stages 1 to 5; trial keys may also come from keys-*)"]
    sets = _sets(config)
    lines = []
    for suffix in ("", *suffixes):
        title = f"anonymized sets, {suffix}" if suffix else "original sets"
        there = {s for s in sets if (data / f"{s}{suffix}").is_dir()}
        held = {
            s
            for s in set(sets) - there
            if suffix and any((data / f"{h}{suffix}").is_dir() for h in config.holders(s))
        }
        lines.append(
            f"data: {len(there)} of {len(sets)} {title}"
            + (f"; {len(held)} more will be cut out of larger ones (stage 5)" if held else "")
        )
        missing = [s + suffix for s in sets if s not in there | held]
        lines += _listed(f"  not there ({'stage 4' if suffix else 'stages 1 and 3'})", missing)
    return lines


def _model_lines(tree: Path, config: Config, suffixes: Iterable[str]) -> list[str]:
    """Which speaker-verification models of the plan are there, and x-vectors of which sets."""
    sets, lines = _sets(config), []
    wanted = {folder.asv_model for folder in config.results_folders}
    seen: set[Path] = set()
    for suffix in suffixes:
        for model in (m for m in config.asv_models if m.trained_on in wanted):
            folder = tree / model.model_folder(suffix)
            vectors = TreeVectors(tree, config, folder)
            title = f"model trained on {model.trained_on} speech, {model.model_folder(suffix)}"
            if folder not in seen:
                there = back_end_folder(tree, model, suffix) is not None
                lines.append(f"{title}: back end {'there' if there else 'not there'}")
            for mark in ("", suffix) if folder not in seen else (suffix,):
                missing = [s + mark for s in sets if vectors.find(s, mark) is None]
                lines.append(
                    f"  x-vectors of {len(sets) - len(missing)} of {len(sets)} "
                    + (f"anonymized sets, {mark}" if mark else "original sets")
                )
                if len(missing) < len(sets):
                    lines += _listed("    not there (stage 5)", missing)
            seen.add(folder)
    return lines


def _sets(config: Config) -> list[str]:
    """Enrollment and trial sets of a plan."""
    trial_sets = list(config.trial_sets())
    names = [*(t.enrollment_name for t in trial_sets), *(t.trials_name for t in trial_sets)]
    return list(dict.fromkeys(names))


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
