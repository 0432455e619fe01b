"""Whole demo trees: simulated x-vectors in a tree laid out as in the challenge.

A tree may be far larger than memory: its data folders are drawn, written and forgotten one
by one, and drawn again where another is made of them.
"""

from __future__ import annotations

import glob
import json
import math
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..asv.backend import PldaBackend, train_backend
from ..errors import PrivacyEvalError
from ..io.files import atomic_path, write_text
from ..io.json_text import load_json
from ..io.kaldi_objects import write_matrix, write_vector
from ..io.plda import Plda, write_plda
from ..io.scp import write_vectors
from ..io.wer import WerLine, format_wer_line
from ..protocol.protocol import (
    ANONYMIZED,
    ORIGINAL,
    SPEECH,
    AsvModel,
    Protocol,
    ResultsFolder,
    TrialSet,
)
from .ratings import simulate_ratings
from .vectors import Anonymization, Matrix, VectorModel

#: What sizes a demo tree can have. A voice similarity needs two speakers and two utterances.
DEMO_SIZES: Mapping[str, range] = {
    "speakers": range(2, 10_001),
    "utterances": range(2, 10_001),
    "systems": range(1, 1_001),
}

_MARKER = "demo_tree.json"
# Of a trial set: how many speakers a listening test takes, and utterances of each.
_FEW = 12
_VECTORS = VectorModel()
_LDA_DIM = 16
_TRAINING_SPEAKERS, _TRAINING_UTTERANCES, _ENROLLMENT_UTTERANCES = 120, 8, 3

#: Word error rates of original speech, and how many times that it is where the recognizer
#: was trained on anonymized speech.
_LM_WER: Mapping[str, float] = {"small": 0.055, "large": 0.042}
_RETRAINED_WER = 1.6


@dataclass(frozen=True)
class _System:
    """An anonymization system.

    Attributes
    ----------
    wer : mapping
        How many times the word error rate of original speech that of its speech is, by
        what the recognizer was trained on.
    """

    name: str
    kind: Anonymization
    wer: Mapping[str, float]

    @property
    def suffix(self) -> str:
        """What marks its anonymized sets: its results folders are called so too."""
        return f"_{self.name}"


#: After the challenge's baselines. B1: what leaks is turned away from the original voice,
#: pseudo-voices are much alike. B2: much leaks, little is turned.
_BASELINES = (
    _System(
        "B1",
        Anonymization(keep=0.6, turn_deg=87.0, pseudo=0.15, noise=0.8, shift=2.0),
        {ORIGINAL: 1.7, ANONYMIZED: 1.1},
    ),
    _System(
        "B2",
        Anonymization(keep=0.68, turn_deg=60.0, pseudo=0.1, noise=0.4, shift=0.7),
        {ORIGINAL: 2.3, ANONYMIZED: 1.3},
    ),
)


@dataclass(frozen=True)
class _Demo:
    """What a tree is drawn from; see `write_demo_tree`."""

    protocol: Protocol
    seed: int
    speakers: int
    utterances: int

    @property
    def enrolled(self) -> int:
        """Speakers enrolled, a third more than try."""
        return self.speakers + math.ceil(self.speakers / 3)

    def generator(self, *names: str) -> np.random.Generator:
        """A stream of its own for every name, whatever else is drawn."""
        key: Sequence[int] = [self.seed, *(zlib.crc32(name.encode()) for name in names)]
        return np.random.default_rng(key)


