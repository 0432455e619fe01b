"""Stage 4: anonymize data folders with the McAdams coefficient (baseline B2) or a user's command.

McAdams and commands for single files: the converted speech of a speaker is one product, so that a
killed run resumes; the lists are written once all speech is converted. Other commands convert a
data folder as a whole. External data folders are kept.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...choices import grouped
from ...errors import FIRST, PrivacyEvalError, abbreviate
from ...io.data_dir import read_utt2spk
from ...io.files import Inputs, file_names, read_bytes, relative
from ...products.freshness import (
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
from ...protocol.protocol import COEFFICIENTS, Protocol
from ...stages.access import TreeAccess
from ...stages.attackers import SECONDS
from ...stages.options import McAdamsOptions
from ..audio import AudioReader, Samples, soundfile
from ..mcadams import COEFFICIENT, convert_to_int16, derive_coefficient
from .costs import Meter
from .recordings import audio_reader, evaluated_sets, training_sets
from .user_command import UserCommand

#: Lists that are copied unchanged. Segments become recordings; trial keys are not copied.
COPIED = ("utt2spk", "spk2utt", "spk2gender", "text", "utt2lang", "enrolls")
#: Key of `AudioReader.remarks`.
TOO_SHORT = "shorter than a frame: converted to silence"
PRINTED = "the anonymizer printed messages"
#: What words of a command that is run for an utterance become: its file, and the one to write.
FILES = ("{wav_in}", "{wav_out}")

_LONGEST_NAME = 200
#: Marks a data folder that a command is still writing.
_RUNNING = ".privacy_eval.running"


@dataclass(frozen=True)
class McAdams(McAdamsOptions):
    """The McAdams anonymization; `data_set`: name of the data set if coefficients depend on it."""

    data_set: str = ""

    def of(self, speaker: str, utterance: str) -> float:
        """The coefficient of an utterance."""
        if self.coefficient is not None:
            return self.coefficient
        if self.variant == "2020":
            return COEFFICIENT
        name = speaker if self.level == "speaker" else utterance
        return derive_coefficient(name, seed=self.seed, data_set=self.data_set)

    def sources(self) -> dict[str, Path]:
        """No files but the speech."""
        return {}

    def settings(self, speaker_of: Mapping[str, str]) -> dict[str, Any]:
        """What the speech of some utterances depends on."""
        coefficients = {u: self.of(speaker, u) for u, speaker in speaker_of.items()}
        return {"variant": self.variant, "coefficients": coefficients}

    def convert(self, reader: AudioReader, speaker: str, utterance: str) -> bytes:
        """Convert an utterance to a WAV file of 16 bits."""
        audio = reader.read(utterance)
        if audio.rate < 2000:
            where = reader.where(utterance)
            raise PrivacyEvalError(f"{where}: {audio.rate} Hz, expected at least 2000")
        coefficient = self.of(speaker, utterance)
        samples = convert_to_int16(
            audio.samples, audio.rate, coefficient=coefficient, variant=self.variant
        )
        if not samples.any():
            reader.remarks.setdefault(TOO_SHORT, []).append(utterance)
        return _wav(samples, audio.rate)

    def lists(self, speaker_of: Mapping[str, str]) -> dict[str, str]:
        """The coefficients of utterances."""
        lines = (f"{u} {self.of(speaker, u):.6f}\n" for u, speaker in speaker_of.items())
        return {COEFFICIENTS: "".join(lines)}


class Command(UserCommand):
    """A user's command that anonymizes a data folder or an utterance; see `local/anonymize.sh`.

    Its placeholders are `{in}` and `{out}`, or `{wav_in}` and `{wav_out}`.
    """

    @property
    def is_per_file(self) -> bool:
        """Whether it anonymizes an utterance, not a folder."""
        return FILES[0] in self.text

    def settings(self, speaker_of: Mapping[str, str]) -> dict[str, Any]:
        """What the speech of utterances depends on."""
        return {"command": self.text}

    def convert(self, reader: AudioReader, speaker: str, utterance: str) -> bytes:
        """Run the command on an utterance as a WAV file, and return the WAV file that it writes."""
        audio = reader.read(utterance)
        with tempfile.TemporaryDirectory() as scratch:
            source, target = (Path(scratch, name, f"{utterance}.wav") for name in ("in", "out"))
            for path in (source, target):
                path.parent.mkdir()
            source.write_bytes(_wav(audio.samples, audio.rate))
            try:
                printed = self.run(dict(zip(FILES, (str(source), str(target)), strict=True)))
                if not target.is_file():
                    raise PrivacyEvalError(f"the anonymizer wrote no {FILES[1]}: {self.text}")
                content = read_bytes(target)
                with soundfile().SoundFile(io.BytesIO(content)) as written:
                    is_wav = written.format in ("WAV", "WAVEX") and written.frames > 0
            except PrivacyEvalError as error:
                raise PrivacyEvalError(f"{error}{FIRST}{utterance}") from error
            except RuntimeError:  # of the library
                is_wav = False
        if not is_wav:
            raise PrivacyEvalError(
                f"the anonymizer wrote something else than a WAV file with samples: {self.text}"
                f"{FIRST}{utterance}"
            )
        if printed:
            reader.remarks.setdefault(PRINTED, []).append(utterance)
        return content

    def lists(self, speaker_of: Mapping[str, str]) -> dict[str, str]:
        """No lists but those of the original folder."""
        return {}


def _wav(samples: Samples, rate: int) -> bytes:
    """Format samples as a WAV file: of 16 bits if they are whole numbers, else of floats."""
    file = io.BytesIO()
    if samples.dtype == np.int16:
        soundfile().write(file, samples, rate, subtype="PCM_16", format="WAV")
    else:
        soundfile().write(file, samples / 2.0**15, rate, subtype="FLOAT", format="WAV")
    return file.getvalue()


def anonymize_data(
    data: Path,
    out: Path,
    reader: AudioReader,
    anonymizer: McAdams | Command,
    *,
    base: Path = Path(),
    run: Run = Run(),
) -> Outcome:
    """Write an anonymized data folder: `wav/UTTERANCE.wav` and lists.

    Parameters
    ----------
    reader : AudioReader
        Of `data`; averages the channels for McAdams' variant 2020.
    anonymizer : McAdams or Command
        A command for single files.
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
    utterances_of = grouped(reader.ids, speaker_of.__getitem__)
    notes = file_names(utterances_of)
    products = []
    for speaker, names in utterances_of.items():
        of = out / "wav", reader, anonymizer, speaker, names, notes[speaker]
        products.append(_speech(*of))
    inputs = Inputs()
    outcome = bring_up_to_date(products, inputs, run)
    if run.job == (1, 1) and all(product.is_current(inputs) for product in products):
        in_order = {name: speaker_of[name] for name in reader.ids}
        new = _lists(data, out, in_order, anonymizer, base)
        lists = bring_up_to_date([new], inputs, Run(dry_run=run.dry_run))
        outcome.failed.update(lists.failed)
    return outcome


