"""Stage 8: collect all records into results.json, results.csv and results.txt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError, counted, describe
from ..io.data_dir import read_spk2utt
from ..io.files import Inputs, digest, outside_message, read_text, relative
from ..io.wer import WerLine, exact_wer, format_wer_line, read_wer_folder
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Product,
    Progress,
    Run,
    bring_up_to_date,
    read_failures,
)
from ..protocol.protocol import Protocol, ResultsFolder
from ..results.attacker_costs import write_costs
from ..results.outputs import output_files
from ..results.record_files import RESULTS_NOTE, confirmed_days, read_record
from ..tree.conditions import (
    Condition,
    EmotionFiles,
    RecognitionFiles,
    System,
    original_trial_sets,
    set_condition,
    trial_conditions,
)
from ..tree.discovery import teams_without_systems
from ..version import __version__
from ..wings import provided
from .access import AsvSystems, Experiment
from .asv_scores import score_products, vector_folders
from .attackers import attacker_costs
from .options import MetricOptions
from .privacy_metrics import WORD_ERRORS, can_align, condition_products, transcript_products
from .recipe import stages_of_wings
from .records import STAGE, products_of_wing
from .similarity import plan_similarity

if TYPE_CHECKING:
    from ..metrics.utility import WordErrors
    from ..results.records import Record, Results


def collect(
    systems: Iterable[System],
    out: Path,
    protocol: Protocol,
    *,
    tree: Path,
    stale: Mapping[str, str] = MappingProxyType({}),
    inputs: Inputs | None = None,
) -> Results:
    """Collect the verification, word error rate and emotion recognition records of systems.

    Parameters
    ----------
    systems : iterable of System
        As from `find_systems`.
    out : Path
        Folder with the `records/` of `evaluate_tree`.
    protocol : Protocol
    tree : Path
        Folder that the paths in records are relative to.
    stale : mapping
        Conditions with stale scores, mapped to the reason.
    inputs : Inputs, optional
        Files that were read before.

    Returns
    -------
    Results
        `not_evaluated` lists the conditions without a record of the current score file and
        trial key.

    Examples
    --------
    >>> import tempfile
    >>> from privacy_eval import evaluate_tree, find_systems, load_protocol
    >>> from privacy_eval.simulate import write_demo_tree
    >>> protocol, tree = load_protocol("vpc2024"), Path(tempfile.mkdtemp(), "tree")
    >>> _ = write_demo_tree(tree, protocol, speakers=3, utterances=4, systems=1)
    >>> systems = find_systems(tree, tree, protocol)
    >>> _ = evaluate_tree(systems, tree / "results", tree=tree)
    >>> collect(systems, tree / "results", protocol, tree=tree)
    Results(vpc2024: B1; records: 16 verification, 8 recognition, 4 emotion)
    """
    from ..results.arrays import StoredArrays, with_differences
    from ..results.records import Record, Results

    systems, inputs = list(systems), inputs or Inputs()
    options = MetricOptions(groups=protocol.groups)
    products = condition_products(systems, out, tree, options)

    def why(_: Product) -> str:
        return "no record of its present scores and trials: stage 6"

    records, absent = current_records(products, inputs, why, stale)
    transcripts = transcript_products(systems, out, tree, options)
    recognition, emotion, refused = list[Record](), list[Record](), list[str]()
    for files in (files for system in systems for files in system.recognition):
        product = transcripts.get(files.condition)
        if product is not None and not product.is_current(inputs, options=False):
            if can_align():
                absent.append(product.name)
                continue
            product = None
        recognition += _recognition(files, (protocol, tree, inputs), product, refused)
    for s, table in ((system, table) for system in systems for table in system.emotion):
        try:
            emotion += read_emotion(table, s, protocol, tree, inputs)
        except Exception as error:
            refused.append(f"{s.name} {table.path.name} ({describe(error)})")
    absent += [f"{s.name} ({s.problem})" for s in systems if s.problem]
    results = Results(
        protocol,
        tuple(records),
        tuple(recognition),
        emotion=tuple(emotion),
        not_evaluated=(*absent, *refused),
    )
    return with_differences(results, StoredArrays([(results, out / "results.json")]))


def _recognition(
    files: RecognitionFiles,
    place: tuple[Protocol, Path, Inputs],
    transcribed: Product | None,
    refused: list[str],
) -> list[Record]:
    """Return the records of a folder's `%WER` lines or, if there are none, of its transcripts;
    `refused` gets the names of those that are rejected."""
    from ..results.challenge_text import recognition_records

    (protocol, tree, inputs), condition = place, files.condition
    errors = provided("word errors of a record")(transcribed.files[-1]) if transcribed else None
    lines, read, wrong = read_recognition(files, inputs, None if errors is None else errors.counts)
    sources = {relative(path, tree): sha256 for path, sha256 in read.items()}
    if errors and transcribed and not lines and not wrong:
        lines, made_of = [_line(errors.counts, files)], transcribed.fingerprint(inputs)[0].inputs
        sources = {source.path: source.sha256 for source in made_of.values()}
    refused += [f"{condition.system} {condition.name} ({why})" for why in wrong]
    made, more = {"version": __version__, "inputs": sources}, dict[str, Any]()
    if errors:
        more = {"interval": errors.speaker_interval, "speakers": errors.speakers}
        more["groups"] = errors.groups
    return recognition_records(lines, protocol, condition, made, **more)


def read_emotion(
    table: EmotionFiles, system: System, protocol: Protocol, tree: Path, inputs: Inputs
) -> tuple[Record, ...]:
    """Read a table of emotion recognition.

    Raises
    ------
    PrivacyEvalError
        It is damaged, or leads out of the tree.
    """
    from ..io.result_tables import read_table
    from ..results.table_records import TableImporter

    if table.outside:
        raise PrivacyEvalError(outside_message(table.outside[0]))
    text = read_text(inputs.load(table.path))
    read = {relative(table.path, tree): inputs.sha256(table.path)}
    made = {"version": __version__, "inputs": read}
    importer = TableImporter(str(table.path), protocol, system.name, system.anon_suffix, made)
    return importer.tables([read_table(text, importer.path)]).emotion


def read_recognition(
    files: RecognitionFiles, inputs: Inputs, counts: WordErrors | None = None
) -> tuple[list[WerLine], dict[Path, str], list[str]]:
    """Read the valid `%WER` lines of a folder, which agree with the `counts` of its transcripts;
    return them, the SHA-256 of their files, and why others were refused."""
    refused: list[str] = []
    try:
        if files.outside:
            raise PrivacyEvalError(outside_message(files.outside[0]))
        if files.transcripts is not None and not files.transcripts.is_rated:
            return [], {}, []
        lines, sources = read_wer_folder(files.folder, refused=refused, inputs=inputs)
        if files.folder.name != files.condition.name:  # not ASR-*: of one recognizer
            lines = [replace(line, wer=exact_wer(line), decode=_place(files)) for line in lines]
        if counts is not None:
            told = format_wer_line(_line(counts, files))
            wrong = [line for line in lines if _contradicts(line, counts)]
            refused += [
                f"{files.folder}: {format_wer_line(line)} contradicts its transcripts: {told}"
                for line in wrong
            ]
            lines = [line for line in lines if line not in wrong]
        return lines, sources, refused
    except Exception as error:
        return [], {}, [*refused, describe(error)]


def _contradicts(line: WerLine, counts: WordErrors) -> bool:
    """Whether a `%WER` line has another number of words than its transcripts, or another rate
    than alignments of equal cost or the recognizer's own normalization explain."""
    from ..metrics.utility import MAX_DIFFERENCE

    return (line.words is not None and line.words != counts.words) or (
        counts.wer is not None and abs(line.wer - counts.wer) > MAX_DIFFERENCE
    )