def write_demo_tree(
    folder: Path,
    protocol: Protocol,
    *,
    seed: int = 0,
    speakers: int = 12,
    utterances: int = 12,
    systems: int = 2,
    progress: Callable[[int, int, str], None] | None = None,
) -> bool:
    """A simulated challenge tree as anonymization leaves it.

    It holds data folders, x-vectors of all of them, back ends to score these with, and
    word error rates, and the ratings of a listening test; no scores. The tree appears whole
    or not at all. The same seed and sizes give the same bytes.

    Parameters
    ----------
    speakers : int
        Speakers that try in every trial set, of one gender; a third more are enrolled.
    utterances : int
        Trial utterances of each. Trials are those of every enrolled speaker with every
        utterance, so that their number grows with `speakers` squared.
    systems : int
        B1 and B2 are like the challenge's baselines. Further ones, S3, S4, ... (S03 where
        there are ten or more, to be sorted by name), are drawn around them.
    progress : callable, optional
        Called with what is done, what there is to do, and a name after every data folder.

    Returns
    -------
    bool
        False where the very same tree was there already.

    Raises
    ------
    ValueError
        A size that is none of `DEMO_SIZES`.
    PrivacyEvalError
        `folder` holds something else. The plan does not say where the x-vectors and the
        back ends belong that its results folders need.
    """
    sizes = {"speakers": speakers, "utterances": utterances, "systems": systems}
    for name, size in sizes.items():
        allowed = DEMO_SIZES[name]
        if size not in allowed:
            raise ValueError(f"expected {name} from {allowed[0]} to {allowed[-1]}, not {size}")
    marker = {
        "demo_tree": 4,
        "version": __version__,
        "seed": seed,
        "plan": protocol.name,
        **sizes,
    }
    demo = _Demo(protocol, seed, speakers, utterances)
    drawn = _systems(systems, demo)
    models = _models(protocol, drawn)
    folder = Path(os.path.abspath(folder))
    if folder.exists():
        found = load_json(folder / _MARKER) if (folder / _MARKER).is_file() else {}
        if found == marker:
            return False
        if not folder.is_dir() or any(folder.iterdir()):
            raise PrivacyEvalError(
                f"{folder}: holds something other than the demo tree of seed {seed}"
                f"{_differences(found, marker)}; remove it or name another folder"
            )
        if folder.samefile(Path()):
            raise PrivacyEvalError(f"{folder}: is the current folder; name one to be made in it")
        folder.rmdir()
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    for left in folder.parent.glob(f".{glob.escape(folder.name)}.*.partial"):
        if left == partial or not _is_alive(left.name.split(".")[-2]):
            shutil.rmtree(left)
    try:
        _write_speech(partial, demo, drawn, models, progress)
        for system in drawn:
            for part in protocol.results_folders:
                name = f"results-demo{system.suffix}{part.suffix}"
                _write_recognition(partial / "exp" / system.name / name, system, part, demo)
        write_text(partial / "ratings.csv", _ratings(drawn, demo))
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


def _differences(found: object, wanted: Mapping[str, object]) -> str:
    """In what a folder's demo tree is another one, where that is what it holds."""
    if not isinstance(found, dict) or "demo_tree" not in found:
        return ""
    different = [
        f"{key} {json.dumps(found.get(key))}, not {json.dumps(value)}"
        for key, value in wanted.items()
        if found.get(key) != value
    ]
    return f" (it is one of {'; '.join(different)})"


def _ratings(systems: Sequence[_System], demo: _Demo) -> str:
    """A listening test of all systems on trials of the last split."""
    keys = {
        (t.data_set.id, t.gender): "\n".join(_trial_speech(t, demo).few().list_lines())
        for t in demo.protocol.trial_sets()
        if t.split == demo.protocol.splits[-1]
    }
    return simulate_ratings([system.name for system in systems], keys, seed=demo.seed)


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return True


def _systems(count: int, demo: _Demo) -> list[_System]:
    """B1, B2, and what is drawn around them: from little that leaks to much."""
    systems = list(_BASELINES[:count])
    for number in range(len(_BASELINES) + 1, count + 1):
        draw = demo.generator("system", str(number)).uniform
        kind = Anonymization(
            keep=draw(0.5, 0.75),
            turn_deg=draw(50.0, 90.0),
            pseudo=draw(0.05, 0.25),
            noise=draw(0.3, 1.0),
            shift=draw(0.5, 2.5),
        )
        name = f"S{number:0{len(str(count))}d}"
        systems.append(_System(name, kind, {ORIGINAL: draw(1.3, 2.7), ANONYMIZED: draw(1.05, 1.4)}))
    return systems


