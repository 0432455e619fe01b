"""Files made to deceive: each is read as what it is, or refused with one sentence.

Who reads them as they seem gets a number, and nearly always one that errs towards privacy.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import cli

from privacy_eval.io.vectors import write_vectors

#: Three references of eleven words, as Kaldi writes them.
REFERENCE = "a1-1 the cat sat on the mat\na1-2 dogs bark\nb2-1 hello there general\n"
SPEAKERS = [f"{number}" for number in range(101, 109)]
TRIALS = [(e, f"{t}-{n}", e == t) for e in SPEAKERS for t in SPEAKERS for n in range(3)]
KEY = "".join(f"{e} {u} {'target' if same else 'nontarget'}\n" for e, u, same in TRIALS)
#: Women are told apart, men are not: the EERs are 0 and 50 %.
SCORES = "".join(f"{e} {u} {int(e in u) * int(e) % 2 + 0.1 * (int(e) % 2)}\n" for e, u, _ in TRIALS)
UTT2SPK = "".join(f"{s}-{n} {s}\n" for s in SPEAKERS for n in range(3))
SEX = {s: "fm"[int(s) % 2 == 0] for s in SPEAKERS}


def table(line: str, header: str) -> str:
    """A table of the speakers' sexes; `line` is formatted with n, s and x."""
    rows = (line.format(n=n, s=s, x=x) for n, (s, x) in enumerate(SEX.items()))
    return "\n".join([header, *rows, ""])


@dataclass(frozen=True)
class Case:
    """Files by name, a command in their folder, and what it must, and must not say."""

    files: dict[str, str]
    command: str
    says: tuple[str, ...]
    code: int = 0
    never: tuple[str, ...] = ()


def wer(hypothesis: str, *says: str, name: str = "h", reference: str = REFERENCE) -> Case:
    """A transcript against the three references."""
    code = 0 if any("%WER" in text for text in says) else 1
    files = {"r": reference, name: hypothesis}
    return Case(files, f"wer --reference r --hypothesis {name}", says, code)


def by_sex(content: str, *says: str, code: int = 0, never: tuple[str, ...] = ()) -> Case:
    """A table of speakers by which trials are grouped."""
    files = {"s": SCORES, "t": KEY, "utt2spk": UTT2SPK, "x.csv": content}
    command = "metrics --scores s --trials t --utt2spk utt2spk --by x.csv:sex --metrics eer"
    return Case(files, command, says, code, never)


def scores(lines: str, *says: str, key: str = KEY) -> Case:
    """A score file with the key."""
    return Case({"s": lines, "t": key}, "metrics --scores s --trials t", says)


WOMEN_ONLY = ("f  4 ", "0.00", "m  4 ", "50.00")
RIGHT = "%WER 9.09 [ 1 / 11, 0 ins, 0 del, 1 sub ]"
SELF = [(a, b, a[0] == b[0]) for a in ("p1", "p2", "q1", "q2") for b in ("p1", "p2", "q1", "q2")]

