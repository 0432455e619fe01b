"""Options of training, without the library that trains."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..options import choice, flag, number, option, path, positive, value

#: Speeds, as fractions, each with speakers of its own.
SPEEDS = ((1, 1), (9, 10), (11, 10))

#: Steps of an epoch at least, and the largest share of the utterances in a batch.
_LEAST_STEPS, _SHARE = 30, 10
_LEAST_BATCH = 8
#: Files of a trained encoder.
REPORT, ENCODER, CHECKPOINT = "training.json", "encoder.onnx", "embedding_model.ckpt"
#: File that a killed training goes on with, and the largest that is read.
STATE, MAX_BYTES = "state.pt", 4 << 30

#: The challenge's.
DEFAULT_CHANNELS = 512
#: Seconds: the network looks at more than one frame.
LEAST_CROP = 0.1

_CHANNELS = "channels of its layers, a multiple of 8 (default: 512, or those of --init)"
_EPOCHS = "each a random crop of every utterance, but at least 30 batches (default: 10)"
_BATCH = "crops of a batch, at most a tenth of the utterances (default: 256)"
_SPEEDS = "also learn from speech at speeds 0.9 and 1.1, as of other speakers"
_NOISE = "add white noise to half of the crops, 5 to 25 dB below the speech"
_RATE = "learning rate: one cycle (the default), or the challenge's cyclic one"
_PEAK = "highest learning rate (default: 0.002 of 512 channels, by their root more of fewer)"
_DEVICE = "default: a GPU, if there is one"
_INIT = "go on from the weights of a checkpoint, such as the challenge's"


def _channels(text: str) -> int:
    if positive(text) % 8 or int(text) > 4096:
        raise argparse.ArgumentTypeError(f"expected a multiple of 8 up to 4096, not {text}")
    return int(text)


def _crop(text: str) -> float:
    if number(text) < LEAST_CROP:
        raise argparse.ArgumentTypeError(f"expected at least {LEAST_CROP} s, not {text}")
    return number(text)


def _above_zero(text: str) -> float:
    if not number(text):
        raise argparse.ArgumentTypeError("expected a number above 0")
    return number(text)


@dataclass(frozen=True)
class Training:
    """How an encoder is trained."""

    channels: int = option(value("N", _CHANNELS, type=_channels), 0)
    epochs: int = option(value("N", _EPOCHS, type=positive), 10)
    batch: int = option(value("N", _BATCH, type=positive), 256)
    crop: float = option(value("SECONDS", "of a crop (default: 3)", type=_crop), 3.0)
    rate: str = option(choice(("one-cycle", "cyclic"), _RATE), "one-cycle")
    peak: float | None = option(value("X", _PEAK, type=_above_zero))
    speeds: bool = option(flag(_SPEEDS), False)
    noise: bool = option(flag(_NOISE), False)
    init: Path | None = option(path("CKPT", _INIT))
    seed: int = 0

    @property
    def highest(self) -> float:
        """Highest learning rate."""
        return 0.002 * (DEFAULT_CHANNELS / self.channels) ** 0.5 if self.peak is None else self.peak

    def batches(self, utterances: int) -> tuple[int, int]:
        """Return the crops of a batch of so many utterances, and the batches of an epoch."""
        batch = min(self.batch, max(_LEAST_BATCH, utterances // _SHARE))
        return batch, max(utterances // batch, _LEAST_STEPS)

    @property
    def longest(self) -> float:
        """Seconds of a recording that a crop is made of, at most."""
        return self.crop * max(a / b for a, b in SPEEDS) if self.speeds else self.crop


#: What computes.
DEVICE = choice(("auto", "cpu", "cuda"), _DEVICE)


@dataclass(frozen=True)
class TreeTraining(Training):
    """How the encoders of a tree are trained; the network does not depend on `device`."""

    device: str = option(DEVICE, "auto")
