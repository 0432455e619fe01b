"""Where the recipe has to begin, after whatever was changed; nothing is written to find out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import ENROLLS, MODEL, TRIALS, SpeechTree, cli, lines_to, snapshot, undrawn

OUT = "out"
NOTHING = 11


def all_stages(tree: SpeechTree) -> None:
    """Stages 5 to 10 as the recipe calls them."""
    out = tree.root / OUT
    shown = ("--results", out / "results.json", "--conf", tree.root / "small.yaml")
    for run in (
        tree.run("subsets", "--anonymized"),
        tree.run("score-tree"),
        tree.run("evaluate", "--out", OUT),
        tree.run("similarity-tree", "--out", OUT),
        tree.run("collect", "--out", OUT),
        cli("tables", *shown, "--out", out / "tables"),
        cli("figures", *shown, "--out", out / "figures"),
        cli("report", *shown, "--figures", out / "figures", "-o", out / "report.html"),
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


def new_vectors(tree: SpeechTree) -> None:
    tree.vectors(TRIALS + tree.suffix, seed=7)


def no_vectors(tree: SpeechTree) -> None:
    shutil.rmtree(tree.root / MODEL / f"xvect_{TRIALS}")


def other_key(tree: SpeechTree) -> None:
    path = tree.root / "data" / TRIALS / "trials"
    lines_to(path, path.read_text().splitlines()[:-1])


def other_enrollment(tree: SpeechTree) -> None:
    path = tree.root / "data" / ENROLLS / "enrolls"
    lines_to(path, path.read_text().splitlines()[1:])


def other_scores(tree: SpeechTree) -> None:
    """Somebody else's: they are kept."""
    path = tree.all_scores["oa"]
    path.write_text(path.read_text().replace("\n", "1\n", 1))


def no_scores(tree: SpeechTree) -> None:
    tree.all_scores["aa"].unlink()


def other_back_end(tree: SpeechTree) -> None:
    tree.backend(f"{MODEL}/xvect_train_clean_360", seed=3)


def other_speakers(tree: SpeechTree) -> None:
    path = tree.root / "data" / TRIALS / "utt2spk"
    path.write_text(path.read_text() + "\n")


def damaged_record(tree: SpeechTree) -> None:
    next((tree.root / OUT / "records").rglob("ASV-*.json")).write_text("{}")


def no_curves(tree: SpeechTree) -> None:
    next((tree.root / OUT / "records").rglob("ASV-*.npz")).unlink()


def no_similarity(tree: SpeechTree) -> None:
    next((tree.root / OUT / "records").rglob("similarity-*.json")).unlink()


def other_plan(tree: SpeechTree) -> None:
    path = tree.root / "small.yaml"
    path.write_text(path.read_text().replace("title: LibriSpeech", "title: Libri"))


def new_word_error_rate(tree: SpeechTree) -> None:
    line = "%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ] x/decode_y_tgsmall/wer_12_0.5\n"
    lines_to(tree.root / tree.results / "ASR-libri_dev_asr" / "WER", [line.rstrip()])


def results_by_hand(tree: SpeechTree) -> None:
    path = tree.root / OUT / "results.csv"
    path.write_text(path.read_text() + "\n")


def table_by_hand(tree: SpeechTree) -> None:
    path = next((tree.root / OUT / "tables").glob("*.tex"))
    path.write_text(path.read_text() + "%\n")


def no_figure(tree: SpeechTree) -> None:
    next((tree.root / OUT / "figures").glob("*.png")).unlink()


def no_report(tree: SpeechTree) -> None:
    (tree.root / OUT / "report.html").unlink()


def no_results(tree: SpeechTree) -> None:
    (tree.root / OUT / "results.json").unlink()


@pytest.mark.parametrize(
    ("change", "stage"),
    [
        (new_vectors, 5),
        (no_vectors, 5),
        (other_key, 5),
        (other_enrollment, 5),
        (no_scores, 5),
        (other_back_end, 5),
        (other_scores, 6),
        (damaged_record, 6),
        (no_curves, 6),
        (other_speakers, 7),
        (no_similarity, 7),
        (new_word_error_rate, 8),
        (other_plan, 8),
        (results_by_hand, 8),
        (no_results, 8),
        (table_by_hand, 9),
        (no_figure, 10),
        (no_report, 10),
    ],
)
def test_what_changed_says_where_to_begin(
    change: Callable[[SpeechTree], None], stage: int, tree: SpeechTree
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
def test_other_options_say_where_to_begin(
    options: tuple[object, ...], stage: int, tree: SpeechTree
) -> None:
    assert first(tree, *options) == stage


def test_what_is_wrong_is_met_by_the_stage(tree: SpeechTree) -> None:
    (tree.root / "data" / TRIALS / "trials").write_text("a b c\n")
    run = tree.run("pending", "--out", OUT)
    assert (run.code, run.out) == (0, "5\n")


def test_after_the_stages_there_is_nothing_to_do(tree: SpeechTree) -> None:
    new_vectors(tree)
    all_stages(tree)
    assert first(tree) == NOTHING
