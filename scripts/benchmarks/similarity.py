"""Voice similarity of a trial set: from x-vectors and a back end in files to DeID and G_VD."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from privacy_eval.asv.backend import train_backend
from privacy_eval.asv.model_folder import load_backend, save_backend
from privacy_eval.asv.voice_similarity import voice_similarity
from privacy_eval.io.vectors import read_vectors, write_vectors
from privacy_eval.metrics import VARIANTS, Variant
from privacy_eval.simulate import Anonymization, VectorModel

from .measuring import Measure, Row, program, run, show, wall

SCPS = ("original/xvector.scp", "anonymized/xvector.scp")


def similarity(utterances: int, repeats: int) -> bool:
    """Measure one variant and both, and the command's peak memory."""
    variants: tuple[tuple[Variant, ...], ...] = (("challenge",), ("exact",), VARIANTS)
    rows = [
        Row(
            f"voice similarity, {utterances} utterances, {' and '.join(of)}",
            "argsort",
            (6.0,),
            partial(matrices, utterances, of),
        )
        for of in variants
    ]
    met, goal = show(rows, repeats), 0.5
    with TemporaryDirectory() as folder:
        write_speech(Path(folder), utterances)
        _, peak, _ = run(command(Path(folder)))
    print(f"peak memory of the command, both variants: {peak:.2f} GiB (goal {goal:g})")
    return met and peak <= goal


def matrices(
    utterances: int, variants: tuple[Variant, ...], folder: Path
) -> tuple[Measure, Measure]:
    """Compute the matrices against one argsort of as many float32 as one set has unordered
    pairs."""
    pairs = np.random.default_rng(4).standard_normal(utterances**2 // 2).astype(np.float32)
    write_speech(folder, utterances)

    def work() -> None:
        first, second = (read_vectors(folder / scp, tree=folder) for scp in SCPS)
        model = load_backend(folder / "model").model
        options = {"model": model, "variants": variants}
        voice_similarity(first, second, folder / "utt2spk", backend="plda", **options)

    return wall(work), wall(lambda: np.argsort(pairs))


def write_speech(folder: Path, utterances: int) -> None:
    """Write x-vectors of a trial set of 40 speakers, original and anonymized, and a back end."""
    generator = np.random.default_rng(3)
    voices = VectorModel(dimension=512, between=1.0, decay=1.0, within=1.5)
    kind = Anonymization(keep=0.5, pseudo=1.0, noise=1.3)
    own = np.arange(utterances) % 40
    original = voices.utterances(voices.voices(40, generator)[own], generator)
    pseudo = kind.pseudo_voices(40, voices, generator)[own]
    drawn = [v.astype(np.float32) for v in (original, kind.anonymize(original, pseudo, generator))]
    training = np.repeat(np.arange(800), 10)
    trained_on = voices.utterances(voices.voices(800, generator)[training], generator)
    model = train_backend(trained_on.astype(np.float32), [f"{s:04d}" for s in training])
    save_backend(folder / "model", model)
    ids = [f"{s:04d}-{i:06d}" for i, s in enumerate(own.tolist())]
    for scp, vectors in zip(SCPS, drawn, strict=True):
        write_vectors(folder / scp, ids, vectors, tree=folder)
    (folder / "utt2spk").write_text("".join(f"{i} {i[:4]}\n" for i in ids))


def command(folder: Path) -> list[str]:
    """Return the command for both variants, of the files of `write_speech`."""
    original, anonymized = (folder / scp for scp in SCPS)
    return program(
        *("similarity", "--scp-base", folder, "--model", folder / "model"),
        *("--utt2spk", folder / "utt2spk", "--original", original, "--anonymized", anonymized),
    )
