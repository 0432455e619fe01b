#!/usr/bin/env bash
# Guess: the WER of a set is its errors by its words, as in sclite, Kaldi, jiwer, meeteval; a
#   transcript given as one text is split into words.
# Seen: audmetric averages the rates of utterances, so an utterance of one word weighs as much as
#   one of four: 0.5 where one word of five is wrong. Texts are taken letter by letter: what comes
#   back is a character error rate under the name of the WER.
# Why: the package is at home in emotion and speaker attributes, where its UAR and EER are used
#   beside the WER. Short utterances, which anonymization hurts most, rule the mean.
# Versions: audmetric 1.4.2, jiwer 4.0.0; Python 3.11
set -euo pipefail

packages=(audmetric==1.4.2 jiwer==4.0.0)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import audmetric
import jiwer

reference, hypothesis = ["we all went home", "yes"], ["we all went home", "no"]
texts = "we went", "we want"
seen = {
    "audmetric": audmetric.word_error_rate(
        [text.split() for text in reference], [text.split() for text in hypothesis]
    ),
    "jiwer": jiwer.wer(reference, hypothesis),
    "audmetric, texts": round(audmetric.word_error_rate([texts[0]], [texts[1]]), 4),
    "jiwer, texts": jiwer.wer(*texts),
}
recorded = {
    "audmetric": 0.5,
    "jiwer": 0.2,
    "audmetric, texts": round(1 / 7, 4),
    "jiwer, texts": 0.5,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
