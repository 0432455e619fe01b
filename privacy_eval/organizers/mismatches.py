"""Mismatches between original and anonymized data sets: utterances, speakers, lists, recordings
and x-vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..asv.inputs import TreeVectors
from ..errors import abbreviate
from ..io.data_dir import SPEAKER_GENDERS, read_list, read_spk2gender, read_utt2spk
from ..io.files import read_bytes, relative
from ..stages.access import AsvSystems
from .findings import ERROR, Finding, failure

T = TypeVar("T")

#: Number of utterances per set whose x-vectors are compared: enough to detect a copied set.
SAMPLED = 5

NOT_ANONYMIZED = "utterances missing in an anonymized set"
ONLY_ANONYMIZED = "utterances that are only in an anonymized set"
SPEAKERS = "utterances with a different speaker than in the original set"
LISTS = "anonymized sets with a different list"
NO_VECTORS = "utterances without x-vectors (stages 5 and 7 need --allow-missing)"
UNKNOWN_VECTORS = "x-vectors of utterances that are not in the set"
SAME_SPEECH = "anonymized sets that name the original recordings"
SAME_VECTORS = "anonymized sets with the x-vectors of the original set"
INVALID = "invalid file"
GENDERS = "speakers without a gender, or not of the gender of their set"


class DataSets:
    """Data sets of a tree: the enrollment and trial sets of the protocol."""

    def __init__(self, asv: AsvSystems) -> None:
        self.access, self.protocol, self.tree = asv.access, asv.protocol, asv.access.tree
        self.data = self.tree / "data"
        trial_sets = list(self.protocol.trial_sets())
        names = [*(t.enrollment_name for t in trial_sets), *(t.trials_name for t in trial_sets)]
        self.names = list(dict.fromkeys(names))
        self._errors: dict[Finding, None] = {}
        self._speakers: dict[str, Mapping[str, str] | None] = {}

    def mismatches(
        self, owners: Mapping[str, str], genders: Mapping[Path, str]
    ) -> Iterator[Finding]:
        """Compare data sets and x-vectors with their anonymized copies, and genders with their
        sets; name files that cannot be read.

        Parameters
        ----------
        owners : mapping
            Anonymization suffixes to the only team that uses each, or "".
        genders : mapping
            Folders of trial keys to the gender of their set.
        """
        model_suffixes: dict[str, list[str]] = {}
        trained_on = {part.asv_model for part in self.protocol.results_folders}
        for suffix, team in owners.items():
            for name in self.names:
                for finding in (*self._utterances(name, suffix), *self._lists(name, suffix)):
                    yield replace(finding, team=team)
            for model in self.protocol.asv_models:
                if model.trained_on in trained_on:
                    model_suffixes.setdefault(model.model_folder(suffix), [""]).append(suffix)
        for folder, suffixes in model_suffixes.items():
            for suffix in suffixes:
                for finding in self._vector_mismatches(self.tree / folder, suffix):
                    yield replace(finding, team=owners.get(suffix, ""))
        yield from self._gender_mismatches(genders)
        yield from self._errors

    def _speakers_of(self, name: str) -> Mapping[str, str] | None:
        """Return the speaker of every utterance of a set; None without a valid utt2spk."""
        if name not in self._speakers:
            content = self._read(read_utt2spk, self.data / name / "utt2spk")
            self._speakers[name] = content[0] if content else None
        return self._speakers[name]

    def _read(self, read: Callable[[Path], T], *paths: Path) -> list[T]:
        """Read files; return [] if one is missing or invalid, and note an invalid one."""
        if all(path.is_file() for path in paths):
            try:
                self.access.check_inside(*paths)
                return [read(path) for path in paths]
            except Exception as error:
                self._errors[failure(INVALID, error, file=paths[-1])] = None
        return []

    def _gender_mismatches(self, folders: Mapping[Path, str]) -> Iterator[Finding]:
        """Check the genders of speakers against their sets, as results are reported by gender."""
        for folder, gender in sorted(folders.items()):
            if gender not in SPEAKER_GENDERS:
                continue
            path = folder / "spk2gender"
            genders = self._read(read_spk2gender, path)
            speakers = self._read(read_utt2spk, folder / "utt2spk") if genders else []
            names = sorted({s for of_utterance in speakers for s in of_utterance.values()})
            if wrong := [s for s in names if genders[0].get(s) != gender]:
                count = f"{len(wrong)} not {gender}: {abbreviate(wrong)}"
                item = f"{relative(path, self.tree)} ({count})"
                yield Finding(GENDERS, item, status=ERROR, file=path)

    def _utterances(self, name: str, suffix: str) -> Iterator[Finding]:
        """Compare utterances and speakers with the anonymized set or else a superset of it."""
        names = (name, *self.protocol.supersets(name))
        superset = next((n for n in names if self._speakers_of(n + suffix) is not None), None)
        original = self._speakers_of(name)
        if superset is None or original is None:
            return
        copy_name = superset + suffix
        copy, file = self._speakers_of(copy_name) or {}, self.data / copy_name / "utt2spk"
        yield from _only_in(original, copy, NOT_ANONYMIZED, file)
        if superset == name:
            yield from _only_in(copy, original, ONLY_ANONYMIZED, file)
        other = [f"{u}: {copy[u]}, not {s}" for u, s in original.items() if copy.get(u, s) != s]
        if other:
            item = f"{copy_name} ({len(other)} of {len(original)}, as {other[0]})"
            yield Finding(SPEAKERS, item, file=file, detail="; ".join(other))
        file = self.data / copy_name / "wav.scp"
        scp = self._read(_lines, self.data / name / "wav.scp", file)
        if scp and (same := scp[0] & scp[1]):
            item = f"{copy_name} ({len(same)} of {len(scp[0])} of {name})"
            yield Finding(SAME_SPEECH, item, file=file)

    def _lists(self, name: str, suffix: str) -> Iterator[Finding]:
        """Compare the lists of a set and its copy, in any order."""
        for file, read in (("enrolls", _enrolls), ("trials", _lines)):
            paths = [self.data / f"{name}{s}" / file for s in ("", suffix)]
            if lists := self._read(read, *paths):
                missing, extra = sorted(lists[0] - lists[1]), sorted(lists[1] - lists[0])
                if missing or extra:
                    item = f"{name}{suffix}/{file} ({len(missing)} missing, {len(extra)} extra)"
                    detail = f"missing: {_text(missing)}; extra: {_text(extra)}"
                    yield Finding(LISTS, item, file=paths[1], detail=detail)

    def _vector_mismatches(self, folder: Path, suffix: str) -> Iterator[Finding]:
        """Compare x-vectors of a model folder with the utterances of their sets, and those of
        anonymized sets with the original ones."""
        allow = self.access.allow_outside
        vectors = TreeVectors(self.tree, self.protocol, folder, allow_outside=allow)
        findings: dict[Finding, None] = {}
        for name in self.names:
            try:
                findings |= dict.fromkeys(self._vectors(vectors, name, suffix))
            except Exception as error:
                self._errors[failure(INVALID, error, file=vectors.find(name, suffix))] = None
        yield from findings

    def _vectors(self, vectors: TreeVectors, name: str, suffix: str) -> Iterator[Finding]:
        path = vectors.find(name, suffix)
        if path is None:
            return
        where = relative(path.parent, self.tree)
        copy = self._speakers_of(name + suffix)
        speakers = self._speakers_of(name) if copy is None else copy
        if speakers is not None:
            scp = vectors.locations(path)
            if missing := [u for u in speakers if u not in scp]:
                count = f"{len(missing)} of {len(speakers)} of {name}"
                item = f"{where} ({count}: {abbreviate(missing)})"
                yield Finding(NO_VECTORS, item, file=path, detail=", ".join(missing))
            unknown = [u for u in scp if u not in speakers]
            if unknown and path.parent.name == f"xvect_{name}{suffix}":
                item = f"{where} ({len(unknown)}: {abbreviate(unknown)})"
                yield Finding(UNKNOWN_VECTORS, item, file=path, detail=", ".join(unknown))
        original = vectors.find(name, "") if suffix else None
        if original is not None and (same := self._same_vectors(vectors, name, original, path)):
            yield Finding(SAME_VECTORS, f"{where} ({same})", file=path)

    def _same_vectors(self, vectors: TreeVectors, name: str, original: Path, path: Path) -> str:
        """Describe how many x-vectors have the same archive position, or are equal in a sample."""
        places = [vectors.locations(p) for p in (original, path)]
        utterances = self._speakers_of(name) or places[0]
        common = sorted(u for u in places[0] if u in places[1] and u in utterances)
        same_place = [u for u in common if places[0][u] and places[0][u] == places[1][u]]
        if same_place:
            return f"{len(same_place)} of {len(common)} of {name}, in the same place"
        # A check never runs commands of scp files.
        readable = [u for u in common if not any(p[u].endswith("|") for p in places)]
        sample = readable[:: max(1, len(readable) // SAMPLED)][:SAMPLED]
        if not sample:
            return ""
        x, y = (
            v.matrix[v.rows(sample, "a sample")]
            for v in (vectors.read_some(p, sample) for p in (original, path))
        )
        equal = int(np.all(x == y, axis=1).sum()) if x.shape == y.shape else 0
        return f"{equal} of {len(sample)} sampled of {name}" if equal else ""


def _only_in(
    speakers: Mapping[str, str], other: Mapping[str, str], problem: str, file: Path
) -> Iterator[Finding]:
    """Report utterances missing in another set, and speakers who have no utterance there."""
    only = [u for u in speakers if u not in other]
    others = set(other.values())
    gone = list(dict.fromkeys(speakers[u] for u in only if speakers[u] not in others))

    def text(show: Callable[[Sequence[str]], str]) -> str:
        return show(only) + (f"; speakers: {show(gone)}" if gone else "")

    if only:
        item = f"{file.parent.name} ({len(only)} of {len(speakers)}: {text(abbreviate)})"
        yield Finding(problem, item, file=file, detail=text(", ".join))


def _enrolls(path: Path) -> Set[bytes]:
    return read_list(path, "enrolls").keys()


def _lines(path: Path) -> Set[bytes]:
    """Lines of a file, whatever whitespace separates their fields."""
    return {b" ".join(line.split()) for line in read_bytes(path).split(b"\n")} - {b""}


def _text(names: Collection[bytes]) -> str:
    return b", ".join(names).decode("utf-8", "backslashreplace") or "none"
