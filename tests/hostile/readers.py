"""Every reader of untrusted files: its inputs, and how its answers are checked.

A reader either gives the right result, by a slow second reading where there is one, or
raises a `PrivacyEvalError` that names the file (and the line, of formats made of lines).
One more reader is one more entry of `READERS`.
"""

import contextlib
import csv
import io
import json
import math
import os
import re
import resource
import signal
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import h5py
import hypothesis
import numpy as np
import second_readings as second
import soundfile
from disclosure_support import Galleries
from hypothesis import strategies as st
from inputs import LARGEST, TOKENS, json_with_edits, samples_with_edits
from reference_nnet3 import Net, Reference, write_model
from second_readings import Plain, plain_array, text_of, unpacked
from support import (
    ANON,
    GOLDEN,
    OTHER_PROTOCOL,
    ROOT,
    imported,
    scored,
    similarity_record,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.compat.zebra import read_tags
from privacy_eval.editions.importer import extract_system, parse_rank
from privacy_eval.editions.results_txt import import_results_txt, parse_results_txt
from privacy_eval.io import text_table
from privacy_eval.io.arrays import TensorView, read_torch, read_torch_matrix
from privacy_eval.io.data_dir import (
    combine_data_dirs,
    read_list,
    read_spk2gender,
    read_spk2utt,
    read_utt2spk,
    subset_data_dir,
)
from privacy_eval.io.files import digest, load, read_bytes, read_text
from privacy_eval.io.schema import from_plain, load_json, to_plain
from privacy_eval.io.scores import read_scores, read_trial_list, read_trials
from privacy_eval.io.transcripts import read_transcripts
from privacy_eval.io.vectors import (
    Plda,
    binary_array,
    read_matrix,
    read_plda,
    read_vector,
    read_vectors,
)
from privacy_eval.io.wer import format_wer_line, read_wer_folder
from privacy_eval.io.yaml_text import parse_yaml
from privacy_eval.listening.ratings import Ratings, read_ratings
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.similarity import OF_SPEAKER
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.protocol.protocol import Protocol, protocol_from_dict
from privacy_eval.protocol.published import parse_p_values, parse_values
from privacy_eval.report.figures import pictures
from privacy_eval.report.system_tables import system_tables
from privacy_eval.report.table_formats import FORMATS, in_format
from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.challenge_text import format_results_txt, to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.outputs import to_csv, to_speakers_csv
from privacy_eval.results.record_files import read_record
from privacy_eval.results.records import (
    Results,
)
from privacy_eval.speech.audio import Audio, AudioReader
from privacy_eval.speech.onnx_encoder import FRONT_ENDS, FrontEnd, open_onnx, read_front_end
from privacy_eval.speech.xvector import load_extractor
from privacy_eval.study.protocol import StudyProtocol, study_from_dict
from privacy_eval.tree.conditions import Condition
from privacy_eval.utility.emotions import read_predictions

#: Seconds of processor time that an input of a few kB may take: far less than a hang takes.
SECONDS = 10
#: Bytes that it may ask for, and by which all inputs may raise the most that was ever in use; what
#: one input may take beyond three times the file, of readers that promise it.
ADDRESS_SPACE, GROWTH, SMALL = 512 << 20, 256 << 20, 64 << 20


def anything(content: bytes, result: Any) -> None:
    """Accept any result."""


@dataclass(frozen=True)
class Reader:
    """How one reader is tested.

    Attributes
    ----------
    inputs : strategy
        Contents of files.
    read : function
        Reads the file of a path; nothing but `PrivacyEvalError` may come out.
    second : function, optional
        A second reading of a content, as `plain` gives it; None where it must be refused.
    plain : function
        The result as plain values, to be compared with the second reading.
    check : function
        Asserts more of a result for a content.
    lines : bool
        Whether an error must name a line, too.
    name : str
        Name of the file.
    beside : bool
        Whether an error may name another file of its folder.
    memory : int
        Bytes that one input may take beyond three times the file.
    """

    inputs: st.SearchStrategy[bytes]
    read: Callable[[Path], Any]
    second: Callable[[bytes], Any] | None = None
    plain: Callable[[Any], Any] = lambda found: found
    check: Callable[[bytes, Any], None] = anything
    lines: bool = False
    name: str = "input"
    beside: bool = False
    memory: int = ADDRESS_SPACE


def reader_of(name: str) -> Reader:
    return READERS[name] if name in READERS else SLOW_READERS[name]


def fuzz(name: str, folder: Path, *, inputs: int, seed: int = 0) -> tuple[int, int]:
    """Fuzz one reader; return how many inputs were read and refused."""
    counts = [0, 0]
    path = folder / reader_of(name).name
    path.parent.mkdir(parents=True, exist_ok=True)

    @hypothesis.seed(f"{name} {seed}")
    @hypothesis.settings(
        max_examples=inputs,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(content=reader_of(name).inputs)
    def answers(content: bytes) -> None:
        counts[not try_one(name, path, content[:LARGEST])] += 1

    before = _most_memory()
    # Blocks of a few lines, so that small tables have several.
    with _limits(), mock.patch.object(text_table, "_BLOCK", 64):
        answers()
    assert _most_memory() - before < GROWTH, f"{name}: the inputs take more and more memory"
    return counts[0], counts[1]


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _used_memory() -> tuple[int, int]:
    """Bytes in use, and of address space."""
    space, used, *_ = Path("/proc/self/statm").read_text().split()
    return int(used) * resource.getpagesize(), int(space) * resource.getpagesize()


def try_one(name: str, path: Path, content: bytes) -> bool:
    """Return whether an input was read; raise if the answer is wrong."""
    reader = reader_of(name)
    path.write_bytes(content)
    refused: PrivacyEvalError | None = None
    used, most = _used_memory()[0], _most_memory()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        result = reader.read(path)
    except PrivacyEvalError as error:
        refused = error
    except Hang as hang:
        raise AssertionError(f"more than {SECONDS} s") from hang
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if _most_memory() > most:
        taken = _most_memory() - used
        assert taken < 3 * len(content) + reader.memory, f"took {taken} bytes"
    expected = None if reader.second is None else reader.second(content)
    if refused is None:
        if reader.second is not None:
            assert expected is not None, f"read as {result!r:.500}"
            assert reader.plain(result) == expected
        reader.check(content, result)
        return True
    message = str(refused)
    named = path.parent if reader.beside else path
    assert message.startswith(str(named)), f"the file is not named: {message}"
    assert len(message) < 2 * len(content) + 5000, f"a message of {len(message)} characters"
    if reader.lines and not _OF_THE_FILE.search(message):
        line = re.match(r":(\d+)", message[len(str(path)) :])
        assert line, f"no line is named: {message}"
        assert 1 <= int(line[1]) <= (unpacked(content) or b"").count(b"\n") + 1, message
    assert expected is None, f"refused: {message}"
    return False


#: Errors of a whole file.
_OF_THE_FILE = re.compile(r": (empty file|truncated or damaged gzip file|larger than)")


class Hang(BaseException):
    """An input took too long. Not an `Exception`, so that no reader can catch it."""


@contextlib.contextmanager
def _limits() -> Iterator[None]:
    """Limit processor time by an alarm and memory by an address space limit."""

    def alarm(*_: object) -> None:
        raise Hang

    handler = signal.signal(signal.SIGPROF, alarm)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _used_memory()[1] + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, handler)


# Results as plain values, and what else is asserted of them


def columns(*of: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(c.tolist() for c in of), strict=True))


