"""Stage 4: anonymize data folders with the McAdams coefficient (baseline B2) or a user's command.

McAdams: the converted speech of a speaker is one product, so that a killed run resumes; the lists
are written once all speech is converted. A command converts a data folder as a whole. External
data folders are kept.
"""

from __future__ import annotations

import io
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PrivacyEvalError, abbreviate
from ..io.data_dir import read_utt2spk
from ..io.files import file_names, read_bytes, relative
from ..io.inputs import Inputs
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    Outcome,
    Paths,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)
from ..protocol.protocol import ANONYMIZED, Protocol
from ..speech.audio import AudioReader, soundfile
from ..speech.mcadams import COEFFICIENT, convert_to_int16, derive_coefficient
from .access import TreeAccess

#: Lists that are copied unchanged. Segments become recordings; trial keys are not copied.
COPIED = ("utt2spk", "spk2utt", "spk2gender", "text", "utt2lang", "enrolls")
#: The coefficient of every utterance.
COEFFICIENTS = "utt2mcadams"
#: Key of `AudioReader.remarks`.
TOO_SHORT = "shorter than a frame: converted to silence"

_LONGEST_NAME = 200
#: Marks a data folder that a command is still writing.
_RUNNING = ".privacy_eval.running"


@dataclass(frozen=True)
class McAdams:
    """Settings of the McAdams anonymization.

    Attributes
    ----------
    variant : {"2020", "2022"}
    coefficient : float, optional
        By default 0.8 in 2020, and derived from seed and id in 2022.
    level : {"speaker", "utterance"}
        Whether coefficients are drawn per speaker or per utterance.
    data_set : str
        Name of the data set if coefficients depend on it, else empty.
    """

    variant: str = "2020"
    coefficient: float | None = None
    seed: int = 0
    level: str = "speaker"
    data_set: str = ""

    def of(self, speaker: str, utterance: str) -> float:
        """The coefficient of an utterance."""
        if self.coefficient is not None:
            return self.coefficient
        if self.variant == "2020":
            return COEFFICIENT
        name = speaker if self.level == "speaker" else utterance
        return derive_coefficient(name, seed=self.seed, data_set=self.data_set)


def anonymize_data(
    data: Path,
    out: Path,
    reader: AudioReader,
    mcadams: McAdams,
    *,
    base: Path = Path(),
    run: Run = Run(),
) -> Outcome:
    """Write an anonymized data folder: `wav/UTTERANCE.wav` and lists.

    Parameters
    ----------
    reader : AudioReader
        Of `data`; averages the channels for the variant 2020.
    base : Path
        Folder that the paths in the new wav.scp are relative to.

    Returns
    -------
    Outcome
        By speaker; the lists are written once all speech is there.

    Raises
    ------
    PrivacyEvalError
        utt2spk and wav.scp differ in their utterances; an id that cannot name a file.
    """
    speaker_of = read_utt2spk(data / "utt2spk")
    _check_ids(data, reader.ids, speaker_of)
    utterances_of: dict[str, list[str]] = {}
    for name in reader.ids:
        utterances_of.setdefault(speaker_of[name], []).append(name)
    notes = file_names(utterances_of)
    products = []
    for speaker, names in utterances_of.items():
        speech = _Speech(out / "wav", reader, mcadams, speaker, tuple(names))
        products.append(speech.product(notes[speaker]))
    inputs = Inputs()
    outcome = bring_up_to_date(products, inputs, run)
    if run.job == (1, 1) and all(product.is_current(inputs) for product in products):
        new = _lists(data, out, reader.ids, speaker_of, mcadams, base)
        lists = bring_up_to_date([new], inputs, Run(dry_run=run.dry_run))
        outcome.failed.update(lists.failed)
    return outcome


def anonymized_sets(tree: Path, protocol: Protocol) -> list[str]:
    """List the data sets with speech to anonymize: enrollment and trial sets, and the training
    set of an attacker trained on anonymized speech."""
    names = dict.fromkeys(t.enrollment_name for t in protocol.trial_sets())
    for together, sets in protocol.anonymized_together().items():
        apart = [t.trials_name for t in sets]
        names |= dict.fromkeys([together] if _has_speech(tree, together) else apart)
    return [name for name in names if _has_speech(tree, name)] + training_sets(tree, protocol)


def training_sets(tree: Path, protocol: Protocol) -> list[str]:
    """List the training sets with speech that are to be anonymized."""
    trained_on = {part.asv_model for part in protocol.results_folders}
    model = protocol.asv_model(ANONYMIZED) if ANONYMIZED in trained_on else None
    names = [model.training_name("")] if model is not None else []
    return [name for name in names if _has_speech(tree, name)]


