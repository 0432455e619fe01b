"""Speaker encoders by name or file, the one without a model, and the vectors of a data folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from ..choices import CHECKPOINT, ENCODER_FILES, ENCODERS, ONNX, SPECTRUM
from ..errors import PrivacyEvalError, UsageError, located, missing_library
from ..io.files import digest, read_bytes
from .audio import Audio, AudioReader, resample
from .ecapa import Ecapa, read_ecapa
from .features import MfccOptions, fbank
from .ge2e import Ge2e, read_ge2e
from .models import LIBRARIES, load_model, missing_model, missing_packages, model_path
from .onnx_encoder import FRONT_ENDS, FrontEnd, OnnxEncoder, open_onnx, read_front_end
from .xvector import UNVOICED

_MAX_BYTES = 2 << 30
#: A key of `AudioReader.remarks`.
_NARROWBAND = "sampled below the rate of the encoder, so without upper frequencies"
#: Front end of checkpoints.
_OF_CHECKPOINTS = "speechbrain"
#: Libraries of ONNX files.
_ONNX = {"onnxruntime": "onnxruntime"}
_FEATURES = MfccOptions(num_mel_bins=80)
_CEPSTRA, _QUIET = 30, 0.3


class Spectrum:
    """The encoder.

    Attributes
    ----------
    rate : int
        Sampling rate of the speech that it takes, in Hz.
    sha256 : str
        "", as it has no file.
    """

    rate, sha256 = _FEATURES.rate, ""

    def encode(self, audio: Audio) -> NDArray[np.float32] | None:
        """Compute the vector of an utterance: mean and deviation of Kaldi's log mel energies,
        deviation of the differences of 30 cepstra, and their correlations, without the quietest
        frames.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (625,), or None
            None of silence, or of too few frames: nothing varies.

        References
        ----------
        Docs, page "attackers".

        Examples
        --------
        >>> noise = np.random.default_rng(0).normal(0, 1000, 16000).astype(np.float32)
        >>> Spectrum().encode(Audio(noise, 16000)).shape
        (625,)
        """
        samples = resample(audio.samples, audio.rate, self.rate)
        mel = fbank(samples, _FEATURES).astype(np.float64)
        level = mel.mean(axis=1)
        kept = mel[level > np.quantile(level, _QUIET)] if len(mel) else mel
        if len(kept) < 3:
            return None
        cepstra = scipy.fft.dct(kept, norm="ortho", axis=1)[:, :_CEPSTRA]
        if not (deviation := cepstra.std(axis=0)).all():
            return None
        centered = (cepstra - cepstra.mean(axis=0)) / deviation
        correlations = (centered.T @ centered / len(kept))[np.triu_indices(_CEPSTRA, 1)]
        changes = np.diff(cepstra, axis=0).std(axis=0)
        values = kept.mean(axis=0), kept.std(axis=0), changes, correlations
        return np.concatenate(values).astype(np.float32)


#: A speaker encoder.
Encoder = Ge2e | OnnxEncoder | Ecapa | Spectrum


@dataclass(frozen=True)
class EncoderChoice:
    """The encoder that options name.

    Attributes
    ----------
    name : str
        A name of `ENCODERS`, an ONNX file, or SpeechBrain's checkpoint of an ECAPA-TDNN (.ckpt).
    front_end : str, optional
        A name of `FRONT_ENDS`, or a YAML file; of files alone. That of checkpoints is SpeechBrain's
        by default.
    cache : Path, optional
        Folder of downloaded models; by default the user's.
    """

    name: str
    front_end: str | None = None
    cache: Path | None = None

    def __post_init__(self) -> None:
        if self.name not in ENCODERS and not self.name.endswith(ENCODER_FILES):
            raise UsageError(
                f"no encoder {self.name!r}: {', '.join(ENCODERS)}, FILE.onnx or FILE.ckpt"
            )
        if self.front_end is not None and self.name in ENCODERS:
            raise UsageError(f"the encoder {self.name} has its own front end")
        is_checkpoint = self.name.endswith(CHECKPOINT)
        if is_checkpoint and self.front_end in FRONT_ENDS.keys() - {_OF_CHECKPOINTS}:
            raise UsageError(
                f"{self.name}: the front end of SpeechBrain's networks is {_OF_CHECKPOINTS}, not "
                f"{self.front_end} (a YAML file describes another one)"
            )
        if self.front_end is None and is_checkpoint:
            object.__setattr__(self, "front_end", _OF_CHECKPOINTS)

    @property
    def path(self) -> Path:
        """The model's file."""
        if self.name in ENCODERS:
            return model_path(ENCODERS[self.name], cache=self.cache)
        return Path(self.name)

    @property
    def front_end_file(self) -> Path | None:
        """The YAML file of the front end, if there is one."""
        named = self.front_end is None or self.front_end in FRONT_ENDS
        return None if named else Path(str(self.front_end))

    @property
    def files(self) -> dict[str, Path]:
        """The files that vectors depend on, the model first; none of the spectrum.

        Raises
        ------
        PrivacyEvalError
            One of them is missing.
        """
        paths = {} if self.name == SPECTRUM else {"model": self.path}
        if self.front_end_file is not None:
            paths["front end"] = self.front_end_file
        for path in paths.values():
            if not path.is_file():
                if self.name in ENCODERS:
                    raise missing_model(path, ENCODERS[self.name], self.cache)
                raise PrivacyEvalError(f"{path}: no such file")
        return paths

    @property
    def options(self) -> dict[str, Any]:
        """What vectors depend on beside the files; how onnxruntime computes them is fixed."""
        name = self.name if self.name in ENCODERS else Path(self.name).suffix[1:]
        front_end = None if self.front_end_file is not None else self.front_end
        return {"encoder": name, "front_end": front_end, "threads": 1, "batch": "utterance"}

    def identity(self, sha256: str) -> str:
        """Return the digest that results name vectors by.

        Parameters
        ----------
        sha256 : str
            Digest of the model's file; "" without one.

        Returns
        -------
        str
            The same, unless the file is also read in another way: without removing silence
            (`ge2e-raw`), or with another front end than the one that it describes itself.
        """
        front_end = self._front_end()
        if front_end is not None:
            way = json.dumps(asdict(front_end), sort_keys=True)
        elif self.name != ENCODERS.get(self.name, self.name):
            way = self.name
        else:
            return sha256
        return digest(f"{sha256} {way}".encode())

    def load(self) -> Encoder:
        """Read the encoder.

        Raises
        ------
        PrivacyEvalError
            A file that is missing, damaged or refused; missing libraries, all in one command.
        """
        check_encoders([self])
        if self.name == SPECTRUM:
            return Spectrum()
        if self.name not in ENCODERS:
            content = read_bytes(self.path, max_bytes=_MAX_BYTES)
            read = read_ecapa if self.name.endswith(CHECKPOINT) else open_onnx
            return read(content, self.name, self._front_end())
        content = load_model(ENCODERS[self.name], cache=self.cache)
        if ENCODERS[self.name] == "ge2e":
            return read_ge2e(content, str(self.path), vad=self.name == "ge2e")
        return open_onnx(content, str(self.path))

    def _front_end(self) -> FrontEnd | None:
        if self.front_end_file is not None:
            return read_front_end(self.front_end_file)
        return FRONT_ENDS[self.front_end] if self.front_end else None