def _place(files: RecognitionFiles) -> str:
    return f"{files.folder.parent.name}/{files.folder.name}"


def _line(counts: WordErrors, files: RecognitionFiles) -> WerLine:
    """Return the word errors of transcripts as a `%WER` line of the recognizer's evaluation."""
    return WerLine(
        counts.wer or 0.0,
        counts.errors,
        counts.words,
        counts.insertions,
        counts.deletions,
        counts.substitutions,
        _place(files),
        None,
        None,
    )


def results_product(
    experiment: Experiment,
    records: Iterable[Product],
    stale: Mapping[str, str],
    remarks: Callable[[Results], Sequence[str]],
    *,
    confirm: Sequence[str] = (),
    speaker_names: bool = False,
) -> Product:
    """Return results.json and the files beside it as a product of everything that they are
    collected from; records are only parsed if any of it has changed.

    Parameters
    ----------
    records : iterable of Product
        See `record_products`.
    stale : mapping
        As of `collect`.
    remarks : callable
        Returns messages for the user, repeated when nothing has changed.
    confirm : sequence of str
        As of `Results.confirm`; those confirmed in an earlier results.json keep their day.
    speaker_names : bool
        Name speakers who are not of a challenge's data, instead of numbering them.
    """
    out, chosen = experiment.out, (*confirm, *["--speaker-names"] * speaker_names)

    def make(*_: object) -> Content:
        from ..results.speaker_numbers import numbered

        results = collect_experiment(experiment, stale)
        results = results.confirm(confirm, confirmed_days(out / "results.json"))
        if not (speaker_names or results.protocol.is_challenge):
            lists = sorted((experiment.asv.access.tree / "data").glob("*/spk2utt"))
            results = numbered(results, out, (s for path in lists for s in read_spk2utt(path)))
        told = tuple(remarks(results))
        folders = vector_folders(experiment.asv)
        write_costs(out, attacker_costs(experiment.systems, folders, experiment.asv.access.tree))
        files = output_files(results)
        return Content({out / name: text.encode() for name, text in files.items()}, remarks=told)

    return Product(
        str(out),
        out,
        out / RESULTS_NOTE,
        (),
        lambda _: {},
        make,
        subject={"version": __version__},
        options={"collected": _collected_digest(experiment, records, stale, *chosen)},
    )


