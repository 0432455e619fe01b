"""Recordings of the data sets of a tree: their reader, their crops, and the attackers whose vectors
are extracted of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...choices import ENCODERS, SPECTRUM, grouped
from ...errors import PrivacyEvalError, abbreviate, counted
from ...io.data_dir import speakers_of_crops, utterance_of
from ...io.files import Inputs, locked_folder, relative
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
from ...protocol.protocol import (
    ANONYMIZED,
    CROPS,
    OF_CROPS,
    ORIGINAL,
    SCORINGS,
    Attacker,
    Protocol,
)
from ...stages.access import AsvSystems, TreeAccess
from ...stages.attackers import scorings_of_wings
from ...stages.subsets import FolderProduct, usable
from ...wings import of_wings

if TYPE_CHECKING:
    from ..audio import AudioReader
    from ..encoders import EncoderChoice

#: Crops of a speaker that attackers learn from: a minute and a half; more gain little.
MOST_CROPS = 30


def audio_reader(access: TreeAccess, data: Path, *, mix: bool = False) -> AudioReader:
    """Return the reader of the audio of a data folder of a tree; `mix` averages its channels."""
    from ..audio import AudioReader

    access.check_inside(data / "wav.scp")
    options = {"allow_pipes": access.allow_pipes, "allow_outside": access.allow_outside}
    return AudioReader(data, base=access.tree, mix=mix, **options)


def read_seconds(access: TreeAccess, data: Path, utterances: Collection[str]) -> dict[str, float]:
    """Read the durations of utterances of a data folder; no command of its wav.scp is run.

    Raises
    ------
    PrivacyEvalError
        Of an utterance there is none.
    """
    reader = audio_reader(replace(access, allow_pipes=True), data)
    if missing := sorted({*utterances} - {*reader.ids}):
        raise PrivacyEvalError(f"{data / 'wav.scp'}: no audio of {abbreviate(missing)}")
    return {utterance: reader.seconds(utterance) for utterance in utterances}


def encoder_of(asv: AsvSystems, folder: str, cache: Path | None) -> EncoderChoice | None:
    """Return the encoder that the protocol names for the vectors of a model folder; an ONNX file is
    relative to the tree."""
    from ..encoders import EncoderChoice

    name, front_end = asv.protocol.encoder_of(folder, asv.suffixes)
    if not name:
        return None
    if name in ENCODERS:
        return EncoderChoice(name, cache=cache)
    path, tree = Path(front_end), asv.access.tree
    front_end = str(tree / path) if path.suffix else front_end
    return EncoderChoice(str(tree / name), front_end or None)


def default_attackers(
    asv: AsvSystems, *, extracts: bool = False, cache: Path | None = None
) -> set[str]:
    """Return the ids of the attackers whose vectors are extracted unless attackers are named: who
    names an encoder, the spectrum where there are recordings, and who learns from crops where
    there are those of training speech and of its anonymized copy.

    `extracts`: whether an option names what extracts vectors for the ASV model.
    """
    protocol, data = asv.protocol, asv.access.tree / "data"
    scorings = [s for s in scorings_of_wings(asv) if s.attacker.way == SPECTRUM]
    names = {"".join(name) for scoring in scorings for name in scoring.original_sets}
    spoken = [name for name in names if (data / name / "wav.scp").is_file()]
    training = protocol.attacker_training
    able = {SPECTRUM} if spoken and _recorded(asv, *spoken) else set()
    if training and any(_recorded(asv, training, f"{training}{s}") for s in asv.suffixes):
        able |= {*OF_CROPS} & {*SCORINGS, *of_wings("attackers")}
    optional = (a for a in protocol.other_attackers if a.way in able or a.is_trained)
    chosen = {a.id for a in protocol.encoder_attackers}
    return chosen | {a.id for a in optional if _is_extractable(asv, a, extracts, cache)}


def _is_extractable(
    asv: AsvSystems, attacker: Attacker, extracts: bool, cache: Path | None
) -> bool:
    """Whether there is what extracts the vectors that an attacker compares."""
    model = asv.of_attacker(attacker).protocol.asv_model(ORIGINAL)
    if model is None:
        return False
    if attacker.is_trained:
        files = (asv.access.tree / attacker.encoder_file(suffix) for suffix in asv.suffixes)
        return any(file.is_file() for file in files)
    from ..encoders import EncoderChoice, check_encoders
    from ..xvector import EXTRACTOR_FILES

    choice = encoder_of(asv, model.folder, cache)
    try:
        check_encoders([choice or EncoderChoice(SPECTRUM)])
    except PrivacyEvalError:
        return False
    network = asv.access.tree / model.folder / EXTRACTOR_FILES[0]
    return choice is not None or extracts or network.is_file()


def _recorded(asv: AsvSystems, *names: str) -> bool:
    """Whether the first recording of every data set can be read."""
    folders = [asv.access.tree / "data" / name for name in names]
    if not all((folder / "wav.scp").is_file() for folder in folders):
        return False
    try:
        readers = (audio_reader(asv.access, folder) for folder in folders)
        return all(reader.read(name).rate for reader in readers for name in reader.ids[:1])
    except PrivacyEvalError:
        return False


def evaluated_sets(tree: Path, protocol: Protocol) -> list[str]:
    """List the enrollment and trial sets with speech to anonymize."""
    names = dict.fromkeys(t.enrollment_name for t in protocol.trial_sets())
    for together, sets in protocol.anonymized_together().items():
        apart = [t.trials_name for t in sets]
        names |= dict.fromkeys([together] if _has_speech(tree, together) else apart)
    return [name for name in names if _has_speech(tree, name)]


def training_sets(tree: Path, protocol: Protocol, attackers: Collection[str]) -> list[str]:
    """List the training sets with speech to anonymize: of a model trained on anonymized speech,
    and of attackers who learn."""
    trained_on = {part.asv_model for part in protocol.results_folders}
    model = protocol.asv_model(ANONYMIZED) if ANONYMIZED in trained_on else None
    names = [model.training_name("")] if model is not None else []
    learn = (a.id for a in protocol.other_attackers if a.learns or a.is_trained)
    if {*attackers} & {*learn}:
        names.append(protocol.attacker_training)
    return [name for name in dict.fromkeys(names) if name and _has_speech(tree, name)]


def _has_speech(tree: Path, name: str) -> bool:
    return (tree / "data" / name / "wav.scp").is_file()


def make_crops(asv: AsvSystems, attackers: Collection[str], run: Run) -> Outcome:
    """Make the data folders of crops of training speech that some attackers learn from, where
    there are recordings: of original speech, and of its anonymized copies."""
    protocol, data = asv.protocol, asv.access.tree / "data"
    learn = any(a.scoring in OF_CROPS and a.id in attackers for a in protocol.attackers)
    training = protocol.attacker_training
    names = [f"{training}{suffix}" for suffix in ("", *asv.suffixes) if learn and training]
    spoken = [n for n in names if (data / n / "wav.scp").is_file() and usable(data / n)]
    products, refused = list[Product](), dict[str, str]()
    for name in spoken:
        try:
            products.append(_crops(asv.access, name, protocol.crop))
        except PrivacyEvalError as error:  # a wav.scp that is not read
            refused[f"{name}{CROPS}"] = str(error)
    with locked_folder(data):
        outcome = bring_up_to_date(products, asv.access.inputs, Run(dry_run=run.dry_run))
    outcome.failed |= refused
    return outcome


def _crops(access: TreeAccess, name: str, seconds: float) -> FolderProduct:
    """Return the data folder of the first crops of every speaker of another one."""
    source, target = access.tree / "data" / name, access.tree / "data" / f"{name}{CROPS}"
    reader = audio_reader(access, source)

    def find(inputs: Inputs) -> Sources:
        files = [source / file for file in ("utt2spk", "wav.scp", "segments")]
        present = [path for path in files if path.is_file()]
        access.check_in_tree(*present)
        return {relative(path, access.tree): path for path in present}

    def make(inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        crops = reader.cropped(seconds)
        speaker_of = speakers_of_crops(inputs.load(source / "utt2spk"), crops.ids)
        number = {crop: int(crop.rpartition("-c")[2]) for crop in crops.ids}
        members = {
            speaker: sorted(sorted(of, key=lambda crop: (number[crop], crop))[:MOST_CROPS])
            for speaker, of in sorted(grouped(crops.ids, speaker_of.__getitem__).items())
        }
        kept = sorted(crop for of in members.values() for crop in of)
        text = {
            "wav.scp": inputs.load(source / "wav.scp").content,
            "segments": _lines(map(crops.segment, kept)),
            "utt2spk": _lines(f"{crop} {speaker_of[crop]}" for crop in kept),
            "spk2utt": _lines(f"{speaker} {' '.join(of)}" for speaker, of in members.items()),
        }
        short = len(reader.ids) - len({*map(utterance_of, crops.ids)})
        remarks = (f"{counted(short, 'utterance')} shorter than {seconds:g} s",) * (short > 0)
        return Content({target / file: content for file, content in text.items()}, remarks=remarks)

    return FolderProduct(
        target.name,
        access.tree,
        target / NOTE,
        (),
        find,
        make,
        subject={"crops_of": name},
        options={"seconds": seconds, "most": MOST_CROPS, "bytes": reader.size(reader.ids)},
        guarded=True,
    )


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