def _models(protocol: Protocol, systems: Sequence[_System]) -> list[AsvModel]:
    """The models of the plan's results folders, and the one trained on original speech."""
    models = []
    for trained_on in dict.fromkeys((ORIGINAL, *(f.asv_model for f in protocol.results_folders))):
        model = protocol.asv_model(trained_on)
        if model is None:
            raise PrivacyEvalError(
                f"plan {protocol.name}: asv_models names no model trained on {trained_on} speech, "
                "so there is no place for a demo tree's x-vectors"
            )
        places = {(model.model_folder(s.suffix), model.training_name(s.suffix)) for s in systems}
        if trained_on == ANONYMIZED and len(places) < len(systems):
            raise PrivacyEvalError(
                f"plan {protocol.name}: asv_models: the model trained on anonymized speech has one "
                "place for all systems, expected {suffix} in it"
            )
        models.append(model)
    return models


@dataclass(frozen=True)
class _Speech:
    """The utterances of a data folder, sorted, with their x-vectors, and what list there is
    of them: of enrollment, or of trials of every enrolled speaker with every utterance."""

    utterances: tuple[str, ...]
    speakers: tuple[str, ...]
    vectors: Matrix
    gender_of: Mapping[str, str]
    list: Literal["enrolls", "trials"] | None = None
    enrolled: tuple[str, ...] = ()

    def few(self) -> _Speech:
        """Of a large set some utterances of some speakers, of each as many."""
        speakers = set(self.enrolled[:_FEW])
        seen: Counter[str] = Counter()
        kept = []
        for i, speaker in enumerate(self.speakers):
            seen[speaker] += 1
            if speaker in speakers and seen[speaker] <= _FEW:
                kept.append(i)
        return replace(
            self,
            utterances=tuple(self.utterances[i] for i in kept),
            speakers=tuple(self.speakers[i] for i in kept),
            vectors=self.vectors[kept],
            enrolled=self.enrolled[:_FEW],
        )

    def list_lines(self) -> Iterable[str]:
        if self.list == "enrolls":
            return self.utterances
        return (
            f"{s} {u} {'target' if s == spoken else 'nontarget'}"
            for s in self.enrolled
            for u, spoken in zip(self.utterances, self.speakers, strict=True)
        )


def _speaker_names(trial_set: TrialSet, demo: _Demo) -> list[str]:
    """Numbers of one width, from another hundred (or ten or more of them) in every
    enrollment set, whose second half is the men's."""
    half = 50
    while half < demo.enrolled:
        half *= 10
    block = 1 + zlib.crc32(trial_set.enrollment_name.encode()) % 80
    first = 2 * half * block + half * "fm".index(trial_set.gender)
    width = len(str(2 * half)) + 1
    return [f"{first + i:0{width}d}" for i in range(demo.enrolled)]


def _voices(trial_set: TrialSet, demo: _Demo) -> Matrix:
    """Trial sets that share their enrolled speakers share their voices."""
    generator = demo.generator("voices", trial_set.enrollment_name, trial_set.gender)
    return _VECTORS.voices(demo.enrolled, generator)


def _trial_speech(trial_set: TrialSet, demo: _Demo) -> _Speech:
    enrolled = _speaker_names(trial_set, demo)
    speakers = enrolled[: demo.speakers]
    # Data sets that share speakers have utterances of their own.
    number = demo.protocol.data_sets.index(trial_set.data_set)
    width = max(3, len(str(demo.utterances - 1)))
    utterances = {
        f"{s}-t{number}-{u:0{width}d}": s for s in speakers for u in range(demo.utterances)
    }
    voices = np.repeat(_voices(trial_set, demo)[: demo.speakers], demo.utterances, axis=0)
    return _Speech(
        tuple(utterances),
        tuple(utterances.values()),
        _VECTORS.utterances(voices, demo.generator(trial_set.trials_name)),
        dict.fromkeys(speakers, trial_set.gender),
        "trials",
        tuple(enrolled),
    )


