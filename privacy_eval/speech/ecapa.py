"""SpeechBrain's ECAPA-TDNN, the challenges' attacker since 2024, computed in NumPy.

References
----------
B. Desplanques, J. Thienpondt and K. Demuynck, "ECAPA-TDNN: emphasized channel attention,
propagation and aggregation in TDNN based speaker verification", Interspeech 2020.
SpeechBrain 1.1.2 (Apache-2.0): names of the tensors, order of the operations, dilations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..asv.cosine import unit_vectors
from ..errors import PrivacyEvalError, abbreviate
from ..io.arrays import TensorView, read_torch
from ..io.files import digest
from .audio import Audio
from .onnx_encoder import FRONT_ENDS, FrontEnd

Array = NDArray[np.float32]

#: Of the blocks behind the first, which the weights do not tell.
DILATIONS = (2, 3, 4)
#: Of normalization over batches, and the least variance over time.
_EPSILON, LEAST_VARIANCE = 1e-5, 1e-12
#: More values per frame than this are no mel bands.
_MOST_BANDS = 200
_FULL_SCALE = 32768.0
#: How many batches were seen, an integer, which is not used.
_COUNTER = ".num_batches_tracked"
#: Tensors of other networks, and their names.
_OTHERS = {
    "blocks.0.conv.weight": "an x-vector TDNN",
    "conv1.weight": "a ResNet",
    "layer1.conv.weight": "an ECAPA-TDNN of another program",
}


class Layer(NamedTuple):
    """A convolution over time, and the normalization behind its rectifier, if it has one.

    The kernel has the shape (taps x inputs, outputs).
    """

    kernel: Array
    bias: Array
    norm: tuple[Array, Array] | None


@dataclass(frozen=True)
class Ecapa:
    """The encoder.

    Attributes
    ----------
    where : str
        File of the weights, for errors.
    sha256 : str
        Its digest.
    layers : mapping of str to Layer
    front_end : FrontEnd
    of_2024 : bool
        Take recordings as the challenge's evaluation of 2024 reads them: without samples of 0 at
        the ends, the peak scaled to full scale.
    normalize : bool
        Bring vectors to unit length.
    """

    where: str
    sha256: str
    layers: Mapping[str, Layer]
    front_end: FrontEnd
    of_2024: bool = False
    normalize: bool = False

    @property
    def rate(self) -> int:
        """Sampling rate of the speech that it takes, in Hz."""
        return self.front_end.rate

    def encode(self, audio: Audio) -> Array:
        """Compute the vector of an utterance of any length.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (E,)

        Raises
        ------
        PrivacyEvalError
            No speech; fewer frames than the network looks at; weights that give no finite vector.
        """
        if self.of_2024:
            samples = np.asarray(np.trim_zeros(audio.samples), np.float32)
            peak = float(np.abs(samples).max(initial=0.0)) or 1.0
            audio = replace(audio, samples=samples * np.float32(_FULL_SCALE / peak))
        vector = self.vector(self.front_end.compute(audio))
        return unit_vectors(vector[None])[0].astype(np.float32) if self.normalize else vector

    def vector(self, features: Array) -> Array:
        """Compute the vector of features.

        Parameters
        ----------
        features : float32 array, shape (T, bands)

        Returns
        -------
        float32 array, shape (E,)

        Raises
        ------
        PrivacyEvalError
            As `encode`.
        """
        with np.errstate(all="ignore"):
            values, parts = self._layer("blocks.0", features), []
            for number, dilation in enumerate(DILATIONS, 1):
                values = self._block(f"blocks.{number}", values, dilation)
                parts.append(values)
            pooled = self._pooled(self._layer("mfa", np.concatenate(parts, axis=1)))
            vector: Array = self._convolved("fc", pooled[None])[0]
        if not np.isfinite(vector).all():
            raise PrivacyEvalError(f"{self.where}: computes vectors that are not finite")
        return vector

    def _block(self, name: str, values: Array, dilation: int) -> Array:
        """Compute a block with its gate (squeeze and excitation) and what goes past it."""
        prefix = f"{name}.res2net_block.blocks."
        number = sum(layer.startswith(prefix) for layer in self.layers)
        first, *others = np.split(self._layer(f"{name}.tdnn1", values), number + 1, axis=1)
        parts, before = [first], np.zeros(1, np.float32)
        for index, part in enumerate(others):
            before = self._layer(f"{prefix}{index}", part + before, dilation)
            parts.append(before)
        inner = self._layer(f"{name}.tdnn2", np.concatenate(parts, axis=1))
        gate = self._layer(f"{name}.se_block.conv1", inner.mean(axis=0)[None])
        inner /= 1 + np.exp(-self._convolved(f"{name}.se_block.conv2", gate))
        past = f"{name}.shortcut"
        inner += self._convolved(past, values) if past in self.layers else values
        return inner

    def _pooled(self, frames: Array) -> Array:
        """Compute means and deviations over time, weighted by attention, shape (2 C,)."""
        values = frames
        if len(self.layers["asp.tdnn"].kernel) > frames.shape[1]:  # also sees the whole utterance
            whole = _statistics(frames, np.full((1, 1), 1 / len(frames), np.float32))
            values = np.concatenate([frames, np.tile(whole, (len(frames), 1))], axis=1)
        attention = self._convolved("asp.conv", np.tanh(self._layer("asp.tdnn", values)))
        attention = np.exp(attention - attention.max(axis=0))
        attention /= attention.sum(axis=0)
        factor, offset = self.layers["asp_bn"][:2]
        return _statistics(frames, attention) * factor + offset

    def _layer(self, name: str, values: Array, dilation: int = 1) -> Array:
        """Compute a convolution, the rectifier, and the normalization, shape (T, outputs)."""
        result = self._convolved(name, values, dilation)
        np.maximum(result, 0, out=result)
        if (norm := self.layers[name].norm) is not None:
            result *= norm[0]
            result += norm[1]
        return result

    def _convolved(self, name: str, values: Array, dilation: int = 1) -> Array:
        """Convolve over time; before and after the utterance it is mirrored."""
        kernel, bias, _ = self.layers[name]
        length, inputs = values.shape
        reach = dilation * (len(kernel) // inputs - 1) // 2
        if reach >= length:
            raise PrivacyEvalError(f"too short, {length} frames of at least {reach + 1}")
        if reach:
            padded = np.pad(values, ((reach, reach), (0, 0)), "reflect")
            starts = range(0, 2 * reach + 1, dilation)
            values = np.concatenate([padded[s : s + length] for s in starts], axis=1)
        result: Array = values @ kernel
        result += bias
        return result


def _statistics(values: Array, weights: Array) -> Array:
    """Return weighted means and deviations over time, shape (2 C,)."""
    mean = (weights * values).sum(axis=0)
    variance = (weights * (values - mean) ** 2).sum(axis=0)
    return np.concatenate([mean, np.sqrt(np.maximum(variance, np.float32(LEAST_VARIANCE)))])


def read_ecapa(content: bytes, where: str, front_end: FrontEnd | None = None) -> Ecapa:
    """Read the network from SpeechBrain's `embedding_model.ckpt`.

    Parameters
    ----------
    content : bytes
        File of torch.save, tensors by their names; nothing in it is run.
    where : str
        Beginning of errors.
    front_end : FrontEnd, optional
        By default SpeechBrain's, with as many bands as the network takes.

    Returns
    -------
    Ecapa

    Raises
    ------
    PrivacyEvalError
        Not a file of torch.save; another network; tensors that are missing, of other shapes, or
        have values that are not finite.
    """
    weights = _Weights(content, where)
    channels, bands = weights.shape("blocks.0.conv.conv")[:2]
    if bands > _MOST_BANDS:
        raise PrivacyEvalError(
            f"{where}: takes {bands} values per frame, as of WavLM; only networks on filter banks "
            "are read"
        )
    weights.layer("blocks.0", bands)
    together = 0
    for number in range(1, len(DILATIONS) + 1):
        channels = weights.block(f"blocks.{number}", channels)
        together += channels
    frames = weights.layer("mfa", together)
    seen = weights.shape("asp.tdnn.conv.conv")[1]
    attention = weights.layer("asp.tdnn", 3 * frames if seen == 3 * frames else frames)
    weights.layer("asp.conv", attention, frames, plain=True)
    weights.layers["asp_bn"] = Layer(*weights.norm("asp_bn.norm", 2 * frames), None)
    weights.layer("fc", 2 * frames, plain=True)
    weights.check_rest()
    front_end = replace(front_end or FRONT_ENDS["speechbrain"], bins=bands)
    return Ecapa(where, digest(content), weights.layers, front_end)


class _Weights:
    """The tensors of a checkpoint, which become layers one after another."""

    def __init__(self, content: bytes, where: str) -> None:
        read = read_torch(content, where)
        state = read if isinstance(read, dict) else {}
        self.where, self.layers, self._taken = where, dict[str, Layer](), set[str]()
        self.tensors = {
            str(name).removeprefix("module."): view.array(where, str(name))
            for name, view in state.items()
            if isinstance(view, TensorView)
        }
        if "blocks.0.conv.conv.weight" not in self.tensors:
            named = [what for tensor, what in _OTHERS.items() if tensor in self.tensors]
            found = (named or [f"{len(self.tensors)} tensors of other names"])[0]
            raise PrivacyEvalError(f"{where}: expected SpeechBrain's ECAPA-TDNN, found {found}")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a kernel: outputs, inputs, taps."""
        shape = self._tensor(f"{name}.weight").shape
        if len(shape) != 3:
            found = f"{name}.weight has {len(shape)} dimensions"
            raise PrivacyEvalError(f"{self.where}: {found}, not 3")
        return shape

    def block(self, name: str, inputs: int) -> int:
        """Take the layers of a block, and return its number of channels."""
        channels = self.layer(f"{name}.tdnn1", inputs)
        inner = f"{name}.res2net_block.blocks."
        number = next(n for n in count() if f"{inner}{n}.conv.conv.weight" not in self.tensors)
        width, rest = divmod(channels, number + 1)
        if rest:
            raise PrivacyEvalError(
                f"{self.where}: {channels} channels of {name} are not {number + 1} equal parts"
            )
        for index in range(number):
            self.layer(f"{inner}{index}", width, width)
        self.layer(f"{name}.tdnn2", channels, channels)
        gate = self.layer(f"{name}.se_block.conv1", channels, plain=True)
        self.layer(f"{name}.se_block.conv2", gate, channels, plain=True)
        if inputs != channels:
            self.layer(f"{name}.shortcut", inputs, channels, plain=True)
        return channels

    def layer(self, name: str, inputs: int, outputs: int = 0, *, plain: bool = False) -> int:
        """Take a layer, without normalization if it is plain; return its number of outputs."""
        conv = f"{name}.conv" if plain else f"{name}.conv.conv"
        found = self.shape(conv)
        outputs = outputs or found[0]
        if found[:2] != (outputs, inputs) or not found[2] % 2:
            raise PrivacyEvalError(
                f"{self.where}: {conv}.weight has the shape {found}, expected ({outputs}, "
                f"{inputs}, an odd number)"
            )
        kernel = self._tensor(f"{conv}.weight").transpose(2, 1, 0).reshape(-1, outputs)
        norm = None if plain else self.norm(f"{name}.norm.norm", outputs)
        self.layers[name] = Layer(
            np.ascontiguousarray(kernel), self._vector(f"{conv}.bias", outputs), norm
        )
        return outputs

    def norm(self, name: str, size: int) -> tuple[Array, Array]:
        """Take a normalization over batches, as a factor and an offset."""
        names = ("weight", "bias", "running_mean", "running_var")
        weight, bias, mean, variance = (
            self._vector(f"{name}.{part}", size).astype(np.float64) for part in names
        )
        if not (variance >= 0).all():
            raise PrivacyEvalError(f"{self.where}: {name}.running_var has negative values")
        factor = weight / np.sqrt(variance + _EPSILON)
        return factor.astype(np.float32), (bias - mean * factor).astype(np.float32)

    def check_rest(self) -> None:
        """Refuse tensors that no layer took, as of more blocks."""
        rest = [n for n in self.tensors if n not in self._taken and not n.endswith(_COUNTER)]
        if rest:
            raise PrivacyEvalError(
                f"{self.where}: expected SpeechBrain's ECAPA-TDNN of {len(DILATIONS) + 1} blocks, "
                f"which has no tensors {abbreviate(rest)}"
            )

    def _vector(self, name: str, size: int) -> Array:
        vector = self._tensor(name)
        if vector.shape != (size,):
            raise PrivacyEvalError(
                f"{self.where}: {name} has the shape {vector.shape}, expected ({size},)"
            )
        return vector

    def _tensor(self, name: str) -> Array:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise PrivacyEvalError(f"{self.where}: no tensor {name}")
        if tensor.dtype.kind != "f" or not np.isfinite(tensor).all():
            raise PrivacyEvalError(f"{self.where}: {name} has values that are not finite")
        self._taken.add(name)
        return tensor.astype(np.float32)
