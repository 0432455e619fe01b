"""Import the results files of 2020 to 2026, of every revision, and their CSV files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputWarning, PrivacyEvalError, UsageError, abbreviate
from ..io.result_tables import (
    STATISTICS,
    TABLES,
    UNTOLD,
    SummaryRow,
    SummaryTable,
    read_table,
    table_rows,
)
from ..metrics import describe
from ..numbers.challenge_averages import challenge_averages
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, SUFFIX, ResultsFolder
from ..results.records import Results, merge
from ..results.table_records import ASV_MODELS, SPOKEN, TableImporter
from .results_txt import BARE_EER, import_results_txt

#: By which an average may differ from that of its parts, which have two decimals or more.
_ROUNDING = 0.01


class Importer(TableImporter):
    """Makes records of a file of any supported format."""

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
        parts = [self.part(name) for name in models]
        if not text.strip():
            raise PrivacyEvalError(f"{self.path}: empty file: no results (evaluation stopped?)")
        first = text.strip().split("\n", 1)[0]
        if first.startswith("----"):
            told = [part.asv_model for part in parts]
            return self._tables(parse_rank(text, self.path), told, Path(self.path).name)
        most = 0 if re.match(r"ASV-\S+[ \t]+EER", first) else 1  # a summary tells its models
        if len(parts) > most:
            raise UsageError(f"{self.path}: --attack-model: this file needs {most}")
        if not most:
            return self.summary(text)
        part = parts[0] if parts else self._told_part(text)
        if "dataset" in first.split(","):
            return self._tables([read_table(text, self.path)], [part.asv_model] if part else [])
        if part is None:
            raise self._untold(1, "results.txt")
        return self.results_txt(extract_system(text, self.path, self.system), part.suffix)

    def _told_part(self, text: str) -> ResultsFolder | None:
        """Return the results folder that a file is of, if its folder, name or recognizer tells;
        refuse one of a model that the protocol lacks."""
        path, parts = Path(self.path).absolute(), self.protocol.results_folders
        folder, recognizers = path.parent.name, self.protocol.recognition.models.items()
        used = [model for model, recognizer in recognizers if f"/{recognizer}/" in text]
        model = _named_model(path.name) or "".join(used[: len(used) == 1])
        for part in parts:
            starts = tuple(template.partition(SUFFIX)[0] for template in part.folders)
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

    def _tables(
        self, tables: Sequence[SummaryTable], models: Sequence[str], name: str = ""
    ) -> Results:
        """Import tables. The training speech of the ASV model of each `ASV results` is as given, or
        as the file's name tells of a single one; else the first block is the pretrained model's,
        and the next may be the retrained one's."""
        blocks: dict[object, SummaryTable] = {}
        for table in (table for table in tables if table.kind == UNTOLD):
            blocks.setdefault(table.content, table)
        told = dict.fromkeys(ASV_MODELS[t.kind] for t in tables if t.kind in ASV_MODELS)
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
        return self.tables(tables, dict(zip(blocks, models, strict=False)))

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
            self.results_txt("\n".join(lines), self.part(part).suffix)
            for part, lines in parts.items()
            if any(lines)
        )


def _named_model(name: str) -> str | None:
    """Return the training speech that the words of a file's name tell, if they tell one."""
    words = {word[:4] for word in re.split("[^a-z]+", name.lower())}
    told = [model for word, model in SPOKEN.items() if word[:4] in words]
    return told[0] if len(told) == 1 else None


def _is_retrained(two: Sequence[SummaryTable], tables: Sequence[SummaryTable]) -> bool:
    """Tell whether the second of two tables of EERs is the retrained model's: it is of the same
    sets, in a later run that repeats nothing else, and EERs of original speech differ."""
    kinds = [{table.kind for table in tables if table.run == block.run} for block in two]
    places = [{row.identity[:3] for row in block.rows} for block in two]
    original = [{key for key in block.content if "anon" not in key[0]} for block in two]
    is_later = two[0].run < two[1].run and kinds[0] & kinds[1] == {UNTOLD}
    return is_later and places[0] == places[1] and (original[0] != original[1] or not original[0])