def _collected_digest(
    experiment: Experiment, records: Iterable[Product], stale: Mapping[str, str], *confirm: str
) -> str:
    """Compute the digest of all that `collect_experiment` depends on, and of what is confirmed."""
    access, protocol, systems = experiment.asv.access, experiment.asv.protocol, experiment.systems
    state: list[object] = [protocol, systems, dict(stale), access.allow_missing]
    state += [_state(product, access.inputs) for product in records]
    state += [read_recognition(f, access.inputs) for s in systems for f in s.recognition]
    for table in (table for system in systems for table in system.emotion):
        try:
            state.append(access.inputs.sha256(table.path))
        except PrivacyEvalError as error:
            state.append(describe(error))
    state += [*_not_evaluated(experiment, ()), read_failures(experiment.out), *sorted(confirm)]
    text = "\n".join(map(repr, state)).replace(f"{access.tree}/", "")  # of a tree wherever it is
    return digest(text.encode("utf-8", "surrogatepass"))


def _state(product: Product, inputs: Inputs) -> tuple[object, ...]:
    """Return the state of a product: its stored and its present fingerprint, or why there is none,
    and the digests of its files. What was not made here is in no results, whatever its inputs."""
    now: object = None
    stored = product.read_fingerprint()
    if stored is not None:
        try:
            now = product.fingerprint(inputs)[0]
        except Exception as error:  # `collect_experiment` leaves it out, or reports it
            now = describe(error)
    return stored, now, product.present(inputs, stored)


def plan_of_wings(experiment: Experiment) -> Iterator[Product]:
    """Yield the records that there may be of the stages of wings."""
    folder = experiment.out / "records"
    for name in stages_of_wings():
        products = products_of_wing(name, experiment)
        yield from (product for product in products if folder in product.files[-1].parents)


def _of_absent_stages(experiment: Experiment) -> list[str]:
    """Count the records of stages of wings that are not installed."""
    notes = sorted((experiment.out / "records").rglob(f".*{NOTE}"))
    subjects = (stored.subject for stored in map(Fingerprint.read, notes) if stored)
    stages = Counter(str(subject[STAGE]) for subject in subjects if STAGE in subject)
    kinds = (note.name[1:].partition("-")[0] for note in notes)
    stages.update(kind for kind in kinds if kind in _OF_WINGS)
    known = {kind for kind in _OF_WINGS if provided(f"records of {kind}", needed=False)}
    return [
        f"{counted(number, 'record')} of a stage that is not installed: {name}"
        for name, number in stages.items()
        if name not in known | stages_of_wings().keys()
    ]


#: Kinds of records that the core leaves to wings.
_OF_WINGS = ("measures", "audio", "recognition", "identification", "amount", "attributes")


