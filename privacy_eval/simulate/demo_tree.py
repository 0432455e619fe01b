"""Whole demo trees: simulated x-vectors in a tree laid out as in the challenge."""

from __future__ import annotations

import glob
import json
import os
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..backend import Model, train_model
from ..config import ANONYMIZED, ORIGINAL, SPEECH, AsvModel, Config, ResultsFolder, TrialSet
from ..errors import PrivacyEvalError
from ..io.files import write_text
from ..io.plda import Plda, write_plda
from ..io.vectors import write_matrix, write_vector, write_vectors
from ..io.wer import WerLine, format_wer_line
from ..results import load_json
from .vectors import Anonymization, Matrix, VectorModel

_MARKER = "demo_tree.json"

#: The demo's systems, after the challenge's baselines. B1: what leaks is turned away from
#: the original voice, pseudo-voices are much alike. B2: much leaks, little is turned.
_DEMO_SYSTEMS: Mapping[str, Anonymization] = {
    "B1": Anonymization(keep=0.6, turn_deg=87.0, pseudo=0.15, noise=0.8, shift=2.0),
    "B2": Anonymization(keep=0.68, turn_deg=60.0, pseudo=0.1, noise=0.4, shift=0.7),
}
_DEMO_VECTORS = VectorModel()
_DEMO_LDA_DIM = 16
_TRAINING_SPEAKERS, _TRAINING_UTTERANCES = 120, 8
_ENROLLED, _SPEAKERS, _UTTERANCES, _ENROLLMENT_UTTERANCES = 16, 12, 12, 3

#: Word error rates of original speech, and how many times that of anonymized speech is, by
#: what the recognizer was trained on.
_DEMO_LM_WER: Mapping[str, float] = {"small": 0.055, "large": 0.042}
_DEMO_WER: Mapping[tuple[str, str], float] = {
    ("B1", ORIGINAL): 1.7,
    ("B2", ORIGINAL): 2.3,
    ("B1", ANONYMIZED): 1.1,
    ("B2", ANONYMIZED): 1.3,
}
_DEMO_RETRAINED_WER = 1.6  # of original speech by a recognizer trained on anonymized speech


def write_demo_tree(folder: Path, config: Config, *, seed: int = 0) -> bool:
    """A small simulated challenge tree of two systems, as anonymization leaves it.

    It holds data folders, x-vectors of all of them, back ends to score these with, and
    word error rates; no scores. The tree appears whole or not at all. The same seed
    gives the same bytes.

    Returns
    -------
    bool
        False where the very same tree was there already.

    Raises
    ------
    PrivacyEvalError
        `folder` holds something else. The plan does not say where the x-vectors and the
        back ends belong that its results folders need.
    """
    marker = {"demo_tree": 2, "version": __version__, "seed": seed, "plan": config.name}
    models = _models(config)
    folder = Path(os.path.abspath(folder))
    if folder.exists():
        if (folder / _MARKER).is_file() and load_json(folder / _MARKER) == marker:
            return False
        if not folder.is_dir() or any(folder.iterdir()):
            raise PrivacyEvalError(
                f"{folder}: holds something other than the demo tree of seed {seed}; "
                "remove it or name another folder"
            )
        if folder.samefile(Path()):
            raise PrivacyEvalError(f"{folder}: is the current folder; name one to be made in it")
        folder.rmdir()
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.partial"):
        if left == partial or not _is_alive(left.name.split(".")[-2]):
            shutil.rmtree(left)
    try:
        _write_speech(partial, config, models, seed)
        for system in _DEMO_SYSTEMS:
            for part in config.results_folders:
                results = partial / "exp" / system / f"results-demo{_suffix(system)}{part.suffix}"
                _write_recognition(results, system, part, config, seed)
        write_text(partial / _MARKER, json.dumps(marker, indent=1) + "\n")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    try:
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial)
        if (folder / _MARKER).is_file() and load_json(folder / _MARKER) == marker:
            return False  # another run was faster
        raise PrivacyEvalError(f"{folder}: cannot be made ({error.strerror})") from error
    return True


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return True


