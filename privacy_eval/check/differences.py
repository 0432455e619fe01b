"""How anonymized data sets differ from the original ones: speakers, utterances, lists,
recordings, and x-vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

import numpy as np

from ..asv.model_folder import TreeVectors
from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_list, read_utt2spk
from ..io.files import read_bytes, relative
from ..io.scores import TrialKey, same_trials
from ..protocol.protocol import Protocol
from ..stages.asv_scores import Models
from .findings import Finding

#: Utterances of a set whose x-vectors are compared: copied sets show in the first, and a few of
#: a set are read in no time.
SAMPLED = 5

LACKS = "utterances missing in an anonymized set"
ADDS = "utterances that only an anonymized set has"
SPEAKERS = "another speaker of the same utterance"
LISTS = "anonymized set with another list"
UNHEARD = "no x-vectors of utterances (stages 5 and 7 need --allow-missing)"
UNKNOWN = "x-vectors of utterances that the set does not have"
SAME_SPEECH = "anonymized set that names the original recordings"
SAME_VECTORS = "x-vectors of an anonymized set that are those of the original set"


class Sets:
    """The data sets of a tree, each file read once.

    Attributes
    ----------
    wrong : dict
        What cannot be read, as a set that keeps its order.
    """

    def __init__(self, models: Models) -> None:
        self.models, self.protocol, self.tree = models, models.protocol, models.place.tree
        self.data = self.tree / "data"
        self.wrong: dict[str, None] = {}
        self._speakers: dict[Path, Mapping[str, str] | None] = {}

    def speakers(self, name: str) -> Mapping[str, str] | None:
        """Speaker of every utterance of a set; None where that is not said."""
        path = self.data / name / "utt2spk"
        if path not in self._speakers:
            self._speakers[path] = None
            if path.is_file():
                try:
                    self.models.check_inside(path)
                    self._speakers[path] = read_utt2spk(path)
                except PrivacyEvalError as error:
                    self.wrong[str(error)] = None
        return self._speakers[path]

    def differences(self, suffixes: Iterable[str]) -> list[Finding]:
        """What anonymized sets have, or lack, that the original ones have not, or have."""
        return [
            finding
            for suffix in suffixes
            for name in plan_sets(self.protocol)
            for finding in (*self._differences(name, suffix), *self._lists(name, suffix))
        ]

    def _differences(self, name: str, suffix: str) -> list[Finding]:
        supersets = (name, *self.protocol.supersets(name))
        holder = next((h for h in supersets if self.speakers(h + suffix) is not None), None)
        original = self.speakers(name)
        if holder is None or original is None:
            return []
        own = holder == name
        copy = self.speakers(holder + suffix) or {}
        found = []
        missing = [u for u in original if u not in copy]
        if missing:
            found.append(_finding(LACKS, holder + suffix, missing, original, copy))
        added = [u for u in copy if u not in original] if own else []
        if added:
            found.append(_finding(ADDS, holder + suffix, added, copy, original))
        other = [u for u, s in original.items() if copy.get(u, s) != s]
        if other:
            each = [f"{u}: {copy[u]}, not {original[u]}" for u in other]
            item = f"{holder}{suffix} ({len(other)} of {len(original)}, as {each[0]})"
            found.append(Finding(SPEAKERS, item, "; ".join(each)))
        return found + self._recordings(name, holder + suffix)

    def _lists(self, name: str, suffix: str) -> list[Finding]:
        """Lists of a set and its copy that do not say the same, in any order."""
        found = []
        for what in ("enrolls", "trials"):
            paths = [self.data / f"{name}{mark}" / what for mark in ("", suffix)]
            if not all(path.is_file() for path in paths):
                continue
            try:
                self.models.check_inside(*paths)
                ours, theirs = (_list(path, what) for path in paths)
            except PrivacyEvalError as error:
                self.wrong[str(error)] = None
                continue
            lacks, adds = sorted(ours - theirs), sorted(theirs - ours)
            if lacks or adds:
                item = f"{name}{suffix}/{what} ({len(lacks)} missing, {len(adds)} more)"
                detail = f"missing: {_text(lacks)}; more: {_text(adds)}"
                found.append(Finding(LISTS, item, detail))
        return found

    def _recordings(self, name: str, copy: str) -> list[Finding]:
        """Utterances whose wav.scp says the same in both sets."""
        paths = [self.data / folder / "wav.scp" for folder in (name, copy)]
        if not all(path.is_file() for path in paths):
            return []
        try:
            self.models.check_inside(*paths)
            ours, theirs = map(_lines, paths)
        except PrivacyEvalError as error:
            self.wrong[str(error)] = None
            return []
        same = ours & theirs
        if not same:
            return []
        return [Finding(SAME_SPEECH, f"{copy} ({len(same)} of {len(ours)} of {name})")]

    def vectors(self, folder: Path, suffixes: Iterable[str]) -> list[Finding]:
        """What x-vectors of a model lack, and anonymized ones that are none."""
        vectors = TreeVectors(
            self.tree,
            self.protocol,
            folder,
            allow_outside=self.models.place.allow_outside,
        )
        found: dict[Finding, None] = {}
        for suffix in dict.fromkeys(("", *suffixes)):
            for name in plan_sets(self.protocol):
                path = vectors.find(name, suffix)
                if path is None:
                    continue
                try:
                    wanted = self._of_vectors(path, vectors, name, suffix)
                    original = vectors.find(name, "") if suffix else None
                    copied = [] if original is None else self._copied(vectors, name, original, path)
                except PrivacyEvalError as error:
                    self.wrong[str(error)] = None
                    continue
                found |= dict.fromkeys((*wanted, *copied))
        return list(found)

    def _of_vectors(
        self, path: Path, vectors: TreeVectors, name: str, suffix: str
    ) -> list[Finding]:
        copy = self.speakers(name + suffix)
        speakers = self.speakers(name) if copy is None else copy
        if speakers is None:
            return []
        there = vectors.places(path)
        where = relative(path.parent, self.tree)
        unheard = [u for u in speakers if u not in there]
        found = []
        if unheard:
            item = f"{where} ({len(unheard)} of {len(speakers)} of {name}: {abbreviate(unheard)})"
            found.append(Finding(UNHEARD, item, ", ".join(unheard)))
        unknown = [u for u in there if u not in speakers]
        if unknown and path.parent.name == f"xvect_{name}{suffix}":
            item = f"{where} ({len(unknown)}: {abbreviate(unknown)})"
            found.append(Finding(UNKNOWN, item, ", ".join(unknown)))
        return found

    def _copied(self, vectors: TreeVectors, name: str, original: Path, path: Path) -> list[Finding]:
        """Whether the same x-vectors stand in both sets, by where they are and by a sample."""
        ours, theirs = vectors.places(original), vectors.places(path)
        of_set = self.speakers(name) or ours
        common = sorted(u for u in ours if u in theirs and u in of_set)
        where = relative(path.parent, self.tree)
        one_place = [u for u in common if ours[u] and ours[u] == theirs[u]]
        if one_place:
            number = f"{len(one_place)} of {len(common)}"
            return [Finding(SAME_VECTORS, f"{where} ({number} of {name}, in the same place)")]
        # Commands are not run here.
        readable = [u for u in common if not ours[u].endswith("|") and not theirs[u].endswith("|")]
        step = max(1, len(readable) // SAMPLED)
        sample = readable[::step][:SAMPLED]
        if not sample:
            return []
        read = [vectors.read_some(p, sample) for p in (original, path)]
        x, y = (v.matrix[v.rows(sample, "a sample")] for v in read)
        if x.shape != y.shape:
            return []
        same = int(np.all(x == y, axis=1).sum())
        if not same:
            return []
        return [Finding(SAME_VECTORS, f"{where} ({same} of {len(sample)} sampled of {name})")]


def plan_sets(protocol: Protocol) -> list[str]:
    """Enrollment and trial sets of a plan."""
    trial_sets = list(protocol.trial_sets())
    names = [*(t.enrollment_name for t in trial_sets), *(t.trials_name for t in trial_sets)]
    return list(dict.fromkeys(names))


def key_errors(keys: Mapping[Path, TrialKey]) -> list[str]:
    """Keys of one trial set that do not list the same trials."""
    paths = sorted(keys)
    return [
        f"{path}: other trials or labels than in {paths[0]}"
        for path in paths[1:]
        if not same_trials(keys[paths[0]], keys[path])
    ]


def _finding(
    kind: str,
    name: str,
    utterances: list[str],
    own: Mapping[str, str],
    other: Mapping[str, str],
) -> Finding:
    """Utterances that one of two sets has, and those of their speakers that the other has not."""
    others = set(other.values())
    speakers = list(dict.fromkeys(own[u] for u in utterances if own[u] not in others))
    whole = f"; speakers: {abbreviate(speakers)}" if speakers else ""
    item = f"{name} ({len(utterances)} of {len(own)}: {abbreviate(utterances)}{whole})"
    detail = ", ".join(utterances) + (f"; speakers: {', '.join(speakers)}" if speakers else "")
    return Finding(kind, item, detail)


def _list(path: Path, what: str) -> Set[bytes]:
    """Utterances of a list of enrolls, which has to be one; lines of a list of trials, with
    labels or without."""
    return read_list(path, what).lines.keys() if what == "enrolls" else _lines(path)


def _lines(path: Path) -> Set[bytes]:
    """The lines of a file, however their fields are set apart."""
    return {b" ".join(line.split()) for line in read_bytes(path).split(b"\n")} - {b""}


def _text(names: Sequence[bytes]) -> str:
    return b", ".join(names).decode("utf-8", "backslashreplace") or "none"