CASES: dict[str, Case] = {
    # Words.
    "an STM of whole seconds, a segment a recording": wer(
        "a1-1 1 ann 0 5 the cat sat on the mat\na1-2 1 ann 0 5 dogs bark\n"
        "b2-1 A bob 0 5 hello there colonel\n",
        "%WER 118.18",
        "if it is STM, end its name in .stm",
    ),
    "a CTM whose words are one a recording": wer(
        "a1 1 0.00 0.50 yes\nb2 1 0.10 0.50 no\nc3 1 0.20 0.50 perhaps\n",
        "%WER 33.33 [ 1 / 3, 0 ins, 0 del, 1 sub ]",
        reference="a1 yes\nb2 no\nc3 never\n",
    ),
    "a trn whose first word is another": wer(
        "alpha b c (ana-1)\ngamma d (ben-2)\n",
        "%WER 20.00 [ 1 / 5, 0 ins, 0 del, 1 sub ]",
        reference="alpha b c (ana-1)\nbeta d (ben-2)\n",
    ),
    "a manifest with spoken and recognized words": wer(
        '{"audio_filepath": "x/a1-1.wav", "text": "no", "pred_text": "the cat sat on the mat"}\n'
        '{"audio_filepath": "x/a1-2.wav", "text": "no", "pred_text": "dogs bark"}\n'
        '{"audio_filepath": "x/b2-1.wav", "text": "no", "pred_text": "hello there colonel"}\n',
        RIGHT,
    ),
    "a TSV whose first column is no utterance": wer(
        "client_id\tpath\tsentence\nx\ta1-1.mp3\tthe cat sat on the mat\n"
        "x\ta1-2.mp3\tdogs bark\ny\tb2-1.mp3\thello there colonel\n",
        RIGHT,
    ),
    "a TSV without a header, with a column of times": wer(
        "a1-1\tthe cat sat on the mat\t1.5\na1-2\tdogs bark\t0.5\nb2-1\thello there general\t1\n",
        "TSV without a header",
    ),
    "SegLST without a recording": wer('[{"speaker": "a", "words": "x"}]', "expected one name of"),
    "subtitles": wer("1\n00:00:01,000 --> 00:00:02,000\nthe cat\n", "subtitles"),
    "a missing transcript that an exporter writes as a word": wer(
        "a1-1 the cat sat on the mat\na1-2 dogs bark\nb2-1 None\n",
        "the word None",
        "%WER 27.27 [ 3 / 11, 0 ins, 2 del, 1 sub ]",
    ),
    "decomposed accents": wer(
        "a1-1 un e\u0301te\u0301\na1-2 c\u0327a\nb2-1 ou\u0300\n",
        "%WER 0.00 [ 0 / 4, 0 ins, 0 del, 0 sub ]",
        reference="a1-1 un \u00e9t\u00e9\na1-2 \u00e7a\nb2-1 o\u00f9\n",
    ),
    "a sentence that begins with a quotation mark": wer(
        'id\ttext\na1-1\tthe cat sat on the mat\na1-2\t"dogs bark\nb2-1\thello there general"\n',
        "a quoted cell goes on in the next line",
    ),
    "a transcript that was cut within its last word": wer(
        REFERENCE[:-5], "was it cut?", "%WER 9.09 [ 1 / 11, 0 ins, 0 del, 1 sub ]"
    ),
    # Speakers and labels.
    "a measure that was cut within its last number": Case(
        {"m": "u1 100\nu2 200\nu3 25"}, "measures --file m", ("was it cut?",)
    ),
    "a measure whose first value is in the place of a header": Case(
        {"m": "u1,1.25\nu2,1.5\nu3,1.75\n"}, "measures --file m", ("expected a header",), 1
    ),
    "years of birth in the column age": Case(
        {"s": SCORES, "t": KEY, "utt2spk": UTT2SPK, "x.csv": table("{s},19{s}", "speaker,age")},
        "metrics --scores s --trials t --utt2spk utt2spk --by x.csv:age --metrics eer",
        ("19101 (1)",),
        never=("from_50",),
    ),
    "a table with an index column": by_sex(table("{n},{s},{x}", ",speaker,sex"), *WOMEN_ONLY),
    "an index column that holds speakers' numbers in another order": by_sex(
        table("10{n},{s},{x}", "row,speaker,sex"), *WOMEN_ONLY
    ),
    "tabs in a table called CSV": by_sex(table("{x}\t{s}", "Sex\tSpeaker ID"), *WOMEN_ONLY),
    "speakers that a data frame made floats": by_sex(
        table("{s}.0,{x}", "speaker,sex"), *WOMEN_ONLY, "taken for"
    ),
    "missing labels as texts": by_sex(
        table("{s},{x}", "speaker,sex").replace("108,m", "108,<NA>"),
        "f  4 ",
        "m  3 ",
        "missing (1)",
    ),
    "labels of other speakers": by_sex("speaker,sex\nx,f\ny,m\n", "no speaker has", code=1),
    "two columns that may be the speakers": by_sex(
        table("s{s},{s},{x}", "reader,speaker,sex"), "which column", code=1
    ),
    "classes of one side": Case(
        {"p": "utterance,reference,prediction\nu,neutral,neu\nv,sad,sadness\n", "u": "u a\nv a\n"},
        "uar --predictions p --utt2spk u",
        ("share no name",),
        1,
    ),
    "speakers that an exporter writes as None": Case(
        {"s": SCORES, "t": KEY, "utt2spk": UTT2SPK.replace(" 101\n", " None\n")},
        "metrics --scores s --trials t --utt2spk utt2spk --bootstrap 20",
        ("no speaker of 3 utterances",),
        1,
    ),
    # Scores.
    "one vector for all of a speaker's trials": scores(
        "".join(f"{e} {u} {int(e) / 7:.6f}\n" for e, u, _ in TRIALS),
        "50.000?",
        "utterances are equal",
    ),
    "an utterance with one score for everybody": scores(
        "".join(f"{e} {u} {int(u[:3]) * 7 % 19 + int(u[-1]) / 7:.6f}\n" for e, u, _ in TRIALS),
        "?",
        "enrolled speakers are equal",
    ),
    "equal scores": scores("".join(f"{e} {u} 0.5\n" for e, u, _ in TRIALS), "?", "equal"),
    "utterances compared with themselves": scores(
        "".join(f"{a} {b} {1 if a == b else 0.1 * (i % 7)}\n" for i, (a, b, _) in enumerate(SELF)),
        "4 target trials",
        key="".join(f"{a} {b} {'target' if same else 'nontarget'}\n" for a, b, same in SELF),
    ),
    "-1 as nontarget beside 2": Case(
        {"s": "score,label,enroll,test\n0.5,2,a,x\n0.1,-1,b,x\n"},
        "metrics --scores s",
        ("label",),
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_file_is_read_as_what_it_seems(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    for file, content in case.files.items():
        Path(file).write_text(content, encoding="utf-8")
    run = cli(*case.command.split())
    text = re.sub(" {2,}", "  ", f"{run.out}\n{run.err}")
    assert run.code == case.code, text
    for said in case.says:
        assert said in text
    assert "Traceback" not in text and not [words for words in case.never if words in text]


@pytest.mark.parametrize(
    "names",
    [
        [f"DR{r}/{s}{r}/{n}.wav" for r in (1, 2) for s in "ab" for n in range(4)],
        [f"{split}/{s}/{n}.wav" for split in ("train", "dev") for s in "ab" for n in range(4)],
        [f"{place}/{s}/{n}.wav" for place in ("berlin", "paris") for s in "ab" for n in range(4)],
        [f"{sex}/{n}.wav" for sex in ("female", "male") for n in range(4)],
        [
            f"{a}/{s}{a}/{a}_{s}{a}_{n}.wav"
            for a in ("indian", "welsh")
            for s in "ab"
            for n in (1, 2)
        ],
    ],
)
def test_folders_that_are_no_speakers_are_refused(names: list[str], tmp_path: Path) -> None:
    for name in names:
        path = tmp_path / "audio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.ones(1600, np.int16), 16000)
    run = cli("data-dir", "--original", tmp_path / "audio", "--out", tmp_path / "tree")
    assert run.code == 1 and "--speaker-level" in run.err and "level 1: 2 folders" in run.err
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize(("kind", "says"), [("equal", "are equal"), ("zero", "are zero")])
def test_vectors_that_tell_nothing_are_named(kind: str, says: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lists = {"enrolled": SPEAKERS, "trial": [u for _, u, _ in TRIALS[:24]]}
    for side, ids in lists.items():
        matrix = draw.standard_normal((len(ids), 16)).astype(np.float32)
        if side == "trial":
            matrix[:13] = 0 if kind == "zero" else matrix[0] * draw.uniform(1, 2, (13, 1))
        write_vectors(tmp_path / f"{side}.scp", ids, matrix, tree=tmp_path)
    (tmp_path / "trials").write_text(KEY)
    (tmp_path / "spk2utt").write_text("".join(f"{s} {s}\n" for s in SPEAKERS))
    files = {
        **{"--enroll-vectors": "enrolled.scp", "--trial-vectors": "trial.scp"},
        **{"--spk2utt": "spk2utt", "--trials": "trials", "--out": "scores"},
    }
    paths = [word for option, name in files.items() for word in (option, tmp_path / name)]
    run = cli("asv-scores", "--backend", "cosine", "--scp-base", tmp_path, *paths)
    assert "13 of 24" in run.err or "13 vectors" in run.err, run.err
    assert says in run.err and run.code == (kind == "zero")
    (tmp_path / "utt2spk").write_text(UTT2SPK)
    scp = ("--backend", "cosine", "--scp-base", tmp_path, "--utt2spk", tmp_path / "utt2spk")
    trial = tmp_path / "trial.scp"
    enrolled = ("--enroll-vectors", tmp_path / "enrolled.scp", "--spk2utt", tmp_path / "spk2utt")
    compared = ("--original", trial, "--anonymized", trial, "--out", tmp_path / "similar")
    for words in (
        ("identification", *enrolled, "--trial-vectors", trial, *scp),
        ("similarity", *compared, *scp),
    ):
        run = cli(*words)
        assert says in run.err and run.code == (kind == "zero"), run.err