def items(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (key, value) if isinstance(value, str) else (key, *value) for key, value in result.items()
    ]


def vectors(result: Any) -> list[tuple[str, Plain | None]]:
    return [(name, plain_array(row)) for name, row in zip(result.ids, result.matrix, strict=True)]


def parts(result: Plda) -> list[Plain | None]:
    return [plain_array(part, np.float64) for part in (result.mean, result.transform, result.psi)]


def check_results_txt(content: bytes, result: Any) -> None:
    """Nothing is lost, and the formatted text parses to the same content."""
    text = format_results_txt(result)
    lines = [line for line in (text_of(content) or b"").split(b"\n") if line.strip()]
    assert {line.split()[0].decode() for line in lines} <= {*text.split(), "caveat:"}
    again = parse_results_txt(text, "again")
    assert format_results_txt(again) == text
    scores = [block.metrics for block in result.verification.values()]
    for values in (*scores, *result.utility.values(), *result.similarity.values()):
        for value in values.values():
            assert math.isfinite(value) or b"inf" in (text_of(content) or b"")


def check_wer(content: bytes, result: Any) -> None:
    lines, sources = result
    written = [format_wer_line(line).encode() for line in lines]
    stripped = [line.strip(b" \t\r") for line in (text_of(content) or b"").split(b"\n")]
    assert written == [line for line in stripped if line.startswith(b"%WER")]
    for line in lines:
        assert line.errors == line.insertions + line.deletions + line.substitutions
        assert abs(line.wer - line.errors / line.words) < 5.1e-5 + 1e-6 * line.wer
    assert [source.name for source in sources] == ["WER"]


def check_results(content: bytes, result: Results) -> None:
    """Results can be exported and, for a sample of inputs, formatted in every form."""
    to_json(result).encode()
    to_csv(result).encode()
    to_speakers_csv(result).encode()
    data = ReportData(result)
    for system in result.systems:
        for folder in result.results_folders(system):
            to_results_txt(result, system, folder).encode()
            if zlib.crc32(content) % 128 == 0:
                for one in system_tables(data, system, folder):
                    for form in FORMATS:
                        in_format(one, form, "challenge").encode()


def check_import(content: bytes, result: Results) -> None:
    """Exported again, the records are the same text."""
    text = to_results_txt(result, "B1", "")
    again = import_results_txt(text, "again", result.protocol, system="B1")
    assert to_results_txt(again, "B1", "") == text
    if zlib.crc32(content) % 16 == 0:
        check_results(content, result)


def check_protocol(content: bytes, result: Protocol) -> None:
    assert protocol_from_dict(result.to_dict(), "again") == result
    assert list(result.trial_sets())
    json.dumps(result.to_dict(), allow_nan=False).encode()


def check_curves(content: bytes, result: Any) -> None:
    packed = content[max(0, content.find(b"PK\3\4")) :]  # a zip may follow anything
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        assert set(result) == set(arrays.files)
    for name, array in result.items():
        assert array.dtype.kind in "fiuU", name


def check_published(content: bytes, result: Any) -> None:
    text = (text_of(content) or b"").decode().rstrip("\r\n")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    assert len(result) == len(rows) - 1
    for value, row in zip(result, rows[1:], strict=True):
        assert row[-2] == value.value and int(row[-1]) == value.table
        assert value.number is None or math.isfinite(value.number)


