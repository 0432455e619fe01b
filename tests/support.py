"""What the tests of trees, records, tables and the command line share."""

from __future__ import annotations

import argparse
import base64
import contextlib
import copy
import csv
import io
import itertools
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import wave
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas
from PIL import Image

from privacy_eval.asv.backend import train_backend
from privacy_eval.cli import every_verb, is_of_files, main, parser
from privacy_eval.cli.stages import stage_options
from privacy_eval.io.vectors import write_matrix, write_plda, write_vector, write_vectors
from privacy_eval.io.wer import WerLine
from privacy_eval.metrics import describe
from privacy_eval.metrics.strata import Stratum
from privacy_eval.numbers.cells import Cells, at
from privacy_eval.numbers.challenge_averages import challenge_averages
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.products.freshness import Outcome, Product, write_set
from privacy_eval.protocol.protocol import Protocol, load_protocol, protocol_from_dict
from privacy_eval.report.figures import drawing
from privacy_eval.report.system_tables import system_tables
from privacy_eval.report.table import Table
from privacy_eval.results.measurements import (
    PRESENT,
    WHOLE,
    Measurements,
    Row,
    rows_of_values,
    without_blanks,
)
from privacy_eval.results.outputs import output_files
from privacy_eval.results.record_files import RESULTS_NOTE
from privacy_eval.results.records import (
    Record,
    Results,
    facts_of_line,
    line_of,
    merge,
)
from privacy_eval.stages.access import (
    AsvSystems,
    Experiment,
    TreeAccess,
    systems_under_test,
)
from privacy_eval.stages.privacy_metrics import verification_rows
from privacy_eval.tree.conditions import Condition
from privacy_eval.tree.discovery import find_systems

Item = TypeVar("Item")

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "data" / "golden" / "results"
PUBLISHED_FILES = ROOT / "tests" / "data" / "golden" / "published"

# All that tests read outside of the repository; they are skipped where it is missing.
#: Utterances of LibriSpeech with features, networks and x-vectors of Kaldi.
REAL_SPEECH = ROOT.parent / "shared" / "speech"
#: An experiment tree of real speech with scores of Kaldi.
REAL_TREE = ROOT.parent / "shared" / "real_tree"
#: Transcripts, vectors and scores of attackers, whose smaller part is in tests/data.
ATTACKERS = ROOT.parent / "shared" / "attackers"
needs_real_speech = pytest.mark.skipif(
    not REAL_SPEECH.is_dir(), reason=f"no golden speech beside the repository ({REAL_SPEECH})"
)
needs_attackers = pytest.mark.skipif(
    not ATTACKERS.is_dir(), reason=f"no golden attackers beside the repository ({ATTACKERS})"
)
needs_real_tree = pytest.mark.skipif(
    not REAL_TREE.is_dir(), reason=f"no tree of real speech beside the repository ({REAL_TREE})"
)

B1, B2 = GOLDEN / "vpc2020_B1_RESULTS_baseline", GOLDEN / "vpc2020_B2_RESULTS_mcadams"
ANON, ORIG = GOLDEN / "vpc2022_results.anon_mcadams", GOLDEN / "vpc2022_results.orig_mcadams"
SUMMARY = PUBLISHED_FILES / "vpc2022" / "RESULTS_summary_mcadams"

#: A name that means something to LaTeX, Markdown, a shell and a file system.
ODD_NAME = "50%_team & Co"


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str


def rows_record(
    kind: str, condition: Condition, rows: Iterable[Mapping[str, Any]], **facts: object
) -> Record:
    """A record of rows, whose blanks are left out."""
    stored = ({name: v for name, v in row.items() if v is not None} for row in rows)
    return Record(condition, kind, tuple(stored), facts)


