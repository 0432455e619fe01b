"""Import the results files of 2020 to 2026, of every revision, and their CSV files."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..choices import GENDERS, grouped
from ..errors import InputWarning, PrivacyEvalError, UsageError, located
from ..io.csv_text import csv_rows
from ..io.results_txt import (
    BARE_EER,
    TABLES,
    UNTOLD,
    Found,
    SummaryRow,
    SummaryTable,
    add_values,
    fraction,
    parse_rank,
    summary_averages,
    table_rows,
    warn_repeated,
)
from ..io.wer import WerLine
from ..metrics.utility import mean_of_folds
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, Protocol, ResultsFolder
from ..tree.conditions import Condition, trial_conditions
from .challenge_text import extract_system, import_results_txt
from .measurements import rows_of_values
from .records import Results, RowsRecord, VerificationRecord, facts_of_line, merge

_SPEECH = {"original": ORIGINAL, "anon": ANONYMIZED}


#: Training speech of the ASV model of a block.
_ASV_MODELS = {"asv_orig": ORIGINAL, "asv_anon": ANONYMIZED}


@dataclass(frozen=True)
class Importer:
    """Makes records of a file's values.

    Attributes
    ----------
    path : str
    protocol : Protocol
    system : str
    anon_suffix : str
    provenance : mapping
    """

    path: str
    protocol: Protocol
    system: str
    anon_suffix: str
    provenance: Mapping[str, Any]

    def read(self, text: str, models: Sequence[str] = ()) -> Results:
        """Import a file of any supported format, detected from its first line.

        Parameters
        ----------
        models : sequence of str
            Attack models, or suffixes of results folders, that tell the ASV model of the file, or
            of each `ASV results` of it in order; by default what the file's name, the folder that
            it is in, and its blocks tell.

        Raises
        ------
        PrivacyEvalError
            As the methods for each form; a file that does not tell its ASV model.
        """
        parts = [self._part(name) for name in models]
        if not text.strip():
            raise PrivacyEvalError(f"{self.path}: empty file: no results (evaluation stopped?)")
        first = text.strip().split("\n", 1)[0]
        if first.startswith("----"):
            told = [part.asv_model for part in parts]
            return self.tables(parse_rank(text, self.path), told, Path(self.path).name)
        most = 0 if re.match(r"ASV-\S+[ \t]+EER", first) else 1  # a summary tells its models
        if len(parts) > most:
            raise UsageError(f"{self.path}: --attack-model: this file needs {most}")
        if not most:
            return self.summary(text)
        part = parts[0] if parts else self._told_part(text)
        if "dataset" in first.split(","):
            return self.tables([self._csv(text)], [part.asv_model] if part else [])
        if part is None:
            raise self._untold(1, "results.txt")
        return self.results_txt(extract_system(text, self.path, self.system), part.suffix)

    def _part(self, name: str) -> ResultsFolder:
        """Return the results folder of a suffix, or of an ASV model by its training speech or by
        an attack model."""
        of_model = {a.id: a.asv_model for a in self.protocol.attack_models}
        for part in self.protocol.results_folders:
            if name in (part.suffix, part.asv_model) or of_model.get(name) == part.asv_model:
                return part
        raise PrivacyEvalError(
            f"{self.path}: protocol {self.protocol.name} has no results folder or attack model "
            f"{name!r} (check --conf; it has {', '.join(of_model)})"
        )

    def _told_part(self, text: str) -> ResultsFolder | None:
        """Return the results folder that a file is of, if its folder, name or recognizer tells;
        refuse one of a model that the protocol lacks."""
        path, parts = Path(self.path).absolute(), self.protocol.results_folders
        folder, recognizers = path.parent.name, self.protocol.recognition.models.items()
        used = [model for model, recognizer in recognizers if f"/{recognizer}/" in text]
        model = _named_model(path.name) or "".join(used[: len(used) == 1])
        for part in parts:
            starts = tuple(template.partition("{suffix}")[0] for template in part.folders)
            if folder.startswith(starts) or (part.suffix and folder.endswith(part.suffix)):
                return part
        of_model = {part.asv_model: part for part in parts if not part.folders}
        is_of_2022 = BARE_EER.search(text) or (model == ANONYMIZED and used != [ORIGINAL])
        if of_model and ANONYMIZED not in of_model and is_of_2022:
            raise UsageError(
                f"{self.path}: not of {self.protocol.name}, by name, recognizer or EERs without %: "
                f"give --conf (vpc2022?), else --attack-model {self.protocol.average_attack_model}"
            )
        is_main = len(parts) == 1 or (not model and folder.startswith("results"))
        return of_model.get(model) or (parts[0] if of_model and is_main else None)

    def _untold(self, n: int, what: str) -> PrivacyEvalError:
        """Ask for the ASV models of `n` blocks."""
        ids = " or ".join(a.id for a in self.protocol.attack_models[-2:])
        each = f", for each of the {n} in order, with commas" if n > 1 else ""
        return PrivacyEvalError(
            f"{self.path}: {what} does not tell whether its ASV model was trained on original or "
            f"anonymized speech: give --attack-model ({ids}){each}"
        )

    def results_txt(self, text: str, results_folder: str) -> Results:
        """Import a results.txt, see `import_results_txt`."""
        of: dict[str, Any] = {"system": self.system, "anon_suffix": self.anon_suffix}
        of.update(results_folder=results_folder, provenance=self.provenance)
        return import_results_txt(text, self.path, self.protocol, **of)

    def tables(
        self, tables: Sequence[SummaryTable], models: Sequence[str], name: str = ""
    ) -> Results:
        """Import the tables of a `result_for_rank*`, of a part of it, or of CSV.

        Parameters
        ----------
        models : sequence of str
            Training speech of the ASV model of each `ASV results`, in order.
        name : str
            A file's name, which may tell that of a single one.

        Raises
        ------
        PrivacyEvalError
            A row or value that is not of the protocol; two values of a row; a table that does not
            tell its ASV model.
        """
        untold = self._untold_models(tables, models, name)
        found: Found[tuple[str, str | None, tuple[str, ...]]] = {}
        for table in tables:
            model = _ASV_MODELS.get(table.kind) or untold.get(table.content)
            kind = UNTOLD if model else table.kind
            for row in table.rows:
                add_values(found, (kind, model, row.identity), row.values, row.where)
        warn_repeated(self.path, found)
        genders = {identity[2] for kind, _, identity in found if kind == UNTOLD}
        protocol = self.protocol.with_parts({g: GENDERS[g] for g in sorted(genders & {*GENDERS})})
        importer, records = replace(self, protocol=protocol), defaultdict[str, Any](tuple)
        for (kind, model), of_kind in grouped(found.items(), lambda item: item[0][:2]).items():
            rows = [SummaryRow(where, key[2], values) for key, (where, _, values) in of_kind]
            field, of_table = importer._records(kind, rows, model)
            records[field] += tuple(of_table)
        results = Results(protocol, **records)
        with located(self.path):
            results.check()
        return results

    def _untold_models(
        self, tables: Sequence[SummaryTable], models: Sequence[str], name: str
    ) -> dict[object, str]:
        """Return the training speech of the ASV model of each `ASV results` by its content: as
        given, or as the file's name tells of a single one; else the first block is the pretrained
        model's, and the next may be the retrained one's."""
        blocks: dict[object, SummaryTable] = {}
        for table in (table for table in tables if table.kind == UNTOLD):
            blocks.setdefault(table.content, table)
        told = dict.fromkeys(_ASV_MODELS[t.kind] for t in tables if t.kind in _ASV_MODELS)
        if models and told and not blocks and {*told} != {*models}:
            raise UsageError(f"{self.path}: --attack-model: headings name {', '.join(told)} speech")
        named = _named_model(name)
        if not models and named and len(blocks) == 1:
            models = [named]
        elif not models and len(blocks) == 2 and _is_retrained([*blocks.values()], tables):
            models = SPEECH
            said = "'ASV results' are read as the pretrained model's, then the retrained one's"
            warnings.warn(InputWarning(f"{self.path}: {said}"), stacklevel=3)
        if len(models) != len(blocks) and blocks:
            raise self._untold(len(blocks), "a table of EERs")
        return dict(zip(blocks, models, strict=False))

    def summary(self, text: str) -> Results:
        """Import a `RESULTS_summary_*` of 2022: original speech belongs to the results folder of
        the model trained on it, all else to the other.

        Raises
        ------
        PrivacyEvalError
            As `import_results_txt`.
        """
        averages = {number for number, *_ in summary_averages(text)}  # these follow from the rest
        parts: dict[str, list[str]] = {ANONYMIZED: [], ORIGINAL: []}
        speech = ANONYMIZED
        for number, line in enumerate(text.split("\n"), start=1):
            if match := re.match(r"([^\s%:]+)(?!\S)", line):  # a name, not a value
                is_set = match[1].startswith(("ASV-", "ASR-"))
                is_original = is_set and not match[1].endswith(self.anon_suffix)
                speech = ORIGINAL if is_original else ANONYMIZED
            for part, of_part in parts.items():
                of_part.append(line if part == speech and number not in averages else "")
        return merge(
            self.results_txt("\n".join(lines), self._part(part).suffix)
            for part, lines in parts.items()
            if any(lines)
        )

    def _csv(self, text: str) -> SummaryTable:
        """Read a `results*.csv` or `results_folds*.csv`.

        Raises
        ------
        PrivacyEvalError
            A column, row or value of another form.
        """
        (_, header), *lines = csv_rows(text, self.path)
        n_index = int(header[0] == "")
        names = header[n_index:]
        kinds = [kind for kind, form in TABLES.items() if {*form.identity} <= {*names}]
        if not kinds or not lines:
            raise PrivacyEvalError(f"{self.path}:1: not a table of results: {','.join(header)}")
        if n_index and not lines[0][1][0]:  # below UAR and ACC_*: mean
            below = lines.pop(0)[1][1:]
            names = [f"{n}-{cell}" if cell else n for n, cell in zip(names, below, strict=True)]
        located_cells = ((f"{self.path}:{number}", cells[n_index:]) for number, cells in lines)
        rows = table_rows(kinds[0], names, f"{self.path}:1", located_cells)
        return SummaryTable(kinds[0], rows, 0)

    def _records(
        self, kind: str, rows: Sequence[SummaryRow], asv_model: str | None
    ) -> tuple[str, Iterator[Any]]:
        """Make the records of a table; return the field of `Results` for them, and the records."""
        if asv_model:
            return "verification", self._verification(rows, asv_model)
        if kind == "asr":
            return "recognition", self._recognition(rows)
        return "emotion", self._folds(rows) if kind == "folds" else self._emotion(rows)

    def _verification(
        self, rows: Iterable[SummaryRow], asv_model: str
    ) -> Iterator[VerificationRecord]:
        """Make records of EERs under one ASV model."""
        part = self._part(asv_model)
        conditions = {
            (c.data_set, c.split, c.gender, c.enrollment, c.trial): c
            for c in trial_conditions(self.protocol, part, self.anon_suffix, self.system).values()
        }
        for row in rows:
            key = (*row.identity[:3], *(_SPEECH.get(word, word) for word in row.identity[3:]))
            if key not in conditions:
                raise self._unknown(row)
            if "EER" in row.values:
                metrics = {"challenge": {self.protocol.eer: fraction(row.values["EER"])}}
                of: dict[str, Any] = {"provenance": self.provenance, "stated": row.stated()}
                yield VerificationRecord(conditions[key], metrics, {}, **of)

    def _recognition(self, rows: Iterable[SummaryRow]) -> Iterator[RowsRecord]:
        """Make records of word error rates."""
        recognition = self.protocol.recognition
        [(model, recognizer)] = list(recognition.models.items())[:1]
        for row in (row for row in rows if "WER" in row.values):
            condition = self._set_condition(row, "ASR-")
            name = condition.name.removeprefix("ASR-")
            counts = (None, None, None, None, None)
            line = WerLine(fraction(row.values["WER"]), *counts, f"{recognizer}/{name}", None, None)
            facts = {
                **facts_of_line(line),
                "language_model": recognition.average,
                "asr_model": model,
            }
            yield self._record("recognition", condition, {"wer": line.wer}, row, facts)

    def _emotion(self, rows: Iterable[SummaryRow]) -> Iterator[RowsRecord]:
        """Make records of recalls of emotions."""
        for row in rows:
            condition = self._set_condition(row, "SER-")
            if recalls := _recalls(row):
                yield self._record("emotion", condition, recalls, row)

    def _folds(self, rows: Iterable[SummaryRow]) -> Iterator[RowsRecord]:
        """Make records of the means over folds; an emotion that a fold lacks is left out of its
        mean."""
        folds_of: dict[Condition, dict[str, dict[str, float]]] = {}
        for row in rows:
            if "UAR" not in row.values:
                raise PrivacyEvalError(f"{row.where}: a fold without UAR (evaluate it again)")
            folds = folds_of.setdefault(self._set_condition(row, "SER-"), {})
            folds[row.identity[2]] = _recalls(row)
        of_original = {
            (c.data_set, c.split): folds for c, folds in folds_of.items() if c.trial == ORIGINAL
        }
        for c, folds in folds_of.items():
            original = of_original.get((c.data_set, c.split), folds)
            if different := sorted(original.keys() ^ folds.keys()):
                raise PrivacyEvalError(
                    f"{self.path}: {c.name}: only original or only anonymized speech has the fold "
                    f"{', '.join(different)}"
                )
            of_folds = (rows_of_values(values, fold=fold) for fold, values in folds.items())
            every = (*rows_of_values(mean_of_folds(folds)), *itertools.chain(*of_folds))
            yield RowsRecord(c, "emotion", every, provenance=self.provenance)

    def _record(
        self,
        kind: str,
        condition: Condition,
        values: Mapping[str, float],
        row: SummaryRow,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> RowsRecord:
        """Make a record of the values of a row."""
        made: dict[str, Any] = {"provenance": self.provenance, "stated": row.stated()}
        return RowsRecord(condition, kind, rows_of_values(values), facts, **made)

    def _set_condition(self, row: SummaryRow, prefix: str) -> Condition:
        """Return the set of original or anonymized speech of a row."""
        sets = self.protocol.recognition.data_sets if prefix == "ASR-" else self.protocol.emotion
        for d, split in itertools.product(sets, self.protocol.splits):
            if (d.id, split) == tuple(row.identity[:2]) and row.identity[-1] in _SPEECH:
                speech = _SPEECH[row.identity[-1]]
                suffix = self.anon_suffix if speech == ANONYMIZED else ""
                name = f"{prefix}{d.set_name(split)}{suffix}"
                part = self._part(ORIGINAL).suffix
                return Condition(self.system, part, name, d.id, split, trial=speech)
        raise self._unknown(row)

    def _unknown(self, row: SummaryRow) -> PrivacyEvalError:
        return PrivacyEvalError(
            f"{row.where}: {' '.join(row.identity)} is not part of protocol {self.protocol.name} "
            "(check --conf)"
        )


def _named_model(name: str) -> str | None:
    """Return the training speech that the words of a file's name tell, if they tell one."""
    words = {word[:4] for word in re.split("[^a-z]+", name.lower())}
    told = [model for word, model in _SPEECH.items() if word[:4] in words]
    return told[0] if len(told) == 1 else None


def _is_retrained(two: Sequence[SummaryTable], tables: Sequence[SummaryTable]) -> bool:
    """Tell whether the second of two tables of EERs is the retrained model's: it is of the same
    sets, in a later run that repeats nothing else, and EERs of original speech differ."""
    kinds = [{table.kind for table in tables if table.run == block.run} for block in two]
    places = [{row.identity[:3] for row in block.rows} for block in two]
    original = [{key for key in block.content if "anon" not in key[0]} for block in two]
    is_later = two[0].run < two[1].run and kinds[0] & kinds[1] == {UNTOLD}
    return is_later and places[0] == places[1] and (original[0] != original[1] or not original[0])


def _recalls(row: SummaryRow) -> dict[str, float]:
    return {name.lower(): fraction(value) for name, value in row.values.items() if "-" not in name}
