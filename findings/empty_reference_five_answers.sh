#!/usr/bin/env bash
# Guess: the WER of two inserted words against an empty reference is undefined: an error, NaN or
#   infinity, alike everywhere.
# Seen: jiwer and audmetric return 2 (the number of words), kaldialign infinity, meeteval None,
#   sacrebleu's TER 100 %. werpy prints an error and returns None for the whole set, whose other
#   utterances have references.
# Why: silent or unintelligible recordings have empty references. Who averages over utterances
#   gets another number from each package, or a mean that is infinite.
# Versions: jiwer 4.0.0, kaldialign 0.12.0, meeteval 0.4.3, audmetric 1.4.2, sacrebleu 2.6.0,
#   werpy 3.5.0; Python 3.11
set -euo pipefail

packages=(jiwer==4.0.0 kaldialign==0.12.0 meeteval==0.4.3 audmetric==1.4.2 sacrebleu==2.6.0 werpy==3.5.0)
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
import kaldialign
import sacrebleu
import werpy
from meeteval.wer.wer.siso import siso_word_error_rate

seen = {
    "jiwer": jiwer.wer("", "two words"),
    "audmetric": audmetric.word_error_rate([[]], [["two", "words"]]),
    "kaldialign": kaldialign.edit_distance([], ["two", "words"])["err_rate"],
    "meeteval": siso_word_error_rate("", "two words").error_rate,
    "sacrebleu": sacrebleu.corpus_ter(["two words"], [[""]]).score,
    "werpy": werpy.wer(["", "three other words"], ["two", "three other words"]),
}
recorded = {
    "jiwer": 2,
    "audmetric": 2.0,
    "kaldialign": float("inf"),
    "meeteval": None,
    "sacrebleu": 100.0,
    "werpy": None,
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
