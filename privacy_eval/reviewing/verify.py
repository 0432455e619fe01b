"""Compute the numbers of somebody's results.json again, from the files that it names.

The stages' own functions run on a tree of these files, with the options of each record, and write
to a temporary folder. A number is reproduced if it differs by at most half a unit of its last
printed digit, and so do the ends of its interval.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from ..choices import MOST_REPLICATES
from ..errors import ContradictionError, PrivacyEvalError, abbreviate, counted, printable
from ..io.files import paths_outside
from ..io.schema import from_plain, to_plain
from ..products.freshness import Product, Run, bring_up_to_date
from ..protocol.protocol import ANONYMIZED
from ..results.json_store import read_results
from ..results.measurements import CIRCUMSTANCES, FURTHER, LEFT_OUT, metric_of
from ..results.record_files import read_record
from ..results.records import KINDS, Record, Results
from ..results.rows import rows_of
from ..results.speaker_numbers import KEY, numbered
from ..stages.access import EXTRACTOR_ROLE, AsvSystems, Experiment, TreeAccess, systems_under_test
from ..stages.attackers import ENROLLED_WORDS, RECOGNIZED, SPOKEN
from ..stages.collect import collect
from ..stages.options import AmountOptions, AttributeOptions, GalleryOptions, MetricOptions
from ..stages.privacy_metrics import condition_products, transcript_products
from ..stages.similarity import plan_similarity
from ..tree.conditions import Condition, System, original_sets
from ..tree.discovery import find_systems
from ..wings import provided

REPRODUCED, DIFFERS, MISSING, NOT_CHECKED = "reproduced", "differs", "file missing", "not checked"

#: What is said of a file; the last: the stage found another one in its place.
DIFFERENT, ABSENT = "with another digest", "missing"
OUTSIDE, ELSEWHERE = "outside the folder", "replaced by one at another path"

#: What scores were made with, named for information: no number is computed from these.
_MADE_WITH = (EXTRACTOR_ROLE, ENROLLED_WORDS, RECOGNIZED, SPOKEN)
#: Where folders have results.json.
_IN_FOLDERS = ("results.json", "results/results.json")
#: How far above results.json its tree is searched.
_LEVELS = 4
#: Kinds that are not computed again.
_WITHOUT_PLAN = {
    "measures": "measures of speech",
    "audio": "audits of recordings",
    "utility": "imported utility",
    "rows": "costs, or numbers of other wings",
}
#: Metrics that need recordings, which the folder may lack.
_OF_RECORDINGS = {"seconds": "durations of recordings outside the folder"}

#: What a number is of, and its value: kind, record name and circumstances.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Number:
    """A number of a results.json.

    Attributes
    ----------
    row : mapping
        As of `rows_of`.
    state : str
    again : mapping
        The row that was computed; empty if there is none.
    why : str
        Why it is not checked, or which entries differ.
    """

    kind: str
    row: Mapping[str, Any]
    state: str
    again: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Verified:
    """The numbers of a results.json, its files that are missing or differ, with what is said of
    each, and the score files of its systems that it has no number of."""

    numbers: list[Number]
    files: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no checked number differs, and no named file is missing."""
        lost = any(state != DIFFERENT for state in self.files.values())
        return not lost and all(n.state != DIFFERS for n in self.numbers)

    @property
    def sentence(self) -> str:
        """What is reproduced, and what is not."""
        of = Counter(n.state for n in self.numbers)
        checked, said = of[REPRODUCED] + of[DIFFERS], list[str]()
        if of[DIFFERS]:
            differ = (n.row for n in self.numbers if n.state == DIFFERS)
            places = dict.fromkeys(name_of(row, 2) for row in differ)
            said.append(f"{of[DIFFERS]} of {checked} numbers differ ({abbreviate([*places])})")
        elif checked:
            every = "all " * (checked == len(self.numbers))
            said.append(f"{every}{counted(checked, 'number')} reproduced")
        for state in dict.fromkeys(self.files.values()):
            paths = [path for path, of_file in self.files.items() if of_file == state]
            said.append(f"{counted(len(paths), 'file')} {state} ({abbreviate(paths)})")
        if self.left_out:
            scores = counted(len(self.left_out), "score file")
            said.append(f"{scores} without a number in it ({abbreviate(self.left_out)})")
        left = Counter(n.why for n in self.numbers if n.state in (NOT_CHECKED, MISSING))
        if left:
            kinds = abbreviate([f"{number} {why}" for why, number in left.items()])
            none = f"none of {len(self.numbers)} numbers checked"
            said.append(f"{f'{left.total()} not checked' if checked else none} ({kinds})")
        return "; ".join(said)


