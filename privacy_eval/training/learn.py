"""Training: crops of known speakers, an epoch after another, each followed by a checkpoint.

A killed run goes on after its last epoch. On a CPU it ends with the same weights: what is drawn in
an epoch depends on the seed and its number alone.
"""

from __future__ import annotations

import io
import json
import math
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.arrays import TensorView, read_torch
from ..io.files import digest, read_bytes, write_bytes, write_text
from ..metrics.eer import kaldi_eer
from ..metrics.trial_scores import TrialScores
from ..speech.audio import Audio
from ..speech.ecapa import read_ecapa
from ..speech.encoders import Spectrum
from .network import Classes, Features, Network, checkpoint, in_onnx, resampled
from .options import (
    CHECKPOINT,
    DEFAULT_CHANNELS,
    ENCODER,
    MAX_BYTES,
    REPORT,
    SPEEDS,
    STATE,
    Training,
)
from .recordings import FULL_SCALE, RATE, Recordings

#: Of the held-out speakers: share, number at most, and utterances of each.
_HELD_OUT, _MOST_HELD_OUT, _UTTERANCES = 5, 40, 10
#: The challenge's cyclic rate: lowest, and steps to the highest.
_LOWEST_RATE, _CYCLE = 1e-8, 65000
_DECAY, _CLIP = 2e-6, 5.0
#: Signal-to-noise ratios in dB, of half of the crops.
_NOISE = (5.0, 25.0)
#: Seeds of the epochs of one seed.
_SEEDS = 100_003
_FIRST = "blocks.0.conv.conv.weight"
_ANEW = "choose another --out, or remove this folder to train anew"
Show = Callable[[int, int, str], None]