def _suffix(system: str) -> str:
    """What marks the system's anonymized sets: its results folders are called so too."""
    return f"_{system}"


def _models(config: Config) -> list[AsvModel]:
    """The models of the plan's results folders, and the one trained on original speech."""
    models = []
    for trained_on in dict.fromkeys((ORIGINAL, *(f.asv_model for f in config.results_folders))):
        model = config.asv_model(trained_on)
        if model is None:
            raise PrivacyEvalError(
                f"plan {config.name}: asv_models names no model trained on {trained_on} speech, "
                "so there is no place for a demo tree's x-vectors"
            )
        places = {
            (model.model_folder(_suffix(s)), model.training_name(_suffix(s))) for s in _DEMO_SYSTEMS
        }
        if trained_on == ANONYMIZED and len(places) < len(_DEMO_SYSTEMS):
            raise PrivacyEvalError(
                f"plan {config.name}: asv_models: the model trained on anonymized speech has one "
                "place for all systems, expected {suffix} in it"
            )
        models.append(model)
    return models


@dataclass(frozen=True)
class _Speech:
    """The utterances of a data folder, sorted, with their x-vectors."""

    utterances: tuple[str, ...]
    speakers: tuple[str, ...]
    vectors: Matrix
    gender_of: Mapping[str, str]
    lists: Mapping[str, str]


def _speaker_names(trial_set: TrialSet) -> list[str]:
    first = 100 * (1 + zlib.crc32(trial_set.enrollment_name.encode()) % 80)
    offset = 50 * ("fm".index(trial_set.gender))
    return [f"{first + offset + i:04d}" for i in range(_ENROLLED)]


def _voices(trial_set: TrialSet, seed: int) -> Matrix:
    """Trial sets that share their enrolled speakers share their voices."""
    generator = _generator(seed, "voices", trial_set.enrollment_name, trial_set.gender)
    return _DEMO_VECTORS.voices(_ENROLLED, generator)


def _trial_speech(trial_set: TrialSet, config: Config, seed: int) -> _Speech:
    speakers = _speaker_names(trial_set)
    # Data sets that share speakers have utterances of their own.
    number = config.data_sets.index(trial_set.data_set)
    utterances = {
        f"{s}-t{number}-{u:03d}": s for s in speakers[:_SPEAKERS] for u in range(_UTTERANCES)
    }
    voices = np.repeat(_voices(trial_set, seed)[:_SPEAKERS], _UTTERANCES, axis=0)
    trials = "".join(
        f"{s} {u} {'target' if s == spoken else 'nontarget'}\n"
        for s in speakers
        for u, spoken in utterances.items()
    )
    return _Speech(
        tuple(utterances),
        tuple(utterances.values()),
        _DEMO_VECTORS.utterances(voices, _generator(seed, trial_set.trials_name)),
        dict.fromkeys(speakers[:_SPEAKERS], trial_set.gender),
        {"trials": trials},
    )


def _enrollment_speech(name: str, config: Config, seed: int) -> _Speech:
    """Both genders share an enrollment set."""
    gender_of: dict[str, str] = {}
    voice_of: dict[str, Matrix] = {}
    for trial_set in config.trial_sets():
        if trial_set.enrollment_name == name:
            for speaker, voice in zip(
                _speaker_names(trial_set), _voices(trial_set, seed), strict=True
            ):
                gender_of[speaker], voice_of[speaker] = trial_set.gender, voice
    utterances = {
        f"{s}-e{u:03d}": s for s in sorted(gender_of) for u in range(_ENROLLMENT_UTTERANCES)
    }
    voices = np.stack([voice_of[s] for s in utterances.values()])
    return _Speech(
        tuple(utterances),
        tuple(utterances.values()),
        _DEMO_VECTORS.utterances(voices, _generator(seed, name)),
        gender_of,
        {"enrolls": "".join(f"{u}\n" for u in utterances)},
    )


