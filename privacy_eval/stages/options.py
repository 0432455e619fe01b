"""Options of the stages, of whose fields parsers are made. This module loads at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..choices import ATTRIBUTE_FOLDS, GENDER
from ..options import (
    choice,
    coefficient,
    flag,
    natural,
    option,
    path,
    positive,
    replicates,
    sizes,
    value,
)

#: Placeholders of a command that is run for a data folder: that folder, and the one to write.
FOLDERS = ("{in}", "{out}")
#: Bootstrap replicates of attributes by default, and over a tree where the recipe has none.
ATTRIBUTE_REPLICATES = 1000

_SENTENCES = (
    "utterances per test, such as 1,2,3,5,10,30: error rates by the amount of speech. Over a tree: "
    "of every attacker, by default those of the protocol"
)
_DISTRACTORS = "additional enrolled speakers: a data set of the tree or, on single files, x-vectors"
_COEFFICIENT = "default: 0.8 in 2020, later drawn by --seed and --level"
_LEVEL = "one coefficient per speaker (default), or per utterance, as for training data"
_REFERENCE = "original: phones of the original speech (default); text: of English transcripts"
_RANK = "hit if among the K highest scores; default: 1"
_REPLICATES = "95 %% intervals from N bootstrap replicates of speakers (usual: 1000)"
_INTERVALS = "95 %% intervals from N bootstrap replicates of speakers; default: 1000"
_FOLDS = f"of speakers, who are never in training and test; default: {ATTRIBUTE_FOLDS}"


@dataclass(frozen=True)
class McAdamsOptions:
    """Settings of the McAdams anonymization.

    Attributes
    ----------
    variant : {"2020", "2022"}
    coefficient : float, optional
        By default 0.8 in 2020, and derived from seed and id in 2022.
    level : {"speaker", "utterance"}
        Whether coefficients are drawn per speaker or per utterance.
    per_set : bool
        Whether those of the data sets of a tree differ.
    """

    variant: str = option(
        choice(["2020", "2022"], "baseline of the challenge of that year; default: 2020"), "2020"
    )
    coefficient: float | None = option(value("X", _COEFFICIENT, type=coefficient))
    seed: int = option(value("N", "seed of the coefficients; default: 0", type=natural), 0)
    level: str = option(choice(["speaker", "utterance"], _LEVEL), "speaker")
    per_set: bool = option(flag("draw different coefficients for each data folder"), False)


@dataclass(frozen=True)
class DrawOptions:
    """The bootstrap over speakers.

    Attributes
    ----------
    bootstrap : int
        Replicates; 0 for none.
    seed : int
    """

    bootstrap: int = option(value("N", _REPLICATES, type=replicates), 0)
    seed: int = option(value("N", "random seed; default: 0", type=natural), 0)


@dataclass(frozen=True)
class MetricOptions(DrawOptions):
    """Options that affect the numbers of a record, which therefore are part of its fingerprint.

    Attributes
    ----------
    allow_missing : bool
        Leave out trials without scores and scores without trials, and count them.
    utt2spk : Path or None
        Speakers of the trial utterances, instead of `utt2spk` beside the trial key.
    groups : tuple of str
        `FILE:COLUMN` of the groups of speakers that are evaluated, too, relative to the tree.
    ids : tuple of str
        What bridges ids of scores and keys, see `pair`.
    """

    allow_missing: bool = option(flag("leave out missing inputs, and log them"), False)
    utt2spk: Path | None = option(path("F", "speakers of trial utterances"))
    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def made_with(self) -> dict[str, Any]:
        """Those that the numbers of all records depend on."""
        drawn = {"bootstrap": self.bootstrap, "seed": self.seed if self.bootstrap else 0}
        return {**drawn, **({"groups": list(self.groups)} if self.groups else {})}


@dataclass(frozen=True)
class MeasureOptions(DrawOptions):
    """Options of measures of speech.

    Attributes
    ----------
    quality, phones : bool
        Which networks run.
    phone_reference : {"original", "text"}
        Phones of the original speech, or the pronunciations of the transcripts (English).
    cache : Path or None
        Folder of downloaded models.
    """

    quality: bool = option(flag("predict the quality of speech (DNSMOS)"), False)
    phones: bool = option(flag("recognize phones, and count errors"), False)
    phone_reference: Literal["original", "text"] = option(
        choice(["original", "text"], _REFERENCE), "original"
    )
    cache: Path | None = None


@dataclass(frozen=True)
class GalleryOptions(DrawOptions):
    """Options of identification that affect the numbers of a record.

    Attributes
    ----------
    rank, length : int
        See `identify`.
    distractors : str or None
        Data set of additional enrolled speakers: original or anonymized like the enrollment, by the
        same system, with x-vectors of the same model. Speakers of a gender that is absent from the
        enrollment set are left out, if `spk2gender` is known.
    backend : {"plda", "cosine", "euclidean"}
    """

    rank: int = option(value("K", _RANK, type=positive), 1)
    length: int = option(value("L", "utterances averaged per test; default: 1", type=positive), 1)
    distractors: str | None = option(value("SET|SCP", _DISTRACTORS))
    backend: Literal["plda", "cosine", "euclidean"] = option(
        choice(["plda", "cosine", "euclidean"]), "plda"
    )


@dataclass(frozen=True)
class AmountOptions(DrawOptions):
    """Options of error rates by the amount of speech that affect the numbers of a record.

    Attributes
    ----------
    sentences : tuple of int
        Numbers of utterances per test.
    """

    sentences: tuple[int, ...] = option(value("L,L,...", _SENTENCES, type=sizes), ())


@dataclass(frozen=True)
class AttributeOptions(DrawOptions):
    """Options of inferred attributes that affect the numbers of a record.

    Attributes
    ----------
    labels : str
        `gender`, of `spk2gender` of the trial sets, or `FILE:COLUMN`, relative to the tree.
    folds : int
        See `infer_attribute`.
    """

    labels: str = GENDER
    bootstrap: int = option(value("N", _INTERVALS, type=replicates), ATTRIBUTE_REPLICATES)
    folds: int = option(value("N", _FOLDS, type=positive), ATTRIBUTE_FOLDS)
