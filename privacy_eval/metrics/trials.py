"""Trials: which enrolled id was compared with which utterance, and what an attacker said.

Everything that measures attackers takes this one table. Readers of files, scoring of vectors and
simulations return it; a data frame, arrays or anything with named columns makes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..choices import COLUMNS
from ..errors import PrivacyEvalError, abbreviate, counted, known_names, library, located
from .arguments import (
    as_array,
    as_numbers,
    as_truth,
    at_rows,
    coded_names,
    find_columns,
    open_column,
    snapshot,
)
from .pav import FloatArray, IntArray
from .trial_scores import BoolArray, TrialScores

if TYPE_CHECKING:
    import pandas as pd

#: Anything with named columns: trials, a data frame of any library, a dict of lists, a structured
#: array.
Table = Any
#: One value of each row: a list, an array, or a column of a data frame.
Values = Any
#: Columns of ids.
IDS = ("enrolled", "utterance", "enrolled_speaker", "trial_speaker")
#: Pairs of ids are looked up in a table of all pairs if that has at most so many cells per trial.
_CELLS_PER_TRIAL = 8
_TRUTH = "is_target"


class Ids(Sequence[Any]):
    """A column of names, of which each is stored once.

    Parameters
    ----------
    codes : int array, shape (P,)
        Place of each row's name; -1 where it is missing.
    names : sequence of str
        Different ones.

    Examples
    --------
    >>> ids = Ids.of(["b", "a", "b"], "speakers")
    >>> ids.names, ids.codes.tolist(), ids.tolist()
    (('b', 'a'), [0, 1, 0], ['b', 'a', 'b'])
    """

    def __init__(self, codes: NDArray[np.integer[Any]], names: Sequence[str]) -> None:
        self.codes, self.names = _read_only(codes), tuple(names)

    @classmethod
    def of(cls, values: Any, what: str, *, may_miss: bool = False) -> Ids:
        """Code ids or labels; whole floats, such as 235.0, are their integers.

        Parameters
        ----------
        values : array_like or Ids
        what : str
            Name of the column, for messages.
        may_miss : bool
            Missing values, such as None and NaN, have no name; else they are refused.
        """
        if isinstance(values, Ids):
            return values
        codes, names = coded_names(values, what, may_miss=may_miss)
        return cls(codes.ravel(), names)

    def __len__(self) -> int:
        return int(self.codes.size)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __getitem__(self, rows: Any) -> Any:
        return self.text(int(rows)) if isinstance(rows, int | np.integer) else self.take(rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(np.array([*self.names, ""], dtype=dtype or object)[self.codes])

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == (np.asarray(other) if isinstance(other, Ids) else other)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def __repr__(self) -> str:
        return f"Ids({len(self)} rows: {abbreviate(self[:6].tolist())})"

    def text(self, row: int) -> str:
        """Return the name of a row; "" where it is missing."""
        return (*self.names, "")[int(self.codes[row])]

    def tolist(self) -> list[str]:
        """Return the names of all rows; "" where they are missing."""
        return list(map((*self.names, "").__getitem__, self.codes.tolist()))

    def take(self, rows: Any) -> Ids:
        """Select rows."""
        return Ids(self.codes[rows], self.names)

    def among(self, names: Sequence[str]) -> Ids:
        """Code by other names, different ones; a name that is not there is missing."""
        return self if self.names == tuple(names) else self._named(self.names, names)

    def renamed(self, new_name: Callable[[str], str]) -> Ids:
        """Rename; equal names become one, and "" is missing."""
        new = [*map(new_name, self.names)]
        return self._named(new, list(filter(None, dict.fromkeys(new))))

    def _named(self, new: Sequence[str], names: Sequence[str]) -> Ids:
        place = {name: number for number, name in enumerate(names)}
        codes = np.array([*(place.get(name, -1) for name in new), -1], dtype=np.int32)
        return Ids(codes[self.codes], names)

    @cached_property
    def used(self) -> list[str]:
        """The names that occur, in their order."""
        occur = np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))
        return [self.names[place] for place in np.flatnonzero(occur)]


class Origin(NamedTuple):
    """The file that trials were read from.

    Attributes
    ----------
    path : Path
    digest : str
        SHA-256 of its content.
    format : str
        Name of its format.
    ends_open : bool
        Whether its last line lacks the newline.
    lines : int array, shape (rows,), or None
        Line of each trial, from 1; None where trial n is in line n + 1.
    """

    path: Path
    digest: str
    format: str = ""
    ends_open: bool = False
    lines: IntArray | None = None


class Trials:
    """A table of trials, which does not change.

    Columns are attributes (`score`, `is_target`, `enrolled`, ...) and items (`trials["sex"]`); one
    that is not there is an error.

    Parameters
    ----------
    table : data frame or mapping, optional
        Anything with named columns: of pandas, polars or pyarrow, a dict of lists, a structured
        array; or `TrialScores`. Columns of usual names are found, such as enroll, test, llr and
        target; speaker is the trial speaker beside another column of enrolled ids. All others come
        along, and are converted once they are asked for.
    score, label, enrolled, utterance, enrolled_speaker, trial_speaker, weight : str or array_like
        Names of other columns of the table, or the values. A higher score supports the same
        speaker; labels are truth values, 1 and 0, or words such as target and nontarget, and
        become the column `is_target`; weights are whole numbers: how often a trial counts.
    origins : tuple of Origin
        Files that the rows come from, that of the scores first.
    **columns : str or array_like
        Further columns, of the trial side: sex, session, ... (enrolled_sex, of the other one).

    Raises
    ------
    PrivacyEvalError
        A column that is missing, there twice or of another length; a value that is missing, not
        finite or no label; a trial twice: which column, which rows, and the remedy.

    Notes
    -----
    What is changed later in the table or the arrays does not change the trials. Ids may have blanks
    here, but not in score files.

    Examples
    --------
    >>> trials = Trials({"enrolled": ["a", "a"], "utterance": ["u", "v"], "score": [2, -1]})
    >>> len(trials), trials.score.tolist(), "is_target" in trials
    (2, [2.0, -1.0], False)
    """

    def __init__(
        self,
        table: Table = None,
        /,
        *,
        score: Values = None,
        label: Values = None,
        enrolled: Values = None,
        utterance: Values = None,
        enrolled_speaker: Values = None,
        trial_speaker: Values = None,
        weight: Values = None,
        origins: tuple[Origin, ...] = (),
        **columns: Values,
    ) -> None:
        given = {
            **{"score": score, "label": label, "enrolled": enrolled, "utterance": utterance},
            **{"enrolled_speaker": enrolled_speaker, "trial_speaker": trial_speaker},
            "weight": weight,
        }
        if isinstance(table, TrialScores):
            label = np.repeat([True, False], [table.n_target, table.n_nontarget])
            table = {"score": np.concatenate([table.target, table.nontarget]), "label": label}
        # Keywords are a table, too, with columns of usual names.
        found = (
            find_columns(columns, given) if table is None else find_columns(table, given | columns)
        )
        self.origins = origins
        self._rows: NDArray[Any] | None = None
        self.missing = self.extra = 0
        self._columns: dict[str, Any] = {}
        self._shown: dict[str, str] = {}
        self._length = len(next((values for _, values in found.values()), ()))
        if not self._length:
            raise PrivacyEvalError(f"{self.name}: no trials, as the table is empty")
        self._add(found)

    @classmethod
    def of(cls, table: Table) -> Trials:
        """Return the trials of a table, or themselves."""
        return table if isinstance(table, Trials) else cls(table)

    def _add(self, found: Mapping[str, tuple[str, Any]]) -> None:
        """Add columns by field: fields are converted now, other columns once they are asked for."""
        for field, (shown, values) in found.items():
            if field in COLUMNS:
                name = _TRUTH if field == "label" else field
                self._columns[name] = _column(field, shown, values)
                self._shown[shown] = f"it is named {name}"
            else:
                self._columns[field] = partial(_column, field, shown, snapshot(values))
            if len(values) != self._length:
                raise PrivacyEvalError(
                    f"the column {shown} has {len(values)} rows, but the table {self._length}: "
                    "give each trial one value"
                )
        self._check(found)

    def _check(self, new: Collection[str]) -> None:
        """Refuse new scores that are not finite, and trials that new ids make twice; trials that
        are counted several times keep their ids."""
        if "score" in new and not (finite := np.isfinite(self.score)).all():
            rows = np.flatnonzero(~finite)
            raise PrivacyEvalError(
                f"{self.where(rows[0]) if self.origins else self.name}: {rows.size} of {len(self)} "
                f"scores are missing or not finite, such as {self.score[rows[0]]}, {at_rows(rows)}:"
                " leave these trials out"
            )
        if {*IDS[:2]} & {*new} and len(self.sides) == 2 and len(twice := self._repeated()):
            raise PrivacyEvalError(
                f"{self.where(twice[0])}: {counted(len(twice), 'duplicate trial')}: "
                f"{self.quote(twice)}; keep one line of each"
            )

    def __len__(self) -> int:
        return self._length

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns:
            option = "label" if name == _TRUTH else name
            known = self._shown.get(name, known_names(name, self._columns))
            remedy = f"; name it, Trials(table, {option}=...)" * (option in COLUMNS)
            raise PrivacyEvalError(f"{self.name}: no column {option}: {known}{remedy}")
        if callable(self._columns[name]):
            self._columns[name] = self._columns[name]()
        return self._columns[name]

    def __repr__(self) -> str:
        counts = f"{len(self)} trials"
        if _TRUTH in self:
            n_target = int(np.count_nonzero(self.is_target))
            counts = f"{n_target} target and {len(self) - n_target} nontarget trials"
        ids = [f"{len(self._ids(name).used)} {name}" for name in IDS if name in self]
        return f"Trials({counts}, {', '.join([*ids, ''])}columns {abbreviate(self.columns)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    @property
    def name(self) -> str:
        """What messages about all of them begin with."""
        return str(self.origins[0].path) if self.origins else "trials"

    @property
    def ends_open(self) -> tuple[Path, ...]:
        """Those of the files whose last line lacks the newline."""
        return tuple(origin.path for origin in self.origins if origin.ends_open)

    @property
    def score(self) -> FloatArray:
        """Scores, float64 array of shape (P,); all finite."""
        return np.asarray(self["score"])

    @property
    def is_target(self) -> BoolArray:
        """Whether each trial is a target trial, bool array of shape (P,)."""
        return np.asarray(self[_TRUTH])

    @property
    def enrolled(self) -> Ids:
        """Enrolled speakers, models or utterances."""
        return self._ids("enrolled")

    @property
    def utterance(self) -> Ids:
        """Trial utterances."""
        return self._ids("utterance")

    @property
    def enrolled_speaker(self) -> Ids:
        """Speakers of the enrolled ids."""
        return self._ids("enrolled_speaker")

    @property
    def trial_speaker(self) -> Ids:
        """Speakers of the trial utterances."""
        return self._ids("trial_speaker")

    @property
    def knows_speakers(self) -> bool:
        """Whether the speakers of both sides are known, see `speakers`."""
        if "trial_speaker" not in self or "enrolled_speaker" in self:
            return "trial_speaker" in self
        return "enrolled" in self and not {*self.enrolled.used}.isdisjoint(self.trial_speaker.used)

    @property
    def with_ids(self) -> Trials:
        """The trials; enrolled speakers are the enrolled ids where there are no others."""
        if "enrolled" in self or not ("enrolled_speaker" in self and "utterance" in self):
            return self
        return self.with_columns(enrolled=self.enrolled_speaker)

    @property
    def checked(self) -> Trials:
        """The trials; labels that contradict their speakers are refused, if both are known."""
        if _TRUTH in self and self.knows_speakers:
            _ = self.speakers
        return self

    @cached_property
    def speakers(self) -> tuple[Ids, Ids]:
        """Enrolled and trial speaker of each trial, coded by the same sorted names.

        Without enrolled speakers the enrolled ids are taken for them, if all labels agree.

        Raises
        ------
        PrivacyEvalError
            Speakers that are not known; labels that contradict them: the first such trial.
        """
        if "trial_speaker" not in self:
            raise PrivacyEvalError(
                f"{self.name}: a bootstrap over speakers needs the speakers of the trial "
                "utterances: name their column, trial_speaker=..., or look them up in utt2spk"
            )
        given = "enrolled_speaker" if "enrolled_speaker" in self else "enrolled"
        sides = self._ids(given), self.trial_speaker
        names = sorted({*sides[0].used, *sides[1].used})
        first, second = (side.among(names) for side in sides)
        wrong = np.flatnonzero((first.codes == second.codes) != self.is_target)
        if wrong.size:
            kind = "target" if self.is_target[wrong[0]] else "nontarget"
            remedy = "correct the column of labels or that of speakers"
            if given == "enrolled":
                remedy += ", or name the speakers of the enrolled ids, enrolled_speaker=..."
            raise PrivacyEvalError(
                f"{self.where(wrong[0])}: labels of {wrong.size} trials contradict their speakers; "
                f"the first is a {kind} trial of {given} {first.text(wrong[0])} and speaker "
                f"{second.text(wrong[0])}: {remedy}"
            )
        return first, second

    def _ids(self, name: str) -> Ids:
        ids = self[name]
        assert isinstance(ids, Ids)
        return ids

    @cached_property
    def scores(self) -> TrialScores:
        """The sorted scores, which metrics are computed from."""
        columns = self.counted.score, self.counted.is_target
        with located(self.name) if self.origins else contextlib.nullcontext():
            return TrialScores.from_labels(*columns)

    @cached_property
    def counted(self) -> Trials:
        """The trials without weights: each as often as it counts."""
        if "weight" not in self:
            return self
        rows = np.repeat(np.arange(len(self)), self["weight"])
        taken = self.take(rows)
        taken._columns.pop("weight")
        return taken

    @property
    def unweighted(self) -> Trials:
        """The trials, which have no weights: what ranks or averages tests knows none."""
        if "weight" in self and np.any(self["weight"] != 1):
            what = "tests have no weights here: take them away, with_columns(weight=None)"
            raise PrivacyEvalError(f"{self.name}: {what}")
        return self

    @property
    def sides(self) -> tuple[NDArray[Any], ...]:
        """Codes of the enrolled ids and of the utterances, as far as they are known."""
        return tuple(self._ids(name).codes for name in IDS[:2] if name in self)

    @property
    def n_self(self) -> int:
        """Number of target trials of an utterance with itself."""
        return int(np.count_nonzero(self._of_self & self.is_target))

    @property
    def without_self(self) -> Trials:
        """The trials but for those of an utterance with itself."""
        return self.take(~self._of_self)

    @property
    def _of_self(self) -> BoolArray:
        return np.asarray(self.enrolled.codes == self.utterance.among(self.enrolled.names).codes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is wrong with trials of ids that are on both sides: of an utterance with itself, or
        the same in both orders."""
        if len(self.sides) < 2 or {*self.enrolled.names}.isdisjoint(self.utterance.names):
            return ()
        n = self.n_self
        names = [*dict.fromkeys((*self.enrolled.names, *self.utterance.names))]
        sides = [ids.among(names).codes.astype(np.int64) for ids in (self.enrolled, self.utterance)]
        unordered = np.minimum(*sides) * len(names) + np.maximum(*sides)
        twice = len(self) - np.unique(unordered).size
        found = {
            f"{n} target trials compare an utterance with itself (metrics --leave-out-self)": n,
            f"{twice} pairs of trials are the same in both orders": twice,
        }
        return tuple(text for text, number in found.items() if number)

    def where(self, row: int) -> str:
        """Return file and line of a trial, or its number, as messages begin."""
        row = row if self._rows is None else int(self._rows[row])
        if not self.origins:
            return f"trials, row {row} (from 0)"
        lines = self.origins[0].lines
        return f"{self.origins[0].path}:{row + 1 if lines is None else lines[row]}"

    @property
    def pairs(self) -> IntArray:
        """A number of each pair of enrolled id and utterance, shape (P,)."""
        return _pairs(self.enrolled, self.utterance)

    @property
    def in_order_of_names(self) -> tuple[NDArray[np.int64], FloatArray]:
        """A number of each pair of ids, in an order that any table of the same names has, and the
        score."""
        pairs = _pairs(*(of.among(sorted(of.used)) for of in (self.enrolled, self.utterance)))
        order = np.argsort(pairs)
        return pairs[order], self.score[order]

    def _repeated(self) -> list[int]:
        """Return the rows of trials that are there before, too."""
        pairs, cells = self.pairs, len(self.enrolled.names) * len(self.utterance.names)
        if cells <= _CELLS_PER_TRIAL * len(self):
            seen = np.zeros(cells, dtype=np.bool_)
            seen[pairs] = True
            if np.count_nonzero(seen) == len(self):
                return []
        elif not np.any(np.diff(np.sort(pairs)) == 0):
            return []
        _, first = np.unique(pairs, return_index=True)
        return np.delete(np.arange(len(self)), first).tolist()

    def quote(self, rows: Sequence[int]) -> str:
        """Quote some trials for a message, non-ASCII ids also by their codes."""
        names = [f"{self.enrolled.text(row)} {self.utterance.text(row)}" for row in rows[:6]]
        return abbreviate([f"'{t}'" + f" ({ascii(t)[1:-1]})" * (not t.isascii()) for t in names])

    def take(self, rows: NDArray[Any] | Sequence[int] | slice) -> Trials:
        """Select rows, by their numbers, truth values or a slice."""
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        if not isinstance(rows, slice) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        of_file = np.arange(len(self), dtype=np.int32) if self._rows is None else self._rows
        taken = self._with({}, len(of_file[rows]))
        for name, of in self._columns.items():
            taken._columns[name] = (
                partial(self._part, name, rows) if callable(of) else self._part(name, rows)
            )
        taken._rows = of_file[rows]
        return taken

    def _part(self, name: str, rows: NDArray[Any] | slice) -> Any:
        of = self[name]
        return of.take(rows) if isinstance(of, Ids) else _read_only(of[rows])

    def select(self, **values: Any) -> Trials:
        """Select the trials with a value, or one of several, in a column.

        Examples
        --------
        >>> trials = Trials(score=[1, 2, 3], sex=["f", "m", "f"])
        >>> trials.select(sex="f").score.tolist()
        [1.0, 3.0]
        """
        kept = np.ones(len(self), dtype=np.bool_)
        for name, wanted in values.items():
            several = [wanted] if isinstance(wanted, str) or not np.iterable(wanted) else [*wanted]
            of = self[name]
            if isinstance(of, Ids):
                has = np.isin(of.codes, np.flatnonzero(np.isin(of.names, [*map(str, several)])))
            else:
                with contextlib.suppress(ValueError):  # numbers, also as text
                    several = [*map(float, several)]
                has = np.isin(of, several)
            if not has.any():
                there = of.used if isinstance(of, Ids) else [*map(str, np.unique(of))]
                what = f"no trial has {name}={wanted!r}, only {abbreviate(there)}"
                raise PrivacyEvalError(f"{self.name}: {what}")
            kept &= has
        return self.take(kept)

    def beside(self, others: Trials, *, missing: int = 0, extra: int = 0) -> Trials:
        """Add the columns of a table of the same trials in the same order that this one lacks, and
        the numbers of rows that only the other table and only this one had."""
        both = self._with({**others._columns, **self._columns}, len(self))
        both.origins += others.origins
        both.missing, both.extra = missing, extra
        return both

    def with_columns(self, **columns: Any) -> Trials:
        """Add columns, or replace them; None takes one away."""
        new = {"label" if name == _TRUTH else name: of for name, of in columns.items()}
        gone = {_TRUTH if name == "label" else name for name in new}
        kept = {name: of for name, of in self._columns.items() if name not in gone}
        trials = self._with(kept, len(self))
        trials._add(find_columns(None, new))
        return trials

    def _with(self, columns: Mapping[str, Any], length: int) -> Trials:
        trials = Trials.__new__(Trials)
        trials.origins, trials._rows = self.origins, self._rows
        trials.missing, trials.extra = self.missing, self.extra
        trials._columns, trials._length, trials._shown = {**columns}, length, {**self._shown}
        return trials

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame of pandas, which must be installed."""
        pandas = library("pandas", "data frames")
        return pandas.DataFrame({name: np.asarray(self[name]) for name in self._columns})


def match(first: Trials, second: Trials) -> tuple[IntArray, IntArray]:
    """Find the trials that are in both tables, whatever their order.

    Parameters
    ----------
    first, second : Trials
        With enrolled ids and utterances.

    Returns
    -------
    rows_first, rows_second : int arrays
        Rows of the same trial in both, ascending in the first.

    Examples
    --------
    >>> one = Trials(enrolled=["a", "a"], utterance=["u", "v"])
    >>> match(one, Trials(enrolled=["a", "b", "a"], utterance=["v", "v", "u"]))
    (array([0, 1]), array([2, 0]))
    """
    named = [second[side].among(first[side].names) for side in IDS[:2]]
    pairs, known = first.pairs, (named[0].codes >= 0) & (named[1].codes >= 0)
    others = _pairs(*named)
    if np.array_equal(pairs, others) and known.all():
        rows = np.arange(len(first))
        return rows, rows
    cells = len(first.enrolled.names) * len(first.utterance.names)
    if cells <= _CELLS_PER_TRIAL * (len(first) + len(second)):
        row_of = np.full(cells, -1, dtype=np.int32)
        row_of[others[known]] = np.flatnonzero(known)
        found = row_of[pairs]
    else:
        rows = np.flatnonzero(known)
        rows = rows[np.argsort(others[rows])]
        ascending = others[rows]
        at = np.minimum(np.searchsorted(ascending, pairs), max(ascending.size - 1, 0))
        found = (
            np.where(ascending[at] == pairs, rows[at], -1) if rows.size else np.full(len(first), -1)
        )
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows].astype(np.int64)


def _pairs(first: Ids, second: Ids) -> IntArray:
    """Return a number of the pair of ids of each row, shape (P,)."""
    return np.asarray(first.codes.astype(np.int64) * len(second.names) + second.codes)


def _column(field: str, shown: str, values: Any) -> Any:
    """Convert the values of a column: ids are coded, numbers are float64, labels truth values."""
    what = f"values of the column {shown}"
    if field == "label":
        return _read_only(as_truth(snapshot(values), what))
    if field == "score":
        values = snapshot(values)
        numbers = as_numbers(values, what)
        is_single = isinstance(values, np.ndarray) and values.dtype == np.float32
        return _read_only(values if is_single else numbers)  # whose digits files keep
    if field == "weight":
        numbers = as_numbers(values, what)
        if np.any(wrong := ~((numbers >= 0) & (numbers == np.floor(numbers)))):
            rows = np.flatnonzero(wrong)
            raise PrivacyEvalError(
                f"{what} must be whole numbers, how often each trial counts: {rows.size} of "
                f"{wrong.size} are not, such as {numbers[rows[0]]}, {at_rows(rows)}"
            )
        return _read_only(numbers.astype(np.int64))
    if not isinstance(values, Ids) and field not in IDS:
        opened = open_column(values)
        array = as_array(values, what) if opened is None else opened
        if isinstance(array, np.ndarray) and array.dtype.kind in "biuf":
            return _read_only(array)
    return Ids.of(values, what, may_miss=field not in IDS)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.setflags(write=False)
    return view
