"""How many speakers, utterances and trials the challenges' trial sets have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import PrivacyEvalError


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


#: The challenges' trial sets by data set, split and gender. LibriSpeech: 2022 and 2024, and track
#: 1 of 2026; VCTK: 2022, of whose utterances as many are taken as there are target trials. Others:
#: track 2 of 2026, in June 2026 (its statistics of MLS).
TRUE_SIZES: Mapping[tuple[str, str, str], TrialSize] = {
    ("libri", "dev", "f"): TrialSize(15, 20, 1018, 704),
    ("libri", "dev", "m"): TrialSize(14, 20, 960, 644),
    ("libri", "test", "f"): TrialSize(16, 20, 734, 548),
    ("libri", "test", "m"): TrialSize(13, 20, 762, 449),
    ("vctk_different", "dev", "f"): TrialSize(15, 15, 1781, 1781, 13219),
    ("vctk_different", "dev", "m"): TrialSize(15, 15, 2015, 2015, 12985),
    ("vctk_different", "test", "f"): TrialSize(15, 15, 1944, 1944, 13056),
    ("vctk_different", "test", "m"): TrialSize(15, 15, 1742, 1742, 13258),
    ("vctk_common", "dev", "f"): TrialSize(15, 15, 344, 344, 4810),
    ("vctk_common", "dev", "m"): TrialSize(15, 15, 351, 351, 4911),
    ("vctk_common", "test", "f"): TrialSize(15, 15, 346, 346, 4844),
    ("vctk_common", "test", "m"): TrialSize(15, 15, 354, 354, 4956),
    ("en", "dev", "f"): TrialSize(21, 21, 1588, 1588),
    ("en", "dev", "m"): TrialSize(21, 21, 1632, 1632),
    ("en", "test", "f"): TrialSize(21, 21, 1574, 1574),
    ("en", "test", "m"): TrialSize(21, 21, 1613, 1613),
    ("de", "dev", "f"): TrialSize(15, 15, 1451, 1451),
    ("de", "dev", "m"): TrialSize(15, 15, 1484, 1484),
    ("de", "test", "f"): TrialSize(15, 15, 1429, 1429),
    ("de", "test", "m"): TrialSize(15, 15, 1440, 1440),
    ("fr", "dev", "f"): TrialSize(9, 9, 1043, 1043),
    ("fr", "dev", "m"): TrialSize(9, 9, 1002, 1002),
    ("fr", "test", "f"): TrialSize(9, 9, 1026, 1026),
    ("fr", "test", "m"): TrialSize(9, 9, 1028, 1028),
    ("es", "dev", "f"): TrialSize(10, 10, 1000, 1000),
    ("es", "dev", "m"): TrialSize(10, 10, 1040, 1040),
    ("es", "test", "f"): TrialSize(10, 10, 946, 946),
    ("es", "test", "m"): TrialSize(10, 10, 1071, 1071),
}


def true_size(protocol: str, data_set: str, split: str, gender: str) -> TrialSize:
    """Return the size of a challenge's trial set.

    Raises
    ------
    PrivacyEvalError
        It is not known.
    """
    size = TRUE_SIZES.get((data_set, split, gender))
    if size is None:
        raise PrivacyEvalError(
            f"protocol {protocol}: the challenge's numbers of trials are not known for "
            f"{data_set} {split} {gender}; choose --speakers and --utterances"
        )
    return size