def _has_speech(tree: Path, name: str) -> bool:
    return (tree / "data" / name / "wav.scp").is_file()


def anonymize_tree(
    access: TreeAccess,
    protocol: Protocol,
    suffix: str,
    anonymizer: McAdams | Command,
    run: Run = Run(),
    *,
    per_set: bool = False,
) -> Outcome:
    """Anonymize the data sets of a tree.

    Training sets get one coefficient per utterance in the variant 2022.

    Parameters
    ----------
    suffix : str
        Of the new data folders.
    per_set : bool
        Draw other coefficients for every data set.
    """
    outcome, commands = Outcome(), []
    training = training_sets(access.tree, protocol)
    for name in anonymized_sets(access.tree, protocol):
        data, out = access.tree / "data" / name, access.tree / "data" / f"{name}{suffix}"
        access.check_in_tree(data / "wav.scp", data / "utt2spk")
        if _is_external(out):
            outcome.kept.append(out.name)
            continue
        reader = AudioReader(
            data,
            base=access.tree,
            mix=isinstance(anonymizer, McAdams) and anonymizer.variant == "2020",
            allow_pipes=access.allow_pipes,
            allow_outside=access.allow_outside,
        )
        if isinstance(anonymizer, Command):
            commands.append(_converted_folder(data, out, access.tree, reader, anonymizer))
            continue
        level = "utterance" if name in training else anonymizer.level
        mcadams = replace(anonymizer, level=level, data_set=name if per_set else "")
        converted = anonymize_data(data, out, reader, mcadams, base=access.tree, run=run)
        outcome.add(_named(converted, out.name))
        outcome.notes += [f"{out.name}: {r}: {len(u)}" for r, u in reader.remarks.items()]
    outcome.add(bring_up_to_date(commands, access.inputs, run))
    return outcome