def anonymize_tree(
    access: TreeAccess,
    protocol: Protocol,
    suffix: str,
    anonymizer: McAdams | Command,
    run: Run = Run(),
    *,
    attackers: Collection[str] = (),
    evaluated: bool = True,
) -> Outcome:
    """Anonymize the data sets of a tree.

    Training sets get one coefficient per utterance in the variant 2022, of another seed.

    Parameters
    ----------
    suffix : str
        Of the new data folders.
    attackers : collection of str
        Ids: also anonymize the training speech that they learn from.
    evaluated : bool
        Anonymize the enrollment and trial sets.
    """
    outcome, commands = Outcome(), []
    training = training_sets(access.tree, protocol, attackers)
    tested = evaluated_sets(access.tree, protocol) if evaluated else []
    for name in dict.fromkeys((*tested, *training)):
        data, out = access.tree / "data" / name, access.tree / "data" / f"{name}{suffix}"
        access.check_in_tree(data / "wav.scp", data / "utt2spk")
        if _is_external(out):
            outcome.kept.append(out.name)
            continue
        mix = isinstance(anonymizer, McAdams) and anonymizer.variant == "2020"
        reader = audio_reader(access, data, mix=mix)
        chosen = anonymizer
        if isinstance(chosen, McAdams):
            chosen = replace(chosen, data_set=name if chosen.per_set else "")
            if name in training:  # by an attacker, who has the system, but not its seed
                chosen = replace(chosen, level="utterance", seed=chosen.seed + 1)
        elif not chosen.is_per_file:
            commands.append(_converted_folder(data, out, reader, chosen))
            continue
        converted = anonymize_data(data, out, reader, chosen, base=access.tree, run=run)
        outcome.add(_named(converted, out.name))
        outcome.notes += [f"{out.name}: {note}" for note in reader.notes()]
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