def extract_system(text: str, path: str, system: str) -> str:
    """Extract one system from a results.txt of several (`# SYSTEM` before each); return all of
    one without such lines. Other parts become blank lines, so that line numbers stay.

    Raises
    ------
    PrivacyEvalError
        Another system is named there, but not this one.
    """
    lines = text.split("\n")
    systems = [line[2:].strip() for line in lines if line.startswith("# ")]
    if not systems:
        return text
    if system not in systems:
        raise UsageError(f"{path}: no system {system!r}; available: {abbreviate(systems)}")
    current, selected = "", []
    for line in lines:
        if line.startswith("# "):
            current, line = line[2:].strip(), ""
        selected.append(line if current == system else "")
    return "\n".join(selected) + "\n"


def check_averages(results: Results, text: str, path: str) -> None:
    """Check the averages at the end of a summary against the values that it was imported with.

    Raises
    ------
    PrivacyEvalError
        With file and line: an average that contradicts its parts.
    """
    averages = list(summary_averages(text))
    expected = {a["title"]: a for a in challenge_averages(results)} if averages else {}
    for line, title, value in averages:
        of = expected.get(title)
        if of is None or of["value"] is None:
            continue
        mean = describe(of["metric"]).printed(of["value"])
        if abs(value - mean) > _ROUNDING:
            raise PrivacyEvalError(
                f"{path}:{line}: {title}: {value:.3f} is not the average of its values, {mean:.3f}"
            )


_HEADING = re.compile(r"-{2,9} *(?:Time\b.{0,40}?|(?P<heading>[^- ].{1,60}?)) *-{2,9}")


def parse_rank(text: str, path: str) -> list[SummaryTable]:
    """Parse a `result_for_rank*` or one of its parts.

    Parameters
    ----------
    text : str
    path : str
        For messages.

    Raises
    ------
    PrivacyEvalError
        With `path` and line: a heading, column or row of another form.
    """
    tables: list[SummaryTable] = []
    run, kind, at = 0, "", ""
    body: list[tuple[str, str]] = []
    headings = {form.heading: kind for kind, form in TABLES.items() if form.heading}
    for number, line in enumerate([*text.split("\n"), "---- Time ----"], start=1):
        where, line = f"{path}:{number}", " ".join(line.split())
        if match := _HEADING.fullmatch(line):
            if kind:
                tables.append(SummaryTable(kind, _rows(kind, body, at), run))
            run += match["heading"] is None
            kind, at, body = headings.get(match["heading"] or "", ""), where, []
            if match["heading"] and not kind:
                expected = ", ".join(headings)
                raise PrivacyEvalError(f"{where}: unknown heading {line[:80]!r} (not {expected})")
        elif line and kind:
            body.append((where, line))
        elif line:
            raise PrivacyEvalError(f"{where}: expected '---- ... ----', found {line[:80]!r}")
    if not any(table.rows for table in tables):
        raise PrivacyEvalError(f"{path}: no results: no table has rows (evaluation stopped?)")
    return tables


def _rows(kind: str, body: Sequence[tuple[str, str]], where: str) -> tuple[SummaryRow, ...]:
    """Parse the lines of a table below its heading."""
    if len(body) < 2 or body[0][1] == "Empty DataFrame":
        warnings.warn(InputWarning(f"{where}: {TABLES[kind].heading}: no rows"), stacklevel=4)
        return ()
    (at, header), *lines = body
    names, second = header.split(), iter(lines[0][1].split())
    if {*lines[0][1].split()} <= {*STATISTICS}:
        names = [n if n in TABLES[kind].identity else f"{n}-{next(second, '')}" for n in names]
        del lines[0]
    return table_rows(kind, names, at, ((where, line.split()) for where, line in lines))


_AVERAGE = re.compile(r"((?:Weighted a|A)verage [^:]+): (-?\d{1,3}\.\d{3})", re.ASCII)


def summary_averages(text: str) -> Iterator[tuple[int, str, float]]:
    """Yield the line number, title and value of each average of a `RESULTS_summary_*`.

    Examples
    --------
    >>> list(summary_averages("Average WER dev orig: 7.305\\n"))
    [(1, 'Average WER dev orig', 7.305)]
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _AVERAGE.fullmatch(line.strip()):
            yield number, match[1], float(match[2])
