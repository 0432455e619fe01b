"""Options of training, without the library that trains."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..options import choice, flag, number, option, path, positive, value

#: Speeds, as fractions, each with speakers of its own.
SPEEDS = ((1, 1), (9, 10), (11, 10))

_CHANNELS = "channels of its layers, a multiple of 8 (default: 512, as the challenge's)"
_EPOCHS = "each a random crop of every utterance, but at least 30 batches (default: 10)"
_BATCH = "crops of a batch, at most a tenth of the utterances (default: 256)"
_SPEEDS = "also learn from speech at speeds 0.9 and 1.1, as of other speakers"
_NOISE = "add white noise to half of the crops, 5 to 25 dB below the speech"
_RATE = "learning rate: one cycle (the default), or the challenge's cyclic one"
_PEAK = "highest learning rate (default: 0.002 of 512 channels, by their root more of fewer)"
_INIT = "go on from the weights of a checkpoint, such as the challenge's"


def _channels(text: str) -> int:
    if positive(text) % 8 or int(text) > 4096:
        raise argparse.ArgumentTypeError(f"expected a multiple of 8 up to 4096, not {text}")
    return int(text)


def _above_zero(text: str) -> float:
    if not number(text):
        raise argparse.ArgumentTypeError("expected a number above 0")
    return number(text)


@dataclass(frozen=True)
class Training:
    """How an encoder is trained."""

    channels: int = option(value("N", _CHANNELS, type=_channels), 512)
    epochs: int = option(value("N", _EPOCHS, type=positive), 10)
    batch: int = option(value("N", _BATCH, type=positive), 256)
    crop: float = option(value("SECONDS", "of a crop (default: 3)", type=_above_zero), 3.0)
    rate: str = option(choice(("one-cycle", "cyclic"), _RATE), "one-cycle")
    peak: float | None = option(value("X", _PEAK, type=_above_zero))
    speeds: bool = option(flag(_SPEEDS), False)
    noise: bool = option(flag(_NOISE), False)
    init: Path | None = option(path("CKPT", _INIT))
    seed: int = 0

    @property
    def highest(self) -> float:
        """Highest learning rate."""
        return 0.002 * (512 / self.channels) ** 0.5 if self.peak is None else self.peak

    @property
    def longest(self) -> float:
        """Seconds of a recording that a crop is made of, at most."""
        return self.crop * max(a / b for a, b in SPEEDS) if self.speeds else self.crop