def check_tags(content: bytes, result: Any) -> None:
    bounds = [bound for _, bound in result]
    assert bounds[0] == 0 and bounds == sorted(set(bounds)) and all(map(math.isfinite, bounds))
    assert len({tag for tag, _ in result}) == len(result)


def check_captions(content: bytes, result: Any) -> None:
    assert all(isinstance(text, str) for one in result for text in (one.section, one.caption))


def read_audio(path: Path) -> Any:
    """The samples of a file, as the only utterance of a data folder."""
    (path.parent / "wav.scp").write_text(f"u {path.name}\n")
    return AudioReader(path.parent, base=path.parent).read("u").samples


def check_wav(content: bytes, result: np.ndarray) -> None:
    """No sample is invented; those that are there are what follows the header."""
    assert np.isfinite(result).all()
    assert result.size <= len(content)
    if result.dtype == np.int16 and content[16:36] == _PCM_HEADER and content[36:40] == b"data":
        assert result.tobytes() == content[44 : 44 + 2 * result.size]


def check_flac(content: bytes, result: np.ndarray) -> None:
    """What the checksums let through are the samples that were written."""
    assert (result.astype(int) // 256 == SPEECH.astype(int) // 256).all()


def read_network(path: Path) -> Any:
    return load_extractor(network=path).extract(FRAMES)


def check_network(content: bytes, result: np.ndarray | None) -> None:
    """The vector of an undamaged model is that of the reference; of another one, finite."""
    assert result is None or (result.dtype == np.float32 and np.isfinite(result).all())
    if content in NETWORKS:
        assert np.allclose(result, VECTOR, rtol=1e-4, atol=1e-5)


# Samples


SPEECH = (1000 * np.sin(np.arange(1500) ** 1.3)).astype(np.int16)
#: Of 16 bits, mono, 16 kHz.
_PCM_HEADER = struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)


def audio(samples: np.ndarray, kind: str, subtype: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, 16000, format=kind, subtype=subtype)
    return file.getvalue()


def text_array(array: np.ndarray) -> bytes:
    """A vector or matrix as Kaldi prints it."""
    rows = [b"%.7g " * row.size % tuple(row.tolist()) for row in np.atleast_2d(array)]
    between = b"" if array.ndim == 1 else b"\n  "
    return b" [" + b"".join((between or b" ") + row for row in rows) + b"]\n"


def _network() -> Net:
    """A network of most components and descriptors, of 2 kB."""
    chance = np.random.default_rng(0)

    def some(*shape: int) -> np.ndarray:
        return chance.standard_normal(shape).astype("f4")

    def by(name: str, *offsets: int) -> Any:
        return ("Append", *(("Offset", ("ref", name), k) if k else ("ref", name) for k in offsets))

    linear, stats = {"LinearParams": some(4, 9), "BiasParams": some(4)}, some(2)
    norm = {"Dim": 4, "BlockDim": 2, "Epsilon": 1e-3, "TargetRms": 1.0, "TestMode": False}
    norm |= {"Count": 10.0, "StatsMean": stats, "StatsVar": stats**2}
    tdnn = {"TimeOffsets": (-1, 0), "LinearParams": some(4, 8), "BiasParams": some(0)}
    both = ("Sum", ("Scale", ("ref", "tdnn"), 0.66), ("IfDefined", ("Offset", ("ref", "norm"), 5)))
    either = ("Failover", ("Offset", ("ref", "sum"), 2), ("Round", ("ref", "sum"), 2))
    pooling = {"InputDim": 5, "InputPeriod": 3, "LeftContext": 0, "RightContext": 999}
    pooling |= {"NumLogCountFeatures": 1, "OutputStddevs": True, "VarianceFloor": 1e-10}
    extraction = {"InputDim": 2, "InputPeriod": 1, "OutputPeriod": 3, "IncludeVarinance": True}
    nodes = {
        "affine": (by("input", -1, 0, 1), "NaturalGradientAffine", linear),
        "relu": (by("affine", 0), "RectifiedLinear", {"Dim": 4, "ValueAvg": some(4)}),
        "norm": (by("relu", 0), "BatchNorm", norm),
        "tdnn": (by("norm", 0), "Tdnn", tdnn),
        "sum": (both, "Sigmoid", {"Dim": 4}),
        "either": (either, "Normalize", {"InputDim": 4, "TargetRms": 1.0}),
        "scale": (
            by("either", 0),
            "ScaleAndOffset",
            {"Dim": 4, "Scales": some(4), "Offsets": some(4)},
        ),
        "sums": (("ref", "part"), "StatisticsExtraction", extraction),
        "pool": (("ref", "sums"), "StatisticsPooling", {**pooling, "_second": True}),
        "linear": (("ReplaceIndex", ("ref", "pool"), 0), "Linear", {"Params": some(3, 5)}),
        "last": (by("linear", 0), "LogSoftmax", {"Dim": 3}),
    }
    return Net(3, nodes, {"part": ("scale", 1, 2)}, ("ref", "last"))


NETWORKS = [write_model(_network(), binary=binary) for binary in (True, False)]
FRAMES = np.sin(np.arange(90.0) ** 1.3).reshape(30, 3).astype(np.float32)
VECTOR = Reference(_network(), FRAMES).at(0)
_MODEL_TOKENS = (
    *TOKENS,
    *(b"Offset(", b"Sum(", b"IfDefined(", b"Round(", b"ReplaceIndex(", b"Failover("),
    *(b"Append(", b"input", b" dim=", b"999999999", b"2147483647", b"\4", b"T ", b"F "),
    *(b"<Dim> ", b"<BlockDim> ", b"<TimeOffsets> ", b"<Params> ", b"</Nnet3>"),
)