def _converted_folder(data: Path, out: Path, reader: AudioReader, command: Command) -> Product:
    """Return the product of a data folder that a user's command writes, wav.scp last."""
    copied, tree = [name for name in COPIED if (data / name).is_file()], command.tree

    def find(inputs: Inputs) -> Sources:
        speech = {u: path for u in reader.ids if (path := reader.path(u)) is not None}
        return {**{name: data / name for name in copied}, **speech, **command.sources()}

    def make(inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        out.mkdir(exist_ok=True)
        (out / _RUNNING).touch()
        (out / "wav.scp").unlink(missing_ok=True)
        meter = Meter(out / SECONDS)
        meter.run(lambda: command.run_on(data, out), partial(map, reader.length, reader.ids))
        meter.write()
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


def _speech(
    folder: Path,
    reader: AudioReader,
    anonymizer: McAdams | Command,
    speaker: str,
    utterances: Sequence[str],
    note: str,
) -> Product:
    """Return the product of the converted speech of a speaker."""
    settings = anonymizer.settings(dict.fromkeys(utterances, speaker))
    files = {name: folder / f"{name}.wav" for name in utterances}

    def find(inputs: Inputs) -> Sources:
        return {**reader.existing_files(utterances), **anonymizer.sources()}

    def make(inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        speech, meter = dict[Path, bytes](), Meter(folder / f".{note}{SECONDS}")
        for name, path in files.items():
            convert = partial(anonymizer.convert, reader, speaker, name)
            speech[path] = meter.run(convert, partial(map, reader.length, [name]))
        meter.write()
        return Content(speech)

    return Product(
        speaker,
        folder,
        folder / f".{note}.json",
        tuple(files.values()),
        find,
        make,
        subject={"speaker": speaker},
        options={**settings, "sources": {u: reader.target(u) for u in utterances}},
    )


def _lists(
    data: Path,
    out: Path,
    speaker_of: Mapping[str, str],
    anonymizer: McAdams | Command,
    base: Path,
) -> Product:
    """Return the product of a data folder's lists, wav.scp last, in the order of `speaker_of`."""
    copied = [name for name in COPIED if (data / name).is_file()]
    scp = "".join(f"{u} {relative(out / 'wav' / f'{u}.wav', base)}\n" for u in speaker_of)
    lists = anonymizer.lists(speaker_of)
    files = (*copied, *lists, "wav.scp")

    def find(inputs: Inputs) -> Sources:
        return {name: data / name for name in copied}

    def make(inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        new = {out / name: read_bytes(data / name) for name in copied}
        new |= {out / name: text.encode() for name, text in lists.items()}
        new[out / "wav.scp"] = scp.encode("utf-8", "surrogateescape")
        return Content(new)

    return Product(
        str(out),
        out,
        out / NOTE,
        tuple(out / name for name in files),
        find,
        make,
        options={"wav.scp": scp, "coefficients": lists.get(COEFFICIENTS, "")},
    )