def metrics_of(record: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The values of whole sets of a record in JSON, by variant."""
    found: dict[str, dict[str, float]] = {}
    for row in record["rows"]:
        if row.keys().isdisjoint(WHOLE):
            found.setdefault(row["variant"], {})[row["metric"]] = row["value"]
    return found


def intervals_of(record: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float]]]:
    """The bounds of the values of whole sets of a record in JSON, by variant."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in record["rows"]:
        if row.keys().isdisjoint(WHOLE) and "low" in row:
            found.setdefault(row["variant"], {})[row["metric"]] = row["low"], row["high"]
    return found


def pixels(image: bytes) -> tuple[tuple[int, int], bytes]:
    """Return the size and colours of an image in any format."""
    decoded = Image.open(io.BytesIO(image)).convert("RGB")
    return decoded.size, decoded.tobytes()


def put_value(
    record: dict[str, Any], metric: str, value: object, variant: str = "challenge"
) -> None:
    """Change or add a value of a record in JSON."""
    own = [r for r in record["rows"] if (r["metric"], r["variant"]) == (metric, variant)]
    if own:
        own[0]["value"] = value
    else:
        record["rows"].append({"metric": metric, "variant": variant, "value": value})


def with_row(record: Record, metric: str, /, **values: object) -> Record:
    """The record with other entries of its first row of a metric."""
    first = next(n for n, row in enumerate(record.rows) if row["metric"] == metric)
    rows = [{**row, **values} if n == first else row for n, row in enumerate(record.rows)]
    return replace(record, rows=tuple(rows))


def with_line(record: Record, **values: Any) -> Record:
    """The record of recognition with another line."""
    line = replace(line_of(record), **values)
    return with_row(record.with_facts(**facts_of_line(line)), "wer", value=line.wer)


def models_of(record: Record) -> tuple[str | None, str | None]:
    """The language model and the recognizer of a record."""
    return record.facts.get("language_model"), record.facts.get("asr_model")


def similarity_record(
    condition: Condition,
    metrics: Mapping[str, Mapping[str, float]],
    speakers: Iterable[Mapping[str, Any]] = (),
    **facts: object,
) -> Record:
    """A record of voice similarity: values by variant, and speakers of the exact one."""
    rows = [row for v, values in metrics.items() for row in rows_of_values(values, variant=v)]
    for of in speakers:
        known = {name: value for name, value in of.items() if value is not None}
        values = {name: value for name, value in known.items() if name != "speaker"}
        rows += rows_of_values(values, variant="exact", speaker=of["speaker"], n_speakers=1)
    return rows_record("similarity", condition, rows, **facts)


def speaker_values(record: Record, metric: str) -> dict[str, float]:
    """Values of speakers, in the order of the record."""
    rows = record.measurements.select(metric=metric, speaker=PRESENT)
    return {row["speaker"]: row["value"] for row in rows}


def recognized(condition: Condition, line: WerLine, **facts: object) -> Record:
    """A record of a `%WER` line."""
    row = {"metric": "wer", "value": line.wer}
    return rows_record("recognition", condition, [row], **facts_of_line(line), **facts)


def scored(
    record: Record,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
    *,
    zebra_tag: Mapping[str, str] | None = None,
    speaker_intervals: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    of_groups: Sequence[Mapping[str, Any]] | None = None,
    sessions: Mapping[str, Stratum] = MappingProxyType({}),
    **more: Any,
) -> Record:
    """A record of scores with other values, categories or intervals by variant, rows of groups of
    speakers, facts or fields."""
    values = record.by_variant() if metrics is None else metrics
    tags = record.tags if zebra_tag is None else zebra_tag
    known = {variant: record.intervals(variant) for variant in record.by_variant()}
    bounds = known if speaker_intervals is None else speaker_intervals
    rows = []
    for variant, of in values.items():
        for row in rows_of_values(of, variant=variant):
            ends = dict(
                zip(("low", "high"), bounds.get(variant, {}).get(row["metric"], ()), strict=False)
            )
            tag = {"tag": tags[variant]} if variant in tags else {}
            rows.append(row | ends | (tag if row["metric"] == "zebra_individual" else {}))
    parts = [row for row in record.rows if not row.keys().isdisjoint(WHOLE)]
    if of_groups is not None or sessions:
        of_parts = verification_rows({}, map(dict, of_groups or ()), sessions)
        parts = [without_blanks(row) for row in of_parts]
    own = {f.name for f in fields(record)}
    facts = {name: value for name, value in more.items() if name not in own}
    rest = {name: value for name, value in more.items() if name in own}
    return replace(record, rows=(*rows, *parts), facts={**record.facts, **facts}, **rest)


def verification_record(
    condition: Condition, metrics: Mapping[str, Mapping[str, float]], **more: Any
) -> Record:
    """A record of scores."""
    return scored(Record(condition, "verification", ()), metrics, **more)


def changed(record: Record, **values: Any) -> Record:
    """A record with other values of its own or of its condition."""
    of = {f.name for f in fields(Condition)}
    condition = {name: value for name, value in values.items() if name in of}
    kept = {name: value for name, value in values.items() if name not in of}
    other = replace(record, condition=replace(record.condition, **condition))
    return scored(other, **kept) if kept else other


def cli(*arguments: object) -> Run:
    """The command line, run in this process; an exception that it lets through is not caught."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Run(code, out.getvalue(), err.getvalue())


def printed(text: str) -> list[dict[str, str]]:
    """The rows of the tables that a verb prints as text, up to a blank line, by title."""
    lines, rows = text.splitlines(), []
    for number, line in enumerate(lines):
        if line.startswith("---"):
            columns = [slice(*found.span()) for found in re.finditer("-+", line)]
            titles = [lines[number - 1][column].strip() for column in columns]
            for row in itertools.takewhile(bool, lines[number + 1 :]):
                cells = (row[column].strip() for column in columns)
                rows.append(dict(zip(titles, cells, strict=True)))
    return rows


def ok(run: Run) -> Run:
    """A command that did what it was asked for."""
    assert run.code == 0, run.out + run.err
    return run


def refused(run: Run, *messages: str, code: int = 1) -> Run:
    """A command that ended with an error, which says all this."""
    assert run.code == code, run
    assert all(message in run.err for message in messages), run.err
    return run


def write_outputs(results: Results, out: Path) -> list[Path]:
    """Write the files of a results folder as `collect` does."""
    return write_set(out, output_files(results), note=RESULTS_NOTE)


def options_of(verb: str) -> dict[str, argparse.Action]:
    """The options of a verb, or of `stage NAME`, by what they set."""
    return {a.dest: a for a in parser(verb)._actions if a.dest != "help"}


def keys() -> list[str]:
    """All verbs, with each `stage NAME` in place of `stage`."""
    files = (verb for verb in every_verb() if is_of_files(verb))
    return [*files, *(f"stage {name}" for name in stage_options())]


def run_program(*command: object, cwd: Path, **environment: str) -> Run:
    """Run a program to its end, without input."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
        timeout=900,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def command(*arguments: object, cwd: Path, **environment: str) -> Run:
    """The command line in a process of its own."""
    return run_program(sys.executable, "-m", "privacy_eval", *arguments, cwd=cwd, **environment)


def script(name: str, *arguments: object) -> Run:
    """A Python script of the repository, run in this process."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(sys, "path", [*sys.path])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(ROOT / "scripts" / name), run_name="__main__")
    return Run(int(ended.value.code or 0), out.getvalue(), "")


def nonempty(items: Iterable[Item]) -> list[Item]:
    """Return the items; a test that loops over none of them would assert nothing."""
    collected = list(items)
    assert collected
    return collected


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def until(condition: Callable[[], object], seconds: float = 300) -> bool:
    """Wait for a condition, much longer than it takes on a busy machine; whether it holds."""
    limit = time.monotonic() + seconds
    while not (holds := bool(condition())) and time.monotonic() < limit:
        time.sleep(0.02)
    return holds


def interruptible() -> None:
    """Let SIGINT end a new process (a `preexec_fn`), also where the tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


#: A picture of one dot.
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def undrawn(patch: pytest.MonkeyPatch) -> None:
    """Every file of a figure in this process becomes the same dot, which takes no time: for
    tests of which figures are made, and when."""

    def save(canvas: object, files: Mapping[str, Path]) -> None:
        for file in files.values():
            file.write_bytes(DOT)

    patch.setattr(drawing, "save", save)
    patch.setattr(drawing.Drawing, "canvas", Canvas())


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too; none that another process removes meanwhile.
    Seconds that something took are left out of the files that hold nothing else."""
    files = {}
    for path in sorted(
        Path(parent, name) for parent, _, names in os.walk(folder) for name in names
    ):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                timed = path.name.endswith((".seconds", "attacker_seconds.json"))
                files[path.relative_to(folder).as_posix()] = b"" if timed else path.read_bytes()
    return files


def import_results_txt(*of: Any, **options: Any) -> Results:
    """Read a results.txt, which a wing does: what needs it skips where the wing is not there."""
    reader = pytest.importorskip(
        "privacy_eval.editions.results_txt", reason="needs the wing editions"
    )
    results: Results = reader.import_results_txt(*of, **options)
    return results


def imported(*names: Path, protocol: str = "vpc2020", system: str = "B1") -> Results:
    """Golden files as results of one system; several are the protocol's results folders."""
    loaded = load_protocol(protocol)
    return merge(
        import_results_txt(
            path.read_text(), str(path), loaded, system=system, results_folder=folder.suffix
        )
        for path, folder in zip(names, loaded.results_folders, strict=False)
    )


def with_eer(record: Record, eer: float) -> Record:
    metrics = {variant: {**values, "eer": eer} for variant, values in record.by_variant().items()}
    return scored(record, metrics)


def with_first(results: Results, record: Record) -> Results:
    """Results with another first record."""
    return replace(results, verification=(record, *results.verification[1:]))


def record_at(results: Results, *place: str) -> Record:
    """The only record under an attack model, of a split, data set and gender."""
    (found,) = (
        r
        for r in results.verification
        for c in [r.condition]
        if (c.attack_model, c.split, c.data_set, c.gender) == place
    )
    return found


def inverted(*systems: str) -> Results:
    """Imported results with the EER of original speech of some systems inverted."""
    results = merge([imported(B1, system="mine"), imported(B2, system="other")])
    records = (
        with_eer(r, 1 - r.by_variant()["challenge"]["eer"])
        if r.condition.system in systems and r.condition.is_original
        else r
        for r in results.verification
    )
    return replace(results, verification=tuple(records))


SPEAKERS = ("s1", "s2", "s3", "s4")


def utterances(speakers: Sequence[str] = SPEAKERS, each: int = 3) -> dict[str, str]:
    """Speaker of every utterance of a tiny set."""
    return {f"{s}-u{number}": s for s in speakers for number in range(each)}


def trial_lines(spoken: dict[str, str] | None = None) -> list[str]:
    """Every speaker against every utterance."""
    spoken = utterances() if spoken is None else spoken
    return [
        f"{enrolled} {utterance} {'target' if enrolled == speaker else 'nontarget'}"
        for enrolled in dict.fromkeys(spoken.values())
        for utterance, speaker in spoken.items()
    ]


def score_lines(name: str, trials: Iterable[str] | None = None) -> list[str]:
    """Scores for trials, other ones for every name."""
    generator = np.random.default_rng(zlib.crc32(os.fsencode(name)))
    lines = []
    for trial in trial_lines() if trials is None else trials:
        speaker, utterance, label = trial.split()
        lines.append(f"{speaker} {utterance} {generator.normal(2.0 * (label == 'target')):.5f}")
    return lines


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def recording_to(path: Path) -> Path:
    """Write a second of noise, another for every path, as WAV whatever its name ends in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(zlib.crc32(str(path).encode())).normal(0, 3000, 16000)
    with path.open("wb") as file, wave.open(file) as written:
        written.setparams((1, 2, 16000, 16000, "NONE", ""))
        written.writeframes(noise.astype("<i2").tobytes())
    return path


def lines_to(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def flipped_bits(content: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """Yield a content with one bit flipped, and the position of the bit, `number` times."""
    for position in np.random.default_rng(0).integers(8 * len(content), size=number).tolist():
        flipped = bytearray(content)
        flipped[position // 8] ^= 1 << position % 8
        yield position, bytes(flipped)


class Tree:
    """A small experiment tree, put together by hand and not by the toolkit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def key(self, path: str) -> Path:
        """A trial key, with utt2spk beside it where it stands in `data/`."""
        if path.startswith("data/"):
            lines_to(
                (self.root / path).parent / "utt2spk", (f"{u} {s}" for u, s in utterances().items())
            )
        return lines_to(self.root / path, trial_lines())

    def keys(self, *trial_sets: str) -> None:
        for name in trial_sets:
            self.key(f"data/{name}/trials")

    def condition(self, results: str, enrollment: str, trial: str) -> Path:
        """A folder with scores; the score file."""
        name = f"ASV-{enrollment}-{trial}"
        return lines_to(self.root / results / name / "scores", score_lines(f"{results} {name}"))

    def libri(self, results: str, *, suffix: str = "_anon", gender: str = "f") -> list[Path]:
        """The three comparisons of one trial set: o-o, o-a, a-a."""
        enrollment, trial = "libri_dev_enrolls", f"libri_dev_trials_{gender}"
        return [
            self.condition(results, enrollment, trial),
            self.condition(results, enrollment, trial + suffix),
            self.condition(results, enrollment + suffix, trial + suffix),
        ]


def three_conditions(root: Path) -> Tree:
    """A checkout with the three comparisons of one trial set."""
    tree = Tree(root)
    tree.keys("libri_dev_trials_f", "libri_dev_trials_f_anon")
    tree.libri("exp/results-now")
    return tree


#: A protocol that shares no name with the bundled ones.
OTHER_PROTOCOL = """\
name: radio
title: Radio plays
variant: exact
anon_suffix: -hidden
splits: [eval]
genders: {m: male}
results_folders:
  - {suffix: "", asv_model: original}
data_sets:
  - id: plays
    title: Plays
    row: "plays {split}"
    enrollment: "{split}-cast"
    trials: "{split}-lines-{gender}"
    weight: 1
table_rows: [plays]
comparisons:
  - {enrollment: anonymized, trial: original}
  - {enrollment: original, trial: anonymized}
attack_models:
  - {id: odd, title: Odd, enrollment: anonymized, trial: original, asv_model: original}
recognition:
  data_sets: []
  language_models: {only: lm}
  models: {original: asr}
  average: only
average_attack_model: odd
"""


#: ASV model and attack model of vpc2022's conditions: by results folder, and by original and
#: anonymized enrollment and trial speech.
MODELS_2022 = {
    ("", "o-o"): ("anonymized", None),
    ("", "o-a"): ("anonymized", None),
    ("", "a-a"): ("anonymized", "semi-informed"),
    (".orig", "o-o"): ("original", "original"),
    (".orig", "o-a"): ("original", "ignorant"),
    (".orig", "a-a"): ("original", "lazy-informed"),
}


def side_by_side(
    values: Mapping[tuple[str | None, ...], float | Mapping[str, object]],
    systems: tuple[str, ...] = (),
    **of: Any,
) -> Cells:
    """Values, or columns of rows, by metric, attack model, split, data set, gender and system."""
    rows = (
        {**at(*place), **(value if isinstance(value, Mapping) else {"value": value})}
        for place, value in values.items()
    )
    return Cells(Measurements.of(rows), systems, **of)


def averages_of(results: Results) -> dict[str, float | None]:
    """The challenge's averages by their title, in the unit that they are printed in."""
    return {
        a["title"]: None if a["value"] is None else describe(a["metric"]).printed(a["value"])
        for a in challenge_averages(results)
    }


def chosen(cells: Cells, is_chosen: Callable[[Row], bool]) -> Cells:
    """The cells with some of their rows only."""
    return replace(cells, rows=Measurements.of(filter(is_chosen, cells.rows)))


def csv_rows(source: Path | str) -> list[dict[str, str]]:
    """The rows of a CSV file, or of its text."""
    text = source.read_bytes().decode() if isinstance(source, Path) else source
    return list(csv.DictReader(io.StringIO(text, newline="")))


def cells_of(text: str, table: str) -> list[dict[str, str]]:
    """The rows of a table in tables.csv: by its column the text of each cell that is not blank, or
    its number with all digits."""
    rows: dict[str, dict[str, str]] = {}
    for cell in csv_rows(text):
        if cell["table"] == table:
            rows.setdefault(cell["row"], {})[cell["column"]] = cell["value"] or cell["text"]
    return list(rows.values())


def declared_table(results: Results, name: str) -> Table:
    """The table of an entry of conf/tables/system.yaml."""
    data = ReportData(results)
    tables = system_tables(data, *next(iter(data.by_folder)))
    return next(table for table in tables if table.name == name)


def changed_protocol(**entries: object) -> Protocol:
    """vpc2020 with some entries replaced."""
    return protocol_from_dict({**load_protocol("vpc2020").to_dict(), **entries}, "protocol")


def of_libri(conf: str) -> dict[str, Any]:
    """The entries of a protocol with its first data set, LibriSpeech, alone."""
    entries = load_protocol(conf).to_dict()
    for sets in (entries, entries["recognition"]):
        sets["data_sets"] = sets["data_sets"][:1]
    entries["table_rows"] = ["libri"]
    folders = entries["data_folders"]
    entries["data_folders"] = [f for f in folders if f["name"].startswith("libri")]
    return entries


#: vpc2020 cut down to one trial set: three conditions, one voice similarity.
SMALL_PROTOCOL = """\
extends: vpc2020
name: small
splits: [dev]
genders: {f: female}
data_sets:
  - id: libri
    title: LibriSpeech
    row: "libri_{split}"
    enrollment: "libri_{split}_enrolls"
    trials: "libri_{split}_trials_{gender}"
    weight: 1
table_rows: [libri]
data_folders:
  - name: "libri_{split}_trials_{gender}"
    cut_from: "libri_{split}"
    list: "trials_{gender}"
    list_as: trials
  - {name: "libri_{split}_trials_all", combine: ["libri_{split}_trials_{gender}"]}
"""
#: The same with the two results folders of 2022.
SMALL_PROTOCOL_2022 = (
    SMALL_PROTOCOL
    + """\
results_folders:
  - {suffix: "", asv_model: anonymized}
  - {suffix: ".orig", asv_model: original}
average_attack_model: semi-informed
"""
)

ENROLLS, TRIALS = "libri_dev_enrolls", "libri_dev_trials_f"
MODEL = "exp/models/asv_eval/xvect_01709_1"
BACKEND = f"{MODEL}/xvect_train_clean_360"
DIMENSION = 6


class SpeechTree(Tree):
    """A small tree as anonymization and an x-vector extractor leave it: data folders of
    original and anonymized speech, x-vectors, a back end; no scores."""

    def __init__(
        self, root: Path, *, protocol: str = SMALL_PROTOCOL, suffix: str = "_anon"
    ) -> None:
        super().__init__(root)
        (root / "small.yaml").write_text(protocol)
        (root / "exp").mkdir()
        self.suffix = suffix
        self.anonymized(suffix)
        self.backend(BACKEND)
        self.results = "exp/results-anon"

    @property
    def protocol(self) -> Protocol:
        return load_protocol("small.yaml", base=self.root)

    def anonymized(self, suffix: str, model: str = MODEL) -> None:
        """Data folders and x-vectors of speech anonymized by one more system."""
        for mark in ("", suffix):
            self.enrollment(ENROLLS + mark)
            self.key(f"data/{TRIALS}{mark}/trials")
            for name in (ENROLLS, TRIALS):
                self.vectors(name + mark, model=model)

    def enrollment(self, name: str) -> None:
        spoken = utterances_of(name)
        speakers = dict.fromkeys(spoken.values())
        folder = self.root / "data" / name
        lines_to(folder / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
        lines_to(
            folder / "spk2utt",
            (f"{s} {' '.join(u for u, o in spoken.items() if o == s)}" for s in speakers),
        )
        lines_to(folder / "spk2gender", (f"{s} f" for s in speakers))
        lines_to(folder / "enrolls", spoken)

    def vectors(
        self,
        name: str,
        *,
        model: str = MODEL,
        seed: int = 0,
        without: Sequence[str] = (),
        of: str | None = None,
    ) -> Path:
        """X-vectors of a set (like those of the set `of`); the scp."""
        spoken = {u: s for u, s in utterances_of(of or name).items() if u not in without}
        scp = self.root / model / f"xvect_{name}" / "xvector.scp"
        matrix = vectors_for(of or name, spoken, seed=seed)
        write_vectors(scp, list(spoken), matrix, tree=self.root)
        return scp

    def scp(self, name: str) -> Path:
        return self.root / MODEL / f"xvect_{name}" / "xvector.scp"

    def backend(self, folder: str, *, seed: int = 0) -> Path:
        generator = np.random.default_rng(seed + 1)
        speakers = np.repeat(np.arange(40), 4)
        voices = 2 * generator.standard_normal((40, DIMENSION))[speakers]
        x = (voices + generator.standard_normal(voices.shape)).astype(np.float32)
        model = train_backend(x, [str(s) for s in speakers], lda_dim=DIMENSION - 1)
        path = self.root / folder
        assert model.mean is not None and model.transform is not None
        write_vector(path / "mean.vec", model.mean)
        write_matrix(path / "transform.mat", model.transform)
        write_plda(path / "plda", model.plda)
        return path

    def training_set(self, name: str, model: str, *, seed: int = 0, each: int = 4) -> Path:
        """Data folder and x-vectors that a back end is trained on; the scp."""
        spoken = utterances([f"t{i}" for i in range(20)], each)
        lines_to(self.root / "data" / name / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
        scp = self.root / model / f"xvect_{name}" / "xvector.scp"
        write_vectors(scp, list(spoken), vectors_for(name, spoken, seed=seed), tree=self.root)
        return scp

    def scores(self, enrollment: str, trial: str, results: str | None = None) -> Path:
        return self.root / (results or self.results) / f"ASV-{enrollment}-{trial}" / "scores"

    @property
    def all_scores(self) -> dict[str, Path]:
        """The score files of the protocol: o-o, o-a, a-a."""
        a = self.suffix
        return {
            "oo": self.scores(ENROLLS, TRIALS),
            "oa": self.scores(ENROLLS, TRIALS + a),
            "aa": self.scores(ENROLLS + a, TRIALS + a),
        }

    def copied(self, root: Path) -> SpeechTree:
        """A copy, to be changed."""
        tree = copy.copy(self)
        tree.root = Path(shutil.copytree(self.root, root))
        return tree

    def identified(self, condition: Condition, *options: object) -> Run:
        """The verb identification on the files of one condition."""
        return cli(
            *("identification", "--model", self.root / BACKEND, "--scp-base", self.root),
            *("--enroll-vectors", self.scp(condition.enrollment_set)),
            *("--spk2utt", self.root / "data" / condition.enrollment_set / "spk2utt"),
            *("--trial-vectors", self.scp(condition.trial_set)),
            *("--utt2spk", self.root / "data" / TRIALS / "utt2spk", *options),
        )

    def run(self, verb: str, *more: object, results: object = "exp") -> Run:
        """Run a verb over the tree; `more` may name another protocol."""
        common = ("--tree", self.root, "--results", results)
        conf = () if "--conf" in more else ("--conf", "small.yaml")
        return cli("stage", verb, *common, *conf, *more)


def stage_of(
    tree: SpeechTree,
    results: str = "exp",
    *,
    name: str | None = None,
    anon_suffix: str | None = None,
    **options: Any,
) -> AsvSystems:
    """What the stages on x-vectors take."""
    access = TreeAccess(tree.root, tree.root / results, **options)
    found = systems_under_test(access, tree.protocol, name=name, anon_suffix=anon_suffix)
    return AsvSystems(access, tree.protocol, *found)


def experiment_of(tree: SpeechTree, **options: Any) -> Experiment:
    """The tree with its systems and the output folder `out`."""
    systems = find_systems(tree.root, tree.root / "exp", tree.protocol)
    return Experiment(systems, tree.root / "out", stage_of(tree, **options))


def make_planned(
    plan: Callable[..., Iterable[Product]], experiment: Experiment, options: object, run: Any
) -> Outcome:
    """Make what a stage plans."""
    return experiment.asv.access.bring_up_to_date(plan(experiment, options), run)


def utterances_of(name: str) -> dict[str, str]:
    """Speaker of every utterance of a set of a `SpeechTree`."""
    if "enrolls" not in name:
        return utterances()
    return {f"{s}-e{number}": s for s in SPEAKERS for number in range(2)}


def vectors_for(name: str, spoken: dict[str, str], *, seed: int = 0) -> np.ndarray:
    """X-vectors of a set: around the voices of its speakers, which are the same in all sets
    of original speech, and weaker in others."""
    rows = []
    original = name in (ENROLLS, TRIALS)
    for utterance, speaker in spoken.items():
        voice = np.random.default_rng(zlib.crc32(speaker.encode())).standard_normal(DIMENSION)
        own = np.random.default_rng([seed, zlib.crc32(f"{name} {utterance}".encode())])
        rows.append((2.0 if original else 1.2) * voice + own.standard_normal(DIMENSION))
    return np.array(rows, dtype=np.float32)


def times(paths: Iterable[Path]) -> dict[Path, int]:
    """When files were written last."""
    return {path: path.stat().st_mtime_ns for path in paths}


def assert_golden(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float = 1e-9
) -> None:
    """Compare values with those of an independent tool; texts are known to four decimals."""
    compared = 0
    for key, value in expected.items():
        if key not in found:
            assert key == "eer_threshold"
            continue
        compared += 1
        if key == "zebra_tag":
            assert found[key] == value
        elif isinstance(value, str):
            assert f"{float(str(found[key])):.4f}" == value
        else:
            number = float(str(value))
            assert float(str(found[key])) == pytest.approx(number, abs=tolerance, rel=0), key
    assert compared >= 7