@dataclass
class Learner:
    """A network that learns to tell speakers apart.

    Attributes
    ----------
    recordings : Recordings
    options : Training
    out : Path
    device : str
    """

    recordings: Recordings
    options: Training
    out: Path
    device: str

    def __post_init__(self) -> None:
        speakers = sorted({*self.recordings.speakers})
        generator = np.random.default_rng(self.options.seed)
        recordings = Counter(self.recordings.speakers)
        several = [name for name in speakers if recordings[name] > 1]  # and so pairs to test
        number = min(len(several) // _HELD_OUT, _MOST_HELD_OUT)
        held_out = {several[i] for i in generator.permutation(len(several))[:number]}
        self.classes = [name for name in speakers if name not in held_out]
        if len(self.classes) < 2:
            raise PrivacyEvalError(
                f"{len(speakers)} speaker in the training speech; at least 2 are needed to learn "
                "to tell them apart, hundreds for an attacker"
            )
        of_class = {name: index for index, name in enumerate(self.classes)}
        labels = [of_class.get(name, -1) for name in self.recordings.speakers]
        self.labels = np.array(labels)
        self.learnt = np.flatnonzero(self.labels >= 0)
        self.tested = self._tested(held_out)
        self.size = round(self.options.crop * RATE)
        self.batch, self.steps = self.options.batches(len(self.learnt))
        torch.manual_seed(self.options.seed * _SEEDS)
        self.speeds = SPEEDS if self.options.speeds else SPEEDS[:1]
        self.features = Features().to(self.device)
        self.begun = None if self.options.init is None else _tensors(self.options.init)
        if not self.options.channels:
            found = DEFAULT_CHANNELS if self.begun is None else len(self.begun[_FIRST])
            self.options = replace(self.options, channels=found)
        self.network = Network(self.options.channels).to(self.device)
        self.compute = torch.compile(self.network) if self.device != "cpu" else self.network
        self.head = Classes(len(self.classes) * len(self.speeds)).to(self.device)
        self.weights = [*self.network.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(self.weights, self.options.highest, weight_decay=_DECAY)
        self.epochs: list[dict[str, Any]] = []

    def _tested(self, held_out: set[str]) -> NDArray[np.int64]:
        """Return some utterances of each speaker that is held out, by speaker."""
        of_speaker: dict[str, list[int]] = {name: [] for name in sorted(held_out)}
        for index, name in enumerate(self.recordings.speakers):
            if name in held_out and len(of_speaker[name]) < _UTTERANCES:
                of_speaker[name].append(index)
        return np.array([i for indices in of_speaker.values() for i in indices], np.int64)

    def run(self, show: Show | None = None) -> None:
        """Train what is missing of the epochs, and write the encoder."""
        self._resume()
        if not self.epochs:
            self._keep({"epoch": 0, "loss": None, "seconds": 0.0})
        while len(self.epochs) <= self.options.epochs:
            number, start = len(self.epochs), time.monotonic()
            loss = self._epoch(number, show)
            self._keep({"epoch": number, "loss": loss, "seconds": time.monotonic() - start})
        write_bytes(self.out / CHECKPOINT, checkpoint(self.network))
        crops = self._samples(self.learnt[:3], np.zeros(3, int)[: len(self.learnt)]).cpu()
        write_bytes(self.out / ENCODER, in_onnx(self.network, crops, str(self.out / ENCODER)))

    def _resume(self) -> None:
        """Go on from the last epoch of an earlier run with the same options and speech, or begin
        with the weights of a checkpoint."""
        path = self.out / STATE
        if not path.is_file():
            if self.begun is not None:
                self._begin(self.begun)
            return
        content = io.BytesIO(read_bytes(path, max_bytes=MAX_BYTES))
        try:
            state = torch.load(content, map_location=self.device, weights_only=True)
            report = json.loads(state["report"])
            self.epochs = report.pop("epochs")
            self.network.load_state_dict(state["network"])
            self.head.load_state_dict(state["head"])
            self.optimizer.load_state_dict(state["optimizer"])
        except (KeyError, TypeError, ValueError, RuntimeError, pickle.UnpicklingError) as error:
            raise PrivacyEvalError(f"{path}: damaged, or of other options; {_ANEW}") from error
        own = {k: v for k, v in self.report().items() if k != "epochs"}
        own |= {f"--{k}": v for k, v in own.pop("options").items()}
        report |= {f"--{k}": v for k, v in report.pop("options").items()}
        if changed := [key for key in own if own[key] != report.get(key)]:
            raise PrivacyEvalError(f"{path}: of other {', '.join(changed)}; {_ANEW}")

    def _begin(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take the weights of a checkpoint."""
        try:
            self.network.load_state_dict(tensors)
        except RuntimeError as error:
            found, wanted = len(tensors[_FIRST]), self.options.channels
            raise PrivacyEvalError(
                f"{self.options.init}: an ECAPA-TDNN of {found} channels and other layers than are "
                f"trained here with {wanted}"
            ) from error

    def _epoch(self, number: int, show: Show | None) -> float:
        """Learn from a random crop of each utterance, and return the mean loss."""
        generator = np.random.default_rng([self.options.seed, number])
        torch.manual_seed(self.options.seed * _SEEDS + number)
        self.network.train()
        total = torch.zeros((), device=self.device)
        for step, (samples, labels) in enumerate(self._batches(generator)):
            done = (number - 1) * self.steps + step
            for group in self.optimizer.param_groups:
                group["lr"] = self._rate(done)
            loss = self._step(samples, labels)
            total += loss
            if show is not None:
                show(done + 1, self.options.epochs * self.steps, f"steps, epoch {number}")
        mean = float(total / self.steps)
        if not math.isfinite(mean):
            raise PrivacyEvalError(
                f"{self.out}: the loss of epoch {number} is not finite; a lower --peak than "
                f"{self.options.highest:g} may help (the epochs before it are kept)"
            )
        return mean

    def _batches(self, generator: np.random.Generator) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yield samples and classes of an epoch; the next batch is read meanwhile."""
        number = self.steps * self.batch
        rounds = math.ceil(number / len(self.learnt))
        order = np.concatenate([generator.permutation(self.learnt) for _ in range(rounds)])
        speeds = generator.integers(len(self.speeds), size=number)
        places = generator.random(number)

        def read(first: int) -> tuple[torch.Tensor, ...]:
            rows = slice(first, first + self.batch)
            return self._crops(order[:number][rows], speeds[rows], places[rows])

        with ThreadPoolExecutor(1) as reader:
            following = reader.submit(read, 0)
            for first in range(self.batch, number + 1, self.batch):
                batch = following.result()
                if first < number:
                    following = reader.submit(read, first)
                yield batch

    def _crops(
        self, utterances: NDArray[np.int64], speeds: NDArray[np.int64], places: NDArray[np.float64]
    ) -> tuple[torch.Tensor, ...]:
        """Return crops of utterances, at places between 0 and 1, with their classes."""
        samples, labels = [], []
        for index, speed in enumerate(self.speeds):
            chosen = np.flatnonzero(speeds == index)
            if not chosen.size:
                continue
            size = math.ceil(self.size * speed[0] / speed[1])
            lengths = np.array([self.recordings.samples[u].size for u in utterances[chosen]])
            starts = (places[chosen] * (lengths - size + 1)).astype(int)
            crops = self._samples(utterances[chosen], starts, size)
            if index:
                crops = resampled(crops, speed)
            samples.append(torch.nn.functional.pad(crops, (0, self.size))[:, : self.size])
            labels.append(self.labels[utterances[chosen]] + index * len(self.classes))
        return torch.cat(samples), torch.tensor(np.concatenate(labels), device=self.device)

    def _samples(
        self, utterances: NDArray[np.int64], starts: NDArray[np.int64], size: int = 0
    ) -> torch.Tensor:
        """Return pieces of utterances as fractions of full scale, on the device."""
        return self._fractions(self.recordings.crops(utterances, starts, size or self.size))

    def _fractions(self, crops: NDArray[np.int16]) -> torch.Tensor:
        return torch.from_numpy(crops).to(self.device).float() / FULL_SCALE

    def _step(self, samples: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Learn from a batch, and return its loss."""
        if self.options.noise:
            samples = _noisy(samples)
        try:
            with torch.no_grad():
                features = self.features(samples)
            with torch.autocast("cuda", torch.bfloat16, enabled=self.device != "cpu"):
                vectors = self.compute(features)
            loss: torch.Tensor = self.head(vectors.float(), labels)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.weights, _CLIP)
            self.optimizer.step()
        except torch.cuda.OutOfMemoryError as error:
            raise PrivacyEvalError(
                f"not enough memory on the GPU for batches of {self.batch} crops; "
                f"--batch {self.batch // 2} needs half of it"
            ) from error
        return loss.detach()

    def _rate(self, step: int) -> float:
        """Return the learning rate: one cycle up and down, or the challenge's."""
        if self.options.rate == "cyclic":
            place = 1 - abs(step / _CYCLE % 2 - 1)
            return _LOWEST_RATE + (self.options.highest - _LOWEST_RATE) * place
        place = (step + 1) / (self.options.epochs * self.steps + 1)
        rising = place / 0.3 if place < 0.3 else (1 - place) / 0.7
        return self.options.highest * (1 - math.cos(math.pi * rising)) / 2

    def _keep(self, epoch: dict[str, Any]) -> None:
        """Test the network, and write what a killed run needs to go on."""
        self.epochs.append({**epoch, **self._test()})
        write_bytes(self.out / f"epoch_{epoch['epoch']:02d}.ckpt", checkpoint(self.network))
        packed, report = io.BytesIO(), self.report()
        state = {
            "network": self.network.state_dict(),
            "head": self.head.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "report": json.dumps(report),
        }
        torch.save(state, packed)
        write_bytes(self.out / STATE, packed.getvalue())
        write_text(self.out / REPORT, json.dumps(report, indent=1) + "\n")

    def _test(self) -> dict[str, Any]:
        """Return the EER of all pairs of crops of the held-out speakers."""
        if not self.tested.size:
            return {"held_out_eer": None}
        self.network.eval()
        vectors = []
        with torch.inference_mode():
            for crops in np.array_split(self.crops, max(1, len(self.crops) // self.batch)):
                features = self.features(self._fractions(crops))
                vectors.append(self.network(features).float().cpu().numpy())
        return {"held_out_eer": self._eer(np.concatenate(vectors))}

    @cached_property
    def crops(self) -> NDArray[np.int16]:
        """The middles of the held-out utterances."""
        lengths = np.array([self.recordings.samples[u].size for u in self.tested], np.int64)
        return self.recordings.crops(self.tested, (lengths - self.size) // 2, self.size)

    @cached_property
    def spectrum_eer(self) -> float | None:
        """The EER of statistics of the spectrum, which learn nothing, on the same pairs."""
        audio = (Audio(crop.astype(np.float32), RATE) for crop in self.crops)
        vectors = [vector for one in audio if (vector := Spectrum().encode(one)) is not None]
        if len(vectors) < max(len(self.crops), 2):
            return None
        matrix = np.stack(vectors)
        return self._eer((matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), 1e-9))

    def _eer(self, vectors: NDArray[np.float32]) -> float | None:
        """Compare all pairs of vectors; None without pairs of one speaker and of two."""
        speakers = np.array(self.recordings.speakers)[self.tested]
        pairs = np.triu_indices(len(vectors), 1)
        same = (speakers[:, None] == speakers)[pairs]
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        scores = (unit @ unit.T)[pairs]
        if same.all() or not same.any() or not np.isfinite(scores).all():
            return None
        return float(kaldi_eer(TrialScores(scores[same], scores[~same])).value)

    def report(self) -> dict[str, Any]:
        """Return what `training.json` says."""
        tested = np.array(self.recordings.speakers)[self.tested]
        targets = sum(n * (n - 1) // 2 for n in np.unique(tested, return_counts=True)[1].tolist())
        return {
            "options": {k: v for k, v in asdict(self.options).items() if k != "init"},
            "init": self.options.init and digest(read_bytes(self.options.init)),
            "data": {
                "sha256": self.recordings.sha256,
                "utterances": len(self.recordings.ids),
                "hours": self.recordings.seconds / 3600,
                "hours_learnt": sum(self.recordings.samples[u].size for u in self.learnt)
                / (3600 * RATE),
                "speakers": len(self.classes),
            },
            "held_out": {
                "speakers": len({*tested.tolist()}),
                "n_target": targets,
                "n_nontarget": len(tested) * (len(tested) - 1) // 2 - targets,
                "crop": self.options.crop,
                "spectrum_eer": self.spectrum_eer,
            },
            "batch": self.batch,
            "steps_per_epoch": self.steps,
            "device": self.device,
            "torch": torch.__version__,
            "epochs": self.epochs,
        }

    def summary(self) -> str:
        """Say what the network learnt, on how many speakers, from how much speech."""
        rates = [epoch["held_out_eer"] for epoch in (self.epochs[0], self.epochs[-1])]
        of = self.report()["held_out"]
        text = f"learnt {len(self.classes)} speakers"
        if None in rates:
            return f"{text}; too few with several recordings to hold some out, so untested"
        spectrum = of["spectrum_eer"]
        spectrum = "" if spectrum is None else f", of the spectrum {spectrum:.1%}"
        trials = (
            f"{of['n_target']} target, {of['n_nontarget']} nontarget trials of {of['crop']:g} s"
        )
        return (
            f"{text}; EER of {of['speakers']} others {rates[1]:.1%}, untrained {rates[0]:.1%}"
            f"{spectrum} ({trials})"
        )


def _noisy(samples: torch.Tensor) -> torch.Tensor:
    """Add white noise to half of the crops."""
    number = len(samples)
    ratio = torch.empty(number, 1).uniform_(*_NOISE).to(samples)
    chosen = torch.randint(2, (number, 1)).to(samples)
    level = samples.square().mean(1, keepdim=True).sqrt() * 10 ** (-ratio / 20) * chosen
    return samples + level * torch.randn(samples.shape).to(samples)


def _tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read the tensors of a checkpoint of SpeechBrain's layout."""
    content = read_bytes(path, max_bytes=MAX_BYTES)
    read_ecapa(content, str(path))  # or say what it is
    state = read_torch(content, str(path))
    views = {name: view for name, view in state.items() if isinstance(view, TensorView)}
    return {n: torch.from_numpy(np.array(view.array(str(path)))) for n, view in views.items()}