def _left_to_wing(kind: str, experiment: Experiment) -> Iterable[Product]:
    """Return the records that there may be of a kind; none where no wing plans them."""
    plan = provided(f"records of {kind}", needed=False)
    return plan(experiment) if plan else ()


_BY_VECTORS = "its x-vectors, its back end"
#: By kind of record: its products, and what they are made of.
_KINDS: dict[str, tuple[Callable[[Experiment], Iterable[Product]], str]] = {
    "similarity": (plan_similarity, _BY_VECTORS),
    "identification": (partial(_left_to_wing, "identification"), _BY_VECTORS),
    "amounts": (partial(_left_to_wing, "amount"), "its speech, its scores"),
    "attributes": (partial(_left_to_wing, "attributes"), "its x-vectors, the labels"),
    "measures": (partial(_left_to_wing, "measures"), "its speech"),
    "audio": (partial(_left_to_wing, "audio"), "its wav.scp"),
    "rows": (plan_of_wings, "its inputs"),
}


def record_products(experiment: Experiment) -> list[Product]:
    """Return the records of all kinds as products."""
    systems, out, tree = experiment.systems, experiment.out, experiment.asv.access.tree
    options = MetricOptions(groups=experiment.asv.protocol.groups)
    return [
        *condition_products(systems, out, tree, options),
        *(product for plan, _ in _KINDS.values() for product in plan(experiment)),
        *transcript_products(systems, out, tree, options).values(),
    ]


def records_of_kind(experiment: Experiment, name: str) -> tuple[list[Any], list[str]]:
    """Read the current records of a kind; also return the names of those that are not current."""
    plan, made_of = _KINDS[name]
    there = [product for product in plan(experiment) if product.read_fingerprint()]
    added, changed = stages_of_wings(), f"{made_of} or the record have changed: "

    def why(product: Product) -> str:
        if (stage := product.subject.get(STAGE)) in added:
            return f"{changed}stage {added[stage].number} {stage.replace('_', '-')} renews it"
        return f"{changed}stages 5 and 6, or check --audio, renew it"

    return current_records(there, experiment.asv.access.inputs, why)


def collect_experiment(experiment: Experiment, stale: Mapping[str, str]) -> Results:
    """Gather all records of an experiment; what lacks a current one has failed, unless
    `allow_missing` leaves it out.

    Raises
    ------
    PrivacyEvalError
        A file of failures cannot be read.
    """
    from ..results.record_caveats import today

    access, out = experiment.asv.access, experiment.out
    results = collect(
        experiment.systems,
        out,
        experiment.asv.protocol,
        tree=access.tree,
        stale=stale,
        inputs=access.inputs,
    )
    records: dict[str, Any] = {}
    lacking = list(results.not_evaluated)
    for name in _KINDS:
        read, changed = records_of_kind(experiment, name)
        records[name], lacking = tuple(read), lacking + changed
    missing = _not_evaluated(experiment, records["similarity"])
    results = replace(results, **records, day=today())
    failures = read_failures(out)
    why = {line.partition(": ")[0]: line for line in failures.pop("privacy_metrics", ())}
    others = [line for of_verb in failures.values() for line in of_verb]
    named = {line.partition(": ")[0] for line in others}
    items = {line.partition(" (")[0]: line for line in lacking}
    lacking = [*(why.get(n, line) for n, line in items.items() if n not in named), *others]
    if access.allow_missing:
        return replace(results, not_evaluated=(*lacking, *missing))
    failed: dict[str, tuple[str, ...]] = {}
    for line in lacking:
        for system in _concerned(line, experiment.systems):
            failed[system] = (*failed.get(system, ()), line)
    return replace(results, failed=failed, not_evaluated=tuple(missing))


def _concerned(line: str, systems: Sequence[System]) -> list[str]:
    """Return the systems that a failure is of: that it begins with, or else those of the suffix
    of its data set; all systems, if it is of original speech."""
    names = [s.name for s in systems if line.startswith((f"{s.name} ", f"{s.name}: "))]
    words = tuple(re.split("[ ,]+", line.partition(": ")[0]))
    of_suffix = [
        s.name for s in systems if s.anon_suffix and any(w.endswith(s.anon_suffix) for w in words)
    ]
    return [max(names, key=len)] if names else of_suffix or [s.name for s in systems]


