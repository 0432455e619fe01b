"""Transcripts: Kaldi's `text`, an utterance and its words per line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate
from .files import Loaded, read_text
from .ids import MAX_FIELD_BYTES
from .wer import BLANKS

#: Control characters but tabs; one is a lone carriage return, which ends no line of Kaldi's.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class PairedTranscripts:
    """References and hypotheses of the same utterances.

    Attributes
    ----------
    texts : mapping
        Reference and hypothesis by utterance, in the order of the reference.
    missing, extra : int
        References without a hypothesis and hypotheses without a reference, left out on request.
    """

    texts: Mapping[str, tuple[str, str]]
    missing: int
    extra: int


def read_transcripts(path: Path | Loaded) -> dict[str, str]:
    """Read the words of every utterance.

    Parameters
    ----------
    path : Path or Loaded
        Lines of an utterance, blanks and any words, or none.

    Returns
    -------
    dict of str to str
        In the order of the file.

    Raises
    ------
    PrivacyEvalError
        With file and line: a duplicate utterance, an id of over 1024 bytes, a control character;
        an empty file.
    """
    words_of: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        words = line.strip(BLANKS)
        if not words:
            continue
        utterance = words.replace("\t", " ").split(" ", 1)[0]
        if control := _CONTROL.search(words):
            raise PrivacyEvalError(f"{path}:{number}: control character {ascii(control[0])}")
        if len(utterance.encode()) > MAX_FIELD_BYTES or not utterance.isprintable():
            raise PrivacyEvalError(f"{path}:{number}: not an utterance: {utterance[:80]!r}")
        if utterance in words_of:
            raise PrivacyEvalError(f"{path}:{number}: duplicate utterance {utterance}")
        words_of[utterance] = words[len(utterance) :]
    if not words_of:
        raise PrivacyEvalError(f"{path}: empty file, expected lines of <utterance> <words>")
    return words_of


def pair_transcripts(
    reference: Path | Loaded, hypothesis: Path | Loaded, *, allow_missing: bool = False
) -> PairedTranscripts:
    """Read two files and pair their utterances.

    Parameters
    ----------
    allow_missing : bool
        Leave out utterances that only one of them has.

    Raises
    ------
    PrivacyEvalError
        As `read_transcripts`; an utterance without hypothesis or reference; none with both.
    """
    spoken, recognized = read_transcripts(reference), read_transcripts(hypothesis)
    missing = [u for u in spoken if u not in recognized]
    extra = [u for u in recognized if u not in spoken]
    if not allow_missing:
        refuse_utterances(hypothesis, "have no hypothesis", missing, len(spoken))
        refuse_utterances(hypothesis, "have no reference", extra, len(recognized))
    texts = {u: (spoken[u], recognized[u]) for u in spoken if u in recognized}
    if not texts:
        raise PrivacyEvalError(f"{hypothesis}: no utterance of {reference}")
    return PairedTranscripts(texts, len(missing), len(extra))


def speakers_of(
    utterances: Iterable[str], utt2spk: Mapping[str, str], path: Path | Loaded
) -> list[str]:
    """Look up the speaker of each utterance.

    Parameters
    ----------
    path : Path or Loaded
        Its file, for messages.

    Raises
    ------
    PrivacyEvalError
        An utterance without a speaker.
    """
    utterances = list(utterances)
    refuse_utterances(
        path, "have no speaker", [u for u in utterances if u not in utt2spk], len(utterances)
    )
    return [utt2spk[u] for u in utterances]


def joined_transcripts(path: Path | Loaded, groups: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Read transcripts and join those of the utterances of each group.

    Raises
    ------
    PrivacyEvalError
        As `read_transcripts`; an utterance without a transcript.
    """
    transcripts = read_transcripts(path)
    needed = list(dict.fromkeys(u for members in groups.values() for u in members))
    missing = [utterance for utterance in needed if utterance not in transcripts]
    refuse_utterances(path, "have no transcript", missing, len(needed))
    return {name: " ".join(transcripts[u] for u in members) for name, members in groups.items()}


def refuse_utterances(path: Path | Loaded, what: str, utterances: list[str], total: int) -> None:
    """Raise an error if there are any utterances, of a total, that something is wrong with."""
    if utterances:
        raise PrivacyEvalError(
            f"{path}: {len(utterances)} of {total} utterances {what}: {abbreviate(utterances)}"
        )
