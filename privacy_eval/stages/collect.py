"""Stage 8: all records in results.json, results.csv and results.txt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from .. import __version__
from ..errors import PrivacyEvalError
from ..io.confine import outside_message
from ..io.files import digest, file_names, read_bytes, relative, write_set
from ..io.wer import read_wer_folder
from ..protocol.protocol import Protocol
from ..results.challenge_text import recognition_records, to_results_txt
from ..results.csv_export import to_csv, to_speakers_csv
from ..results.json_store import to_json
from ..results.records import RecognitionRecord, Results, VerificationRecord
from ..tree.conditions import System
from .privacy_metrics import Options, condition_tasks, same_inputs, stored_record


def collect(
    systems: Iterable[System],
    out: Path,
    protocol: Protocol,
    *,
    tree: Path,
    partial: bool = False,
    stale: Mapping[str, str] = MappingProxyType({}),
) -> Results:
    """All records of some systems, with the word error rates beside them.

    Parameters
    ----------
    partial : bool
        Take what there is; conditions without a record of the present score file and
        trial key are named in `Results.not_evaluated`.
    stale : mapping
        Conditions whose scores are not those of the present x-vectors, to what is wrong.

    Raises
    ------
    PrivacyEvalError
        Unless `partial`: conditions without such a record.
    """
    systems = list(systems)
    records: list[VerificationRecord] = []
    unknown = [
        f"{relative(path, tree)} (no condition of the plan {protocol.name})"
        for path in sorted({path for system in systems for path in system.unmatched})
    ]
    absent: list[str] = []
    for task in condition_tasks(systems, out, tree, Options()):
        record = stored_record(task)
        name = f"{task.condition.condition.system} {task.condition.condition.label}"
        if name in stale:
            absent.append(f"{name} ({stale[name]})")
        elif record is None or not same_inputs(task, record):
            absent.append(name)
        else:
            records.append(record)
    absent += [f"{s.name} ({s.problem})" for s in systems if s.problem]
    if absent and not partial:
        shown = "\n".join(f"  {name}" for name in absent[:5]) + ("\n  ..." * (len(absent) > 5))
        raise PrivacyEvalError(
            f"{out}: {len(absent)} conditions have no record of their present scores and trials; "
            f"evaluate them first (or collect the others with --allow-missing):\n{shown}"
        )
    recognition: list[RecognitionRecord] = []
    unread: list[str] = []
    for system in systems:
        for folder in system.recognition:
            try:
                if folder.outside:
                    raise PrivacyEvalError(outside_message(folder.outside[0]))
                lines, sources = read_wer_folder(folder.folder)
            except PrivacyEvalError as error:
                if not partial:
                    raise
                unread.append(f"{system.name} {folder.condition.name} ({error})")
                continue
            inputs = {relative(path, tree): digest(read_bytes(path)) for path in sources}
            recognition += recognition_records(
                lines,
                protocol,
                folder.condition,
                {"version": __version__, "inputs": inputs},
            )
    left_out = (*unknown, *absent, *unread)
    return Results(protocol, tuple(records), tuple(recognition), not_evaluated=left_out)


def write_outputs(results: Results, out: Path) -> list[Path]:
    """Write `output_files`."""
    return write_set(out, output_files(results), listed_in=".results.list")


def output_files(results: Results) -> dict[str, str]:
    """results.json, results.csv, and results.txt in the challenge's format: contents by name.

    Several systems have a results.txt each in `results/` and share one, with a line
    `# SYSTEM` before each part; the plan's other results folders add their suffix.
    """
    files = {"results.json": to_json(results), "results.csv": to_csv(results)}
    if any(record.speakers for record in results.similarity):
        files["speakers.csv"] = to_speakers_csv(results)
    systems = results.systems
    names = file_names(systems)
    parts: dict[str, list[str]] = {f.suffix: [] for f in results.protocol.results_folders[:1]}
    for system in systems:
        for suffix in results.results_folders(system):
            text = to_results_txt(results, system, suffix)
            if len(systems) > 1:
                files[f"results/{names[system]}{suffix}.txt"] = text
                text = f"# {system}\n{text}"
            parts.setdefault(suffix, []).append(text)
    for suffix, texts in parts.items():
        files[f"results{suffix}.txt"] = "".join(texts)
    return files
