"""Every reader of untrusted files against a few valid samples with random edits.

Far more on demand: scripts/fuzz.py --inputs 1000000.
"""

import gzip
from pathlib import Path

import pytest
from readers import RATINGS, READERS, WER, fuzz, try_one
from support import script

INPUTS = 50
#: At least one input in twenty is read, or no right answer would be tested.
LEAST_READ = 0.05


@pytest.mark.parametrize("name", READERS)
def test_any_input_is_read_correctly_or_refused(name: str, tmp_path: Path) -> None:
    read, refused = fuzz(name, tmp_path, inputs=INPUTS)
    assert read >= LEAST_READ * (read + refused)


def _published(value: bytes) -> bytes:
    header = b"metric,unit,attack_model,split,data_set,gender,system,value,table\n"
    return header + b"eer,percent,,dev,libri,f,B1,%s,2\n" % value


def _captions(caption: bytes) -> bytes:
    return b'{"a": {"section": "b", "caption": "%s"}}' % caption


#: Regressions: reader, input, and whether it is read.
REGRESSIONS: dict[str, tuple[str, bytes, bool]] = {
    "a no-break space in spk2utt": ("spk2utt", "s u\u00a0v\n".encode(), True),
    "a line separator in spk2utt": ("spk2utt", "s u\u2028t v\n".encode(), True),
    "NUL in spk2utt": ("spk2utt", b"s u\0\n", False),
    "a long id in spk2utt": ("spk2utt", b"s " + b"u" * 1025, False),
    "a long id in a list": ("data_dir", b"enrolls\n" + gzip.compress(b"u" * 20000 + b"\n"), False),
    "a mark and a line before an archive": ("text_archive", b"\xef\xbb\xbf\na [ 1 ]\n", True),
    "Arabic digits of a WER": ("wer", WER.replace(b"2089", "\u0662".encode()), False),
    "a WER without end": ("wer", WER.replace(b"5.25", b"9" * 400 + b".25"), False),
    "words without end": ("wer", WER.replace(b"39783", b"9" * 5000), False),
    "ten thousand lines of WER": ("wer", WER * 10_000, True),
    "leading zeros": ("wer", WER.replace(b"2089", b"02089"), False),
    "a no-break space behind a WER": (
        "wer",
        WER.replace(b"wer_13", "wer_13 \u00a0".encode()),
        False,
    ),
    "a line separator in a WER": ("wer", WER.replace(b"wer_13", "wer_13\u2028x".encode()), False),
    "a lone return in a WER": ("wer", b"\r" + WER, True),
    "an EER without end": ("results_txt", b"ASV-a\n  EER: 1e999%\n", False),
    "an EER of any size": ("results_txt", b"ASV-a\n  EER: 1e300%\n", False),
    "an EER in Arabic digits": ("results_txt", "ASV-a\n  EER: \u0661%\n".encode(), False),
    "a line separator in results": ("results_txt", "ASV-a\u2028  EER: 1%\n".encode(), False),
    "a form feed in results": ("results_txt", b"ASV-a\x0c  EER: 1%\n", False),
    "an indent of another kind": ("results_txt", "ASV-a\n\u2003 EER: 1%\n".encode(), False),
    "a system in 999 parts": ("import", b"# B2\n" * 999, False),
    "sixty-fold floats": ("yaml", b"a: " + b"1:" * 200 + b"1.0", False),
    "merge keys": ("yaml", b"a: {<<: {x: 1}}", False),
    "a key twice": ("yaml", b"a: 1\na: 2\n", False),
    "a key twice by another spelling": ("yaml", b"1: x\n0x1: y\n", False),
    "NUL in JSON": ("captions", _captions(b"\\u0000"), False),
    "half a surrogate pair": ("captions", _captions(b"\\ud800"), False),
    "a whole surrogate pair": ("captions", _captions(b"\\ud83d\\ude00"), True),
    "no curves at all": ("curves", b"", False),
    "a unit separator behind a rating": ("ratings", RATINGS.replace(b"9,8", b"9\x1f,8"), False),
    "a no-break space behind a rating": (
        "ratings",
        RATINGS.replace(b"9,8", "9\xa0,8".encode()),
        True,
    ),
    "a published number without end": ("published", _published(b"9" * 400), False),
    "a published cell without end": ("published", _published(b"9" * (1 << 18)), False),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(name: str, tmp_path: Path) -> None:
    reader, content, is_read = REGRESSIONS[name]
    path = tmp_path / READERS[reader].name
    path.parent.mkdir(exist_ok=True)
    assert try_one(reader, path, content) is is_read


def test_fuzz_script() -> None:
    done = script("fuzz.py", "--inputs", 50, "--reader", "wer")
    assert done.code == 0 and done.out.startswith("wer: ")