def _not_evaluated(experiment: Experiment, measured: Iterable[Record]) -> list[str]:
    """List results that are missing although the tree has the trials: scores of conditions, and
    voice similarity of trial sets. Systems with the same missing results share a line.
    """
    access, protocol = experiment.asv.access, experiment.asv.protocol
    conditions = {s.condition for s in measured}
    lines: dict[str, list[str]] = {}
    shared = original_trial_sets(experiment.systems) if protocol.has_own_scoring else set()

    @cache
    def with_key(part: ResultsFolder, suffix: str) -> list[Condition]:
        """Conditions whose scores systems of a suffix can have."""
        return [
            c
            for c in trial_conditions(protocol, part, suffix).values()
            if not (c.is_original and (c.data_set, c.split, c.gender) in shared)
            and access.trial_key(c, protocol)[0] is not None
        ]

    for system, part in experiment.parts:
        missing = {*system.missing(protocol)}
        unscored = [c.name for c in with_key(part, system.anon_suffix) if c.label in missing]
        trial_sets = [] if protocol.has_own_scoring else protocol.trial_sets()
        sets = [set_condition(t, part, system.name) for t in trial_sets]
        unmeasured = [
            s.name
            for s in sets
            if s not in conditions and (access.tree / "data" / s.name / "utt2spk").is_file()
        ]
        for what, names in (("scores", unscored), ("voice similarity", unmeasured)):
            if names:
                text = f"no {what} of {len(names)}: {', '.join(names)}"
                lines.setdefault(text, []).append(f"{system.name}{part.suffix}")
    recognized = [files for system in experiment.systems for files in system.recognition]
    uncounted = [] if provided(WORD_ERRORS, needed=False) else recognized
    absent = teams_without_systems(access.results, experiment.systems, protocol)
    return [
        *(f"{', '.join(systems)}: {text}" for text, systems in lines.items()),
        *(f"{folder.name}: no scores of any system" for folder in absent),
        *_of_absent_stages(experiment),
        *(
            f"{f.condition.system} {f.condition.name}: what counts its word errors is not installed"
            for f in uncounted
            if f.transcripts is not None and not f.transcripts.is_rated
        ),
    ]


def current_records(
    products: Iterable[Product],
    inputs: Inputs,
    why: Callable[[Product], str],
    stale: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[Record], list[str]]:
    """Read the records that are current; also return the names of the others, and why."""
    records, others = [], []
    for product in products:
        if product.name not in stale and product.is_current(inputs, options=False):
            records.append(read_record(inputs.load(product.files[-1])))
        else:
            others.append(f"{product.name} ({stale.get(product.name) or why(product)})")
    return records, others


def record_fingerprints(
    products: Sequence[Product], inputs: Inputs, progress: Progress | None = None
) -> tuple[list[Fingerprint | None], list[str]]:
    """Return the fingerprints of records, and the names of existing records to ignore: not
    written by this user, or edited since."""
    fingerprints = [product.read_fingerprint() for product in products]
    others = []
    for done, (product, n) in enumerate(zip(products, fingerprints, strict=True), start=1):
        if product.is_there() if n is None else _is_edited(product, n, inputs):
            others.append(product.name)
        if progress is not None:
            progress(done, len(products), f"records read: {product.name}")
    return fingerprints, others


def _is_edited(product: Product, stored: Fingerprint, inputs: Inputs) -> bool:
    """Whether an existing file of a product was edited since it was written."""
    present = product.present(inputs, stored)
    return not stored.replaces and any(
        stored.files.get(name) != sha256 for name, sha256 in present.items()
    )


def outdated_scores(asv: AsvSystems, progress: Progress | None = None) -> dict[str, str]:
    """Return the conditions whose scores were computed here, but not from the current x-vectors,
    back end and trials, mapped to the reason. If any of these inputs is missing, the scores are
    accepted: submissions come without them."""
    products = {product.name: product for product in score_products(asv) if product.is_there()}
    outcome = bring_up_to_date(
        products.values(),
        asv.access.inputs,
        Run(dry_run=True, progress=progress),
        allow_missing=True,
    )
    rebuilt = {n: f"stage 5 would rebuild it: {what}" for n, what in outcome.rebuilt.items()}
    damaged = {
        name: f"its inputs are damaged: {why}"
        for name, why in outcome.failed.items()
        if products[name].read_fingerprint() is not None
    }
    return rebuilt | damaged
