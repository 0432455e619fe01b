"""SpeechBrain's ECAPA-TDNN in torch, its features and its loss, and the encoder in ONNX.

Tensors have SpeechBrain's names, so that checkpoints go to it and come from it.

References
----------
As `speech.ecapa`; J. Deng et al., "ArcFace: additive angular margin loss for deep face
recognition", CVPR 2019.
"""

from __future__ import annotations

import io
import math
import warnings

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import nn

from ..errors import PrivacyEvalError
from ..speech.ecapa import DILATIONS, LEAST_VARIANCE, read_ecapa
from ..speech.features import MelOptions, mel_filters, periodic_window
from ..speech.onnx_encoder import DYNAMIC_RANGE, FRONT_END, FRONT_ENDS, LEAST_POWER, OnnxSession

#: Of the groups of channels within a block, of the gate, of the attention, and of the vectors.
_GROUPS, _GATE, _ATTENTION, _DIMENSION = 8, 128, 128, 192
_MARGIN, _SCALE = 0.2, 30.0
#: Largest difference of exported vectors, relative to the largest value.
_TOLERANCE = 1e-3
_OPSET = 17


class Features(nn.Module):
    """SpeechBrain's filter bank in dB, without the mean of the utterance, of samples (B, N)."""

    def __init__(self) -> None:
        super().__init__()
        options = FRONT_ENDS["speechbrain"].options
        assert isinstance(options, MelOptions)
        self.size, self.shift = options.fft_size, options.shift
        arrays = {"window": periodic_window(options), "filters": mel_filters(options)}
        for name, array in arrays.items():
            self.register_buffer(name, torch.tensor(array, dtype=torch.float32))

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(
            *(samples, self.size, self.shift, self.size, self.window),
            pad_mode="constant",
            return_complex=True,
        )
        power = spectrum.real**2 + spectrum.imag**2
        decibels = 10 * torch.log10((power.transpose(1, 2) @ self.filters).clamp(min=LEAST_POWER))
        decibels = torch.maximum(decibels, decibels.amax((1, 2), keepdim=True) - DYNAMIC_RANGE)
        return decibels - decibels.mean(1, keepdim=True)