def check_encoders(choices: Iterable[EncoderChoice]) -> None:
    """Make sure, before any work, that encoders have their models and libraries.

    Parameters
    ----------
    choices : iterable of EncoderChoice

    Raises
    ------
    PrivacyEvalError
        With one command for all missing libraries, or one for all missing models; a missing
        file.
    """
    choices = [choice for choice in choices if choice.name != SPECTRUM]
    needed = [_ONNX if c.name.endswith(ONNX) else LIBRARIES.get(c.name, {}) for c in choices]
    if missing := missing_packages(needed):
        raise missing_library("audio files and speaker encoders", " ".join(missing))
    absent = [c for c in choices if c.name in ENCODERS and not c.path.is_file()]
    if absent:
        models = dict.fromkeys(ENCODERS[choice.name] for choice in absent)
        raise missing_model(absent[0].path, " ".join(models), absent[0].cache)
    for choice in choices:
        _ = choice.files


def encode_utterances(
    encoder: Encoder,
    reader: AudioReader,
    *,
    ids: Sequence[str] | None = None,
    refused: Callable[[str, PrivacyEvalError], None] | None = None,
) -> Iterator[tuple[str, NDArray[np.float32] | None]]:
    """Compute the vectors of a data folder, one utterance after another.

    Parameters
    ----------
    encoder : Encoder
    reader : AudioReader
        Of the utterances, with channels averaged; its `remarks` list those of a lower rate.
    ids : sequence of str, optional
        Only these utterances.
    refused : callable, optional
        Called with each utterance that has no vector, because it cannot be read or has no speech,
        and the error; by default it is raised.

    Returns
    -------
    iterator of (str, float32 array of shape (E,) or None)

    Raises
    ------
    PrivacyEvalError
        With file, line and utterance: as `AudioReader.read` and `Encoder.encode`; vectors of
        different dimensions.
    """
    dimension = None
    for name in reader.ids if ids is None else ids:
        vector = None
        try:
            audio = reader.read(name)
            if audio.rate < encoder.rate:
                reader.remarks.setdefault(_NARROWBAND, []).append(name)
            with located(reader.where(name)):
                vector = encoder.encode(audio)
            if vector is None:
                reader.remarks.setdefault(UNVOICED, []).append(name)
        except PrivacyEvalError as error:
            if refused is None:
                raise
            refused(name, error)
        if vector is not None:
            dimension = dimension or vector.size
            if vector.size != dimension:
                raise PrivacyEvalError(
                    f"{reader.where(name)}: the encoder gives {vector.size} values, before "
                    f"{dimension}"
                )
        yield name, vector
