#!/usr/bin/env python3
"""Speed of the toolkit, on simulated data: the rows of the speed table of the design.

    scripts/bench.py score             metrics; reading and pairing; bootstrap
    scripts/bench.py identification    linkage in all gallery sizes, and its peak memory
    scripts/bench.py disclosure        amount of speech, groups of speakers, audit of audio
    scripts/bench.py similarity        voice similarity of a trial set, and its peak memory
    scripts/bench.py system            stages 5 to 10 of a whole system, twice
    scripts/bench.py speech            features and McAdams anonymization, per second of speech;
                                       x-vectors of a full-size network, against its products
    scripts/bench.py attackers         words, ridge map and score normalization, and their
                                       peak memory
    scripts/bench.py models            neural encoders, against their products or onnxruntime;
                                       front ends, per second of speech; two jobs against one
    scripts/bench.py help              --help of every verb
    scripts/bench.py growth            time and memory against the number of trials,
                                       utterances and systems
    scripts/bench.py scale             10^7 and 10^8 trials: text, arrays, Parquet, counts;
                                       2000 tests in a gallery of 10^6
    scripts/bench.py score --quick     smaller sizes

Rows are ratios to a plain operation in the same run: the medians of both times, their ratio,
and the goal. Ratios vary with the versions of NumPy and SciPy (mostly the speed of argsort),
which are printed. A whole system is measured in seconds, stage by stage: first everything,
then once more, with nothing changed. Growth is that of whole commands, from files to results,
with the exponent from one size to the next. `recipes/bench/RESULTS.md` has the results of one
machine. Commands are run outside of the clone: they use the package that this script imports.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import itertools
import math
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy
import scipy.signal
from numpy.typing import NDArray
from tabulate import tabulate

import privacy_eval
from privacy_eval.asv.backend import train_backend
from privacy_eval.asv.enrollment import Enrollment
from privacy_eval.asv.galleries import Gallery, rank_tests
from privacy_eval.asv.model_folder import load_backend, save_backend
from privacy_eval.asv.voice_similarity import voice_similarity
from privacy_eval.attackers.alignment import PENALTIES, no_alignment, ridge
from privacy_eval.attackers.normalization import Cohorts, aligned_scores
from privacy_eval.attackers.words import words_scores
from privacy_eval.cli import VERBS
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.arrays import read_score_array
from privacy_eval.io.scores import read_scores, read_trials
from privacy_eval.io.scp import Vectors, read_vectors, write_vectors
from privacy_eval.metrics import (
    VARIANTS,
    TrialScores,
    Variant,
    closed_set_linkage,
    groups,
    kaldi_eer,
    min_cllr,
    score_metrics,
    speaker_bootstrap,
)
from privacy_eval.metrics.amount import AMOUNTS, amount_curve
from privacy_eval.metrics.groups import grouped, summarize_groups
from privacy_eval.metrics.pairing import pair
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.simulate import (
    Anonymization,
    ScoreModel,
    VectorModel,
    simulate_trials,
    write_demo_tree,
)
from privacy_eval.simulate.demo_speech import DemoSpeech, write_demo_speech
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.audit import audit_utterance
from privacy_eval.speech.features import mfcc, sliding_cmvn, voice_activity
from privacy_eval.speech.front_ends import FRONT_ENDS, FrontEnd
from privacy_eval.speech.ge2e import Ge2e
from privacy_eval.speech.mcadams import convert, to_int16
from privacy_eval.speech.models import cached_files, load_model
from privacy_eval.speech.nnet3 import Network
from privacy_eval.speech.nnet3_descriptors import parse_descriptor
from privacy_eval.speech.nnet3_file import Component, ModelFile, Node
from privacy_eval.speech.onnx_session import OnnxSession
from privacy_eval.speech.xvector import Extractor, utterance_vector

# Ratios, GiB, and seconds.
METRICS_GOAL, PAIRING_GOAL, BOOTSTRAP_GOAL, SIMILARITY_GOAL, HELP_GOAL = 5.0, 1.2, 0.3, 6.0, 2.0
GE2E_GOAL, ONNX_GOAL, FBANK_GOAL = 3.0, 1.1, 0.002
JOBS_GOAL = 1 / 1.7  # of the time of one job
IDENTIFICATION_GOAL, IDENTIFICATION_GIB, SIMILARITY_GIB = 2.0, 2.0, 0.5
WITHIN_GOAL, ALL_KINDS_GOAL = 1.5, 3.5
AMOUNT_GOAL = 3.0
ARRAYS_GOAL = 1.5
SYSTEM_GOAL, UNCHANGED_GOAL = 20.0, 4.0
WORDS_GOAL, RIDGE_GOAL, NORMALIZATION_GOAL, ATTACKERS_GIB = 2.0, 2.0, 2.0, 1.0
# Of real time, on one core: set OPENBLAS_NUM_THREADS=1.
MFCC_GOAL, MCADAMS_GOAL = 0.002, 0.02
NETWORK_GOAL, XVECTOR_GOAL = 1.2, 1.5
#: Its arithmetic alone, and all of it, per second of speech, on one core.
KALDI_TIMES = "0.008, whole 0.024"
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1")
RECIPE = Path(__file__).resolve().parents[1] / "recipes" / "vpc2020" / "run.sh"


@dataclass(frozen=True)
class Row:
    """The time of some work and of a plain operation, in seconds, and the goal of the ratio."""

    work: str
    limit: str
    seconds: float
    limit_seconds: float
    goal: float

    @property
    def met(self) -> bool:
        return self.seconds <= self.goal * self.limit_seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=[
            *("score", "identification", "similarity", "system", "speech", "attackers"),
            *("models", "disclosure", "help", "growth", "scale"),
        ],
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument(
        "--utterances",
        type=int,
        help="of similarity's trial set (default: 5400), or of each of a system's speakers (30)",
    )
    parser.add_argument("--speakers", type=int, default=30, help="of a system's trial sets")
    arguments = parser.parse_args()
    scale = 10 if arguments.quick else 1
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"{platform.machine()}"
    )
    if arguments.what == "similarity":
        met = similarity((arguments.utterances or 5400) // scale, arguments.repeats)
    elif arguments.what == "identification":
        met = identification(22_000 // scale, 5_000 // scale, arguments.repeats)
    elif arguments.what == "system":
        met = system(arguments.speakers, arguments.utterances or 30)
    elif arguments.what in ("speech", "attackers", "models"):
        if any(os.environ.get(name) != "1" for name in THREADS):  # must be set before NumPy
            os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
        if arguments.what == "speech":
            met = speech(600 / scale, arguments.repeats)
        elif arguments.what == "models":
            met = models(arguments.repeats, scale)
        else:
            met = attackers(scale, arguments.repeats)
    elif arguments.what == "disclosure":
        met = disclosure(scale, arguments.repeats)
    elif arguments.what == "help":
        met = show([help_row(arguments.repeats)])
    elif arguments.what == "growth":
        met = growth(scale)
    elif arguments.what == "scale":
        met = large_gallery(10**6 // scale)
        met = many_trials((10**7 // scale, 10**8 // scale), arguments.repeats) and met
    else:
        met = score(scale, arguments.repeats)
    return 0 if met else 1


def table(rows: Sequence[Sequence[object]], *headers: str) -> None:
    print(tabulate(rows, headers=headers, disable_numparse=True), flush=True)


def show(rows: Sequence[Row], decimals: int = 2) -> bool:
    """Print rows and return whether all goals are met."""
    cells = []
    for row in rows:
        ratio = f"{row.seconds / row.limit_seconds:.{decimals}f}"
        seconds, limit_seconds = f"{row.seconds:.3f}", f"{row.limit_seconds:.3f}"
        met = "yes" if row.met else "NO"
        cells.append((row.work, seconds, row.limit, limit_seconds, ratio, f"{row.goal:g}", met))
    table(cells, "work", "s", "limit", "s", "ratio", "goal", "met")
    return all(row.met for row in rows)


def score(scale: int, repeats: int) -> bool:
    """Metrics, pairing and bootstrap; then the peak memory of this process."""
    rows = [
        metrics_row(trials // scale, share, decimals, repeats)
        for trials, share, decimals in itertools.product((10**6, 10**7), (0.1, 0.5), (None, 6, 2))
    ]
    rows += [pairing_row(10**6 // scale, shuffled, repeats) for shuffled in (False, True)]
    rows.append(bootstrap_row(repeats))
    met = show(rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB")
    return met


def identification(tests: int, enrolled: int, repeats: int) -> bool:
    """Scores and linkage in galleries of every size against the product of the vectors, and the
    peak memory of this process."""
    generator = np.random.default_rng(7)
    voices = generator.standard_normal((enrolled, 512), dtype=np.float32)
    own = np.arange(tests) % enrolled
    spoken = voices[own] + 6 * generator.standard_normal((tests, 512), dtype=np.float32)
    sizes = np.arange(1, enrolled + 1)
    times = in_turn(
        lambda: closed_set_linkage(spoken @ voices.T, own, sizes),
        lambda: spoken @ voices.T,
        repeats,
    )
    work = f"identification, {tests} x {enrolled} scores, all gallery sizes"
    met = show([Row(work, "product", *times, IDENTIFICATION_GOAL)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB (goal {IDENTIFICATION_GIB:g})")
    return met and peak <= IDENTIFICATION_GIB


def disclosure(scale: int, repeats: int) -> bool:
    """What else is disclosed."""
    of_groups = group_rows(500 // scale, repeats)
    rows = [amount_row(22_000 // scale, 5_000 // scale, repeats), *of_groups, audit_row(repeats)]
    return show(rows, decimals=3)


def group_rows(replicates: int, repeats: int) -> list[Row]:
    """Values of five groups with intervals, and the test, against the ungrouped bootstrap."""
    drawn = simulate_trials(
        ScoreModel(separation=1.0, scale=10.0),
        enrolled=30,
        speakers=30,
        utterances=17,
        generator=np.random.default_rng(6),
    )
    group_of = {name: f"g{n % 5}" for n, name in enumerate(sorted(drawn.trial_speaker.names))}

    def within() -> None:
        summarize_groups(grouped(drawn, group_of), replicates=replicates)

    def all_kinds() -> None:
        groups(drawn, group_of, bootstrap=replicates)

    def ungrouped() -> None:
        speaker_bootstrap(drawn.with_columns(), replicates=replicates, seed=0)

    def row(what: str, work: Callable[[], None], goal: float) -> Row:
        name = f"5 groups, {len(drawn)} trials, {replicates} replicates, test, {what}"
        return Row(name, "ungrouped", *in_turn(work, ungrouped, repeats), goal)

    return [row("within", within, WITHIN_GOAL), row("all kinds", all_kinds, ALL_KINDS_GOAL)]


def audit_row(repeats: int) -> Row:
    """Ten utterances of 10 s, compared with their originals, against real time."""
    generator = np.random.default_rng(10)
    pairs = generator.normal(0, 1000, (10, 2, 160_000)).astype(np.int16)

    def work() -> None:
        for original, anonymized in pairs:
            audit_utterance(Audio(anonymized, 16_000), Audio(original, 16_000))

    return Row("audit of 100 s of audio", "real time", processor_time(work, repeats), 100, 0.01)


def amount_row(tests: int, enrolled: int, repeats: int) -> Row:
    """Error rates of tests of six lengths against the identification of single utterances."""
    generator = np.random.default_rng(9)
    voices = generator.standard_normal((enrolled, 512), dtype=np.float32)
    own = np.arange(tests) // 100  # a hundred utterances of each test speaker
    spoken = voices[own] + 6 * generator.standard_normal((tests, 512), dtype=np.float32)

    def curve() -> None:
        runs = {}
        for length in AMOUNTS:
            of_speakers = (np.flatnonzero(own == speaker) for speaker in np.unique(own))
            whole = [rows[: rows.size - rows.size % length] for rows in of_speakers]
            runs[length] = np.concatenate(whole).reshape(-1, length)
        amount_curve(
            {n: (spoken[r].mean(axis=1) @ voices.T, own[r[:, 0]]) for n, r in runs.items()},
            [str(speaker) for speaker in range(enrolled)],
        )

    sizes = np.arange(1, enrolled + 1)
    times = in_turn(curve, lambda: closed_set_linkage(spoken @ voices.T, own, sizes), repeats)
    work = f"{len(AMOUNTS)} amounts of speech, {tests} x {enrolled} scores"
    return Row(work, "identification", *times, AMOUNT_GOAL)


def similarity(utterances: int, repeats: int) -> bool:
    """From x-vectors and a back end in files to DeID and G_VD, one variant and both, against
    one argsort of as many float32 as one set has unordered pairs; then the command's peak
    memory."""
    pairs = np.random.default_rng(4).standard_normal(utterances**2 // 2).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_speech(folder, utterances)
        scps, utt2spk = [folder / scp for scp in SCPS], folder / "utt2spk"

        def work(variants: tuple[Variant, ...]) -> None:
            first, second = (read_vectors(scp, tree=folder) for scp in scps)
            stored = load_backend(folder / "model").model
            voice_similarity(
                first, second, utt2spk, backend="plda", model=stored, variants=variants
            )

        rows = []
        variants_of: tuple[tuple[Variant, ...], ...] = (("challenge",), ("exact",), VARIANTS)
        for variants in variants_of:
            times = in_turn(functools.partial(work, variants), lambda: np.argsort(pairs), repeats)
            text = f"voice similarity, {utterances} utterances, {' and '.join(variants)}"
            rows.append(Row(text, "argsort", *times, SIMILARITY_GOAL))
        met = show(rows)
        _, peak = measured(similarity_command(folder))
    print(f"peak memory of the command, both variants: {peak:.2f} GiB (goal {SIMILARITY_GIB:g})")
    return met and peak <= SIMILARITY_GIB


SCPS = ("original/xvector.scp", "anonymized/xvector.scp")


def write_speech(folder: Path, utterances: int) -> None:
    """X-vectors of a trial set of 40 speakers, original and anonymized, and a back end."""
    generator = np.random.default_rng(3)
    voices = VectorModel(dimension=512, between=1.0, decay=1.0, within=1.5)
    kind = Anonymization(keep=0.5, pseudo=1.0, noise=1.3)
    own = np.arange(utterances) % 40
    original = voices.utterances(voices.voices(40, generator)[own], generator)
    pseudo = kind.pseudo_voices(40, voices, generator)[own]
    drawn = [v.astype(np.float32) for v in (original, kind.anonymize(original, pseudo, generator))]
    training = np.repeat(np.arange(800), 10)
    trained_on = voices.utterances(voices.voices(800, generator)[training], generator)
    model = train_backend(trained_on.astype(np.float32), [f"{s:04d}" for s in training])
    save_backend(folder / "model", model)
    ids = [f"{s:04d}-{i:06d}" for i, s in enumerate(own.tolist())]
    for scp, vectors in zip(SCPS, drawn, strict=True):
        write_vectors(folder / scp, ids, vectors, tree=folder)
    (folder / "utt2spk").write_text("".join(f"{i} {i[:4]}\n" for i in ids))


def similarity_command(folder: Path) -> list[str]:
    """Both variants, from the files of `write_speech`."""
    scps = [str(folder / scp) for scp in SCPS]
    return [
        *(sys.executable, "-m", "privacy_eval", "similarity", "--tree", str(folder)),
        *("--model", str(folder / "model"), "--utt2spk", str(folder / "utt2spk")),
        *("--original", scps[0], "--anonymized", scps[1]),
    ]


# Linux counts the memory of the parent at the time of the fork to a process's peak memory: a
# small parent starts the command.
_STARTER = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
processor = usage.ru_utime + usage.ru_stime
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, processor)
"""


