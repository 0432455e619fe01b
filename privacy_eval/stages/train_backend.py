"""Back ends that a tree lacks, trained from the x-vectors of its training sets: those of
attackers whose model knows anonymized speech.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .. import __version__
from ..asv.model_folder import (
    BACKEND_FILES,
    TreeVectors,
    backend_folder,
    save_backend,
    train_from_vectors,
)
from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes, relative, write_text
from ..protocol.protocol import AsvModel, Protocol
from .asv_scores import NOTE, MissingInput, Models, Place, Scored, Target, read_note


def train_models(targets: Iterable[Target], place: Place, protocol: Protocol) -> Scored:
    """Train every back end that the targets' results folders need, that is not there, and
    whose training set has x-vectors. One of ours is trained anew when these change."""
    outcome = Scored()
    wanted: dict[str, tuple[AsvModel, str]] = {}
    for target in targets:
        for _, part in target.folders:
            model = protocol.asv_model(part.asv_model)
            if model is not None:  # systems may share one
                name = model.model_folder(target.anon_suffix)
                wanted.setdefault(name, (model, target.anon_suffix))
    for name, (model, suffix) in wanted.items():
        try:
            _train(name, model, suffix, place, protocol, outcome)
        except MissingInput as error:
            outcome.lacking[name] = (error.kind, error.where)
        except PrivacyEvalError as error:
            outcome.failed[name] = str(error)
    return outcome


def _train(
    name: str, model: AsvModel, suffix: str, place: Place, protocol: Protocol, outcome: Scored
) -> None:
    tree, training_set = place.tree, model.training_name(suffix)
    there = backend_folder(tree, model, suffix)
    note = read_note(there / NOTE) if there is not None else {}
    if there is not None and note.get("backend_sha256") != _digests(there):
        outcome.kept.append(name)
        return
    vectors = TreeVectors(
        tree,
        protocol,
        tree / name,
        allow_pipes=place.allow_pipes,
        allow_outside=place.allow_outside,
    )
    scp = tree / name / f"xvect_{training_set}" / "xvector.scp"
    utt2spk = tree / "data" / training_set / "utt2spk"
    for path in (scp, utt2spk):
        if not path.is_file():
            raise MissingInput("training set of a back end", relative(path, tree))
    Models(place, protocol).check_inside(utt2spk)
    read = vectors.read(scp)
    trained_from = {
        "version": __version__,
        "vectors": {"path": relative(scp, tree), "sha256": read.digest},
        "utt2spk": {"path": relative(utt2spk, tree), "sha256": digest(read_bytes(utt2spk))},
    }
    if note.get("trained_from") == trained_from:
        outcome.up_to_date.append(name)
        return
    trained = train_from_vectors(read, utt2spk)
    with tempfile.TemporaryDirectory() as scratch:
        save_backend(Path(scratch), trained)
        plain = {"backend_sha256": _digests(Path(scratch)), "trained_from": trained_from}
    # Killed from here on, there is no back end, or a whole one that the note owns up to.
    (scp.parent / "plda").unlink(missing_ok=True)
    write_text(scp.parent / NOTE, json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    save_backend(scp.parent, trained)
    outcome.made.append(name)


def _digests(folder: Path) -> dict[str, str]:
    return {f: digest(read_bytes(folder / f)) for f in BACKEND_FILES if (folder / f).is_file()}
