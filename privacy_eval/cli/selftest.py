"""Compare the numbers of this machine with those of other programs, which the package brings.

The golden files are those of tests/data/golden, whose PROVENANCE.md say how they were made.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..asv.backend import LengthNormalization, plda_scores, plda_transform
from ..errors import PrivacyEvalError, describe
from ..io.scores import read_scores, read_trials
from ..io.vectors import read_plda, read_vectors
from ..metrics import TrialScores, score_metrics
from ..metrics.dialects import DIALECTS, eer_dialects
from ..metrics.eer import eer_percent, speechbrain_eer
from ..metrics.pairing import pair
from ..metrics.similarity import similarity_matrix
from ..version import __version__
from ..wings import absent, installed, provided

GOLDEN = Path(__file__).parents[1] / "golden"

#: Digits of float64: values with so many are equal but for the last bits.
ALL_DIGITS = 15

_RELEASED = "VoicePrivacy 2020 and 2022, released scripts"
_PAPERS = "independent implementation of the papers"
_COMPUTE_EER = "Kaldi compute-eer"
_SPEECHBRAIN = "SpeechBrain 0.5.16 EER"
_PLDA = "Kaldi 5.5 ivector-plda-scoring"
_LEGAL_EVAL = "voice-anonymization-legal-eval 2.1.0"
_VOICEPAT = "VoicePAT ddf2fd1"

#: Dialects of the EER whose golden numbers are those of the programs themselves.
_RUN = (
    *("pyllr_rocch", "eer_package", "legal_eval_rocch", "sklearn_nearest", "sklearn_brentq"),
    *("bob", "pyannote", "case_benchmark", "feerci"),
)


#: A row of a golden case, see `_case`.
Case = dict[str, Any]


def _case(name: str, tool: str, digits: int, needed: int, error: str = "") -> Case:
    """Return the row of a golden case.

    Parameters
    ----------
    name : str
        Data and quantity.
    tool : str
        Other program, with its version.
    digits : int
        Decimals that agree, or significant digits of values above 1; the fewest of several values.
    needed : int
        Fewest digits with which the case passes: the other program prints or stores no more, or
        adds float32 numbers in another order.
    error : str
        Why nothing could be computed; usually empty.
    """
    case = {"name": name, "tool": tool, "digits": digits, "needed": needed}
    return {**case, "passed": digits >= needed, **({"error": error} if error else {})}


def run_selftest() -> list[Case]:
    """Compute all golden cases; a group that cannot be computed is one failed case.

    Raises
    ------
    PrivacyEvalError
        A golden file is missing or unreadable.
    """
    groups: Mapping[str, tuple[str, Callable[[Path], Iterator[Case]]]] = {
        "score sets: all metrics": (_RELEASED, _score_sets),
        "small score sets: eer_speechbrain": (_SPEECHBRAIN, _small_score_sets),
        "PLDA: scores": (_PLDA, _plda),
        "gallery: linkage": (_LEGAL_EVAL, _linkage),
        "voices: G_VD": (_VOICEPAT, _voices),
    }
    cases = []
    for name, (tool, compute) in groups.items():
        try:
            cases += list(compute(GOLDEN))
        except (PrivacyEvalError, OSError) as error:
            raise PrivacyEvalError(f"{describe(error)}; install privacy_eval again") from error
        except Exception as error:  # of the installed libraries, which are what is tested
            cases.append(_case(name, tool, 0, 1, describe(error)))
    return cases


def agreeing_digits(value: float, expected: float, most: int = ALL_DIGITS) -> int:
    """Count agreeing decimals, or significant digits of values above 1, up to `most`.

    Examples
    --------
    >>> agreeing_digits(0.12345, 0.12346), agreeing_digits(0.5, 0.5), agreeing_digits(0.5, 0.9)
    (5, 15, 0)
    """
    if value == expected:
        return most
    difference = abs(value - expected) / max(1.0, abs(expected))
    if not 0 < difference < 1:  # also NaN and infinity
        return 0
    return min(most, math.floor(-math.log10(difference)))


def _score_sets(golden: Path) -> Iterator[Case]:
    """Compare all metrics of score files, as both variants define them, and the EERs of others."""
    dialects = json.loads((golden / "dialects/expected.json").read_text(encoding="utf-8"))
    for folder in sorted(path.parent for path in golden.glob("scores/*/expected.json")):
        trials = pair(read_scores(folder / "scores.gz"), read_trials(folder / "trials.gz"))
        scores = TrialScores.from_labels(trials.score, trials.is_target)
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        challenge = score_metrics(scores, variant="challenge")
        yield from _metrics(folder.name, _RELEASED, challenge, expected["reference"])
        exact = score_metrics(scores, variant="exact")
        yield from _metrics(folder.name, _PAPERS, exact, expected["exact"])
        printed = float(expected["kaldi_compute_eer_stdout"])
        digits = agreeing_digits(float(eer_percent(challenge["eer"])), printed, 4)
        yield _case(f"{folder.name}: eer", _COMPUTE_EER, digits, 4)
        yield from _dialects(folder.name, scores, dialects[folder.name])


def _metrics(
    name: str, tool: str, values: Mapping[str, float], expected: Mapping[str, Any]
) -> Iterator[Case]:
    for key in [key for key in values if key in expected]:
        if isinstance(expected[key], str):  # printed with four decimals
            value, printed = round(values[key], 4), float(expected[key])
            yield _case(f"{name}: {key}", tool, agreeing_digits(value, printed, 4), 4)
        else:
            yield _case(f"{name}: {key}", tool, agreeing_digits(values[key], expected[key]), 9)


def _dialects(name: str, scores: TrialScores, expected: Mapping[str, float]) -> Iterator[Case]:
    """Compare the EERs of programs that were run themselves; some search to about 1e-6."""
    for dialect, eer in eer_dialects(scores).items():
        if dialect in _RUN and eer is not None:
            digits = agreeing_digits(eer, expected[dialect])
            yield _case(f"{name}: {dialect}", DIALECTS[dialect].programs, digits, 6)


def _small_score_sets(golden: Path) -> Iterator[Case]:
    """Compare SpeechBrain's EER, which agrees to the last bit."""
    text = gzip.decompress((golden / "eer/cases.jsonl.gz").read_bytes()).decode()
    for case in map(json.loads, text.splitlines()):
        eer = speechbrain_eer(TrialScores(case["target"], case["nontarget"])).value
        digits = agreeing_digits(eer, case["eer"])
        yield _case(f"{case['case']}: eer_speechbrain", _SPEECHBRAIN, digits, ALL_DIGITS)


