"""The verb that trains speaker encoders."""

from __future__ import annotations

import argparse
import os

from ..cli.options import Options, log, progress
from ..errors import PrivacyEvalError, library
from ..options import choice, path, positive, value
from .options import Training

_DATA = "data folder of training speech, original or anonymized; to be repeated"
_OUT = "folder of the encoder, its checkpoints, training.json and the cache of the speech"
_DEVICE = "default: a GPU, if there is one"
_READERS = "processes that read the speech (default: one a core)"
#: Of the extra `train`.
_PACKAGES = "torch onnx onnxruntime"

VERBS: dict[str, Options] = {
    "train-encoder": {
        "example": "--data data/train-clean-360_mcadams --out exp/models/ecapa_mcadams",
        "shared": "seed scp-base allow-missing allow-pipes allow-outside",
        "kinds": (Training,),
        "--data": path("DIR", _DATA, action="append", required=True),
        "--out": path("DIR", _OUT, required=True),
        "--device": choice(("auto", "cpu", "cuda"), _DEVICE, default="auto"),
        "--nj": value("N", _READERS, type=positive, default=os.cpu_count() or 1),
    },
}


def run_train_encoder(arguments: argparse.Namespace) -> int:
    from ..options import fill
    from .recordings import check_lengths, read_recordings

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads leave the cores to others
    torch, _ = (library(name, "training encoders", _PACKAGES) for name in ("torch", "onnx"))
    device = arguments.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        raise PrivacyEvalError("--device cuda: no GPU that torch can use (--device cpu takes none)")
    from .learn import ENCODER, Learner

    options = fill(Training, arguments)
    names = {"base": "scp_base", "allow_pipes": "allow_pipes", "allow_outside": "allow_outside"}
    reading = {name: getattr(arguments, option) for name, option in names.items()}
    show = progress()
    recordings = read_recordings(
        arguments.data, arguments.out / "cache", arguments.nj, reading, show
    )
    recordings = check_lengths(recordings, options.longest, leave_out=arguments.allow_missing)
    learner = Learner(recordings, options, arguments.out, device)
    log(
        f"privacy-eval: {len(learner.classes)} speakers, {recordings.seconds / 3600:.2f} hours; "
        f"{options.epochs} epochs of {learner.steps} batches of {learner.batch} crops on {device}"
    )
    learner.run(show)
    print(f"{arguments.out / ENCODER}: {learner.summary()}")
    return 0
