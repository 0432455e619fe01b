"""Records of the tables of results of the editions since 2024."""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from ..choices import GENDERS, grouped
from ..errors import InputWarning, PrivacyEvalError, counted, located
from ..io.result_tables import UNTOLD, SummaryRow, SummaryTable, fraction
from ..io.wer import WerLine
from ..metrics.utility import mean_of_folds
from ..protocol.protocol import ANONYMIZED, ORIGINAL, Protocol, ResultsFolder
from ..tree.conditions import Condition, trial_conditions
from .measurements import rows_of_values
from .records import Record, Results, facts_of_line

#: Speech by its name in tables.
SPOKEN = {"original": ORIGINAL, "anon": ANONYMIZED}

K = TypeVar("K")
#: Values by name: where it is first, how many are repeated, and the values by key.
Found: TypeAlias = dict[K, tuple[str, int, dict[str, Any]]]

#: Training speech of the ASV model of a block.
ASV_MODELS = {"asv_orig": ORIGINAL, "asv_anon": ANONYMIZED}


@dataclass(frozen=True)
class TableImporter:
    """Makes records of tables of results.

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

    def tables(
        self, tables: Sequence[SummaryTable], told: Mapping[object, str] = MappingProxyType({})
    ) -> Results:
        """Import the tables of a file.

        Parameters
        ----------
        told : mapping
            Training speech of the ASV model of each table that does not tell it, by its content.

        Raises
        ------
        PrivacyEvalError
            A row or value that is not of the protocol; two values of a row.
        """
        found: Found[tuple[str, str | None, tuple[str, ...]]] = {}
        for table in tables:
            model = ASV_MODELS.get(table.kind) or told.get(table.content)
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

    def _records(
        self, kind: str, rows: Sequence[SummaryRow], asv_model: str | None
    ) -> tuple[str, Iterator[Any]]:
        """Make the records of a table; return the field of `Results` for them, and the records."""
        if asv_model:
            return "verification", self._verification(rows, asv_model)
        if kind == "asr":
            return "recognition", self._recognition(rows)
        return "emotion", self._folds(rows) if kind == "folds" else self._emotion(rows)

    def _verification(self, rows: Iterable[SummaryRow], asv_model: str) -> Iterator[Record]:
        """Make records of EERs under one ASV model."""
        part = self.part(asv_model)
        conditions = {
            (c.data_set, c.split, c.gender, c.enrollment, c.trial): c
            for c in trial_conditions(self.protocol, part, self.anon_suffix, self.system).values()
        }
        for row in rows:
            key = (*row.identity[:3], *(SPOKEN.get(word, word) for word in row.identity[3:]))
            if key not in conditions:
                raise self._unknown(row)
            if "EER" in row.values:
                values = {self.protocol.eer: fraction(row.values["EER"])}
                yield self._record("verification", conditions[key], values, row)

    def _recognition(self, rows: Iterable[SummaryRow]) -> Iterator[Record]:
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

    def _emotion(self, rows: Iterable[SummaryRow]) -> Iterator[Record]:
        """Make records of recalls of emotions."""
        for row in rows:
            condition = self._set_condition(row, "SER-")
            if recalls := _recalls(row):
                yield self._record("emotion", condition, recalls, row)

    def _folds(self, rows: Iterable[SummaryRow]) -> Iterator[Record]:
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
            yield Record(c, "emotion", every, provenance=self.provenance)

    def _record(
        self,
        kind: str,
        condition: Condition,
        values: Mapping[str, float],
        row: SummaryRow,
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> Record:
        """Make a record of the values of a row."""
        made: dict[str, Any] = {"provenance": self.provenance, "stated": row.stated()}
        variant = {"variant": "challenge"} if kind == "verification" else {}
        return Record(condition, kind, rows_of_values(values, **variant), facts, **made)

    def _set_condition(self, row: SummaryRow, prefix: str) -> Condition:
        """Return the set of original or anonymized speech of a row."""
        sets = self.protocol.recognition.data_sets if prefix == "ASR-" else self.protocol.emotion
        for d, split in itertools.product(sets, self.protocol.splits):
            if (d.id, split) == tuple(row.identity[:2]) and row.identity[-1] in SPOKEN:
                speech = SPOKEN[row.identity[-1]]
                suffix = self.anon_suffix if speech == ANONYMIZED else ""
                name = f"{prefix}{d.set_name(split)}{suffix}"
                part = self.part(ORIGINAL).suffix
                return Condition(self.system, part, name, d.id, split, trial=speech)
        raise self._unknown(row)

    def _unknown(self, row: SummaryRow) -> PrivacyEvalError:
        return PrivacyEvalError(
            f"{row.where}: {' '.join(row.identity)} is not part of protocol {self.protocol.name} "
            "(check --conf)"
        )

    def part(self, name: str) -> ResultsFolder:
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


def _recalls(row: SummaryRow) -> dict[str, float]:
    return {name.lower(): fraction(value) for name, value in row.values.items() if "-" not in name}


def add_values(found: Found[K], key: K, values: Mapping[str, Any], where: str) -> None:
    """Add the values of a name, which may occur again with the same ones: files of several runs.

    Parameters
    ----------
    found : mapping
        By name: where it is first, the number of repeated values, and its values.
    where : str
        Beginning of the message of an error: file and line.

    Raises
    ------
    PrivacyEvalError
        Another value than before.
    """
    first, n_repeated, of = found.setdefault(key, (where, 0, {}))
    repeated = [name for name in values if name in of]
    if others := [name for name in repeated if of[name] != values[name]]:
        said = f"another {others[0]} than at {first}: the file has several runs, keep one"
        raise PrivacyEvalError(f"{where}: {said}")
    found[key] = first, n_repeated + len(repeated), {**of, **values}


def warn_repeated(path: str, found: Found[Any]) -> None:
    """Warn of values that a file has more than once."""
    if n_repeated := sum(n for _, n, _ in found.values()):
        said = f"{counted(n_repeated, 'value')} repeated unchanged (several runs?), counted once"
        warnings.warn(InputWarning(f"{path}: {said}"), stacklevel=3)
