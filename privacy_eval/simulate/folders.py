"""What simulated trees and folders of speech share: a marker of what was simulated, sizes of trial
sets, data folders, and what people say. Every speaker has a subject, whose words occur among common
ones.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..choices import grouped
from ..errors import PrivacyEvalError
from ..io.files import atomic_folder, atomic_path, read_text, sweep, write_text
from ..io.schema import load_json
from ..io.yaml_text import parse_yaml
from ..protocol.protocol import Protocol, TrialSet, resource


@contextlib.contextmanager
def marked_folder(folder: Path, kind: str, marker: Mapping[str, Any]) -> Iterator[Path | None]:
    """Yield an empty folder that replaces `folder` when the block succeeds; None if `folder` has
    the same marker already.

    Parameters
    ----------
    kind : str
        Such as `demo_tree`; the marker is in `<kind>.json`.
    marker : mapping
        Sizes and seed of what is simulated.

    Raises
    ------
    PrivacyEvalError
        `folder` contains something else, or is the current one.
    """
    folder = Path(os.path.abspath(folder))
    if _read_marker(folder, kind) == marker:
        yield None
        return
    _check_replaceable(folder, kind, marker)
    sweep(folder)
    with atomic_folder(folder) as temporary:
        yield temporary
        write_text(temporary / f"{kind}.json", json.dumps(marker, indent=1) + "\n")
        if _read_marker(folder, kind) != marker:  # written in the meantime
            _check_replaceable(folder, kind, marker)


def _read_marker(folder: Path, kind: str) -> Mapping[str, Any]:
    """Read the marker of a folder; empty if there is none."""
    path = folder / f"{kind}.json"
    marker = load_json(path) if path.is_file() else {}
    return marker if isinstance(marker, dict) else {}


def _check_replaceable(folder: Path, kind: str, marker: Mapping[str, Any]) -> None:
    """Refuse to overwrite anything but an empty folder."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        there = _read_marker(folder, kind)
        different = [
            f"{key} {json.dumps(there.get(key))}, not {json.dumps(value)}"
            for key, value in marker.items()
            if kind in there and there.get(key) != value
        ]
        differences = f" (it is one of {'; '.join(different)})" if different else ""
        raise PrivacyEvalError(
            f"{folder}: contains something other than the {kind.replace('_', ' ')} of seed "
            f"{marker['seed']}{differences}; remove it or name another folder"
        )
    if folder.samefile(Path()):
        raise PrivacyEvalError(f"{folder}: is the current folder; choose another one")


@dataclass(frozen=True)
class TrialSize:
    """Size of a trial set.

    Attributes
    ----------
    enrolled : int
        Enrolled speakers; as many as possible also speak.
    speakers : int
        Speakers of its utterances.
    utterances : int
    targets : int
        Utterances of enrolled speakers.
    nontargets : int or None
        Trials of other pairs of an enrolled speaker and an utterance; None: all of them.
    """

    enrolled: int
    speakers: int
    utterances: int
    targets: int
    nontargets: int | None = None

    @property
    def of_speakers(self) -> list[int]:
        """Numbers of utterances of the speakers, the enrolled ones first."""
        n_both = min(self.enrolled, self.speakers)
        groups = (n_both, self.targets), (self.speakers - n_both, self.utterances - self.targets)
        return [
            total // number + (n < total % number)
            for number, total in groups
            for n in range(number)
        ]


@functools.cache
def true_sizes() -> Mapping[tuple[str, str, str], TrialSize]:
    """Read the sizes of the challenges' trial sets, by data set, split and gender."""
    path = resource("conf/published/trial_sizes.yaml")
    listed: Any = parse_yaml(read_text(path), str(path))
    return {
        (data_set, split, gender): TrialSize(*sizes)
        for data_set, splits in listed.items()
        for split, of_split in splits.items()
        for gender, sizes in of_split.items()
    }