_IDS = [f"s{n}" for n in range(1, 4)]
_PAIRS = [(s, f"{t}-u{n}") for s in _IDS for t in _IDS for n in range(2)]
SCORES = "".join(f"{s} {u} {n * 0.37 - 2:.4f}\n" for n, (s, u) in enumerate(_PAIRS)).encode()
TRIALS = "".join(
    f"{s} {u} {'target' if u.startswith(s) else 'nontarget'}\n" for s, u in _PAIRS
).encode()
UTT2SPK = b"".join(f"{s}-u{n} {s}\n".encode() for s in _IDS for n in range(2))
SPK2UTT = b"".join(f"{s} {s}-u0 {s}-u1\n".encode() for s in _IDS)
SPK2GENDER = b"s1 f\ns2 f\ns3 m\n"
ENROLLS = b"s1-u0\ns2-u0\ns3-u1\n"
_ARRAY = np.linspace(-2, 3, 4)
_VECTORS = {u.split()[0]: _ARRAY * (n + 1) for n, u in enumerate(UTT2SPK.decode().splitlines())}
ARCHIVES = [
    b"".join(b"%s \0B%s" % (u.encode(), binary_array(v.astype(t))) for u, v in _VECTORS.items())
    for t in (np.float32, np.float64)
] + [b"".join(u.encode() + b" " + text_array(v) for u, v in _VECTORS.items())]
_SQUARE = np.arange(12.0).reshape(3, 4) / 7
MATRICES = [b"\0B" + binary_array(_SQUARE.astype(t)) for t in (np.float32, np.float64)]
MATRICES.append(text_array(_SQUARE))
SINGLES = [b"\0B" + binary_array(_ARRAY.astype(t)) for t in (np.float32, np.float64)]
SINGLES.append(text_array(_ARRAY))
_PARTS = (_ARRAY[:3], np.eye(3) + _SQUARE[:, :3], np.array([3.0, 1.0, 0.5]))
MODELS = [
    b"\0B<Plda> " + b"".join(map(binary_array, _PARTS)) + b"</Plda> ",
    b"<Plda> " + b"".join(map(text_array, _PARTS)) + b"</Plda> ",
]
RESULTS_TXT = [
    b"".join(ANON.read_bytes().splitlines(keepends=True)[n : n + 12]) for n in (0, 7, 14)
] + [
    b"ASR-libri_dev_asr\n  %WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] "
    b"exp/models/asr_eval/decode_tgsmall/wer_12_0.5\n"
    b"libri_dev_trials_f  Pitch_correlation: mean=0.7705 std=0.1\n"
    b"libri_dev_trials_f\n  De-Identification : 0.93\n  Gain of voice distinctiveness : -9.5\n"
]
WER = (
    b"%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] a/decode_tgsmall/wer_12_0.5\n"
    b"%WER 4.15 [ 1650 / 39783, 172 ins, 250 del, 1228 sub ] a/decode_tglarge/wer_13\n"
)
YAML = [
    b"name: x\nsplits: [dev, test]\ngenders: {f: female}\n",
    b"a: &a [1, 2.5, yes]\nb: *a\nc: {<<: {x: 1}, y: 2}\n",
    b"- 2020-01-01\n- 1:30\n- !!str 1\n- 'a'\n- |\n  text\n",
    b"extends: vpc2020\ndata_sets:\n  - {id: libri, weight: 0.5}\n",
]
_YAML_TOKENS = (
    *TOKENS,
    *(b"&a ", b"*a", b"<<: *a", b"!!python/object/apply:os.system [id]", b"!!binary x"),
    *(b"!!set ", b"!!int "),
    *(
        b"!!timestamp ",
        b"0001-01-01 00:00:00 +23:59",
        b"2020-13-45",
        b"1:" * 200 + b"1.0",
        b"!!int ",
    ),
    *(b"? ", b"- ", b": ", b"---\n", b"...\n", b"%YAML 1.1\n", b"\t", b"'", b"|\n", b">\n", b"~"),
    *(b"!!float ", b"!!omap ", b"!!pairs ", b"[" * 300, b"{" * 300, b"!!merge ", b"=: 1"),
)
TAGS = b"A: 0\nB: 1\nC: 2.5\nD: 4\n"
_PUBLISHED = Path(__file__).resolve().parents[2] / "conf" / "published"


def _head(path: Path, lines: int) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[:lines])


def _whole_protocol() -> dict[str, Any]:
    plain: dict[str, Any] = parse_yaml(OTHER_PROTOCOL, "protocol")  # type: ignore[assignment]
    return {
        **plain,
        "data_folders": [
            {"name": "{split}-cut", "cut_from": "x", "list": "l", "list_as": "enrolls"},
            {"name": "all", "combine": ["{split}-cut"]},
        ],
        "asv_models": [{"trained_on": "original", "folder": "exp/m{suffix}", "training_set": "t"}],
    }


PROTOCOL = _whole_protocol()