_NAMES = tuple("system name language_model speaker group gallery metric variant".split())


def name_of(row: Mapping[str, Any], parts: int = len(_NAMES)) -> str:
    """Name a number: its system and condition, and further `parts`."""
    return " ".join(str(row[name]) for name in _NAMES[:parts] if name in row)


def named_files(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield role, path and SHA-256 of the inputs that a record names; recognition has no roles."""
    inputs = record.provenance.get("inputs")
    for role, entry in inputs.items() if isinstance(inputs, Mapping) else ():
        of = entry if isinstance(entry, Mapping) else {"path": role, "sha256": entry}
        if isinstance(of.get("path"), str) and isinstance(of.get("sha256"), str):
            yield str(role), of["path"], of["sha256"]


def state_of(path: str, tree: Path) -> str:
    """Say what is wrong with a named path, "" if it is a file of the tree."""
    parts = PurePosixPath(path).parts
    if "\0" in path or {"..", "/"} & {*parts} or paths_outside([tree / path], [tree]):
        return OUTSIDE
    return "" if (tree / path).is_file() else ABSENT


def verify(path: Path, files: Path | None = None, run: Run = Run()) -> Verified:
    """Compute the numbers of a results.json again.

    Parameters
    ----------
    path : Path
        The results.json, or a folder that has it.
    files : Path, optional
        Folder that the named paths are relative to; by default the folder of `path`, or the one
        above it, up to three levels, that holds most of the named files.
    run : Run
        Processes.

    Raises
    ------
    PrivacyEvalError
        As `read_results`; no such folder.
    """
    path = next((path / n for n in _IN_FOLDERS if (path / n).is_file()), path)
    try:
        results = read_results(path)
    except ContradictionError as error:
        said = "the file contradicts itself, so none of its numbers was compared"
        raise PrivacyEvalError(f"{error}; {said}") from error
    if files is not None and not files.is_dir():
        raise PrivacyEvalError(f"{files}: no such folder (--files)")
    tree = files or _tree_of(path, results)
    with tempfile.TemporaryDirectory() as folder:
        again, failed, left_out = _recompute(results, tree, Path(folder), run)
    if results.speaker_key and (path.parent / KEY).is_file():  # of who asks for it
        again = numbered(again, path.parent, keep=False)
    made = {(r.kind, r.condition): r for r in again.records()}
    wrong = dict[str, str]()
    for record in results.records():
        wrong |= _wrong_files(record, made.get((record.kind, record.condition)), tree)
    computed, numbers = dict(_numbers(again)), []
    for key, (record, row) in _numbers(results):
        of_speaker = "speaker" in row or row["metric"].startswith("fact speakers ")
        state, why = _why_not(record, failed, wrong)
        is_other = of_speaker and results.speaker_key != again.speaker_key  # in another order
        if state == NOT_CHECKED and is_other:
            numbers.append(Number(record.kind, row, state, why="of numbered speakers"))
        elif key in computed and state != MISSING:
            numbers.append(_compared(record, row, computed[key][1]))
        else:
            why = why if state != NOT_CHECKED else _OF_RECORDINGS.get(row["metric"], why)
            numbers.append(Number(record.kind, row, state, why=why))
    states = {printable(name): state for name, state in wrong.items()}
    return Verified(numbers, states, tuple(map(printable, left_out)))


def _tree_of(path: Path, results: Results) -> Path:
    """Find the folder that holds most of the named files: that of results.json, or one above."""
    named = {name for r in results.records() for _, name, _ in named_files(r)}
    above = list(Path(os.path.abspath(path)).parents)[:_LEVELS]
    return max(above, key=lambda folder: sum(not state_of(name, folder) for name in named))


def _wrong_files(record: Record, again: Record | None, tree: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a record that are missing, or not those that it was made from."""
    known = {} if again is None else {role: of for role, *of in named_files(again)}
    for role, path, sha256 in named_files(record):
        found, actual = known.get(role, (path, sha256))
        state = state_of(path, tree) or ELSEWHERE * (found != path)
        if role in _MADE_WITH and (role not in known or state == ABSENT):
            continue
        if state or actual != sha256:
            yield path, state or DIFFERENT


# Computing again


def _recompute(
    results: Results, tree: Path, out: Path, run: Run
) -> tuple[Results, dict[tuple[str, Condition], str], list[str]]:
    """Run the stages on a tree; also return why records could not be made, and which score files
    have none."""
    protocol, systems, folder = results.protocol, *_systems(results, tree)
    left_out = any(r.facts.get(name) for r in results.records() for name in LEFT_OUT)
    access = TreeAccess(tree, folder, allow_missing=left_out)
    if not systems:
        return Results(protocol), {}, []
    under_test, _ = systems_under_test(access, protocol, systems=systems)
    experiment = Experiment(systems, out, AsvSystems(access, protocol, under_test))
    planned = {kind: dict(_planned(kind, results, experiment)) for kind in _PLANS}
    drawn = next((_options(r, MetricOptions) for r in results.verification), MetricOptions())
    transcripts = transcript_products(systems, out, tree, drawn).values()
    products = [p for of_kind in planned.values() for p in of_kind.values()]
    outcome = bring_up_to_date(
        [*products, *transcripts], access.inputs, run, allow_missing=left_out
    )
    again = collect(systems, out, protocol, tree=tree, inputs=access.inputs)
    kinds: dict[str, Any] = {
        kind: tuple(read_record(p.files[-1]) for p in of_kind.values() if p.files[-1].is_file())
        for kind, of_kind in planned.items()
        if kind != "verification"
    }
    why = {**outcome.failed, **{name: str(error) for name, error in outcome.missing.items()}}
    failed = {
        (kind, condition): why[product.name]
        for kind, of_kind in planned.items()
        for condition, product in of_kind.items()
        if product.name in why
    }
    stated = {record.condition for record in results.verification}
    scored = {_condition_of(product): product.name for product in _scored(experiment, drawn)}
    return replace(again, **kinds), failed, [n for of, n in scored.items() if of not in stated]


def _systems(results: Results, tree: Path) -> tuple[list[System], Path]:
    """Find the systems of the results in a tree, below the folder of their named scores that gives
    them the same names; also return this folder."""
    records = (*results.verification, *results.recognition, *results.emotion)
    named = [(role, path) for record in records for role, path, _ in named_files(record)]
    scores = [path for role, path in named if role in ("scores", "hypothesis", path)]
    inside = [path for path in scores if state_of(path, tree) != OUTSIDE]
    suffixes = {
        original_sets(r.condition, results.protocol)[1][1]
        for r in (*results.verification, *results.identification)
        if r.condition.trial == ANONYMIZED
    }
    common = PurePosixPath(os.path.commonpath([os.path.dirname(p) for p in inside] or [""]))
    found = list[tuple[list[System], Path]]()
    for folder in (tree / part for part in (common, *common.parents)):
        with_name = results.systems[0] if len(results.systems) == 1 else None
        for name in dict.fromkeys((None, with_name)) if folder.is_dir() else ():
            chosen = {"name": name, "anon_suffix": sorted(suffixes - {""}) or None}
            try:
                systems = find_systems(tree, folder, results.protocol, **chosen)  # type: ignore[arg-type]
            except PrivacyEvalError:
                continue  # a folder of systems beside others
            found.append(([s for s in systems if s.name in results.systems], folder))
    return max(found, key=lambda pair: len(pair[0]), default=([], tree))


Plan = Callable[[Experiment, Any], Iterable[Product]]


def _scored(experiment: Experiment, options: MetricOptions) -> list[Product]:
    tree = experiment.asv.access.tree
    return condition_products(experiment.systems, experiment.out, tree, options)


def _left_to_wing(kind: str, experiment: Experiment, options: Any) -> Iterable[Product]:
    plan = provided(f"records of {kind}", needed=False)
    return plan(experiment, [options] if kind == "attributes" else options) if plan else ()


#: By kind of record: its products, and the type of their options.
_PLANS: Mapping[str, tuple[Plan, type]] = {
    "verification": (_scored, MetricOptions),
    "similarity": (lambda experiment, _: plan_similarity(experiment), MetricOptions),
    "identification": (partial(_left_to_wing, "identification"), GalleryOptions),
    "amounts": (partial(_left_to_wing, "amount"), AmountOptions),
    "attributes": (partial(_left_to_wing, "attributes"), AttributeOptions),
}


def _options(record: Record, kind: type) -> Any:
    """Return the options that a record was made with."""
    stored = record.provenance.get("options")
    known = stored if isinstance(stored, Mapping) else {}
    named = {f.name: known[f.name] for f in fields(kind) if f.name in known}
    where = f"{record.condition.name}: provenance: options"
    options: Any = from_plain(kind, named, where)
    if options.bootstrap > MOST_REPLICATES:
        raise PrivacyEvalError(f"{where}: bootstrap: at most {MOST_REPLICATES}")
    return options


def _planned(
    kind: str, results: Results, experiment: Experiment
) -> Iterator[tuple[Condition, Product]]:
    """Yield the products of the records of a kind that name files, each with its options."""
    plan, options = _PLANS[kind]
    groups: dict[str, tuple[Any, set[Condition]]] = {}
    for record in getattr(results, kind):
        if any(named_files(record)):
            made_with = _options(record, options)
            _, conditions = groups.setdefault(repr(made_with), (made_with, set()))
            conditions.add(record.condition)
    for made_with, conditions in groups.values():
        for product in plan(experiment, made_with):
            if (of := _condition_of(product)) in conditions:
                yield of, product


def _condition_of(product: Product) -> Condition:
    names = [f.name for f in fields(Condition) if f.name in product.subject]
    return Condition(**{name: product.subject[name] for name in names})


# Comparing


def _numbers(results: Results) -> Iterator[tuple[Key, tuple[Record, dict[str, Any]]]]:
    """Yield the rows of all records, and the numbers among their facts, by what they are of."""
    seen = Counter[Key]()
    for record in (r for kind in KINDS for r in getattr(results, kind)):
        of = (record.kind, record.condition)
        shared = {"system": record.condition.system, "name": record.condition.name}
        facts = ({**shared, "metric": n, "value": v} for n, v in _leaves(to_plain(record.facts)))
        for row in (r for r in (*rows_of(record), *facts) if "value" in r):
            names = (n for n in (*CIRCUMSTANCES, *FURTHER, "variant", "metric") if n in row)
            place = tuple((name, row[name]) for name in names if not name.startswith("n_"))
            seen[of, place] += 1
            yield (of, place, seen[of, place]), (record, row)


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in facts, by their path."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name} {key}".strip())
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{name} {number}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"fact {name}", value