@dataclass(frozen=True)
class Demo:
    """What a demo tree is made of; see `write_demo_tree`. Without a size, trial sets have the
    challenge's."""

    tree: Path
    protocol: Protocol
    seed: int
    size: TrialSize | None

    def size_of(self, trial_set: TrialSet, gender: str = "") -> TrialSize:
        """Return the size of a trial set, or of one gender of it.

        Raises
        ------
        PrivacyEvalError
            It is not known.
        """
        place = trial_set.data_set.id, trial_set.split, gender or trial_set.gender
        size = self.size or true_sizes().get(place)
        if size is None:
            raise PrivacyEvalError(
                f"protocol {self.protocol.name}: the challenge's numbers of trials are not known "
                f"for {' '.join(place)}; choose --speakers and --utterances"
            )
        return size

    def stream(self, *names: str) -> np.random.Generator:
        """Return an independent random stream for each name."""
        return np.random.default_rng([self.seed, *(zlib.crc32(name.encode()) for name in names)])

    def write_data(
        self,
        name: str,
        speaker_of: Mapping[str, str],
        gender_of: Mapping[str, str],
        **lists: Iterable[str],
    ) -> None:
        """Write a data folder: the speakers of utterances, their genders, words, and files of
        lines."""
        utterances_of = grouped(speaker_of, speaker_of.__getitem__)
        files: dict[str, Iterable[str]] = {
            "utt2spk": (f"{u} {s}" for u, s in speaker_of.items()),
            "spk2utt": (f"{s} {' '.join(u)}" for s, u in sorted(utterances_of.items())),
            "spk2gender": (f"{s} {g}" for s, g in sorted(gender_of.items())),
            "text": (f"{u} {simulate_words(s, u, self.seed)}" for u, s in speaker_of.items()),
            **lists,
        }
        for file, lines in files.items():
            with (
                atomic_path(self.tree / "data" / name / file) as temporary,
                open(temporary, "w", encoding="utf-8", newline="\n") as opened,
            ):
                opened.writelines(f"{line}\n" for line in lines)


def trial_lines(pairs: Iterable[tuple[str, str]], speaker_of: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a trial key, of enrolled speakers and utterances."""
    for speaker, utterance in pairs:
        label = "target" if speaker_of[utterance] == speaker else "nontarget"
        yield f"{speaker} {utterance} {label}"


#: Syllables, two of which make a word.
_SYLLABLES = tuple(f"{c}{v}" for c in "BDFGKLMNPRSTVZ" for v in "AEIOU")
#: Words of a speaker's subject, and how often a word is one of them.
_SUBJECT, _SHARE = 40, 0.17
#: Words of the language; of the common ones, the first are the most frequent.
_LANGUAGE = len(_SYLLABLES) ** 2
_SKEW = 4

#: Most words of an utterance; the least are a third.
_MOST_WORDS = 24


@functools.lru_cache(maxsize=1 << 16)
def simulate_words(speaker: str, utterance: str, seed: int) -> str:
    """Simulate the words of an utterance, which its id and its speaker determine."""
    generator = np.random.default_rng([seed, zlib.crc32(f"words {utterance}".encode())])
    number = int(generator.integers(_MOST_WORDS // 3, _MOST_WORDS + 1))
    subject = _subject(speaker, seed)
    common = (_LANGUAGE * generator.random(number) ** _SKEW).astype(int)
    own = subject[generator.integers(0, _SUBJECT, number)]
    chosen = np.where(generator.random(number) < _SHARE, own, common)
    return " ".join(
        _SYLLABLES[word // len(_SYLLABLES)] + _SYLLABLES[word % len(_SYLLABLES)]
        for word in chosen.tolist()
    )


@functools.lru_cache(maxsize=1024)
def _subject(speaker: str, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng([seed, zlib.crc32(f"subject {speaker}".encode())])
    subject: NDArray[np.int64] = generator.integers(0, _LANGUAGE, _SUBJECT)
    return subject