def _plda(golden: Path) -> Iterator[Case]:
    """Compare PLDA scores of simulated vectors with Kaldi's, which are float32."""
    folder = golden / "plda"
    plda = read_plda(folder / "plda.bin")
    speakers, utterances = read_vectors(folder / "spk.txt"), read_vectors(folder / "utt.bin.ark")
    number = dict(line.split() for line in (folder / "num_utts.txt").read_text().splitlines())
    counts = np.array([int(number[speaker]) for speaker in speakers.ids])
    options: dict[str, LengthNormalization] = {"scores.s0": "expected", "scores.simple": "simple"}
    for name, normalization in options.items():
        enrolled = plda_transform(speakers.matrix, plda, counts, normalization=normalization)
        tested = plda_transform(utterances.matrix, plda, normalization=normalization)
        scores = plda_scores(enrolled, counts, tested, plda)
        text = gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()
        first, second, expected = zip(*(line.split() for line in text.splitlines()), strict=True)
        rows = speakers.rows(first, name), utterances.rows(second, name)
        pairs = zip(scores[rows].tolist(), map(float, expected), strict=True)
        digits = min(agreeing_digits(*both, 7) for both in pairs)
        yield _case(f"{name}: {len(expected)} scores", _PLDA, digits, 4)


def _linkage(golden: Path) -> Iterator[Case]:
    """Compare linkage in galleries of several sizes, where a wing computes it."""
    if (linkage := provided("linkage", needed=False)) is None:
        return
    folder = golden / "identification"
    cases = {case["name"]: case for case in json.loads((folder / "cases.json").read_text())}
    with np.load(folder / "link_1.0.npz", allow_pickle=False) as arrays:
        scores, own = arrays["scores"].T, arrays["own"]
    for size in (1, 2, 5, 10, 20, 40):
        (value,) = linkage(scores, own, [size]).tolist()
        digits = agreeing_digits(value, cases[f"link_1.0_N{size}_exact"]["expected"])
        yield _case(f"gallery of {size}: linkage", _LEGAL_EVAL, digits, 12)


def _voices(golden: Path) -> Iterator[Case]:
    """Compare the voice distinctiveness of calibrated scores, and its gain."""
    folder = golden / "gvd"
    with open(folder / "expected.csv", newline="", encoding="utf-8") as file:
        expected = {row["quantity"]: float(row["value"]) for row in csv.DictReader(file)}
    d_diag = []
    for name in ("osp_osp", "psp_psp"):
        rows = [
            line.split() for line in (folder / f"scores_output_{name}").read_text().splitlines()
        ]
        utterances, column = np.unique([row[1] for row in rows], return_inverse=True)
        row = np.searchsorted(utterances, [row[0] for row in rows])
        scores = np.zeros((utterances.size, utterances.size), dtype=np.float32)
        scores[row, column] = [float(row[2]) for row in rows]
        _, speaker = np.unique([u.split("-")[0] for u in utterances], return_inverse=True)
        matrix = similarity_matrix(scores, speaker, column_of=np.arange(speaker.size))
        d_diag.append(matrix.d_diag)
        digits = agreeing_digits(matrix.d_diag, expected[f"diagonal_dominance_{name}_calibrated"])
        yield _case(f"{name}: d_diag", _VOICEPAT, digits, 6)
    gain = 10 * math.log10(d_diag[1] / d_diag[0])
    digits = agreeing_digits(gain, expected["gvd_if_calibrated_scores_were_used"])
    yield _case("osp_osp, psp_psp: G_VD", _VOICEPAT, digits, 5)


def versions() -> dict[str, str]:
    """Return the versions that numbers depend on."""
    return {
        "privacy_eval": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "BLAS": _blas(),
        **{f"wing {wing.name}": "installed" for wing in installed()},
        **{f"wing {name}": f"not installed ({why})" for name, why in absent().items()},
    }


def _blas() -> str:
    try:
        built: Any = np.show_config(mode="dicts")  # type: ignore[call-overload,unused-ignore]
        blas = built["Build Dependencies"]["blas"]
        return f"{blas['name']} {blas['version']}"
    except (TypeError, KeyError):  # numpy 1.24
        return "unknown"


def summary(cases: Sequence[Case]) -> str:
    """Return the line for an issue: how many cases pass, on what."""
    passed = sum(case["passed"] for case in cases)
    libraries = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"selftest: {passed} of {len(cases)} cases agree; {libraries}"