def _results() -> Results:
    """Return results with one record of each kind and all optional entries."""
    whole = imported(ANON, protocol="vpc2020")
    plain = whole.protocol.to_dict()
    libri = {"data_sets": plain["data_sets"][:1], "table_rows": ["libri"], "splits": ["dev"]}
    protocol = protocol_from_dict(
        {**plain, **libri, "data_folders": [], "asv_models": []}, "protocol"
    )
    verification = scored(
        whole.verification[0],
        n_target=10,
        n_nontarget=20,
        eer_interval_if_independent=(0.1, 0.2),
        speaker_intervals={"challenge": {"eer": (0.1, 0.2)}},
        trials_without_score=0,
        scores_without_trial=1,
        curves="x/y.npz",
        curves_sha256="0" * 64,
        provenance={"version": "1", "inputs": {"scores": {"path": "a", "sha256": "0"}}},
    )
    similarity = similarity_record(
        Condition("B1", "", "libri_dev_trials_f", "libri", "dev", "f", asv_model="original"),
        {"exact": {"deid": 0.9, "gvd_db": -9.5}},
        (dict(zip(OF_SPEAKER, ("s1", 0.5, 1.0, 0.5, 0.7, None, 0.1), strict=True)),),
    )
    identification = Galleries(
        whole.verification[0].condition,
        sizes=(2, 5),
        linkage=(0.9, 0.5),
        intervals=((0.8, 1.0), (0.4, 0.6)),
        rank=1,
        length=1,
        n_tests=9,
        n_test_speakers=3,
        n_enrolled=5,
        not_enrolled=1,
        utterances_left_out=2,
    ).record
    return Results(
        protocol,
        (verification,),
        whole.recognition[:1],
        whole.utility[:1],
        (similarity,),
        identification=(identification,),
        not_evaluated=("nothing",),
    )


RESULTS = _results()


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(
        file,
        det_miss=np.linspace(0, 1, 5),
        det_false_alarm=np.linspace(1, 0, 5),
        exact_oo=np.eye(3, dtype=np.float32),
        speakers=np.array(_IDS),
    )
    return file.getvalue()


def _packed_vectors() -> Iterator[bytes]:
    """The vectors as an NPZ of vectors, as one of a matrix, and as HDF5."""
    matrix = {"ids": np.array(list(_VECTORS)), "x": np.stack(list(_VECTORS.values()))}
    for arrays in (_VECTORS, matrix):
        file = io.BytesIO()
        np.savez(file, **arrays)
        yield file.getvalue()
    file = io.BytesIO()
    with h5py.File(file, "w") as written:
        for name, vector in _VECTORS.items():
            written[name] = vector
    yield file.getvalue()


# Readers that need more than a path


def _read_pair(path: Path) -> Any:
    key = path.with_name("key")
    key.write_bytes(TRIALS)
    return pair(read_scores(path), read_trials(key), allow_missing=True)


def _read_archive(path: Path) -> Any:
    return read_vectors(path, tree=path.parent)


def _read_scp(path: Path) -> Any:
    if not (path.parent / "x.ark").exists():
        (path.parent / "x.ark").write_bytes(ARCHIVES[0])
        (path.parent / "one.vec").write_bytes(SINGLES[0])
    return read_vectors(path, tree=path.parent)


_OFFSETS = {
    ARCHIVES[0].index(u.encode() + b" ") + len(u) + 1: v.astype(np.float32)
    for u, v in _VECTORS.items()
}
SCP = [
    "".join(f"{u} x.ark:{at}\n" for u, at in zip(_VECTORS, _OFFSETS, strict=True)).encode(),
    b"a one.vec\nb one.vec:0\nc x.ark:%d\n" % next(iter(_OFFSETS)),
]


def check_scp(content: bytes, result: Any) -> None:
    """Every line is an id and a location, whose vector was read."""
    lines = [line for line in (text_of(content) or b"").split(b"\n") if line.strip()]
    assert len(lines) == len(result.ids)
    for line, name, row in zip(lines, result.ids, result.matrix, strict=True):
        form = re.fullmatch(rb"\s*(\S+)\s+(.*?)(?::(\d+))?\s*", line)
        assert form is not None and form[1].decode() == name, line
        is_single = os.path.normpath(form[2].decode()).endswith("one.vec")
        expected = _ARRAY.astype(np.float32) if is_single else _OFFSETS[int(form[3])]
        assert row.tobytes() == expected.tobytes(), line


_DATA_DIR = {
    "utt2spk": UTT2SPK,
    "spk2gender": SPK2GENDER,
    "wav.scp": b"".join(b"%s cat x |\n" % line.split()[0] for line in UTT2SPK.splitlines()),
    "segments": b"".join(
        b"%s %s 0 1.5\n" % (line.split()[0], line.split()[0]) for line in UTT2SPK.splitlines()
    ),
    "text": b"".join(b"%s a word\n" % line.split()[0] for line in UTT2SPK.splitlines()),
    "enrolls": ENROLLS,
}


#: A data folder in one file: the name of the file that is edited, and its content.
_DATA_DIRS = st.sampled_from(list(_DATA_DIR)).flatmap(
    lambda name: samples_with_edits(_DATA_DIR[name]).map(
        lambda content: name.encode() + b"\n" + content
    )
)


def _read_data_dir(path: Path) -> Any:
    name, _, content = path.read_bytes().partition(b"\n")
    folder = path.with_name("input.dir")
    if not folder.is_dir():
        folder.mkdir()
        for file, usual in _DATA_DIR.items():
            (folder / file).write_bytes(usual)
    changed = folder / name.decode()
    changed.write_bytes(content)
    try:
        cut, _ = subset_data_dir(folder, load(folder / "enrolls"), "enrolls")
        united, _ = combine_data_dirs([folder, folder])
        return {file: read_bytes(folder / file) for file in _DATA_DIR}, cut, united
    finally:
        changed.write_bytes(_DATA_DIR[changed.name])