def _enrollment_speech(name: str, demo: _Demo) -> _Speech:
    """Both genders share an enrollment set."""
    gender_of: dict[str, str] = {}
    voice_of: dict[str, Matrix] = {}
    for trial_set in demo.protocol.trial_sets():
        if trial_set.enrollment_name == name:
            for speaker, voice in zip(
                _speaker_names(trial_set, demo), _voices(trial_set, demo), strict=True
            ):
                gender_of[speaker], voice_of[speaker] = trial_set.gender, voice
    utterances = {
        f"{s}-e{u:03d}": s for s in sorted(gender_of) for u in range(_ENROLLMENT_UTTERANCES)
    }
    voices = np.stack([voice_of[s] for s in utterances.values()])
    return _Speech(
        tuple(utterances),
        tuple(utterances.values()),
        _VECTORS.utterances(voices, demo.generator(name)),
        gender_of,
        "enrolls",
    )


def _training_speech(demo: _Demo) -> _Speech:
    generator = demo.generator("training")
    speakers = [f"{s:03d}" for s in range(_TRAINING_SPEAKERS) for _ in range(_TRAINING_UTTERANCES)]
    voices = _VECTORS.voices(_TRAINING_SPEAKERS, generator)
    return _Speech(
        tuple(f"{s}-{i % _TRAINING_UTTERANCES}" for i, s in enumerate(speakers)),
        tuple(speakers),
        _VECTORS.utterances(np.repeat(voices, _TRAINING_UTTERANCES, axis=0), generator),
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
    )


def _anonymized(speech: _Speech, system: _System, name: str, demo: _Demo) -> _Speech:
    """A data folder anonymized on its own: every speaker has a pseudo-voice in it."""
    generator = demo.generator(system.name, name)
    names, owner = np.unique(np.asarray(speech.speakers), return_inverse=True)
    pseudo = system.kind.pseudo_voices(names.size, _VECTORS, generator)
    return replace(speech, vectors=system.kind.anonymize(speech.vectors, pseudo[owner], generator))


def _anonymized_together(protocol: Protocol) -> dict[str, list[TrialSet]]:
    """Trial sets by the data folder that is anonymized, as in the challenge: what unites
    trial sets of one gender, otherwise the trial set itself."""
    sets = {t.trials_name: t for t in protocol.trial_sets()}
    parts = {f.name: f.combine for f in protocol.folders()}
    together: dict[str, list[TrialSet]] = {}
    for name, trial_set in sets.items():
        whole = (
            holder
            for holder in protocol.supersets(name)
            if len(parts[holder]) > 1
            and all(p in sets and sets[p].gender == trial_set.gender for p in parts[holder])
        )
        together.setdefault(next(whole, name), []).append(trial_set)
    return together


def _enrollment_sets(demo: _Demo) -> Iterator[tuple[str, _Speech]]:
    for name in dict.fromkeys(t.enrollment_name for t in demo.protocol.trial_sets()):
        yield name, _enrollment_speech(name, demo)


def _originals(demo: _Demo) -> Iterator[tuple[str, _Speech]]:
    """Data folders of original speech."""
    for trial_set in {t.trials_name: t for t in demo.protocol.trial_sets()}.values():
        yield trial_set.trials_name, _trial_speech(trial_set, demo)
    yield from _enrollment_sets(demo)


def _wholes(demo: _Demo) -> Iterator[tuple[str, _Speech]]:
    """What of it is anonymized."""
    yield from _enrollment_sets(demo)
    for name, sets in _anonymized_together(demo.protocol).items():
        yield name, _united([_trial_speech(t, demo) for t in sets])


