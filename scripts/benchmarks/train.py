"""Training of encoders: crops a second against those of bare steps, and speech a second."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privacy_eval.speech.audio import soundfile

from .measuring import table

if TYPE_CHECKING:
    from privacy_eval.training.learn import Learner

#: Seconds of a recording and of a crop, sampling rate, speakers.
SECONDS, CROP, RATE, SPEAKERS = 4, 3.0, 16000, 20
GOAL = 1.3
#: On a GPU and on a CPU: channels of the networks, crops of a batch, and steps.
SIZES = {"cuda": ((512, 1024), 256, 40), "cpu": ((64, 512), 16, 3)}


def train(scale: int) -> bool:
    """Measure steps of training on noise; return whether reading and crops cost little."""
    try:
        import onnx as _  # noqa: F401
        import torch
    except ImportError as error:
        print(f"left out, without the extra train: {error}")
        return True
    device = "cuda" if torch.cuda.is_available() else "cpu"
    channels, batch, steps = SIZES[device]
    on = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} cores"
    print(f"torch {torch.__version__}, {on}")
    with tempfile.TemporaryDirectory() as folder:
        data = noise(Path(folder), 10 * batch)
        sizes = channels[: 1 if scale > 1 else None]
        rows = [row(data, Path(folder, str(n)), n, batch, steps, device) for n in sizes]
    head = "crops/s", "bare steps", "ratio", "goal", "first step, s", "hours/s with reading"
    table([list(map(shown, one)) for one in rows], "channels", *head)
    return device == "cpu" or all(ratio <= GOAL for _, _, _, ratio, *_ in rows)


def shown(value: float) -> str:
    """Format a number."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def noise(folder: Path, number: int) -> Path:
    """Write a data folder of white noise."""
    generator = np.random.default_rng(0)
    names = [f"u{index:05d}" for index in range(number)]
    for name in names:
        samples = generator.normal(scale=2000, size=SECONDS * RATE).astype(np.int16)
        soundfile().write(folder / f"{name}.wav", samples, RATE)
    (folder / "wav.scp").write_text("".join(f"{n} {folder / n}.wav\n" for n in names))
    speakers = (f"{name} s{index % SPEAKERS}\n" for index, name in enumerate(names))
    (folder / "utt2spk").write_text("".join(speakers))
    return folder


def row(
    data: Path, out: Path, channels: int, batch: int, steps: int, device: str
) -> tuple[float, ...]:
    """Train for some steps, and do as many on one batch, which lies on the device."""
    from privacy_eval.training.learn import Learner
    from privacy_eval.training.options import Training
    from privacy_eval.training.recordings import read_recordings

    begun = time.perf_counter()
    options = {"allow_outside": True}
    recordings = read_recordings([data], out / "cache", os.cpu_count() or 1, options)
    reading = time.perf_counter() - begun
    begun = time.perf_counter()
    learner = Learner(recordings, Training(channels, batch=batch, crop=CROP), out, device)
    learner.network.train()
    batches: Iterator[Any] = learner._batches(np.random.default_rng(0))
    one = next(batches)
    float(learner._step(*one))
    first = time.perf_counter() - begun
    whole = per_step(learner, islice(batches, steps), steps)
    bare = per_step(learner, (one for _ in range(steps)), steps)
    crops = len(one[1])
    speech = recordings.seconds / 3600
    learning = len(recordings.ids) * whole / crops
    hours = speech / (reading + learning)
    return channels, crops / whole, crops / bare, whole / bare, GOAL, first, hours


def per_step(learner: Learner, batches: Iterator[Any], steps: int) -> float:
    """Measure the seconds of a step, once all are done."""
    begun = time.perf_counter()
    losses = [learner._step(*batch) for batch in batches]
    float(losses[-1])  # waits for the device
    assert len(losses) == steps
    return (time.perf_counter() - begun) / steps