def _check_data_dir(content: bytes, result: Any) -> None:
    source, cut, united = result
    name, _, changed = content.partition(b"\n")
    wanted = text_of(changed if name == b"enrolls" else ENROLLS) or b""
    lines = cut["utt2spk"].split(b"\n")  # bytes.splitlines would end lines at CR, too
    utterances = [line.split()[0] for line in lines if line]
    assert set(utterances) == {line.split()[0] for line in wanted.split(b"\n") if line.split()}
    for file in source.keys() - {"enrolls"}:
        lines = [line for line in source[file].split(b"\n") if line.split()]
        assert sorted(line for line in united[file].split(b"\n") if line) == sorted(lines)


def _read_import(path: Path) -> Any:
    text = extract_system(read_text(path), str(path), "B1")
    return import_results_txt(text, str(path), RESULTS.protocol, system="B1")


def _read_protocol(path: Path) -> Any:
    try:
        plain = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise PrivacyEvalError(f"{path}: not JSON") from error
    return protocol_from_dict(plain, str(path))


def _read_record(path: Path) -> Any:
    return read_record(path)


def _check_record(content: bytes, result: Any) -> None:
    if result is not None:
        json.dumps(to_plain(result), allow_nan=False).encode()


def _read_curves(path: Path) -> Any:
    record = replace(
        RESULTS.verification[0], curves=path.name, curves_sha256=digest(path.read_bytes())
    )
    results = replace(RESULTS, verification=(record,))
    curves = StoredArrays([(results, path.parents[1] / "results.json")])
    return curves.of(record)


def _parsed(parse: Callable[[str, str], Any]) -> Callable[[Path], Any]:
    return lambda path: parse(read_text(path), str(path))


RATINGS = (
    b"evaluator,system,data_set,gender,trial,enrollment,same_speaker,naturalness,"
    b"intelligibility,similarity\n"
    b"ann,Original,libri,f,u1,s1,yes,9,8,7.5\n"
    b"ann,B1,libri,f,u2,s1,no,3,,1\n"
    b'"bob, ""the"" second",B1,libri,m,u3,s2,yes,10,10,10\n'
)
STUDY: dict[str, Any] = parse_yaml(  # type: ignore[assignment]
    read_text(_PUBLISHED.parent / "metric_study.yaml"), "metric_study.yaml"
)


_RATING_TOKENS = (b"yes", b"no", b'"', b",", b",,", b"11", b"0", b"1e1", b"Original")


def check_ratings(content: bytes, result: Ratings) -> None:
    """As many ratings as the CSV has cells of metrics, all within the scale."""
    text = (unpacked(content) or b"").decode("utf-8-sig")
    rows = csv.DictReader(io.StringIO(text.lstrip("\r\n"), newline=""))
    rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    metrics = ("naturalness", "intelligibility", "similarity")
    cells = [row[m] for row in rows for m in metrics if (row.get(m) or "").strip(" \t\xa0")]
    assert len(result) == len(cells)
    assert ((result.score >= 1) & (result.score <= 10)).all()
    assert sorted(result.score.tolist()) == sorted(map(float, cells))
    columns = (result.metric, result.evaluator, result.system, result.trial, result.enrollment)
    assert len(set(zip(*columns, strict=True))) == len(result)


def check_study(content: bytes, result: StudyProtocol) -> None:
    """Read back from its own values it is the same."""
    assert from_plain(StudyProtocol, to_plain(result), "again") == result


#: Text of ids and numbers of every script, all kinds of blanks and line ends.
_ID = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_NUMBER = (
    st.floats().map(repr)
    | st.floats().map(float.hex)
    | st.integers().map(str)
    | st.text("0123456789.eE+-_xinfa", min_size=1, max_size=8)
    | st.text(st.characters(categories=["Nd", "Nl", "No"]), min_size=1, max_size=4)
)
_BLANK = st.text(" \t", min_size=1, max_size=3)
_END = st.sampled_from(["\n", "\r\n", "\n\n", " \n", "\r", "\u2028", "\x0b", ""])
_SCORE_TEXTS = st.builds(
    lambda mark, rows: (mark + "".join(map("".join, rows))).encode(),
    st.sampled_from(["", "\ufeff", "\ufeff\ufeff", "\ufffe"]),
    st.lists(st.tuples(_ID, _BLANK, _ID, _BLANK, _NUMBER, _END), min_size=1, max_size=4),
)
#: Headers of binary arrays of any size: a header alone reserves nothing.
_HEADERS = st.builds(
    lambda code, shape, size, behind: (
        b"\0B" + code + b"".join(b"\4" + struct.pack("<i", n) for n in shape) + bytes(size) + behind
    ),
    st.sampled_from([b"FV ", b"DV ", b"FM ", b"DM ", b"CM ", b"CM2"]),
    st.lists(st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-2, 70000), max_size=2),
    st.integers(0, 64),
    st.binary(max_size=4),
)