def _training_speech(seed: int) -> _Speech:
    generator = _generator(seed, "training")
    speakers = [f"{s:03d}" for s in range(_TRAINING_SPEAKERS) for _ in range(_TRAINING_UTTERANCES)]
    voices = _DEMO_VECTORS.voices(_TRAINING_SPEAKERS, generator)
    return _Speech(
        tuple(f"{s}-{i % _TRAINING_UTTERANCES}" for i, s in enumerate(speakers)),
        tuple(speakers),
        _DEMO_VECTORS.utterances(np.repeat(voices, _TRAINING_UTTERANCES, axis=0), generator),
        {},
        {},
    )


def _united(parts: Sequence[_Speech]) -> _Speech:
    """Several data folders as one, without their lists."""
    if len(parts) == 1:
        return parts[0]
    utterances = [u for part in parts for u in part.utterances]
    speakers = [s for part in parts for s in part.speakers]
    order = sorted(range(len(utterances)), key=utterances.__getitem__)
    return _Speech(
        tuple(utterances[i] for i in order),
        tuple(speakers[i] for i in order),
        np.concatenate([part.vectors for part in parts])[order],
        {s: g for part in parts for s, g in part.gender_of.items()},
        {},
    )


def _anonymized(speech: _Speech, system: str, name: str, seed: int) -> _Speech:
    """A data folder anonymized on its own: every speaker has a pseudo-voice in it."""
    kind = _DEMO_SYSTEMS[system]
    generator = _generator(seed, system, name)
    names, owner = np.unique(np.asarray(speech.speakers), return_inverse=True)
    pseudo = kind.pseudo_voices(names.size, _DEMO_VECTORS, generator)
    return replace(speech, vectors=kind.anonymize(speech.vectors, pseudo[owner], generator))


def _anonymized_together(config: Config) -> dict[str, list[TrialSet]]:
    """Trial sets by the data folder that is anonymized, as in the challenge: what unites
    trial sets of one gender, otherwise the trial set itself."""
    sets = {t.trials_name: t for t in config.trial_sets()}
    parts = {f.name: f.combine for f in config.folders()}
    together: dict[str, list[TrialSet]] = {}
    for name, trial_set in sets.items():
        whole = (
            holder
            for holder in config.holders(name)
            if len(parts[holder]) > 1
            and all(p in sets and sets[p].gender == trial_set.gender for p in parts[holder])
        )
        together.setdefault(next(whole, name), []).append(trial_set)
    return together


def _write_speech(tree: Path, config: Config, models: Sequence[AsvModel], seed: int) -> None:
    """Data folders, their x-vectors, and the back ends to score them with."""
    trials = {t.trials_name: _trial_speech(t, config, seed) for t in config.trial_sets()}
    enrollment = {
        name: _enrollment_speech(name, config, seed)
        for name in dict.fromkeys(t.enrollment_name for t in config.trial_sets())
    }
    originals = {**trials, **enrollment}
    wholes = {
        **enrollment,
        **{
            name: _united([trials[t.trials_name] for t in sets])
            for name, sets in _anonymized_together(config).items()
        },
    }
    training = _training_speech(seed)
    _write_data(tree, originals)
    for system in _DEMO_SYSTEMS:
        suffix = _suffix(system)
        anonymized = {
            name + suffix: _anonymized(speech, system, name, seed)
            for name, speech in wholes.items()
        }
        _write_data(tree, anonymized)
        for model in models:
            folder = tree / model.model_folder(suffix)
            trained_in = folder / f"xvect_{model.training_name(suffix)}"
            if not trained_in.exists():  # otherwise the other system's model is the same
                speech = training
                if model.trained_on == ANONYMIZED:
                    speech = _anonymized(training, system, "training", seed)
                _write_back_end(trained_in, speech)
            for name, speech in {**originals, **anonymized}.items():
                scp = folder / f"xvect_{name}" / "xvector.scp"
                if not scp.exists():
                    write_vectors(scp, speech.utterances, speech.vectors, tree=tree)


