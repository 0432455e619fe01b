#!/usr/bin/env bash
# Guess: alignments from CTM go to the segment that holds the middle of the word, as NIST's sclite
#   has it, and an utterance exported without a transcript is a line without words. Ids are those
#   of the set.
# Seen: a word that reaches over the border of two segments is in neither, without a word said. An
#   utterance whose text is None is exported with the word "None". One stereo recording in the set
#   renames the utterances of all others: u1 becomes u1-0. (It imports urllib3 without asking for
#   it.)
# Why: words that were spoken count as deleted, a word that nobody said counts in the WER, and ids
#   of a Kaldi folder no longer match those of scores and trials. (Asks for torch: 3 GB.)
# Versions: lhotse 1.33.0, torch 2.14.1, urllib3 2.8.0, soundfile 0.14.0; Python 3.11
set -euo pipefail

packages=(lhotse==1.33.0 torch==2.14.1 urllib3==2.8.0 soundfile==0.14.0)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1
python3 -m venv venv
venv/bin/pip install --quiet "${packages[@]}" || exit 2
venv/bin/pip freeze
venv/bin/python - <<'END'
import sys

import numpy as np
import soundfile
from lhotse import Recording, RecordingSet, SupervisionSegment, SupervisionSet
from lhotse.kaldi import export_to_kaldi

texts = ["good morning", "stay here", None]
segments = SupervisionSet.from_segments(
    SupervisionSegment(f"u{number + 1}", "mono", float(number), 1.0, text=text, speaker="ana")
    for number, text in enumerate(texts)
)
with open("words.ctm", "w") as file:
    for start, word in ((0.1, "good"), (0.7, "morning"), (1.3, "stay"), (1.7, "here")):
        file.write(f"mono 1 {start} 0.4 {word} 1.0\n")
aligned = segments.with_alignment_from_ctm("words.ctm")
soundfile.write("mono.wav", np.zeros(48000), 16000)
soundfile.write("stereo.wav", np.zeros((48000, 2)), 16000)
mono = RecordingSet.from_recordings([Recording.from_file("mono.wav")])
both = RecordingSet.from_recordings(
    [Recording.from_file("mono.wav"), Recording.from_file("stereo.wav")]
)
export_to_kaldi(mono, segments, "mono")
export_to_kaldi(both, segments, "both")


def ids(path):
    """Return the first field of each line."""
    return [line.split()[0] for line in open(path)]


words = [item.symbol for segment in aligned for item in (segment.alignment or {}).get("word", [])]
seen = {
    "words of the CTM": words,
    "text of u3": open("mono/text").read().splitlines()[-1],
    "ids, mono": ids("mono/utt2spk"),
    "ids, with a stereo recording": ids("both/utt2spk"),
}
recorded = {
    "words of the CTM": ["good", "stay"],
    "text of u3": "u3 None",
    "ids, mono": ["u1", "u2", "u3"],
    "ids, with a stereo recording": ["u1-0", "u2-0", "u3-0"],
}

for name, value in seen.items():
    print(f"{name}: {value!r}")
changed = [name for name in recorded if seen[name] != recorded[name]]
sys.exit(f"no longer as recorded: {', '.join(changed)}" if changed else 0)
END