TRANSCRIPTS = (
    "u1 THE CAT\nu2 l'été\nu3\nu4 A B\n".encode(),
    b"r A ann 0.00 1.5 <o,f0> { so / @ } it is\nr A bob 1.50 2.25\n;; x\n",
    b"r A 0.10 0.2 so 0.9\nr A 0.40 0.2 it\nq 1 0.1 .2 is\n",
    b"so (uh) it (ann-1)\nis (bob-2)\n;; x\n(bob-3)\n",
    b'{"audio_filepath": "/d/u1.wav", "offset": 0.5, "duration": 1, "text": "so"}\n',
    b'[{"session_id": "r", "speaker": "ann", "start_time": 0, "end_time": 1, "words": "so"}]\n',
    b'id,speaker,text\nu1,ann,"so, it"\nu2,bob,is\n',
    b"u1|so it\nu2|is\n",
)
PREDICTIONS = b"set,utterance,reference,prediction\ndev,u1,sad,hap\ndev,u2,hap,hap\n"
RANK = b"""---- Time: 29-03-24_11:24 ----

---- SER results ----
   dataset split       ser     UAR ACC_sad
                              mean    mean
0  IEMOCAP   dev      anon  36.389   2.576
1  IEMOCAP   dev  original  69.080  63.629

---- ASV_eval^anon results ----
   dataset split gender enrollment trial     EER
2    libri   dev      f       anon  anon  25.141
11   libri  test      m       anon  anon  21.137
"""
TINY_GE2E = ROOT / "tests" / "data" / "models" / "ge2e" / "tiny_good.pt"


def _read_torch_tensors(path: Path) -> Any:
    file = read_torch(read_bytes(path), str(path))
    state = file.get("model_state") if isinstance(file, dict) else None
    named = state.items() if isinstance(state, dict) else ()
    return {n: v.array(str(path), str(n)) for n, v in named if isinstance(v, TensorView)}


def check_torch_tensors(content: bytes, result: Any) -> None:
    """The same tensors as by Python's own unpickler."""
    found = {name: (array.shape, array.tobytes()) for name, array in result.items()}
    assert not found or found == second.torch_tensors(text_of(content) or b"")


FRONT_END = (
    b"input: fbank\nwindow: hamming\nedges: mirror\nband: [20, -400]\nscaling: 32768\nmean: true\n"
    b"chunk: [200, 100]\nbins: 40\n"
)


def check_front_end(content: bytes, result: FrontEnd) -> None:
    """It computes windows of a second of noise, or says why not."""
    noise = np.random.default_rng(0).integers(-999, 999, 16000, np.int16)
    with contextlib.suppress(PrivacyEvalError):
        if result.rate % 1000 == 0 and max(result.chunk, default=0) < 1000 and result.bins < 200:
            assert np.isfinite(result.compute(Audio(noise, 16000))).all()


#: Encoders in ONNX files: every input starts a process, so that only scripts/fuzz.py tries them.
ONNX = ROOT / "tests" / "data" / "models" / "onnx"
_ENCODERS = ("wespeaker", "sherpa_3dspeaker", "odd_fbank40")
_NOISE = np.random.default_rng(0).integers(-999, 999, 16000, np.int16)


def _read_onnx(path: Path) -> Any:
    encoder = open_onnx(read_bytes(path), str(path), FRONT_ENDS["wespeaker"])
    return encoder.encode(Audio(_NOISE, 16000))


def check_vector(content: bytes, result: Any) -> None:
    """One finite vector."""
    assert result.dtype == np.float32 and result.ndim == 1 and np.isfinite(result).all()


TORCH = (GOLDEN.parent / "speaker_vectors" / "float16" / "speaker_vectors.pt").read_bytes()


def check_rank(content: bytes, tables: Any) -> None:
    """Every cell of the text was read, and nothing else."""
    lines = (text_of(content) or b"").decode().split("\n")
    for table in tables:
        for row in table.rows:
            cells = lines[int(row.where.rpartition(":")[2]) - 1].split()
            n = len(row.identity) + len(row.values)
            assert len(cells) - n in (0, 1) or "nan" in " ".join(cells).lower()
            assert {*row.identity, *row.values.values()} <= {*cells, *map(_number, cells)}
    n_rows = sum(len(table.rows) for table in tables)
    texts = [line.split() for line in lines if line.strip() and line.strip()[0] != "-"]
    assert n_rows == sum(not {"dataset", "mean"} & {*cells} for cells in texts)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


