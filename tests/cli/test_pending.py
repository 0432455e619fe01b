"""Where the recipe has to begin, after whatever was changed; nothing is written to find out."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ENROLLS, MODEL, TRIALS, SpeechTree, cli, lines_to, snapshot, undrawn

from privacy_eval.cli import inputs
from privacy_eval.products.freshness import NOTE
from privacy_eval.tree.discovery import find_systems

OUT = "out"
NOTHING = 11


def all_stages(tree: SpeechTree) -> None:
    """Stages 5 to 10 as the recipe calls them."""
    out = tree.root / OUT
    shown = ("--results", out / "results.json", "--conf", tree.root / "small.yaml")
    for run in (
        tree.run("subsets", "--anonymized"),
        tree.run("asv-scores"),
        tree.run("privacy-metrics", "--out", OUT),
        tree.run("similarity", "--out", OUT),
        tree.run("identification", "--out", OUT),
        tree.run("collect", "--out", OUT),
        cli("tables", *shown, "--out", out / "tables"),
        cli("figures", *shown, "--out", out / "figures"),
        cli("report", *shown, "--figures", out / "figures", "--out", out / "report.html"),
    ):
        assert run.code == 0, run.err


@pytest.fixture(scope="module", autouse=True)
def _undrawn() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        undrawn(patch)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    tree = SpeechTree(tmp_path_factory.mktemp("pending") / "tree")
    all_stages(tree)
    return tree


@pytest.fixture(name="tree")
def _tree(finished: SpeechTree, tmp_path: Path) -> SpeechTree:
    """A finished tree to be changed."""
    copy = object.__new__(SpeechTree)
    copy.root, copy.suffix, copy.results = tmp_path / "tree", finished.suffix, finished.results
    shutil.copytree(finished.root, copy.root)
    return copy


def first(tree: SpeechTree, *options: object) -> int:
    """What the verb says; it writes nothing."""
    before = snapshot(tree.root)
    run = tree.run("pending", "--out", OUT, *options)
    assert run.code == 0, run.err
    assert snapshot(tree.root) == before
    return int(run.out)


def test_nothing_to_do(tree: SpeechTree) -> None:
    assert first(tree) == NOTHING
    for stage in range(5, 11):
        assert first(tree, "--stage", stage) == NOTHING
        assert first(tree, "--stop-stage", stage) == stage + 1


def test_files_are_read_and_the_tree_is_walked_once(
    tree: SpeechTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: Counter[str] = Counter()
    real = os.open

    def counted(path: Any, *arguments: Any, **options: Any) -> int:
        opened[os.path.relpath(path, tree.root)] += 1
        return real(path, *arguments, **options)

    walks: list[Path] = []
    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(
        inputs, "find_systems", lambda *a, **o: walks.append(a[0]) or find_systems(*a, **o)
    )
    assert tree.run("pending", "--out", OUT).out == f"{NOTHING}\n"
    assert len(walks) == 1
    assert max(n for path, n in opened.items() if path.endswith(NOTE)) == 1


def new_vectors(tree: SpeechTree) -> None:
    tree.vectors(TRIALS + tree.suffix, seed=7)


def edit(path: str, change: Callable[[str], str]) -> Callable[[SpeechTree], object]:
    """Change the text of the first file of a pattern."""

    def run(tree: SpeechTree) -> None:
        file = next(tree.root.glob(path))
        file.write_text(change(file.read_text()))

    return run


def remove(path: str) -> Callable[[SpeechTree], object]:
    """Delete the first file of a pattern, or the folder."""

    def run(tree: SpeechTree) -> None:
        file = next(tree.root.glob(path))
        shutil.rmtree(file) if file.is_dir() else file.unlink()

    return run


def new_word_error_rate(tree: SpeechTree) -> None:
    line = "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] x/decode_y_tgsmall/wer_12_0.5"
    lines_to(tree.root / tree.results / "ASR-libri_dev_asr" / "WER", [line])


ONE = f"exp/*/ASV-{ENROLLS}-{TRIALS}_*/scores"


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        pytest.param(change, stage, id=f"{stage} {name}")
        for stage, name, change in (
            (5, "new x-vectors", new_vectors),
            (5, "no x-vectors", remove(f"{MODEL}/xvect_{TRIALS}")),
            (5, "key", edit(f"data/{TRIALS}/trials", lambda x: x[: x[:-1].rindex("\n") + 1])),
            (5, "enrollment", edit(f"data/{ENROLLS}/enrolls", lambda x: x.split("\n", 1)[1])),
            (5, "no scores", remove(ONE)),
            (5, "back end", lambda tree: tree.backend(f"{MODEL}/xvect_train_clean_360", seed=3)),
            (6, "external scores, kept", edit(ONE, lambda x: x.replace("\n", "1\n", 1))),
            (6, "damaged record", edit(f"{OUT}/records/**/ASV-*.json", lambda _: "{}")),
            (6, "no arrays", remove(f"{OUT}/records/**/ASV-*.npz")),
            (7, "speakers", edit(f"data/{TRIALS}/utt2spk", lambda x: x + "\n")),
            (7, "no similarity", remove(f"{OUT}/records/**/similarity-*.json")),
            (7, "no identification", remove(f"{OUT}/records/**/identification-*.json")),
            (8, "word error rate", new_word_error_rate),
            (8, "protocol", edit("small.yaml", lambda x: x.replace("title: Libri", "title: L"))),
            (8, "results by hand", edit(f"{OUT}/results.csv", lambda x: x + "\n")),
            (8, "no results", remove(f"{OUT}/results.json")),
            (9, "table by hand", edit(f"{OUT}/tables/*.tex", lambda x: x + "%\n")),
            (10, "no figure", remove(f"{OUT}/figures/*.png")),
            (10, "no report", remove(f"{OUT}/report.html")),
        )
    ],
)
def test_first_stage_after_a_change(
    change: Callable[[SpeechTree], object], stage: int, tree: SpeechTree
) -> None:
    change(tree)
    assert first(tree) == stage


@pytest.mark.parametrize(
    ("options", "stage"),
    [
        (("--bootstrap", 20), 6),
        (("--published", "vpc2020"), 9),
        (("--conventional",), 10),
        (("--system", "other"), 6),
    ],
)
def test_first_stage_after_changed_options(
    options: tuple[object, ...], stage: int, tree: SpeechTree
) -> None:
    assert first(tree, *options) == stage


def test_intervals_are_not_dropped_in_silence(tree: SpeechTree) -> None:
    replicates = ("--bootstrap", 20)
    assert tree.run("privacy-metrics", "--out", OUT, *replicates).code == 0
    assert tree.run("pending", "--out", OUT, *replicates).err == ""
    found = tree.run("pending", "--out", OUT)
    assert re.search(r"--bootstrap 20\b.* 3 conditions lose .* 20 replicates", found.err)
    assert tree.run("pending", "--out", OUT, "--stage", 7).err == ""


def test_damaged_input_is_left_to_its_stage(tree: SpeechTree) -> None:
    (tree.root / "data" / TRIALS / "trials").write_text("a b c\n")
    run = tree.run("pending", "--out", OUT)
    assert (run.code, run.out) == (0, "5\n")


def test_after_the_stages_there_is_nothing_to_do(tree: SpeechTree) -> None:
    new_vectors(tree)
    all_stages(tree)
    assert first(tree) == NOTHING


def test_jobs_are_counted_by_conditions_with_work(tree: SpeechTree, tmp_path: Path) -> None:
    """Three conditions and one voice similarity; one has scores, one could have some."""

    def jobs(tree: SpeechTree, *options: object) -> int:
        run = tree.run("pending", "--out", OUT, "--nj", 1000, "--bootstrap", 50, *options)
        return int(run.out.split()[1])

    assert jobs(tree) == 3
    shutil.rmtree(tree.scp(f"{ENROLLS}_anon").parent)
    for name in ("oa", "aa"):
        tree.all_scores[name].unlink()
    assert jobs(tree) == 2
