"""data-dir: create an experiment tree from folders of audio, if there is no Kaldi tree."""

from __future__ import annotations

import argparse
import os
import shlex

from ..choices import ENCODERS
from ..version import ROOT
from .options import fill, log, number, path, positive, progress, value

EXAMPLE = "--original wav --anonymized wav_anon --utt2spk utt2spk --out tree"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    audio = "(wav, flac, mp3, ogg, also in subfolders; file name: utterance id)"
    parser.add_argument("--original", required=True, **path("DIR", f"audio {audio}"))
    utt2spk = (
        "speaker of every utterance; without it the folders tell: SPEAKER/FILE, or further levels "
        "where file names or a list in the folder confirm the speakers, as in LibriSpeech and VCTK"
    )
    parser.add_argument("--utt2spk", **path("F", utt2spk))
    level = "the speakers are the folders of this level, 1 for those in DIR; also in other folders"
    parser.add_argument("--speaker-level", **value("N", level, type=positive))
    anonymized = "the same utterances, anonymized; without it, stage 4 anonymizes them"
    parser.add_argument("--anonymized", **path("DIR", anonymized))
    spk2gender = (
        "gender of every speaker: f, m, F or M; default: from the folders, else trials are of all"
    )
    parser.add_argument("--spk2gender", **path("F", spk2gender))
    parser.add_argument("--out", required=True, **path("TREE", "the new experiment tree"))
    enroll = (
        "enrollment utterances per speaker, the first by session and id (default: half of them)"
    )
    parser.add_argument("--enroll", **value("N", enroll, type=positive))
    training = "speech of other speakers, to train the attacker's back ends on"
    parser.add_argument("--training", **path("DIR", training))
    training_utt2spk = "speakers of the training utterances; default: from the folders"
    parser.add_argument("--training-utt2spk", **path("F", training_utt2spk))
    model = "x-vector extractor to copy: final.raw, extract.config, ...; back end: plda, ..."
    parser.add_argument("--model", **path("DIR", model))
    text = "what is said in the original audio, as Kaldi's text: for the attacker of the words"
    parser.add_argument("--text", **path("F", text))
    encoders = (
        f"in place of x-vectors: {', '.join(ENCODERS)} or FILE.onnx, blank-separated; all attack, "
        "averages are of the first"
    )
    parser.add_argument("--encoders", **value("NAMES", encoders, default=""))
    unusable = (
        "percent of the recordings that may be left out, as later stages cannot use them (damaged, "
        "silent, too short, of another format); default: 5"
    )
    parser.add_argument("--allow-unusable", **value("P", unusable, type=_percent, default=5.0))
    parser.set_defaults(usage_error=parser.error)


def _percent(text: str) -> float:
    return number(text.removesuffix("%"))


def run(arguments: argparse.Namespace) -> int:
    from ..tree.from_audio import AudioFolders, make_tree

    if arguments.training is None and arguments.training_utt2spk is not None:
        arguments.usage_error("--training-utt2spk needs --training")
    if arguments.encoders and arguments.model:
        arguments.usage_error("--encoders and --model exclude each other")
    listed = arguments.utt2spk and (arguments.training_utt2spk or arguments.training is None)
    if listed and arguments.speaker_level:
        arguments.usage_error("--speaker-level and --utt2spk exclude each other")
    arguments.encoders = tuple(dict.fromkeys(arguments.encoders.split()))
    log("privacy-eval: looking at every recording")
    new = make_tree(arguments.out, fill(AudioFolders, arguments), print, progress())
    print(f"{arguments.out}: {'created' if new.made else 'already exists'}")
    for name, (speakers, utterances) in new.sets.items():
        print(f"  data/{name}: {utterances} utterances of {speakers} speakers")
    print("\n".join(f"  {line}" for line in new.speakers))
    if arguments.model is not None:
        from ..speech.xvector import assumed_sizes

        if text := assumed_sizes([path.name for path in arguments.model.iterdir()]):
            print(f"  {arguments.model}: {text}")
    for remark in new.remarks:
        log(f"privacy-eval: {remark}")
    print("\n".join(_next(arguments, new.is_outside)))
    return 0


def _next(arguments: argparse.Namespace, is_outside: bool) -> list[str]:
    """Return the next steps for the user, as lines to print."""
    from ..asv.inputs import BACKEND_FILES
    from ..protocol.protocol import own_entry
    from ..tree.from_audio import EXTRACTOR_FILES, MODEL, PROTOCOL

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
        "or begin again with --encoders ge2e, whose vectors need nothing trained",
    )
    return [*(advice if missing else ()), f"Next: {shlex.join(command)}"]