def _write_data(tree: Path, folders: Mapping[str, _Speech]) -> None:
    for name, speech in folders.items():
        folder = tree / "data" / name
        spoken: dict[str, list[str]] = {}
        for utterance, speaker in zip(speech.utterances, speech.speakers, strict=True):
            spoken.setdefault(speaker, []).append(utterance)
        utt2spk = zip(speech.utterances, speech.speakers, strict=True)
        _write_lines(folder / "utt2spk", (f"{u} {s}" for u, s in utt2spk))
        _write_lines(folder / "spk2utt", (f"{s} {' '.join(u)}" for s, u in sorted(spoken.items())))
        genders = sorted(speech.gender_of.items())
        _write_lines(folder / "spk2gender", (f"{s} {g}" for s, g in genders))
        for list_name, content in speech.lists.items():
            write_text(folder / list_name, content)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def _write_back_end(folder: Path, speech: _Speech) -> None:
    vectors = speech.vectors.astype(np.float32)
    model = _reproducible(train_model(vectors, speech.speakers, lda_dim=_DEMO_LDA_DIM))
    assert model.mean is not None and model.transform is not None
    write_vector(folder / "mean.vec", model.mean, binary=False)
    write_matrix(folder / "transform.mat", model.transform)
    write_plda(folder / "plda", model.plda)


def _reproducible(model: Model) -> Model:
    """The same model on every machine: eigenvectors have a sign that no score depends on,
    and last digits that do not matter here."""
    assert model.mean is not None and model.transform is not None
    of_lda = _signs(model.transform[:, : model.mean.size])
    plda = model.plda
    of_plda = _signs(plda.transform * of_lda)
    # + 0.0: no negative zeros.
    return Model(
        Plda(
            (plda.mean * of_lda).round(6) + 0.0,
            (of_plda[:, None] * plda.transform * of_lda).round(6) + 0.0,
            plda.psi.round(6),
        ),
        model.mean.round(5) + np.float32(0),
        (of_lda[:, None].astype(np.float32) * model.transform).round(5) + np.float32(0),
    )


def _signs(rows: NDArray[np.floating]) -> Matrix:
    """1 or -1 for every row: the sign of its largest element."""
    largest = np.abs(rows).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)


def _write_recognition(
    results: Path, system: str, part: ResultsFolder, config: Config, seed: int
) -> None:
    """Word error rates by the recognizer trained like the folder's verification model."""
    recognizer = config.recognition.models.get(part.asv_model, "asr")
    retrained = part.asv_model != ORIGINAL
    for split in config.splits:
        for data_set in config.recognition.data_sets:
            for speech in SPEECH:
                name = data_set.set_name(split)
                factor = _DEMO_RETRAINED_WER if retrained else 1.0
                owner = recognizer if retrained else ""
                if speech == ANONYMIZED:
                    name += _suffix(system)
                    factor = _DEMO_WER[system, part.asv_model]
                elif retrained:
                    owner += _suffix(system)  # every system has its recognizer
                generator = _generator(seed, owner, name)
                lines = [
                    format_wer_line(
                        _wer_line(
                            factor * _DEMO_LM_WER.get(model, 0.05),
                            f"exp/models/{recognizer}/decode_{name}_{marker}",
                            generator,
                        )
                    )
                    for model, marker in config.recognition.language_models.items()
                ]
                _write_lines(results / f"ASR-{name}" / "WER", lines)


def _wer_line(rate: float, decode: str, generator: np.random.Generator) -> WerLine:
    words = 20000
    insertions, deletions, substitutions = (
        int(n) for n in generator.poisson(rate * words * np.array([0.1, 0.15, 0.75]))
    )
    errors = insertions + deletions + substitutions
    return WerLine(
        wer=round(errors / words, 4),
        errors=errors,
        words=words,
        insertions=insertions,
        deletions=deletions,
        substitutions=substitutions,
        decode=decode,
        lm_weight=12,
        word_insertion_penalty=0.0,
    )


def _generator(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for every name, whatever else is drawn."""
    key: Sequence[int] = [seed, *(zlib.crc32(name.encode()) for name in names)]
    return np.random.default_rng(key)