def _write_speech(
    tree: Path,
    demo: _Demo,
    systems: Sequence[_System],
    models: Sequence[AsvModel],
    progress: Callable[[int, int, str], None] | None,
) -> None:
    """Data folders, their x-vectors, and the back ends to score them with."""
    sets = list(demo.protocol.trial_sets())
    enrollment = len({t.enrollment_name for t in sets})
    total = enrollment + len({t.trials_name for t in sets})
    total += len(systems) * (enrollment + len(_anonymized_together(demo.protocol)))
    done = 0

    def write(name: str, speech: _Speech, folders: Iterable[str]) -> None:
        nonlocal done
        _write_data(tree / "data" / name, speech)
        for folder in folders:
            scp = tree / folder / f"xvect_{name}" / "xvector.scp"
            write_vectors(scp, speech.utterances, speech.vectors, tree=tree)
        done += 1
        if progress is not None:
            progress(done, total, name)

    folders_of = {s.name: {m.model_folder(s.suffix): None for m in models} for s in systems}
    every = {folder: None for folders in folders_of.values() for folder in folders}
    for name, speech in _originals(demo):
        write(name, speech, every)
    training = _training_speech(demo)
    trained = set()
    for system in systems:
        for model in models:
            name = f"xvect_{model.training_name(system.suffix)}"
            folder = tree / model.model_folder(system.suffix) / name
            if folder in trained:  # several systems share the model of original speech
                continue
            trained.add(folder)
            speech = training
            if model.trained_on == ANONYMIZED:
                speech = _anonymized(training, system, "training", demo)
            _write_back_end(folder, speech)
        for name, speech in _wholes(demo):
            anonymized = _anonymized(speech, system, name, demo)
            write(name + system.suffix, anonymized, folders_of[system.name])


def _write_data(folder: Path, speech: _Speech) -> None:
    spoken: dict[str, list[str]] = {}
    for utterance, speaker in zip(speech.utterances, speech.speakers, strict=True):
        spoken.setdefault(speaker, []).append(utterance)
    utt2spk = zip(speech.utterances, speech.speakers, strict=True)
    _write_lines(folder / "utt2spk", (f"{u} {s}" for u, s in utt2spk))
    _write_lines(folder / "spk2utt", (f"{s} {' '.join(u)}" for s, u in sorted(spoken.items())))
    genders = sorted(speech.gender_of.items())
    _write_lines(folder / "spk2gender", (f"{s} {g}" for s, g in genders))
    if speech.list is not None:
        _write_lines(folder / speech.list, speech.list_lines())


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with (
        atomic_path(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="\n") as file,
    ):
        file.writelines(f"{line}\n" for line in lines)


def _write_back_end(folder: Path, speech: _Speech) -> None:
    vectors = speech.vectors.astype(np.float32)
    model = _reproducible(train_backend(vectors, speech.speakers, lda_dim=_LDA_DIM))
    assert model.mean is not None and model.transform is not None
    write_vector(folder / "mean.vec", model.mean, binary=False)
    write_matrix(folder / "transform.mat", model.transform)
    write_plda(folder / "plda", model.plda)


def _reproducible(model: PldaBackend) -> PldaBackend:
    """The same model on every machine: eigenvectors have a sign that no score depends on,
    and last digits that do not matter here."""
    assert model.mean is not None and model.transform is not None
    of_lda = _signs(model.transform[:, : model.mean.size])
    plda = model.plda
    of_plda = _signs(plda.transform * of_lda)
    # + 0.0: no negative zeros.
    return PldaBackend(
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


def _write_recognition(results: Path, system: _System, part: ResultsFolder, demo: _Demo) -> None:
    """Word error rates by the recognizer trained like the folder's verification model."""
    recognition = demo.protocol.recognition
    recognizer = recognition.models.get(part.asv_model, "asr")
    retrained = part.asv_model != ORIGINAL
    for split in demo.protocol.splits:
        for data_set in recognition.data_sets:
            for speech in SPEECH:
                name = data_set.set_name(split)
                factor = _RETRAINED_WER if retrained else 1.0
                owner = recognizer if retrained else ""
                if speech == ANONYMIZED:
                    name += system.suffix
                    factor = system.wer[part.asv_model]
                elif retrained:
                    owner += system.suffix  # every system has its recognizer
                generator = demo.generator(owner, name)
                lines = [
                    format_wer_line(
                        _wer_line(
                            factor * _LM_WER.get(model, 0.05),
                            f"exp/models/{recognizer}/decode_{name}_{marker}",
                            generator,
                        )
                    )
                    for model, marker in recognition.language_models.items()
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