def _why_not(
    record: Record, failed: Mapping[Any, str], wrong: Mapping[str, str]
) -> tuple[str, str]:
    """Return the state of numbers of a record that were not computed, and why."""
    named = [path for _, path, _ in named_files(record)]
    if any(wrong.get(path, DIFFERENT) != DIFFERENT for path in named):
        return MISSING, "whose files are missing"
    if record.kind in _WITHOUT_PLAN:
        return NOT_CHECKED, _WITHOUT_PLAN[record.kind]
    if not named:
        return NOT_CHECKED, "of records that name no file"
    if why := failed.get((record.kind, record.condition)):
        return DIFFERS, printable(f"cannot be computed: {why}")
    return NOT_CHECKED, "of conditions or metrics that are not found here"


def _compared(record: Record, row: dict[str, Any], again: dict[str, Any]) -> Number:
    """Compare a number with the one that was computed."""
    metric = record.described.get(row["metric"]) or metric_of(row["metric"])
    half = 0.5000001 * 10.0**-metric.detail / (100 if metric.percent else 1)
    names = [n for n in {**row, **again} if n not in ("caveats", "unit")]
    differ = [n for n in names if not _alike(n, row.get(n), again.get(n), half, row["metric"])]
    return Number(record.kind, row, DIFFERS if differ else REPRODUCED, again, ", ".join(differ))


def _alike(name: str, one: Any, other: Any, half: float, metric: str) -> bool:
    """Tell whether two entries are alike as printed; counts and names must be equal."""
    if one == other or not (isinstance(one, float) and isinstance(other, float | int)):
        return bool(one == other)
    if not (math.isfinite(one) and math.isfinite(other)):
        return False
    if metric.startswith("fact "):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)
    return abs(one - other) <= (5e-4 if name == "p" else half)