READERS: Mapping[str, Reader] = {
    "scores": Reader(
        samples_with_edits(SCORES) | _SCORE_TEXTS,
        read_scores,
        second.scores,
        lambda found: (
            columns(found.enrolled, found.utterance, found.score),
            found.origins[0].digest,
        ),
        lines=True,
    ),
    "trials": Reader(
        samples_with_edits(TRIALS),
        read_trials,
        second.trials,
        lambda found: columns(found.enrolled, found.utterance, found.is_target),
        lines=True,
    ),
    "trial_list": Reader(
        samples_with_edits(TRIALS, re.sub(rb" (non)?target", b"", TRIALS)),
        read_trial_list,
        second.trial_list,
        lambda found: columns(found.enrolled, found.utterance),
        lines=True,
    ),
    "pair": Reader(
        samples_with_edits(SCORES),
        _read_pair,
        second.paired_with(TRIALS),
        lambda found: (
            columns(found.enrolled, found.utterance, found.score, found.is_target),
            found.missing,
            found.extra,
        ),
        beside=True,
    ),
    "utt2spk": Reader(samples_with_edits(UTT2SPK), read_utt2spk, second.utt2spk, items, lines=True),
    "spk2utt": Reader(samples_with_edits(SPK2UTT), read_spk2utt, second.spk2utt, items, lines=True),
    "spk2gender": Reader(
        samples_with_edits(SPK2GENDER), read_spk2gender, second.spk2gender, items, lines=True
    ),
    "enrolls": Reader(
        samples_with_edits(ENROLLS),
        lambda path: read_list(path, "enrolls"),
        second.listed(0),
        list,
        lines=True,
    ),
    "trials_of_a_folder": Reader(
        samples_with_edits(TRIALS),
        lambda path: read_list(path, "trials"),
        second.listed(1, fields=3),
        list,
        lines=True,
    ),
    "data_dir": Reader(_DATA_DIRS, _read_data_dir, check=_check_data_dir, beside=True),
    "archive": Reader(samples_with_edits(*ARCHIVES[:2]), _read_archive, second.archive, vectors),
    "text_archive": Reader(samples_with_edits(ARCHIVES[2]), _read_archive, second.archive, vectors),
    "scp": Reader(samples_with_edits(*SCP), _read_scp, check=check_scp),
    "packed_vectors": Reader(samples_with_edits(*_packed_vectors()), _read_archive),
    "vector": Reader(
        samples_with_edits(*SINGLES) | _HEADERS, read_vector, second.one_object(1), plain_array
    ),
    "matrix": Reader(
        samples_with_edits(*MATRICES) | _HEADERS, read_matrix, second.one_object(2), plain_array
    ),
    "wav": Reader(
        samples_with_edits(*(audio(SPEECH, "WAV", s) for s in ("PCM_16", "PCM_24", "PCM_U8"))),
        read_audio,
        check=check_wav,
        name="speech",
        beside=True,
        memory=SMALL,
    ),
    "flac": Reader(
        samples_with_edits(*(audio(SPEECH, "FLAC", s) for s in ("PCM_16", "PCM_24", "PCM_S8"))),
        read_audio,
        check=check_flac,
        name="speech",
        beside=True,
        memory=SMALL,
    ),
    "networks": Reader(
        samples_with_edits(*NETWORKS, tokens=_MODEL_TOKENS),
        read_network,
        check=check_network,
        name="final.raw",
        memory=SMALL,
    ),
    "plda": Reader(samples_with_edits(*MODELS), read_plda, second.plda, parts),
    "wer": Reader(
        samples_with_edits(WER),
        lambda path: read_wer_folder(path.parent),
        check=check_wer,
        name="WER",
        beside=True,
    ),
    "transcripts": Reader(samples_with_edits(*TRANSCRIPTS), read_transcripts),
    "predictions": Reader(samples_with_edits(PREDICTIONS), read_predictions),
    "rank": Reader(samples_with_edits(RANK), _parsed(parse_rank), check=check_rank),
    "torch_vectors": Reader(
        samples_with_edits(TORCH), lambda path: read_torch_matrix(read_bytes(path), str(path))
    ),
    "torch_files": Reader(
        samples_with_edits(TINY_GE2E.read_bytes()),
        _read_torch_tensors,
        check=check_torch_tensors,
        memory=SMALL,
    ),
    "front_end": Reader(
        samples_with_edits(FRONT_END, tokens=_YAML_TOKENS),
        read_front_end,
        check=check_front_end,
        name="front_end.yaml",
    ),
    "results_txt": Reader(
        samples_with_edits(*RESULTS_TXT),
        _parsed(parse_results_txt),
        check=check_results_txt,
        lines=True,
    ),
    "import": Reader(
        samples_with_edits(b"# B1\n" + RESULTS_TXT[0] + b"# B2\n" + RESULTS_TXT[3], *RESULTS_TXT),
        _read_import,
        check=check_import,
    ),
    "yaml": Reader(samples_with_edits(*YAML, tokens=_YAML_TOKENS), _parsed(parse_yaml)),
    "protocol": Reader(json_with_edits(PROTOCOL), _read_protocol, check=check_protocol),
    "tags": Reader(samples_with_edits(TAGS, tokens=_YAML_TOKENS), read_tags, check=check_tags),
    "results_json": Reader(
        json_with_edits(json.loads(to_json(RESULTS))), read_results, check=check_results
    ),
    "record": Reader(
        json_with_edits(to_plain(RESULTS.verification[0])),
        _read_record,
        check=_check_record,
        name="record.json",
    ),
    "curves": Reader(
        samples_with_edits(_npz()), _read_curves, check=check_curves, name="records/x.npz"
    ),
    "captions": Reader(
        json_with_edits({"a": {"section": "b", "caption": "c"}}),
        lambda path: pictures(path.parent),
        check=check_captions,
        name="captions.json",
    ),
    "published": Reader(
        samples_with_edits(_head(_PUBLISHED / "vpc2020.csv", 6)),
        _parsed(parse_values),
        check=check_published,
    ),
    "p_values": Reader(
        samples_with_edits(_head(_PUBLISHED / "vpc2020_p_values.csv", 6)),
        _parsed(parse_p_values),
        check=check_published,
    ),
    "ratings": Reader(
        samples_with_edits(RATINGS, tokens=_RATING_TOKENS),
        lambda path: read_ratings([path]),
        check=check_ratings,
        name="ratings.csv",
    ),
    "study": Reader(
        json_with_edits(STUDY),
        lambda path: study_from_dict(load_json(path), str(path)),
        check=check_study,
    ),
}

#: Readers that take a second per input, for scripts/fuzz.py alone.
SLOW_READERS: Mapping[str, Reader] = {
    "onnx": Reader(
        samples_with_edits(*(ONNX.joinpath(f"{n}.onnx").read_bytes() for n in _ENCODERS)),
        _read_onnx,
        check=check_vector,
    )
}