def environment() -> dict[str, str]:
    """This process's environment, with the programs of its Python and its package first:
    commands run in other folders, where a relative PYTHONPATH leads nowhere."""
    package = Path(os.path.abspath(privacy_eval.__file__)).parents[1]
    inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(package), *map(os.path.abspath, inherited)]),
    }


def measured(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds, peak memory in GiB and processor time of a command, or of a process that it
    starts."""
    start = time.perf_counter()
    # In another folder, as `python -m` would import the package of a clone in this one.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _STARTER, *command],
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=folder,
        )
    seconds = time.perf_counter() - start
    code, peak_kib, processor = done.stdout.split() if done.returncode == 0 else ("", "0", "0")
    if code != "0":
        sys.exit(f"{done.stderr}exit code {code or done.returncode}: {' '.join(command)}")
    return seconds, int(peak_kib) / 2**20, float(processor)


def growth(scale: int) -> bool:
    """Time and peak memory of whole commands against the size of their input."""
    with tempfile.TemporaryDirectory() as name:
        for title, sizes, prepare in (
            ("trials: metrics", (10**4, 10**5, 10**6, 10**7), prepare_metrics),
            ("utterances: similarity", (500, 1000, 2000, 5000, 10_000), prepare_similarity),
            ("systems: stages 5 to 9", (1, 2, 5, 10, 20, 50), prepare_systems),
        ):
            rows: list[list[str]] = []
            before: tuple[int, float] | None = None
            for size in (s for s in sizes if scale == 1 or s < sizes[-1]):
                folder = Path(name) / f"{prepare.__name__}_{size}"
                folder.mkdir()
                seconds, gib, _ = measured(prepare(folder, size))
                exponent = ""
                if before is not None:
                    exponent = f"{math.log(seconds / before[1]) / math.log(size / before[0]):.2f}"
                rows.append([f"{size}", f"{seconds:.2f}", f"{gib:.2f}", exponent])
                before = size, seconds
                shutil.rmtree(folder)
            print(f"\n{title}")
            table(rows, "size", "s", "peak GiB", "exponent")
    return True


def many_trials(sizes: Sequence[int], repeats: int) -> bool:
    """Time and peak memory of commands on many trials, and processor time against that of reading
    the bytes of their files; from arrays and Parquet also against sorting, without the start of a
    command."""
    rows: list[list[str]] = []
    ratios: list[Row] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_trials(folder, size)
            for what, files, command in commands_on_trials(folder):
                seconds, gib, processor = measured(command)
                reading = processor_time(lambda files=files: [*map(read_pieces, files)], 1)
                numbers = f"{seconds:.1f}", f"{processor:.1f}", f"{gib:.2f}"
                rows.append([f"{size:.0e}", what, *numbers, f"{processor / reading:.0f}"])
                print(*rows[-1], file=sys.stderr, flush=True)
            ratios += rows_of_arrays(folder, size, max(1, repeats * sizes[0] // size))
    table(rows, "trials", "input", "s", "processor s", "peak GiB", "times reading")
    return show(ratios)


def rows_of_arrays(folder: Path, trials: int, repeats: int) -> Iterator[Row]:
    """Arrays to Kaldi's EER and min Cllr against sorting the scores; the same from Parquet."""
    arrays = [folder / "target.npy", folder / "nontarget.npy"]
    scores = np.concatenate([np.load(path) for path in arrays])

    def evaluate(scores: TrialScores) -> None:
        kaldi_eer(scores)
        min_cllr(scores)

    def of_arrays() -> None:
        evaluate(TrialScores(*(read_score_array(path) for path in arrays)))

    def of_parquet() -> None:
        evaluate(read_scores(folder / "scores.parquet").scores)

    work = f"to Kaldi's EER and min Cllr, {trials:.0e} trials"
    seconds = processor_time(of_arrays, repeats)
    limit = processor_time(lambda: np.argsort(scores), repeats)
    yield Row(f"arrays {work}", "argsort", seconds, limit, ARRAYS_GOAL)
    if (folder / "scores.parquet").exists():
        from pyarrow import parquet

        reading = processor_time(lambda: parquet.read_table(folder / "scores.parquet"), repeats)
        of_file, limit = processor_time(of_parquet, repeats), 2 * reading + seconds
        yield Row(f"Parquet {work}", "2 x pyarrow's reading + arrays", of_file, limit, 1.0)


def large_gallery(enrolled: int, tests: int = 2000) -> bool:
    """Ranks of tests among many enrolled vectors, against the products in double precision alone,
    which cosines are made of; the default back end, which maps vectors first; peak memory."""
    generator = np.random.default_rng(11)
    ids = tuple(f"e{n}" for n in range(enrolled))
    voices = generator.standard_normal((enrolled, 512), dtype=np.float32)
    own = np.arange(tests) % (tests // 10)
    spoken = voices[own] + 6 * generator.standard_normal((tests, 512), dtype=np.float32)
    model = train_backend(voices[:10_000], [f"s{n % 1000}" for n in range(10_000)])
    seconds = {}
    with tempfile.TemporaryDirectory() as name:
        utt2spk = Path(name) / "utt2spk"
        utt2spk.write_text("".join(f"t{n} e{speaker}\n" for n, speaker in enumerate(own)))
        gallery = Gallery(
            Vectors(utt2spk, ids, voices), Enrollment(utt2spk, {name: (name,) for name in ids})
        )
        spoken_by = Vectors(utt2spk, tuple(f"t{n}" for n in range(tests)), spoken)
        for backend in ("cosine", "plda"):
            options = {"backend": backend, "model": model}
            seconds[backend] = time_of(partial(rank_tests, gallery, spoken_by, utt2spk, **options))
            rate = enrolled * tests / seconds[backend]
            print(f"{tests} tests among {enrolled}, {backend}: {rate:.3g} pairs per second")
    some, others = (generator.standard_normal((n, 512)) for n in (enrolled // 100, tests))
    scores = np.empty((len(some), tests))
    limit = time_of(lambda: [np.matmul(some, others.T, out=scores) for _ in range(100)])
    work = f"ranks of {tests} tests among {enrolled}, cosine"
    met = show([Row(work, "products", seconds["cosine"], limit, IDENTIFICATION_GOAL)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB ({voices.nbytes / 2**30:.2f} of vectors)")
    return met


def write_trials(folder: Path, trials: int) -> None:
    """Write the same trials as text, arrays and, if pyarrow is there, Parquet."""
    prepare_metrics(folder, trials)
    scores, labels = [], []
    with parquet_writer(folder / "scores.parquet") as write_table:
        for block in trial_blocks(trials):
            write_table(block)
            scores.append(block.score)
            labels.append(block.is_target)
    score, is_target = np.concatenate(scores), np.concatenate(labels)
    np.save(folder / "target.npy", score[is_target])
    np.save(folder / "nontarget.npy", score[~is_target])


@contextlib.contextmanager
def parquet_writer(path: Path) -> Iterator[Callable[[TrialBlock], None]]:
    """Write blocks of trials as one table with labels; without pyarrow, nothing."""
    if not importlib.util.find_spec("pyarrow"):
        yield lambda block: None
        return
    import pyarrow
    from pyarrow import parquet

    names = ("enroll", "test", "label", "score")
    types = (pyarrow.string(), pyarrow.string(), pyarrow.bool_(), pyarrow.float64())
    with parquet.ParquetWriter(path, pyarrow.schema(zip(names, types, strict=True))) as writer:

        def texts(characters: NDArray[np.uint8]) -> pyarrow.Array:
            kind, data = pyarrow.binary(characters.shape[1]), pyarrow.py_buffer(characters)
            fixed = pyarrow.Array.from_buffers(kind, len(characters), [None, data])
            return fixed.cast(pyarrow.binary()).cast(pyarrow.string())

        def write(block: TrialBlock) -> None:
            columns = (texts(block.enrolled), texts(block.test), block.is_target, block.score)
            writer.write_table(pyarrow.table(dict(zip(names, columns, strict=True))))

        yield write


def commands_on_trials(folder: Path) -> Iterator[tuple[str, Sequence[Path], list[str]]]:
    """Yield each form of the trials, its files and a command."""
    program = [sys.executable, "-m", "privacy_eval"]
    paths = {path.name: path for path in folder.iterdir()} | {"counts": folder / "counts"}

    def command(what: str, verb: str, **options: str) -> tuple[str, list[Path], list[str]]:
        given = [f"--{option}={paths[file]}" for option, file in options.items()]
        inputs = [paths[file] for option, file in options.items() if option != "out"]
        return what, inputs, [*program, verb, *given]

    text = {"scores": "scores", "trials": "trials"}
    yield command("text, in the order of the key", "metrics", **text)
    yield command("text, to counts", "count", **text, out="counts")
    yield command("counts", "metrics", counts="counts")
    yield command("arrays (.npy)", "metrics", target="target.npy", nontarget="nontarget.npy")
    if "scores.parquet" in paths:
        yield command("Parquet", "metrics", scores="scores.parquet")
        yield command("Parquet, to counts", "count", scores="scores.parquet", out="counts")


def read_pieces(path: Path) -> None:
    """Read a file in pieces."""
    with open(path, "rb") as file:
        while file.read(1 << 23):
            pass


def time_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def speech(seconds: float, repeats: int) -> bool:
    """Features and anonymization of utterances of 10 s against their duration."""
    generator = np.random.default_rng(0)
    pulses = (np.arange(160000) % 130 < 2) * 8000.0
    voice = scipy.signal.lfilter([1.0], [1.0, -1.6, 0.8], pulses)
    utterance = (voice + generator.normal(scale=30, size=voice.size)).astype(np.int16)
    number = max(1, round(seconds / 10))

    def features() -> None:
        for _ in range(number):
            frames = mfcc(utterance)
            sliding_cmvn(frames)[voice_activity(frames)]

    def anonymize() -> None:
        for _ in range(number):
            to_int16(convert(utterance, 16000))

    duration = 10.0 * number
    rows = [
        Row(name, "real time", processor_time(work, repeats), duration, goal)
        for name, work, goal in (
            ("MFCC, VAD, CMVN", features, MFCC_GOAL),
            ("McAdams", anonymize, MCADAMS_GOAL),
        )
    ]
    met = show(rows, decimals=5)
    return network_rows(utterance, number, repeats) and met


def network_rows(utterance: NDArray[np.int16], number: int, repeats: int) -> bool:
    """X-vectors of a full-size network, from features and from samples, against the matrix
    products alone, of the frames that each layer computes."""
    generator = np.random.default_rng(0)
    extractor = Extractor(full_size_network(generator))
    frames = mfcc(utterance)
    voiced = sliding_cmvn(frames)[voice_activity(frames)]
    products = [
        (
            generator.standard_normal((len(voiced) - context, columns), dtype=np.float32),
            generator.standard_normal((columns, rows), dtype=np.float32),
        )
        for context, columns, rows in ((4, 150, 512), (8, 1536, 512), (14, 1536, 512))
        + ((14, 512, 512), (14, 512, 1500))
    ]
    limit = processor_time(lambda: [x @ y for _ in range(number) for x, y in products], repeats)
    rows = []
    for name, work, goal in (
        ("network", lambda: extractor.extract(voiced), NETWORK_GOAL),
        ("samples to x-vector", lambda: utterance_vector(extractor, mfcc(utterance)), XVECTOR_GOAL),
    ):
        seconds = processor_time(lambda work=work: [work() for _ in range(number)], repeats)
        rows.append(Row(f"full-size {name}", "products", seconds, limit, goal))
        print(f"{name}: {seconds / (10.0 * number):.4f} x real time (Kaldi: {KALDI_TIMES})")
    return show(rows)


def full_size_network(generator: np.random.Generator) -> Network:
    """30 -> 512 x 4 -> 1500 -> statistics -> 512, with random weights."""
    path = Path("full-size network")
    nodes = {"input": Node("input-node", "input", dim=30)}
    components: dict[str, Component] = {}

    def add(name: str, kind: str, reads: str, **fields: object) -> None:
        terms = parse_descriptor(reads, name)
        nodes[name] = Node("component-node", name, terms, component=name)
        components[name] = Component(f"{kind}Component", name, fields)

    def affine(name: str, reads: str, columns: int, rows: int) -> None:
        weights = generator.standard_normal((rows, columns), dtype=np.float32) / columns**0.5
        bias = np.zeros(rows, dtype=np.float32)
        add(name, "Affine", reads, LinearParams=weights, BiasParams=bias)

    before, dim = "input", 30
    for layer, (offsets, rows) in enumerate(
        [((-2, -1, 0, 1, 2), 512), ((-2, 0, 2), 512), ((-3, 0, 3), 512), ((0,), 512), ((0,), 1500)]
    ):
        reads = ", ".join(f"Offset({before}, {k})" for k in offsets)
        affine(f"affine{layer}", f"Append({reads})", dim * len(offsets), rows)
        add(f"relu{layer}", "RectifiedLinear", f"affine{layer}", Dim=rows)
        zeros, ones = np.zeros(rows, dtype=np.float32), np.ones(rows, dtype=np.float32)
        batch = {"Dim": rows, "Epsilon": 1e-3, "TargetRms": 1.0, "Count": 1.0}
        statistics = {"StatsMean": zeros, "StatsVar": ones}
        add(f"norm{layer}", "BatchNorm", f"relu{layer}", **batch, **statistics)
        before, dim = f"norm{layer}", rows
    periods = {"InputPeriod": 1, "OutputPeriod": 1}
    extraction = {"InputDim": 1500, "IncludeVarinance": True}
    add("extraction", "StatisticsExtraction", before, **periods, **extraction)
    pooling = {"InputDim": 3001, "InputPeriod": 1, "LeftContext": 0, "RightContext": 10000}
    shape = {"NumLogCountFeatures": 0, "OutputStddevs": True}
    add("pooling", "StatisticsPooling", "extraction", **pooling, **shape)
    affine("output", "pooling", 3000, 512)
    return Network(ModelFile(path, nodes, components))


def models(repeats: int, scale: int) -> bool:
    """Encoders of random weights against their products, front ends against real time, and two
    jobs against one."""
    generator = np.random.default_rng(2)
    audio = Audio(generator.normal(scale=1000, size=160000).astype(np.int16), 16000)
    encoder = random_ge2e(generator)
    mel = generator.random((9, 160, 40), np.float32)  # the windows of 10 s
    states = np.zeros((len(mel), 256), np.float32)

    def products() -> None:
        for of_input, of_state, _ in encoder.layers:
            np.zeros((mel[..., 0].size, len(of_input)), np.float32) @ of_input
            for _ in range(mel.shape[1]):
                states @ of_state

    def work(front_end: FrontEnd) -> Callable[[], object]:
        return lambda: front_end.compute(audio)

    rows = [
        Row(
            "GE2E, 10 s",
            "products",
            processor_time(lambda: encoder.encode_windows(mel), repeats),
            processor_time(products, repeats),
            GE2E_GOAL,
        ),
        *(
            Row(name, "real time", processor_time(work(FRONT_ENDS[name]), repeats), 10, FBANK_GOAL)
            for name in ("wespeaker", "sherpa")
        ),
    ]
    met = show(rows, decimals=5)
    met = onnx_row(generator, repeats) and met
    return jobs_row(max(2, 10 // scale)) and met


def jobs_row(utterances: int) -> bool:
    """The x-vectors of a tree by GE2E, in stage 5: by two jobs against one."""
    if not cached_files("ge2e"):
        print("jobs not measured: no model (privacy-eval get-model ge2e)")
        return True
    with tempfile.TemporaryDirectory() as name:
        source, tree = Path(name, "source"), Path(name, "tree")
        demo = DemoSpeech(speakers=10, training=2, utterances=utterances, seconds=6.0)
        write_demo_speech(source, demo)
        program = [sys.executable, "-m", "privacy_eval"]
        speech = ("--original", str(source / "speech"), "--utt2spk", f"{source / 'speech'}_utt2spk")
        measured([*program, "data-dir", *speech, "--encoders", "ge2e-raw", "--out", str(tree)])
        of_tree = ("--tree", str(tree), "--results", "exp", "--conf", "protocol.yaml")
        runner = str(RECIPE.parents[2] / "scripts" / "run_jobs.sh")
        of_tree += ("--allow-outside", "--cmd", runner, "--nj")
        measured([*program, "anonymize", *of_tree, "2", "--anonymizer", "mcadams"])
        seconds = []
        for jobs in ("1", "2"):
            shutil.rmtree(tree / "exp" / "models", ignore_errors=True)
            seconds.append(measured([*program, "xvectors", *of_tree, jobs])[0])
        n_sets = len(list(tree.glob("exp/models/*/xvect_*")))
    work = f"GE2E, {n_sets} sets of {10 * utterances * 6 // 2} s, two jobs"
    return show([Row(work, "one job", seconds[1], seconds[0], JOBS_GOAL)])


def random_ge2e(generator: np.random.Generator) -> Ge2e:
    """An encoder of the published size."""

    def weights(*shape: int) -> NDArray[np.float32]:
        return generator.normal(scale=0.05, size=shape).astype(np.float32)

    layers = tuple((weights(d, 1024), weights(256, 1024), weights(1024)) for d in (40, 256, 256))
    return Ge2e("random", "", layers, (weights(256, 256), weights(256)))


def onnx_row(generator: np.random.Generator, repeats: int) -> bool:
    """The encoder d-vector in its own process, against onnxruntime in this one."""
    try:
        import onnxruntime

        content = load_model("d-vector")
    except (ImportError, PrivacyEvalError) as error:
        print(f"ONNX not measured: {error}")
        return True
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    own = onnxruntime.InferenceSession(content, options)
    other = OnnxSession(content, "d-vector")
    values = generator.random((24, 80, 40), np.float32)  # the windows of 10 s

    def wall(work: Callable[[], object]) -> float:
        times = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        return float(np.median(times[1:]))

    limit = wall(lambda: own.run(None, {other.input.name: values}))
    seconds = wall(lambda: other.run(values))
    return show([Row("d-vector, 10 s", "onnxruntime", seconds, limit, ONNX_GOAL)])


def attackers(scale: int, repeats: int) -> bool:
    """The words attack in seconds; a ridge map and normalized scores against their products."""
    generator = np.random.default_rng(8)
    spoken = random_texts(generator, 2620 // scale, 20)
    enrolled = random_texts(generator, 29, 300)
    pairs, dimension, cohort = 10_000 // scale, 512, 1000
    x, y = generator.standard_normal((2, pairs, dimension))
    speakers, tests = generator.standard_normal((2, 1000 // scale, dimension))
    original, anonymized = generator.standard_normal((2, cohort, dimension))
    training = Cohorts(original, anonymized, top=100)

    def products() -> None:
        weights = (x.T @ x) @ (x.T @ y)
        for _ in PENALTIES:
            x @ weights

    def products_and_sort() -> None:
        speakers @ tests.T
        for vectors, others in ((speakers, anonymized), (tests, original)):
            np.partition(vectors @ others.T, cohort - 100, axis=1)

    def times(*works: Callable[[], object]) -> tuple[float, ...]:
        return tuple(processor_time(work, repeats) for work in works)

    (seconds,) = times(lambda: words_scores(enrolled, spoken))
    work = f"words, {len(enrolled)} x {len(spoken)} utterances"
    rows = [Row(work, "a second", seconds, 1.0, WORDS_GOAL)]
    seconds, limit = times(lambda: ridge(x, y), products)
    work = f"ridge map, {pairs} pairs of {dimension} dimensions"
    rows.append(Row(work, "products", seconds, limit, RIDGE_GOAL))
    seconds, limit = times(
        lambda: aligned_scores(speakers, tests, no_alignment(), training), products_and_sort
    )
    work = f"AS-norm, {len(speakers) * len(tests):.0e} trials, cohort of {cohort}"
    rows.append(Row(work, "products, sort", seconds, limit, NORMALIZATION_GOAL))
    met = show(rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of this process: {peak:.2f} GiB (goal {ATTACKERS_GIB:g})")
    return met and peak <= ATTACKERS_GIB


def random_texts(generator: np.random.Generator, texts: int, length: int) -> list[str]:
    """Texts of words whose frequencies are those of speech: the n-th of 8000 has 1/n."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(generator.choice(letters, size)) for size in generator.integers(1, 11, 8000)]
    share = 1 / np.arange(1, len(words) + 1)
    drawn = generator.choice(len(words), (texts, length), p=share / share.sum())
    return [" ".join(words[number] for number in text) for text in drawn]


def processor_time(work: Callable[[], object], repeats: int) -> float:
    """Median seconds of all cores, whatever else they do."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times[1:]))


def help_row(repeats: int) -> Row:
    """`--help` of all verbs, on average, against importing NumPy."""
    python = [sys.executable, "-m", "privacy_eval"]

    def run(commands: list[list[str]]) -> None:
        for command in commands:
            subprocess.check_output(command, cwd=tempfile.gettempdir(), env=environment())

    helps = [[*python, verb, "--help"] for verb in VERBS]
    imports = [[sys.executable, "-c", "import numpy"] for _ in VERBS]
    times = in_turn(lambda: run(helps), lambda: run(imports), repeats)
    return Row(f"--help of {len(VERBS)} verbs", "import numpy", *times, HELP_GOAL)


def prepare_metrics(folder: Path, trials: int) -> list[str]:
    """Score file and trial key of so many trials."""
    with open(folder / "trials", "wb") as key, open(folder / "scores", "wb") as scores:
        for block in trial_blocks(trials):
            key.write(block.key())
            scores.write(block.scores())
    files = ("--scores", str(folder / "scores"), "--trials", str(folder / "trials"))
    return [sys.executable, "-m", "privacy_eval", "metrics", *files]


def prepare_similarity(folder: Path, utterances: int) -> list[str]:
    """X-vectors of a trial set."""
    write_speech(folder, utterances)
    return similarity_command(folder)


def prepare_systems(folder: Path, systems: int) -> list[str]:
    """A small tree of so many systems, of 36 conditions each."""
    tree = folder / "tree"
    write_demo_tree(tree, load_protocol("vpc2020"), speakers=4, utterances=4, systems=systems)
    stages = ("--stage", "5", "--stop-stage", "9", "--nj", "2")
    return [str(RECIPE), *stages, "--tree", str(tree)]


def system(speakers: int, utterances: int) -> bool:
    """Stages 5 to 10 of one system: 36 conditions, 12 similarity sets, tables, figures."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        protocol = load_protocol("vpc2020")
        write_demo_tree(tree, protocol, speakers=speakers, utterances=utterances, systems=1)
        runs = [recipe(tree), recipe(tree)]
    # In the second run every stage finds that nothing changed.
    rows = [[stage, *(f"{run.get(stage, 0):.1f}" for run in runs)] for stage in runs[0]]
    seconds = [sum(run.values()) for run in runs]
    met = [seconds[0] <= SYSTEM_GOAL, seconds[1] <= UNCHANGED_GOAL]
    rows.append(["all", *(f"{s:.1f}" for s in seconds)])
    rows.append(["goal", f"{SYSTEM_GOAL:g}", f"{UNCHANGED_GOAL:g}"])
    rows.append(["met", *("yes" if m else "NO" for m in met)])
    print(f"a system of {speakers} speakers and {utterances} utterances of each per trial set")
    table(rows, "stage", "s", "nothing changed, s")
    return all(met)


def recipe(tree: Path) -> dict[str, float]:
    """Seconds of every stage, by the recipe's log."""
    command = [str(RECIPE), "--stage", "5", "--stop-stage", "10", "--nj", "2", "--tree", str(tree)]
    start, stage = time.perf_counter(), "start"
    seconds: dict[str, float] = {}
    log = []
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            log.append(line)
            begun = re.search(r" (?:Stage (\d+): |Done$)", line)
            if begun:
                now = time.perf_counter()
                seconds[stage] = now - start
                start, stage = now, begun[1]
    if process.returncode:
        sys.exit("".join(log))
    return seconds


def metrics_row(trials: int, share: float, decimals: int | None, repeats: int) -> Row:
    """All score metrics in both variants against one argsort of the scores, which have
    no ties (decimals None), a few, or hardly anything else."""
    generator = np.random.default_rng(1)
    speakers = round(1 / share)
    drawn = simulate_trials(
        ScoreModel(separation=1.0, scale=10.0),
        enrolled=speakers,
        speakers=speakers,
        utterances=trials // speakers**2,
        generator=generator,
    )
    # Whole speakers that follow each other would be read faster than trials in no order.
    order = generator.permutation(trials)
    scores, is_target = drawn.score[order], drawn.is_target[order]
    if decimals is not None:
        scores = scores.round(decimals)

    def metrics() -> None:
        shared = TrialScores.from_labels(scores, is_target)
        for variant in VARIANTS:
            score_metrics(shared, variant=variant)

    times = in_turn(metrics, lambda: np.argsort(scores), repeats)
    printed = "full precision" if decimals is None else f"{decimals} decimals"
    work = f"metrics, both variants, {trials:.0e} trials, {share:.0%} targets, {printed}"
    return Row(work, "argsort", *times, METRICS_GOAL)


def bootstrap_row(repeats: int) -> Row:
    """One replicate of all metrics, both variants, against the metrics once on sorted scores."""
    drawn = simulate_trials(
        ScoreModel(separation=1.0, scale=10.0),
        enrolled=30,
        speakers=30,
        utterances=17,
        generator=np.random.default_rng(6),
    )
    replicates = 100

    def both(scores: TrialScores) -> dict[str, float]:
        values = {v: score_metrics(scores, variant=v) for v in VARIANTS}
        return {f"{v} {m}": value for v, of_v in values.items() for m, value in of_v.items()}

    def bootstrap() -> None:
        speaker_bootstrap(drawn, replicates=replicates, seed=0)

    ordered = drawn.scores
    seconds, limit = in_turn(
        bootstrap, lambda: both(TrialScores(ordered.target, ordered.nontarget)), repeats
    )
    work = f"bootstrap, one replicate, both variants, {drawn.score.size} trials"
    return Row(work, "metrics once", seconds / replicates, limit, BOOTSTRAP_GOAL)


def pairing_row(lines: int, shuffled: bool, repeats: int) -> Row:
    """Reading and pairing against splitting both files and comparing their id columns."""
    ids, labels, values = zip(*trial_lines(lines), strict=True)
    order = np.random.default_rng(5).permutation(lines).tolist() if shuffled else range(lines)
    with tempfile.TemporaryDirectory() as folder:
        trials, scores, aligned = (Path(folder) / name for name in ("trials", "scores", "aligned"))
        trials.write_text("".join(f"{i} {x}\n" for i, x in zip(ids, labels, strict=True)))
        score_lines = [f"{i} {x:.6f}\n" for i, x in zip(ids, values, strict=True)]
        aligned.write_text("".join(score_lines))
        scores.write_text("".join(score_lines[i] for i in order))

        def split_and_compare() -> None:
            a, b = trials.read_bytes().split(), aligned.read_bytes().split()
            assert a[0::3] == b[0::3] and a[1::3] == b[1::3]

        times = in_turn(
            lambda: pair(read_scores(scores), read_trials(trials)), split_and_compare, repeats
        )
    work = f"reading and pairing, {lines:.0e} lines, {'shuffled' if shuffled else 'same order'}"
    return Row(work, "bytes.split", *times, PAIRING_GOAL)


def trial_lines(trials: int) -> Iterator[tuple[str, str, float]]:
    """Ids, label and score of every trial."""
    for block in trial_blocks(trials):
        lines = block.key().decode().splitlines()
        for line, score in zip(lines, block.score.tolist(), strict=True):
            ids, label = line.rsplit(" ", 1)
            yield ids, label, score


@dataclass(frozen=True)
class TrialBlock:
    """Characters of the speakers and the utterances of some trials, scores of six decimals, and
    labels."""

    enrolled: NDArray[np.uint8]
    test: NDArray[np.uint8]
    score: NDArray[np.float64]
    is_target: NDArray[np.bool_]

    def key(self) -> bytes:
        labels = np.array([b"nontarget", b"target"])
        characters = labels.view(np.uint8).reshape(2, -1)[self.is_target.astype(int)]
        return text_lines(self.enrolled, self.test, characters)

    def scores(self) -> bytes:
        millionths = np.abs(self.score * 1e6).round().astype(np.int64)
        whole = digits(millionths // 10**6, 4)
        whole[:, :-1][np.cumsum(whole[:, :-1] > ord("0"), axis=1) == 0] = 0
        sign = np.where(self.score < 0, ord("-"), 0).astype(np.uint8)
        point = np.full_like(sign, ord("."))
        parts = sign[:, None], whole, point[:, None], digits(millionths, 6)
        return text_lines(self.enrolled, self.test, np.hstack(parts))


def digits(numbers: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The last digits of each number as characters."""
    return (numbers[:, None] // 10 ** np.arange(width)[::-1] % 10 + ord("0")).astype(np.uint8)


def text_lines(*columns: NDArray[np.uint8]) -> bytes:
    """Columns of characters, without zero bytes, separated by blanks."""
    blank, end = (np.full((len(columns[0]), 1), ord(c), np.uint8) for c in " \n")
    every = np.hstack([columns[0], *(part for c in columns[1:] for part in (blank, c)), end])
    return every[every > 0].tobytes()


def trial_blocks(trials: int) -> Iterator[TrialBlock]:
    """The trials of ten speakers, drawn a million at a time."""
    for first in range(0, trials, 10**6):
        drawn = simulate_trials(
            ScoreModel(separation=1.0, scale=30.0),
            enrolled=10,
            speakers=10,
            utterances=min(10**6, trials - first) // 100,
            generator=np.random.default_rng(2 + first),
        )
        spoken = drawn.trial_speaker.codes.astype(np.int64)
        utterance = np.arange(len(drawn)) % (len(drawn) // 100) + first // 100
        dash = np.full((len(drawn), 1), ord("-"))
        names = (spoken, 4), (utterance, 7), (utterance % 9973, 4)
        speaker, number, more = (digits(numbers, width) for numbers, width in names)
        test = np.hstack([speaker, dash, number, dash, more]).astype(np.uint8)
        enrolled = digits(drawn.enrolled.codes, 4)
        yield TrialBlock(enrolled, test, drawn.score.round(6), drawn.is_target)


def in_turn(
    ours: Callable[[], object], limit: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Median seconds of both, run one after the other so that both meet the same load;
    the first run of each is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(repeats + 1):
        for work, seconds in zip((ours, limit), times, strict=True):
            start = time.perf_counter()
            work()
            if number:
                seconds.append(time.perf_counter() - start)
    return float(np.median(times[0])), float(np.median(times[1]))


if __name__ == "__main__":
    sys.exit(main())