class _Convolution(nn.Module):
    def __init__(self, inputs: int, outputs: int, taps: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.reach = dilation * (taps // 2)
        self.conv = nn.Conv1d(inputs, outputs, taps, dilation=dilation)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if self.reach:
            values = F.pad(values, (self.reach, self.reach), "reflect")
        return self.conv(values)


class _Norm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(size)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.norm(values)


class _Layer(nn.Module):
    def __init__(self, inputs: int, outputs: int, taps: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = _Convolution(inputs, outputs, taps, dilation)
        self.norm = _Norm(outputs)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.norm(F.relu(self.conv(values)))


class _Groups(nn.Module):
    """Convolutions of some channels each, which add what came before (Res2Net)."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        width = channels // _GROUPS
        layers = [_Layer(width, width, 3, dilation) for _ in range(_GROUPS - 1)]
        self.blocks = nn.ModuleList(layers)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        first, *others = values.chunk(_GROUPS, 1)
        parts = [first]
        for index, (part, layer) in enumerate(zip(others, self.blocks, strict=True)):
            parts.append(layer(part + parts[-1] if index else part))
        return torch.cat(parts, 1)


class _Gate(nn.Module):
    """Squeeze and excitation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = _Convolution(channels, _GATE), _Convolution(_GATE, channels)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * torch.sigmoid(self.conv2(F.relu(self.conv1(values.mean(2, keepdim=True)))))


class _Block(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.tdnn1, self.tdnn2 = _Layer(channels, channels), _Layer(channels, channels)
        self.res2net_block, self.se_block = _Groups(channels, dilation), _Gate(channels)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values + self.se_block(self.tdnn2(self.res2net_block(self.tdnn1(values))))


def _statistics(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    mean = (weights * values).sum(2, keepdim=True)
    variance = (weights * (values - mean) ** 2).sum(2, keepdim=True)
    return torch.cat([mean, variance.clamp(min=LEAST_VARIANCE).sqrt()], 1)


class _Pooling(nn.Module):
    """Means and deviations over time, weighted by attention that also sees the whole utterance."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.tdnn = _Layer(3 * channels, _ATTENTION)
        self.conv = _Convolution(_ATTENTION, channels)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        whole = _statistics(values, torch.full_like(values[:1, :1], 1 / values.shape[2]))
        seen = torch.cat([values, whole.expand(-1, -1, values.shape[2])], 1)
        return _statistics(values, torch.softmax(self.conv(torch.tanh(self.tdnn(seen))), 2))


class Network(nn.Module):
    """The network, of features (B, T, bands): vectors (B, 192)."""

    def __init__(self, channels: int, bands: int = 80) -> None:
        super().__init__()
        blocks: list[nn.Module] = [_Layer(bands, channels, 5)]
        blocks += [_Block(channels, dilation) for dilation in DILATIONS]
        together = len(DILATIONS) * channels
        self.blocks, self.mfa = nn.ModuleList(blocks), _Layer(together, together)
        self.asp, self.asp_bn = _Pooling(together), _Norm(2 * together)
        self.fc = _Convolution(2 * together, _DIMENSION)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        values, parts = features.transpose(1, 2), []
        for block in self.blocks:
            values = block(values)
            parts.append(values)
        values = self.asp_bn(self.asp(self.mfa(torch.cat(parts[1:], 1))))
        return self.fc(values).squeeze(2)


class Classes(nn.Module):
    """The training speakers, and the loss of vectors of known ones (additive angular margin)."""

    def __init__(self, number: int, dimension: int = _DIMENSION) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(number, dimension))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, vectors: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        cosine = F.linear(F.normalize(vectors), F.normalize(self.weight))
        sine = (1 - cosine**2).clamp(min=1e-12).sqrt()
        moved = cosine * math.cos(_MARGIN) - sine * math.sin(_MARGIN)
        least = math.cos(math.pi - _MARGIN)
        moved = torch.where(cosine > least, moved, cosine - math.sin(math.pi - _MARGIN) * _MARGIN)
        own = F.one_hot(labels, len(self.weight)).bool()
        return F.cross_entropy(_SCALE * torch.where(own, moved, cosine), labels)


def resampled(samples: torch.Tensor, speed: tuple[int, int]) -> torch.Tensor:
    """Return samples (B, N) as played at a speed, such as 9 / 10 of the former, without aliases."""
    up, down = speed[1], speed[0]  # samples out, and in
    cutoff, reach = 0.95 * min(1, up / down), 16
    taps = torch.arange(-reach, reach + down, device=samples.device)
    places = taps - torch.arange(up, device=samples.device)[:, None] * down / up
    kernel = torch.sinc(cutoff * places) * cutoff
    kernel *= torch.cos(math.pi * places / (2 * (reach + down))).clamp(min=0) ** 2
    padded = F.pad(samples[:, None], (reach, reach + down))
    return F.conv1d(padded, kernel[:, None].to(samples), stride=down).transpose(1, 2).flatten(1)


def checkpoint(network: nn.Module) -> bytes:
    """Return the network as SpeechBrain's `embedding_model.ckpt`."""
    packed = io.BytesIO()
    torch.save({k: v.detach().cpu().clone() for k, v in network.state_dict().items()}, packed)
    return packed.getvalue()


def in_onnx(network: nn.Module, crops: torch.Tensor, where: str) -> bytes:
    """Return the encoder of features in ONNX, once it gives the vectors of torch, and so does our
    own reading of the checkpoint, for some crops (B, N)."""
    network, packed = network.cpu().float().eval(), io.BytesIO()
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = Features()(crops)
        wanted = network(features).numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about itself
        torch.onnx.export(
            *(network, (features.clone(),), packed),
            input_names=["features"],
            output_names=["vector"],
            dynamic_axes={"features": {0: "batch", 1: "frames"}, "vector": {0: "batch"}},
            opset_version=_OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(packed.getvalue())
    onnx.helper.set_model_props(model, {FRONT_END: "speechbrain"})
    content = bytes(model.SerializeToString())
    ours = read_ecapa(checkpoint(network), where)
    session = OnnxSession(content, where)
    for inputs, vector in zip(features.numpy(), wanted, strict=True):
        for found in (session.run(inputs[None])[0], ours.vector(inputs)):
            if np.abs(found - vector).max() > _TOLERANCE * np.abs(vector).max():
                raise PrivacyEvalError(f"{where}: gives other vectors than the trained network")
    return content
