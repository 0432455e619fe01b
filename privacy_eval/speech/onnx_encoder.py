"""Speaker encoders in ONNX files: wespeaker, 3D-Speaker, sherpa-onnx, or one's own."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError
from ..io.files import digest
from .audio import Audio
from .front_ends import FrontEnd, front_end_from_metadata
from .onnx_session import OnnxSession

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class OnnxEncoder:
    """An encoder and its front end; utterances are computed one by one, with one thread.

    Attributes
    ----------
    session : OnnxSession
    front_end : FrontEnd
    sha256 : str
        Digest of the file.
    """

    session: OnnxSession
    front_end: FrontEnd
    sha256: str

    @property
    def rate(self) -> int:
        """Sampling rate of the speech that it takes, in Hz."""
        return self.front_end.rate

    @property
    def settings(self) -> dict[str, Any]:
        """What vectors depend on beside the file."""
        return {
            "front_end": asdict(self.front_end),
            "onnxruntime": self.session.library,
            "threads": 1,
            "batch": "windows of an utterance" if self.front_end.chunk else "utterance",
        }

    def encode(self, audio: Audio) -> Vector:
        """Compute the vector of an utterance; a unit vector if it is cut into windows.

        Parameters
        ----------
        audio : Audio

        Returns
        -------
        float32 array, shape (E,)

        Raises
        ------
        PrivacyEvalError
            An utterance without speech or too short; an output that is not one finite vector
            per input.
        """
        values = self.front_end.compute(audio)
        if not self.front_end.chunk:
            vector: Vector = self._vectors(values[None])[0]
            return vector
        alone = self.session.input.shape[0] == 1
        batches = [values[i : i + 1] for i in range(len(values))] if alone else [values]
        windows = np.concatenate([self._vectors(batch) for batch in batches])
        with np.errstate(all="ignore"):
            mean = (windows / np.linalg.norm(windows, axis=1, keepdims=True)).mean(axis=0)
            unit: Vector = (mean / np.linalg.norm(mean)).astype(np.float32)
        return self._finite(unit)

    def _vectors(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        vectors = self.session.run(batch)
        if vectors.ndim != 2 or len(vectors) != len(batch) or not vectors.shape[1]:
            raise PrivacyEvalError(
                f"{self.session.where}: an output of shape {vectors.shape} for an input of "
                f"{batch.shape}, expected one vector per input"
            )
        if vectors.dtype != np.float32:
            raise PrivacyEvalError(f"{self.session.where}: an output of {vectors.dtype}")
        return self._finite(vectors)

    def _finite(self, vectors: Vector) -> Vector:
        if not np.isfinite(vectors).all():
            raise PrivacyEvalError(f"{self.session.where}: computes values that are not finite")
        return vectors


def open_onnx(content: bytes, where: str, front_end: FrontEnd | None = None) -> OnnxEncoder:
    """Open an encoder in an ONNX file.

    Parameters
    ----------
    content : bytes
    where : str
        Beginning of errors.
    front_end : FrontEnd, optional
        By default the one that the file's metadata describe, or the waveform where the input has
        two dimensions.

    Returns
    -------
    OnnxEncoder

    Raises
    ------
    PrivacyEvalError
        As `OnnxSession`; a front end that is unknown or does not fit the input; an output that
        is not one vector per utterance.
    """
    session = OnnxSession(content, where)
    shape = session.input.shape
    if session.input.type != "tensor(float)" or len(shape) not in (2, 3):
        raise PrivacyEvalError(
            f"{where}: an input of {session.input.type} with {len(shape)} dimensions, expected "
            "(batch, samples) or (batch, frames, bins) of floats"
        )
    if len(session.output.shape) > 2:
        raise PrivacyEvalError(f"{where}: an output per frame, expected one vector per utterance")
    front_end = front_end or front_end_from_metadata(session.metadata, where)
    if front_end is None and len(shape) == 2:
        rate = session.metadata.get("sample_rate", "16000")
        front_end = FrontEnd("waveform", rate=int(rate) if rate.isdigit() else 16000)
    if front_end is None:
        raise PrivacyEvalError(
            f"{where}: its metadata do not tell the front end; name it with --front-end"
        )
    return OnnxEncoder(session, _fitted(front_end, session), digest(content))


def _fitted(front_end: FrontEnd, session: OnnxSession) -> FrontEnd:
    """Return a front end with the number of filters that the input has."""
    shape, where = session.input.shape, session.where
    if (front_end.input == "waveform") != (len(shape) == 2):
        raise PrivacyEvalError(
            f"{where}: the front end gives a {front_end.input}, the input has {len(shape)} "
            "dimensions"
        )
    length = shape[1]
    if isinstance(length, int) and length > 0 and length != (front_end.chunk or (0,))[0]:
        raise PrivacyEvalError(
            f"{where}: takes inputs of length {length} only; a front end in a YAML file with "
            f"chunk: {length} cuts utterances"
        )
    bins = shape[2] if len(shape) == 3 else None
    if isinstance(bins, int) and bins > 0:
        try:
            return replace(front_end, bins=bins)
        except ValueError as error:
            raise PrivacyEvalError(f"{where}: an input of {bins} bins ({error})") from error
    return front_end
