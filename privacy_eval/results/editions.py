"""Import the summaries of 2022, 2024 and 2026, and their CSV files."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError, located
from ..io.csv_text import csv_rows
from ..io.edition_summary import TABLES, parse_rank, split_summary
from ..io.wer import WerLine
from ..metrics.recall import mean_of_folds
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, Protocol, ResultsFolder
from ..tree.conditions import RecognitionCondition, trial_conditions
from .challenge_text import extract_system, import_results_txt
from .records import EmotionRecord, RecognitionRecord, Results, VerificationRecord, merge

_SPEECH = {"original": ORIGINAL, "anon": ANONYMIZED}

#: Columns without blank cells; a fold may lack an emotion.
_REQUIRED = ("EER", "WER", "UAR")
_CELL = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,17})?")


@dataclass(frozen=True)
class _Row:
    """A row of a table: location, identifying cells, and values in percent."""

    where: str
    identity: Sequence[str]
    values: Mapping[str, float]


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

    def read(self, text: str, results_folder: str | None = None) -> Results:
        """Import a file of any supported format, detected from its first line.

        Parameters
        ----------
        results_folder : str or None
            Suffix of the results folder of a results.txt or CSV; of a CSV, by default, that of the
            ASV model whose folder the file is in.

        Raises
        ------
        PrivacyEvalError
            As the methods for each form.
        """
        first = text.split("\n", 1)[0].rstrip("\r")
        if first.startswith("---- "):
            return self.rank(text)
        if first.startswith(",dataset,"):
            return self.csv(text, self._asv_model(results_folder))
        if re.match(r"ASV-\S+  EER: ", first):
            return self.summary(text)
        text = extract_system(text, self.path, self.system)
        return self.results_txt(text, results_folder or "")

    def _asv_model(self, results_folder: str | None) -> str | None:
        """Return the training speech of a CSV file's ASV model, if it is known."""
        folder = Path(self.path).absolute().parent.name
        for part in self.protocol.results_folders:
            starts = tuple(template.partition("{suffix}")[0] for template in part.folders)
            is_within = results_folder is None and folder.startswith(starts)
            if is_within or part.suffix == results_folder:
                return part.asv_model
        return None

    def results_txt(self, text: str, results_folder: str) -> Results:
        """Import a results.txt, see `import_results_txt`."""
        return import_results_txt(
            text,
            self.path,
            self.protocol,
            system=self.system,
            results_folder=results_folder,
            anon_suffix=self.anon_suffix,
            provenance=self.provenance,
        )

    def rank(self, text: str) -> Results:
        """Import a `result_for_rank*`, or a part of it.

        Raises
        ------
        PrivacyEvalError
            A block, row or value of another form, or not of the protocol; a duplicate.
        """
        records: defaultdict[str, Any] = defaultdict(tuple)
        for table in parse_rank(text, self.path):
            rows = [
                _Row(f"{self.path}:{line}", row, dict(zip(table.columns, values, strict=True)))
                for line, (row, values) in enumerate(
                    zip(table.rows, table.values, strict=True), start=table.line
                )
            ]
            field, of_table = self._records(table.kind, rows, _ASV_MODELS.get(table.kind))
            records[field] += of_table
        return self._checked(Results(self.protocol, **records))

    def summary(self, text: str) -> Results:
        """Import a `RESULTS_summary_*` of 2022: original speech belongs to the results folder of
        the model trained on it, all else to the other.

        Raises
        ------
        PrivacyEvalError
            As `import_results_txt`.
        """
        results_txt = split_summary(text, self.path)
        folders = {speech: self._part(speech).suffix for speech in SPEECH}
        parts: dict[str, list[str]] = {folders[ANONYMIZED]: [], folders[ORIGINAL]: []}
        anonymized = True
        for line in results_txt.split("\n"):
            if not line.startswith(" "):
                name = line.split("  ")[0]
                is_set = not name.startswith(("ASV-", "ASR-"))
                anonymized = is_set or name.endswith(self.anon_suffix)
            part = folders[ANONYMIZED if anonymized else ORIGINAL]
            for suffix, lines in parts.items():
                lines.append(line if suffix == part else "")
        imported = [
            self.results_txt("\n".join(lines) + "\n", suffix)
            for suffix, lines in parts.items()
            if any(lines)
        ]
        return self._checked(merge(imported))

    def csv(self, text: str, asv_model: str | None) -> Results:
        """Import a `results*.csv` or `results_folds*.csv`.

        Parameters
        ----------
        asv_model : str or None
            Training speech of the ASV model, which the file does not state.

        Raises
        ------
        PrivacyEvalError
            A column, row or value of another form, or not of the protocol; an unknown ASV model.
        """
        (_, header), *lines = csv_rows(text, self.path)
        names = [n for n in header[1:] if n in _REQUIRED or n.startswith("ACC_")]
        identity = header[1 : len(header) - len(names)]
        rows = []
        for number, cells in lines:
            if number == 2 and not cells[0]:
                continue  # below UAR and ACC_*: mean
            where, texts = f"{self.path}:{number}", cells[1 + len(identity) :]
            required = (t for n, t in zip(names, texts, strict=True) if n in _REQUIRED)
            if not (all(required) and all(not t or _CELL.fullmatch(t) for t in texts)):
                raise PrivacyEvalError(f"{where}: expected {','.join(header)}, found {cells}")
            values = {n: float(t) for n, t in zip(names, texts, strict=True) if t}
            rows.append(_Row(where, cells[1 : 1 + len(identity)], values))
        kinds = {TABLES[kind].identity: kind for kind in ("asv", "asr", "ser")}
        kinds["dataset", "split", "fold", "ser"] = "folds"
        kind = kinds.get(tuple(identity))
        is_table = header[1:] == [*identity, *names] and len(set(names)) == len(names)
        if kind is None or not rows or not is_table:
            raise PrivacyEvalError(f"{self.path}:1: not a table of results: {','.join(header)}")
        records: dict[str, Any] = dict([self._records(kind, rows, asv_model)])
        return self._checked(Results(self.protocol, **records))

    def _records(
        self, kind: str, rows: Sequence[_Row], asv_model: str | None
    ) -> tuple[str, tuple[Any, ...]]:
        """Make the records of a table; return the field of `Results` for them, and the records."""
        if kind in _ASV_MODELS:
            return "verification", tuple(self._verification(rows, asv_model))
        if kind == "asr":
            return "recognition", tuple(self._recognition(rows))
        return "emotion", tuple(self._folds(rows) if kind == "folds" else self._emotion(rows))

    def _verification(
        self, rows: Iterable[_Row], asv_model: str | None
    ) -> Iterator[VerificationRecord]:
        """Make records of EERs under one ASV model."""
        if asv_model is None:
            raise PrivacyEvalError(
                f"{self.path}: does not state whether its ASV model was trained on original or "
                "anonymized speech: choose with --results-folder"
            )
        part = self._part(asv_model)
        conditions = {
            (c.data_set, c.split, c.gender, c.enrollment, c.trial): c
            for c in trial_conditions(self.protocol, part, self.anon_suffix, self.system).values()
        }
        for row in rows:
            key = (*row.identity[:3], *(_SPEECH.get(word, word) for word in row.identity[3:]))
            if key not in conditions:
                raise self._unknown(row)
            metrics = {"challenge": {self.protocol.eer: row.values["EER"] / 100}}
            yield VerificationRecord(conditions[key], metrics, {}, provenance=self.provenance)

    def _recognition(self, rows: Iterable[_Row]) -> Iterator[RecognitionRecord]:
        """Make records of word error rates."""
        recognition = self.protocol.recognition
        [(model, recognizer)] = list(recognition.models.items())[:1]
        for row in rows:
            condition = self._set_condition(row, "ASR-")
            name = condition.name.removeprefix("ASR-")
            line = WerLine(
                row.values["WER"] / 100,
                *(None, None, None, None, None),
                decode=f"{recognizer}/{name}",
                lm_weight=None,
                word_insertion_penalty=None,
            )
            yield RecognitionRecord(condition, recognition.average, model, line, self.provenance)

    def _emotion(self, rows: Iterable[_Row]) -> Iterator[EmotionRecord]:
        """Make records of recalls of emotions."""
        for row in rows:
            condition = self._set_condition(row, "SER-")
            yield EmotionRecord(condition, _recalls(row), provenance=self.provenance)

    def _folds(self, rows: Iterable[_Row]) -> Iterator[EmotionRecord]:
        """Make records of the means over folds; an emotion that a fold lacks is left out of its
        mean."""
        folds_of: dict[RecognitionCondition, dict[str, dict[str, float]]] = {}
        for row in rows:
            data_set, split, fold, speech = row.identity
            at = replace(row, identity=(data_set, split, speech))
            folds = folds_of.setdefault(self._set_condition(at, "SER-"), {})
            if fold in folds:
                raise PrivacyEvalError(f"{row.where}: duplicate fold {fold}")
            folds[fold] = _recalls(row)
        of_original = {
            (c.data_set, c.split): folds for c, folds in folds_of.items() if c.speech == ORIGINAL
        }
        for c, folds in folds_of.items():
            original = of_original.get((c.data_set, c.split), folds)
            if different := sorted(original.keys() ^ folds.keys()):
                raise PrivacyEvalError(
                    f"{self.path}: {c.name}: only original or only anonymized speech has the fold "
                    f"{', '.join(different)}"
                )
            yield EmotionRecord(c, mean_of_folds(folds), folds, self.provenance)

    def _set_condition(self, row: _Row, prefix: str) -> RecognitionCondition:
        """Return the set of original or anonymized speech of a row."""
        sets = self.protocol.recognition.data_sets if prefix == "ASR-" else self.protocol.emotion
        for d, split in itertools.product(sets, self.protocol.splits):
            if (d.id, split) == tuple(row.identity[:2]) and row.identity[2] in _SPEECH:
                speech = _SPEECH[row.identity[2]]
                suffix = self.anon_suffix if speech == ANONYMIZED else ""
                name = f"{prefix}{d.set_name(split)}{suffix}"
                part = self._part(ORIGINAL).suffix
                return RecognitionCondition(self.system, part, name, d.id, split, speech)
        raise self._unknown(row)

    def _part(self, asv_model: str) -> ResultsFolder:
        for part in self.protocol.results_folders:
            if part.asv_model == asv_model:
                return part
        raise PrivacyEvalError(
            f"{self.path}: protocol {self.protocol.name} has no results folder of a model trained "
            f"on {asv_model} speech (check --conf)"
        )

    def _unknown(self, row: _Row) -> PrivacyEvalError:
        return PrivacyEvalError(
            f"{row.where}: {' '.join(row.identity)} is not part of protocol {self.protocol.name} "
            "(check --conf)"
        )

    def _checked(self, results: Results) -> Results:
        """Return results after checking that no record is duplicate and no value out of range."""
        names = [(type(r), r.condition) for r in results.records()]
        duplicate = next((r for n, r in enumerate(names) if r in names[:n]), None)
        if duplicate is not None:
            raise PrivacyEvalError(f"{self.path}: duplicate {duplicate[1].name}")
        with located(self.path):
            results.check()
        return results


#: Training speech of the ASV model of a block, whatever its trial speech.
_ASV_MODELS = {"asv": ORIGINAL, "asv_anon": ANONYMIZED}


def _recalls(row: _Row) -> dict[str, float]:
    return {name.lower(): value / 100 for name, value in row.values.items()}
