"""ONNX models by onnxruntime, each in a process of its own: files may be hostile."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import select
import struct
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, missing_library, printable

_WORKER = Path(__file__).with_name("onnx_worker.py")
#: Seconds that opening a model or one computation may take.
_SECONDS = 600
#: The key of the place of external data, as ONNX writes it into a file.
_EXTERNAL_DATA = b"\x0a\x08location"
_MAX_REPLY = 1 << 32


class Port(NamedTuple):
    """An input or output of a model."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


class OnnxSession:
    """A model that a child process has opened, with one thread.

    Parameters
    ----------
    content : bytes
        The file.
    where : str
        Beginning of errors.

    Raises
    ------
    PrivacyEvalError
        onnxruntime is not installed or refuses the file; it needs other files; it ends the
        process that opens it.

    Attributes
    ----------
    input, output : Port
        The model must have one of each.
    metadata : dict of str to str
    """

    def __init__(self, content: bytes, where: str) -> None:
        if importlib.util.find_spec("onnxruntime") is None:
            raise missing_library("ONNX models", "onnxruntime")
        self.where = where
        if _EXTERNAL_DATA in content:
            raise PrivacyEvalError(f"{where}: has external data, which is not read")
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._finalizer = weakref.finalize(self, _end, self._process)
        reply = self._ask(content, "opening it")
        try:
            described = json.loads(reply)
            inputs, outputs = (
                [Port(n, t, tuple(s)) for n, t, s in described[k]] for k in ("inputs", "outputs")
            )
        except (ValueError, KeyError, TypeError) as error:
            raise PrivacyEvalError(f"{where}: not a model ({error})") from error
        self.metadata: dict[str, str] = described["metadata"]
        self.library: str = described["library"]
        for ports, what in ((inputs, "input"), (outputs, "output")):
            if len(ports) != 1:
                names = ", ".join(printable(port.name)[:40] for port in ports[:5])
                raise PrivacyEvalError(
                    f"{where}: expected one {what}, found {len(ports)} ({names})"
                )
        self.input, self.output = inputs[0], outputs[0]

    def run(self, array: NDArray[Any]) -> NDArray[Any]:
        """Compute the output for an input.

        Raises
        ------
        PrivacyEvalError
            The model refuses the input, or ends its process.
        """
        packed = io.BytesIO()
        np.save(packed, np.ascontiguousarray(array), allow_pickle=False)
        reply = self._ask(packed.getvalue(), f"an input of shape {array.shape}")
        try:
            result: NDArray[Any] = np.load(io.BytesIO(reply), allow_pickle=False)
        except ValueError as error:
            raise PrivacyEvalError(f"{self.where}: an output that is no array") from error
        return result

    def _ask(self, content: bytes, what: str) -> bytes:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(struct.pack("<q", len(content)) + content)
            self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], _SECONDS)[0]:
            self._process.kill()
        head = self._process.stdout.read(8)
        size = struct.unpack("<q", head)[0] if len(head) == 8 else -1
        reply = self._process.stdout.read(size) if 0 <= size < _MAX_REPLY else b""
        if size < 0 or len(reply) < size:
            code = self._process.wait()
            how = f"signal {-code}" if code < 0 else f"exit status {code}"
            raise PrivacyEvalError(f"{self.where}: onnxruntime ended by {how} while {what}")
        if reply.startswith(b'{"error"'):
            message = printable(" ".join(json.loads(reply)["error"].split()))[:300]
            raise PrivacyEvalError(f"{self.where}: refused by onnxruntime for {what} ({message})")
        return reply


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.kill()
    process.wait()
