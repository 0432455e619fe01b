"""The verb that trains speaker encoders."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cli.options import Options, log, progress
from ..errors import PrivacyEvalError, library
from ..io.files import read_bytes
from ..options import path, positive, value
from .options import CHECKPOINT, DEVICE, ENCODER, MAX_BYTES, STATE, Training

if TYPE_CHECKING:
    from .learn import Learner

_DATA = "data folder of training speech, original or anonymized; to be repeated"
_OUT = "folder of the encoder, its checkpoints, training.json and the cache of the speech"
_READERS = "processes that read the speech (default: one a core)"
#: The extra that has all libraries.
_PACKAGES = "'privacy_eval[train]'"

VERBS: dict[str, Options] = {
    "train-encoder": {
        "example": "--data data/train-clean-360_mcadams --out exp/models/ecapa_mcadams",
        "shared": "seed scp-base allow-missing allow-pipes allow-outside",
        "kinds": (Training,),
        "--data": path("DIR", _DATA, action="append", required=True),
        "--out": path("DIR", _OUT, required=True),
        "--device": {**DEVICE, "default": "auto"},
        "--nj": value("N", _READERS, type=positive, default=os.cpu_count() or 1),
    },
}


def run_train_encoder(arguments: argparse.Namespace) -> int:
    from ..options import fill

    names = {"base": "scp_base", "allow_pipes": "allow_pipes", "allow_outside": "allow_outside"}
    reading = {name: getattr(arguments, option) for name, option in names.items()}
    learner = trained(
        arguments.data,
        arguments.out,
        fill(Training, arguments),
        device_of(arguments.device),
        nj=arguments.nj,
        leave_out=arguments.allow_missing,
        **reading,
    )
    print(f"{arguments.out / ENCODER}: {learner.summary()}")
    return 0


def device_of(name: str) -> str:
    """Return what computes, once the libraries are there.

    Raises
    ------
    PrivacyEvalError
        A library of the extra `train` is missing; no GPU that is asked for.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads leave the cores to others
    torch, _ = (library(name, "training encoders", _PACKAGES) for name in ("torch", "onnx"))
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise PrivacyEvalError("device cuda: no GPU that torch can use (device cpu needs none)")
    return name


def trained(
    folders: Sequence[Path],
    out: Path,
    options: Training,
    device: str,
    *,
    nj: int,
    leave_out: bool,
    **reading: Any,
) -> Learner:
    """Train an encoder on data folders, and return what it learnt; `leave_out`: recordings that
    are shorter than a crop; `reading`: options of `AudioReader`."""
    from ..speech.ecapa import read_ecapa
    from .recordings import check_lengths, read_recordings

    for encoder in (out / ENCODER, out / CHECKPOINT):
        if encoder.is_file() and not (out / STATE).is_file():
            raise PrivacyEvalError(
                f"{encoder}: an encoder that no training here can go on with (no {STATE}); "
                "choose another folder for the new one"
            )
    if options.init is not None:  # before the speech is read
        read_ecapa(read_bytes(options.init, max_bytes=MAX_BYTES), str(options.init))
    show = progress()
    recordings = read_recordings(folders, out / "cache", nj, reading, show)
    recordings = check_lengths(recordings, options.longest, leave_out=leave_out)
    from .learn import Learner

    learner = Learner(recordings, options, out, device)
    log(
        f"privacy-eval: {len(learner.classes)} speakers, {recordings.seconds / 3600:.2f} hours; "
        f"{options.epochs} epochs of {learner.steps} batches of {learner.batch} crops on {device}"
    )
    learner.run(show)
    return learner
