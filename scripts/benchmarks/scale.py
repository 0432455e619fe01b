"""Many trials and large galleries: time and peak memory of commands."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from privacy_eval.asv.backend import BackendName, train_backend
from privacy_eval.asv.inputs import Enrollment, Gallery
from privacy_eval.disclosure.gallery_tests import GalleryTests
from privacy_eval.io.scores import read_score_array, read_scores
from privacy_eval.io.vectors import Vectors
from privacy_eval.metrics import TrialScores, kaldi_eer, min_cllr

from .measuring import (
    Measure,
    Measured,
    Row,
    constant,
    measure,
    peak_memory,
    processor,
    program,
    run,
    show,
    show_measured,
    table,
    wall,
)
from .trials import TrialBlock, trial_blocks, write_files


def many_trials(sizes: Sequence[int], repeats: int) -> bool:
    """Time and peak memory of commands on many trials, and processor time against that of reading
    the bytes of their files; from arrays and Parquet also against sorting, without the start of a
    command."""
    rows: list[list[str]] = []
    measured: list[Measured] = []
    for size in sizes:
        with TemporaryDirectory() as name:
            folder = Path(name)
            write_trials(folder, size)
            for what, files, command in commands_on_trials(folder):
                seconds, gib, of_cores = run(command)
                (reading,) = processor(partial(read_pieces, files))()
                numbers = f"{seconds:.1f}", f"{of_cores:.1f}", f"{gib:.2f}"
                rows.append([f"{size:.0e}", what, *numbers, f"{of_cores / reading:.0f}"])
                print(*rows[-1], file=sys.stderr, flush=True)
            measured += [
                measure(row, max(1, repeats * sizes[0] // size))
                for row in rows_of_arrays(folder, size)
            ]
    table(rows, "trials", "input", "s", "processor s", "peak GiB", "times reading")
    return show_measured(measured)


def rows_of_arrays(folder: Path, trials: int) -> Iterator[Row]:
    """Arrays to Kaldi's EER and min Cllr against sorting the scores; the same from Parquet."""
    arrays = [folder / "target.npy", folder / "nontarget.npy"]

    def evaluate(scores: TrialScores) -> None:
        kaldi_eer(scores)
        min_cllr(scores)

    def of_arrays() -> None:
        evaluate(TrialScores(*(read_score_array(path) for path in arrays)))

    def of_parquet() -> None:
        evaluate(read_scores(folder / "scores.parquet").scores)

    def sides(_: Path) -> tuple[Measure, Measure]:
        scores = np.concatenate([np.load(path) for path in arrays])
        return processor(of_arrays), processor(lambda: np.argsort(scores))

    def parquet_sides(_: Path) -> tuple[Measure, Measure]:
        from pyarrow import parquet

        def twice_and_arrays() -> None:
            for _ in range(2):
                parquet.read_table(folder / "scores.parquet")
            of_arrays()

        return processor(of_parquet), processor(twice_and_arrays)

    work = f"to Kaldi's EER and min Cllr, {trials:.0e} trials"
    yield Row(f"arrays {work}", "argsort", (1.5,), sides)
    if (folder / "scores.parquet").exists():
        limit = "2 x pyarrow's reading + arrays"
        yield Row(f"Parquet {work}", limit, (1.0,), parquet_sides)


def large_gallery(enrolled: int, tests: int = 2000) -> bool:
    """Rank tests among many enrolled vectors, against the products in double precision alone,
    which cosines are made of; the default back end, which maps vectors first; peak memory."""
    generator = np.random.default_rng(11)
    ids = tuple(f"e{n}" for n in range(enrolled))
    voices = generator.standard_normal((enrolled, 512), dtype=np.float32)
    own = np.arange(tests) % (tests // 10)
    spoken = voices[own] + 6 * generator.standard_normal((tests, 512), dtype=np.float32)
    model = train_backend(voices[:10_000], [f"s{n % 1000}" for n in range(10_000)])
    seconds = {}
    with TemporaryDirectory() as name:
        utt2spk = Path(name) / "utt2spk"
        utt2spk.write_text("".join(f"t{n} e{speaker}\n" for n, speaker in enumerate(own)))
        gallery = Gallery(
            Vectors(utt2spk, ids, voices), Enrollment(utt2spk, {name: (name,) for name in ids})
        )
        spoken_by = Vectors(utt2spk, tuple(f"t{n}" for n in range(tests)), spoken)
        backends: tuple[BackendName, ...] = ("cosine", "plda")
        for backend in backends:
            attack = GalleryTests(gallery, spoken_by, utt2spk, backend, model)
            (seconds[backend],) = wall(attack.rank)()
            rate = enrolled * tests / seconds[backend]
            print(f"{tests} tests among {enrolled}, {backend}: {rate:.3g} pairs per second")
    some, others = (generator.standard_normal((n, 512)) for n in (enrolled // 100, tests))
    scores = np.empty((len(some), tests))
    limit = wall(lambda: [np.matmul(some, others.T, out=scores) for _ in range(100)])
    work = f"ranks of {tests} tests among {enrolled}, cosine"
    row = Row(work, "products", (2.0,), lambda _: (constant(seconds["cosine"]), limit))
    print(f"{voices.nbytes / 2**30:.2f} GiB of vectors")
    peak_memory()
    return show([row], 1)


def write_trials(folder: Path, trials: int) -> None:
    """Write the same trials as text, arrays and, if pyarrow is there, Parquet."""
    write_files(folder, trial_blocks(trials))
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
    paths = {path.name: path for path in folder.iterdir()} | {"counts": folder / "counts"}

    def command(what: str, verb: str, **options: str) -> tuple[str, list[Path], list[str]]:
        given = [f"--{option}={paths[file]}" for option, file in options.items()]
        inputs = [paths[file] for option, file in options.items() if option != "out"]
        return what, inputs, program(verb, *given)

    text = {"scores": "scores", "trials": "trials"}
    yield command("text, in the order of the key", "metrics", **text)
    yield command("text, to counts", "count", **text, out="counts")
    yield "counts", [paths["counts"]], program("count-metrics", str(paths["counts"]))
    yield command("arrays (.npy)", "metrics", target="target.npy", nontarget="nontarget.npy")
    if "scores.parquet" in paths:
        yield command("Parquet", "metrics", scores="scores.parquet")
        yield command("Parquet, to counts", "count", scores="scores.parquet", out="counts")


def read_pieces(files: Sequence[Path]) -> None:
    """Read files in pieces."""
    for path in files:
        with open(path, "rb") as file:
            while file.read(1 << 23):
                pass
