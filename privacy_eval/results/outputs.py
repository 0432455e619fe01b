"""The files of a results folder: results.json, CSV files and results.txt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import counted
from ..io.csv_text import csv_text
from ..io.files import file_names
from ..io.schema import to_plain

if TYPE_CHECKING:
    from .records import Results

#: What the speakers of speakers.csv are of.
_OF_SET = ("system", "results_folder", "trial_set", "data_set", "split", "gender", "variant")


def to_csv(results: Results) -> str:
    """Write results.csv: one line per measurement."""
    return csv_text(results.measurements.csv_rows)


def speakers_csv(speakers: Iterable[tuple[Mapping[str, str], Mapping[str, Any]]]) -> str:
    """Write a line for each speaker, after the columns that identify the trial set."""
    from ..metrics.similarity import OF_SPEAKER

    rows = [{**identity, **to_plain(speaker)} for identity, speaker in speakers]
    columns = list(rows[0]) if rows else [*_OF_SET, *OF_SPEAKER]
    return csv_text([columns, *(row.values() for row in rows)])


def to_speakers_csv(results: Results) -> str:
    """Write speakers.csv: every speaker of every trial set, the least protected first."""
    from ..metrics.similarity import OF_SPEAKER
    from .measurements import PRESENT

    rows: list[tuple[dict[str, str], dict[str, Any]]] = []
    for r in results.similarity:
        c, of_speakers = r.condition, r.measurements.select(speaker=PRESENT)
        for (speaker,), of in of_speakers.groups("speaker").items():
            of_set = (c.system, c.results_folder, c.name, *r.place(), of[0]["variant"])
            values = {row["metric"]: row.get("value") for row in of} | {"speaker": speaker}
            one = {column: values.get(column) for column in OF_SPEAKER}
            rows.append((dict(zip(_OF_SET, of_set, strict=True)), one))
    return speakers_csv(rows)


def left_out_lines(results: Results) -> list[str]:
    """List by system what results lack, with the reason: what failed or was not evaluated, and
    trials that were left out of what was."""
    from .measurements import LEFT_OUT

    lines = [*results.failures, *results.not_evaluated]
    for system in results.systems:
        conditions = [
            f"{r.condition.label} ({counted(trials, 'trial')} without a score, "
            f"{counted(scores, 'score')} without a trial)"
            for r in results.of(system).verification
            if r.left_out
            for trials, scores in [[r.facts.get(name, 0) for name in LEFT_OUT[:2]]]
        ]
        if conditions:
            lines.append(
                f"{system}: trials of {counted(len(conditions), 'condition')} left out on request "
                f"(--allow-missing): {'; '.join(conditions)}"
            )
    return sorted(" ".join(line.split()) for line in lines)


def output_files(results: Results) -> dict[str, str]:
    """results.json, results.csv, and results.txt in the challenge's format: contents by name.

    With several systems, each has its own file in `results/`, and results.txt contains all, with
    a line `# SYSTEM` before each part; for other results folders of the protocol, their suffix is
    added to the names. Left-out results and trials are listed in left_out.txt.
    """
    from .challenge_text import to_results_txt
    from .json_store import to_json

    files = {"results.json": to_json(results), "results.csv": to_csv(results)}
    if lines := left_out_lines(results):
        files["left_out.txt"] = "".join(f"{line}\n" for line in lines)
    if any(record.measurements.values("speaker") for record in results.similarity):
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
