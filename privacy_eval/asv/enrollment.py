"""The utterances that each speaker enrolls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_list, read_spk2utt, read_utt2spk
from ..io.files import Loaded, digest


@dataclass(frozen=True)
class Enrollment:
    """Enrollment utterances of each speaker.

    Attributes
    ----------
    path : Path
        File that lists them.
    members : mapping of str to tuple of str
        Utterances by speaker.
    """

    path: Path
    members: Mapping[str, tuple[str, ...]]

    @property
    def digest(self) -> str:
        """SHA-256 of speakers and utterances, independent of the order of the files."""
        lines = sorted(f"{s} {' '.join(u)}\n" for s, u in self.members.items())
        return digest("".join(lines).encode())


def load_listed_enrollment(path: Path) -> Enrollment:
    """Read the enrollment that a file stands for: a spk2utt or utt2spk, or a list of utterances
    whose speakers are in such a file beside it.

    Parameters
    ----------
    path : Path
        `Enrollment.path` of another reading.

    Returns
    -------
    Enrollment

    Raises
    ------
    PrivacyEvalError
        As `load_enrollment`; no speakers beside the list.
    """
    if path.name.startswith(("spk2utt", "utt2spk")):
        return load_enrollment(path)
    beside = (path.with_name(name) for name in ("spk2utt", "utt2spk"))
    speakers = next((file for file in beside if file.is_file()), None)
    if speakers is None:
        raise PrivacyEvalError(f"{path}: neither spk2utt nor utt2spk beside it")
    return load_enrollment(speakers, path)


def load_enrollment(spk2utt: Path | Loaded, enrolls: Path | Loaded | None = None) -> Enrollment:
    """Read the enrollment utterances of each speaker.

    Parameters
    ----------
    spk2utt : Path or Loaded
        A spk2utt, or a utt2spk by its name.
    enrolls : Path or Loaded, optional
        A list of the utterances to take; all, unless given.

    Returns
    -------
    Enrollment

    Raises
    ------
    PrivacyEvalError
        A malformed file; an utterance of the list that has no speaker.
    """
    if Path(spk2utt).name.startswith("utt2spk"):
        members: dict[str, tuple[str, ...]] = {}
        for utterance, speaker in read_utt2spk(spk2utt).items():
            members[speaker] = (*members.get(speaker, ()), utterance)
    else:
        members = read_spk2utt(spk2utt)
    if enrolls is None:
        return Enrollment(Path(spk2utt), members)
    lines = read_list(enrolls, "enrolls").lines
    listed = {u.decode("utf-8", "backslashreplace"): n for u, n in lines.items()}
    with_speaker = {u for utterances in members.values() for u in utterances}
    unknown = [u for u in listed if u not in with_speaker]
    if unknown:
        raise PrivacyEvalError(
            f"{enrolls}:{listed[unknown[0]]}: {len(unknown)} utterances have no speaker in "
            f"{spk2utt}: {abbreviate(unknown)}"
        )
    selected = {s: tuple(u for u in all_of if u in listed) for s, all_of in members.items()}
    return Enrollment(Path(enrolls), {s: some for s, some in selected.items() if some})