def _named(outcome: Outcome, data_set: str) -> Outcome:
    """Prefix the speakers' names in an outcome with their data set."""

    def name(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {f"{data_set} {key}": value for key, value in entry.items()}
        return [f"{data_set} {key}" for key in entry]

    return Outcome(**{key: name(entry) for key, entry in vars(outcome).items()})


def _is_external(out: Path) -> bool:
    """Whether a data folder was not made by this stage."""
    begun = (out / NOTE).exists() or (out / _RUNNING).exists() or any(out.glob("wav/.*.json"))
    return out.exists() and not begun


@dataclass(frozen=True)
class Command:
    """A user's command that anonymizes a data folder; see `local/anonymize.sh`.

    Attributes
    ----------
    text : str
        With `{in}` and `{out}`.
    """

    text: str

    def run(self, tree: Path, data: Path, out: Path) -> None:
        """Run the command in the tree.

        Raises
        ------
        PrivacyEvalError
            It ended with another status than 0, or cannot be run.
        """
        command = self.text
        for place, folder in (("{in}", data), ("{out}", out)):
            command = command.replace(place, shlex.quote(relative(folder, tree)))
        try:
            status = subprocess.run(
                command, shell=True, cwd=tree, stdin=subprocess.DEVNULL, check=False
            ).returncode
        except OSError as error:
            raise PrivacyEvalError(f"{command}: cannot be run ({error.strerror})") from error
        if status:
            raise PrivacyEvalError(f"{out}: the anonymizer ended with status {status}: {command}")


def _converted_folder(
    data: Path, out: Path, tree: Path, reader: AudioReader, command: Command
) -> Product:
    """Return the product of a data folder that a user's command writes, wav.scp last."""
    copied = [name for name in COPIED if (data / name).is_file()]

    def find(inputs: Inputs) -> Sources:
        speech = {u: path for u in reader.ids if (path := reader.path(u)) is not None}
        return {**{name: data / name for name in copied}, **speech}

    def make(inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        out.mkdir(exist_ok=True)
        (out / _RUNNING).touch()
        (out / "wav.scp").unlink(missing_ok=True)
        command.run(tree, data, out)
        if not (out / "wav.scp").is_file():
            raise PrivacyEvalError(f"{out}: the anonymizer wrote no wav.scp")
        _check_converted(out, set(reader.ids), set(AudioReader(out, base=tree).ids))
        new = {out / name: read_bytes(data / name) for name in copied}
        new[out / "wav.scp"] = read_bytes(out / "wav.scp")
        (out / _RUNNING).unlink()
        return Content(new)

    return Product(
        out.name,
        tree,
        out / NOTE,
        tuple(out / name for name in (*copied, "wav.scp")),
        find,
        make,
        options={"command": command.text, "wav.scp": [reader.target(u) for u in reader.ids]},
    )


def _check_converted(out: Path, expected: set[str], present: set[str]) -> None:
    for what, names in (("no", expected - present), ("unknown", present - expected)):
        if names:
            raise PrivacyEvalError(
                f"{out / 'wav.scp'}: {what} utterances: {len(names)}: {abbreviate(sorted(names))}"
            )


def _check_ids(data: Path, ids: Sequence[str], speaker_of: dict[str, str]) -> None:
    for file, missing in (
        ("utt2spk", [name for name in ids if name not in speaker_of]),
        ("wav.scp or segments", sorted(speaker_of.keys() - set(ids))),
    ):
        if missing:
            raise PrivacyEvalError(
                f"{data}: {len(missing)} utterances are not in {file}: {abbreviate(missing)}"
            )
    for name in ids:
        if "/" in name or name.startswith(".") or len(name.encode()) > _LONGEST_NAME:
            raise PrivacyEvalError(f"{data}: utterance {name!r} cannot name a file")


@dataclass(frozen=True)
class _Speech:
    """The converted speech of a speaker."""

    folder: Path
    reader: AudioReader
    mcadams: McAdams
    speaker: str
    utterances: tuple[str, ...]

    def product(self, note: str) -> Product:
        options = {
            "variant": self.mcadams.variant,
            "coefficients": {u: self.mcadams.of(self.speaker, u) for u in self.utterances},
            "sources": {u: self.reader.target(u) for u in self.utterances},
        }
        return Product(
            self.speaker,
            self.folder,
            self.folder / f".{note}.json",
            tuple(self.folder / f"{name}.wav" for name in self.utterances),
            self.find,
            self.make,
            subject={"speaker": self.speaker},
            options=options,
        )

    def find(self, inputs: Inputs) -> Sources:
        sources = {}
        for name in self.utterances:
            path = self.reader.path(name)
            if path is not None:  # no command
                if not path.is_file():
                    raise PrivacyEvalError(f"{self.reader.where(name)}: no such regular file")
                sources[name] = path
        return sources

    def make(self, inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        return Content({self.folder / f"{n}.wav": self.converted(n) for n in self.utterances})

    def converted(self, utterance: str) -> bytes:
        """A WAV file of 16 bits."""
        samples, rate = self.samples(utterance)
        file = io.BytesIO()
        soundfile().write(file, samples, rate, subtype="PCM_16", format="WAV")
        return file.getvalue()

    def samples(self, utterance: str) -> tuple[NDArray[np.int16], int]:
        """Converted samples and their rate."""
        audio, variant = self.reader.read(utterance), self.mcadams.variant
        if audio.rate < 2000:
            where = self.reader.where(utterance)
            raise PrivacyEvalError(f"{where}: {audio.rate} Hz, expected at least 2000")
        coefficient = self.mcadams.of(self.speaker, utterance)
        samples = convert_to_int16(
            audio.samples, audio.rate, coefficient=coefficient, variant=variant
        )
        if not samples.any():
            self.reader.remarks.setdefault(TOO_SHORT, []).append(utterance)
        return samples, audio.rate


def _lists(
    data: Path,
    out: Path,
    ids: Sequence[str],
    speaker_of: dict[str, str],
    mcadams: McAdams,
    base: Path,
) -> Product:
    """Return the product of a data folder's lists, wav.scp last."""
    copied = [name for name in COPIED if (data / name).is_file()]
    scp = "".join(f"{name} {relative(out / 'wav' / f'{name}.wav', base)}\n" for name in ids)
    coefficients = "".join(f"{n} {mcadams.of(speaker_of[n], n):.6f}\n" for n in ids)
    files = (*copied, COEFFICIENTS, "wav.scp")

    def find(inputs: Inputs) -> Sources:
        return {name: data / name for name in copied}

    def make(inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        new = {out / name: read_bytes(data / name) for name in copied}
        new[out / COEFFICIENTS] = coefficients.encode()
        new[out / "wav.scp"] = scp.encode("utf-8", "surrogateescape")
        return Content(new)

    return Product(
        str(out),
        out,
        out / NOTE,
        tuple(out / name for name in files),
        find,
        make,
        options={"wav.scp": scp, "coefficients": coefficients},
    )
