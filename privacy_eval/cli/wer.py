"""wer: word error rates of transcripts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import abbreviate
from .group_options import add_by, plain_groups, print_rates, read_by
from .options import add, choice, few_replicates, log, path, print_json

if TYPE_CHECKING:
    from ..metrics.utility import WordErrors
    from ..stages.word_errors import WordErrorCounts

#: Default number of bootstrap replicates of the comparison.
_REPLICATES = 1000

EXAMPLE = "--hypothesis text --reference data/libri_test/text --utt2spk data/libri_test/utt2spk"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.set_defaults(parser=parser)
    text = "transcripts: Kaldi's text, STM, CTM, trn, SegLST, manifest, or CSV with a header"
    parser.add_argument("--hypothesis", required=True, **path("TEXT", text))
    parser.add_argument("--reference", required=True, **path("TEXT", text))
    versus = "hypotheses of a second system for the same utterances: paired test over speakers"
    parser.add_argument("--versus", **path("TEXT", versus))
    normalized = "of both texts: none (2024, track 1 of 2026), vpc2026 (track 2 of 2026)"
    parser.add_argument(
        "--normalization", **choice(["none", "vpc2026"], normalized, default="none")
    )
    empty = "challenge: an empty side is a word, Unicode's forms differ; default: exact"
    parser.add_argument("--variant", **choice(["challenge", "exact"], empty, default="exact"))
    add(parser, "--utt2spk", help="speakers of the utterances; default: as STM, ... name them")
    add_by(parser)
    add(parser, "--bootstrap", "--seed", "--allow-missing", "--format")


def run(arguments: argparse.Namespace) -> int:
    from ..io.schema import to_plain
    from ..io.wer import WerLine, format_wer_line
    from ..stages.word_errors import compare, interval

    word_errors = _counted(arguments)
    first, speakers = word_errors[0], word_errors[0].speakers
    drawn = {"replicates": arguments.bootstrap or _REPLICATES, "seed": arguments.seed}
    plain: dict[str, Any] = _plain(first.counts) | {"utterances": len(first.utterances)}
    plain |= {name: vars(arguments)[name] for name in ("normalization", "variant")}
    plain["notes"] = first.notes
    if arguments.bootstrap:
        plain["interval"] = to_plain(interval(first, **drawn))
    if arguments.versus:
        plain["versus"] = _plain(word_errors[1].counts) | to_plain(compare(*word_errors, **drawn))
    if arguments.by:
        plain["groups"] = _groups(arguments, first)
    plain["speakers"] = {speaker: _plain(c) for speaker, c in speakers.items()}
    if arguments.allow_missing:
        plain["left_out"] = {"references": first.missing, "hypotheses": first.extra}
    if arguments.format == "json":
        print_json(plain)
        return 0

    def line(name: str, c: dict[str, Any]) -> str:
        counts = {k: c[k] for k in "errors words insertions deletions substitutions".split()}
        named: dict[str, Any] = {"decode": name, "lm_weight": None, "word_insertion_penalty": None}
        text = format_wer_line(WerLine(wer=c["wer"] or 0.0, **counts, **named))
        return text if c["words"] else text.replace("%WER 0.00", "%WER undefined", 1)

    print(line("", plain))
    if arguments.bootstrap:
        print(f"95 % interval over speakers: {_percent(plain['interval'])}")
    if arguments.bootstrap or arguments.versus:
        for caveat in few_replicates(drawn["replicates"], len(speakers)):
            print(f"caveat: {caveat}")
    if arguments.versus:
        versus = plain["versus"]
        print(line(arguments.versus.name, versus))
        print(
            f"difference: {100 * versus['difference']:.2f}%, 95 % interval over speakers: "
            f"{_percent(versus['interval'])}, p = {versus['p_value']:.3g}"
        )
    for speaker, of_speaker in plain["speakers"].items():
        print(line(speaker, of_speaker))
    for column, groups in plain.get("groups", {}).items():
        print_rates(column, groups, {"n_speakers": "speakers", "words": "words"}, {"wer": "WER, %"})
    return 0


def _counted(arguments: argparse.Namespace) -> list[WordErrorCounts]:
    """Count the word errors of one or two files, and log what must be known of them."""
    from ..stages.word_errors import count_word_errors

    files = [arguments.hypothesis] + ([arguments.versus] if arguments.versus else [])
    options = ("utt2spk", "normalization", "variant", "allow_missing")
    given = {name: vars(arguments)[name] for name in options}
    found = [count_word_errors(file, arguments.reference, **given) for file in files]
    speakers = found[0].speakers
    if not speakers and (arguments.bootstrap or arguments.versus or arguments.by):
        arguments.parser.error("--bootstrap, --versus and --by need --utt2spk")
    for note in dict.fromkeys(note for one in found for note in one.notes):
        log(f"privacy-eval: {note}")
    if speakers and arguments.utt2spk is None:
        log(f"privacy-eval: {len(speakers)} speakers by the transcripts: {abbreviate([*speakers])}")
    for file, one in zip(files, found, strict=True):
        if one.missing or one.extra:
            log(
                f"privacy-eval: {file}: left out {one.missing} references without a hypothesis and "
                f"{one.extra} hypotheses without a reference"
            )
    return found


def _groups(arguments: argparse.Namespace, counted: WordErrorCounts) -> dict[str, Any]:
    """Return the rates of groups of speakers as plain values, with intervals if there is a
    bootstrap."""
    from ..stages.word_errors import group_word_errors

    plain = {}
    for labels in read_by(arguments.by):
        drawn = {"replicates": arguments.bootstrap, "seed": arguments.seed}
        rates, without = group_word_errors(counted, labels, **drawn)
        groups = {
            name: {
                "wer": of.rate,
                "words": of.count,
                "n_speakers": of.n_speakers,
                **({"wer_interval": of.interval} if of.interval else {}),
            }
            for name, of in rates.items()
        }
        plain[labels.column] = plain_groups(groups, labels, without)
    return plain


def _plain(counts: WordErrors) -> dict[str, Any]:
    from ..io.schema import to_plain

    return {"wer": counts.wer, "errors": counts.errors, **to_plain(counts)}


def _percent(interval: dict[str, float]) -> str:
    return f"{100 * interval['low']:.2f}% .. {100 * interval['high']:.2f}%"
