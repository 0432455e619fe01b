"""The contract of every product: current, rebuilt, kept, missing; killed and run together."""

import contextlib
import functools
import gzip
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    ENROLLS,
    MODEL,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    Tree,
    experiment_of,
    lines_to,
    make_planned,
    snapshot,
    stage_of,
    three_conditions,
    times,
    utterances_of,
)

import privacy_eval
from privacy_eval.errors import PROGRESS, OutputError, PrivacyEvalError, UsageError
from privacy_eval.io.files import Inputs
from privacy_eval.products import freshness
from privacy_eval.products.freshness import (
    DEBUG,
    NOTE,
    Content,
    MissingInput,
    Outcome,
    Product,
    Run,
    Sources,
    bring_up_to_date,
    estimate_lines,
    key_path,
    metrics_cost,
    scoring_cost,
    similarity_cost,
    split,
    user_key,
    write_set,
)
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.stages.access import VECTORS_NOTE, AsvSystems, TreeAccess
from privacy_eval.stages.asv_scores import make_scores, train_backends
from privacy_eval.stages.collect import collect
from privacy_eval.stages.options import MetricOptions
from privacy_eval.stages.privacy_metrics import condition_cost, evaluate_tree
from privacy_eval.stages.similarity import plan_similarity, trial_set_cost
from privacy_eval.stages.subsets import make_subsets
from privacy_eval.tree.discovery import find_systems
from privacy_eval.wings import installed

OWN = "exp/models/user_asv_eval_anon/xvect_01709_1"
PROTOCOL = load_protocol("vpc2020")


@dataclass
class Case:
    """A stage on a small tree.

    Attributes
    ----------
    run : callable
        Runs the stage; all its products are made.
    change : callable
        Changes an input of at least one product.
    folder : Path
        Where the products are.
    file : Path
        A file of a product that `change` concerns.
    """

    run: Callable[[Run], Outcome]
    change: Callable[[], object]
    folder: Path
    file: Path
    guarded: bool
    note_name: str = ""

    @property
    def note(self) -> Path:
        """The fingerprint of the product."""
        own = self.file.with_name(self.note_name or f".{self.file.stem}{NOTE}")
        return own if own.exists() else self.file.with_name(NOTE)

    def files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def notes(self) -> list[Path]:
        """The fingerprints of all products."""
        return [p for p in self.files() if p.name.startswith(".") or p.parent.name == "parts"]


def of_scores(root: Path) -> Case:
    tree = SpeechTree(root)
    return Case(
        lambda run: make_scores(stage_of(tree), run),
        lambda: tree.vectors(f"{TRIALS}_anon", seed=1),
        root / "exp/results-anon",
        tree.all_scores["aa"],
        guarded=True,
    )


def of_aligned_scores(root: Path) -> Case:
    tree = SpeechTree(root)
    for seed, name in enumerate(("train_clean_360", "train_clean_360_anon")):
        tree.training_set(name, MODEL, seed=seed)
    return Case(
        lambda run: make_scores(stage_of(tree), run, {"ridge-reverse", "procrustes"}),
        lambda: tree.training_set("train_clean_360_anon", MODEL, seed=2),
        root / "exp/results-anon",
        tree.all_scores["oa"].parent / "procrustes/scores",
        guarded=True,
    )


def of_backends(root: Path) -> Case:
    tree = SpeechTree(root, protocol=SMALL_PROTOCOL_2022)
    shutil.rmtree(root / "exp/models/asv_eval/xvect_01709_1/xvect_train_clean_360")
    tree.training_set("train_clean_360", "exp/models/asv_eval/xvect_01709_1")
    tree.training_set("train_clean_360_anon", OWN)
    folder = root / OWN / "xvect_train_clean_360_anon"

    def change() -> None:
        path = root / "data/train_clean_360_anon/utt2spk"
        path.write_text(path.read_text().replace(" t7\n", " t8\n"))

    return Case(
        lambda run: train_backends(stage_of(tree), run), change, folder, folder / "plda", True
    )


def of_subsets(root: Path) -> Case:
    source = root / "data/libri_dev"
    for name, lines in {
        "utt2spk": ["f1 f", "f2 f", "m1 m", "m2 m"],
        "wav.scp": ["f1 a", "f2 b", "m1 c", "m2 d"],
        "spk2gender": ["f f", "m m"],
        "enrolls": ["f1", "m1"],
        "trials_f": ["f f2 target"],
        "trials_m": ["m m2 target"],
    }.items():
        lines_to(source / name, lines)
    access = TreeAccess(root, root / "exp")
    return Case(
        lambda run: make_subsets(access_of(access), PROTOCOL, suffixes=[""], dry_run=run.dry_run),
        lambda: lines_to(source / "wav.scp", ["f1 A", "f2 B", "m1 C", "m2 D"]),
        root / "data",
        root / "data/libri_dev_enrolls/wav.scp",
        guarded=True,
    )


def access_of(access: TreeAccess) -> TreeAccess:
    """That of another command, which has read nothing yet."""
    return TreeAccess(access.tree, access.results)


def of_records(root: Path) -> Case:
    tree = three_conditions(root)
    name = "ASV-libri_dev_enrolls-libri_dev_trials_f_anon"
    scores = root / "exp/results-now" / name / "scores"

    def change() -> None:
        *lines, last = scores.read_text().splitlines()
        lines_to(scores, [*lines, f"{last.rsplit(' ', 1)[0]} 9"])

    def run(run: Run) -> Outcome:
        systems = find_systems(root, root / "exp", PROTOCOL)
        return evaluate_tree(systems, root / "out", tree=tree.root, run=run)

    return Case(run, change, root / "out", root / f"out/records/now/{name}.json", guarded=False)


def of_vectors(
    root: Path, plan: Callable[..., Iterable[Product]], options: object, record: str
) -> Case:
    """A stage that makes records of x-vectors."""
    tree = SpeechTree(root)
    for path in tree.all_scores.values():
        lines_to(path, ["s1 s1-u0 1"])

    def run(run: Run) -> Outcome:
        return make_planned(plan, experiment_of(tree), options, run)

    return Case(
        run,
        lambda: tree.vectors(f"{TRIALS}_anon", seed=1),
        root / "out",
        root / f"out/records/anon/{record}.json",
        guarded=False,
    )


def audio(path: Path, seed: int) -> None:
    """Half a second of noise."""
    import soundfile

    samples = np.random.default_rng(seed).normal(size=8000) * 3000
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples.astype(np.int16), 16000)


def of_anonymized_speech(root: Path) -> Case:
    from privacy_eval.speech.audio import AudioReader
    from privacy_eval.speech.trees.anonymize import McAdams, anonymize_data

    data, out = root / "data/set", root / "data/set_anon"
    speakers = {"u1": "s1", "u2": "s1", "u3": "s2"}
    for seed, name in enumerate(speakers):
        audio(root / f"{name}.flac", seed)
    lines_to(data / "utt2spk", (f"{u} {s}" for u, s in speakers.items()))
    lines_to(data / "wav.scp", (f"{u} {u}.flac" for u in speakers))

    def run(run: Run) -> Outcome:
        reader = AudioReader(data, base=root)
        return anonymize_data(data, out, reader, McAdams(), base=root, run=run)

    file = out / "wav/u1.wav"
    return Case(run, lambda: audio(root / "u1.flac", 9), out, file, False, ".s1.json")


def of_extracted_vectors(root: Path) -> Case:
    from privacy_eval.speech.trees.demo_speech import mfcc_statistics_network
    from privacy_eval.speech.trees.xvectors import make_vectors

    tree = SpeechTree(root)
    shutil.rmtree(tree.scp(TRIALS).parent)
    (root / MODEL / "final.raw").write_text(mfcc_statistics_network())
    names = list(utterances_of(TRIALS))
    for seed, name in enumerate(names):
        audio(root / f"wav/{name}.wav", seed)
    lines_to(root / "data" / TRIALS / "wav.scp", (f"{n} wav/{n}.wav" for n in names))
    return Case(
        lambda run: make_vectors(stage_of(tree), run),
        lambda: audio(root / f"wav/{names[0]}.wav", 99),
        tree.scp(TRIALS).parent,
        tree.scp(TRIALS).with_suffix(".ark"),
        True,
        VECTORS_NOTE,
    )


def of_similarity(root: Path) -> Case:
    return of_vectors(root, plan_similarity, (), f"similarity-{TRIALS}")


def of_identification(root: Path) -> Case:
    from privacy_eval.disclosure.trees import GalleryOptions, plan_identification

    return of_vectors(
        root, plan_identification, GalleryOptions(), f"identification-ASV-{ENROLLS}-{TRIALS}_anon"
    )


def of_study(root: Path) -> Case:
    from study_support import small_study

    from privacy_eval.study.run import make_records, study_products

    seed = lines_to(root / "seed", ["0"])

    def records() -> list[Product]:
        study = replace(small_study(), seed=int(seed.read_text()))
        return study_products(study, root)[1:2]

    return Case(
        lambda run: make_records(records(), run),
        lambda: lines_to(seed, ["1"]),
        root,
        root / f"records/{records()[0].name}.json",
        guarded=False,
    )


#: By wing, that of the core first.
CASES_OF: dict[str, dict[str, Callable[[Path], Case]]] = {
    "": {
        "scores": of_scores,
        "back ends": of_backends,
        "subsets": of_subsets,
        "records": of_records,
        "similarity": of_similarity,
    },
    "attackers": {"aligned scores": of_aligned_scores},
    "disclosure": {"identification": of_identification},
    "speech": {"anonymized speech": of_anonymized_speech, "x-vectors": of_extracted_vectors},
    "study": {"study": of_study},
}
INSTALLED = {"", *(wing.name for wing in installed())}
CASES = {n: case for wing in CASES_OF if wing in INSTALLED for n, case in CASES_OF[wing].items()}


class Copies:
    """A case, whose tree is made and run once: copies of it are put in its place."""

    def __init__(self, name: str, folder: Path) -> None:
        self.root, self.new, self.run = (folder / n for n in ("a tree", "new", "run"))
        self.case = CASES[name](self.root)
        shutil.copytree(self.root, self.new)
        outcome = self.case.run(Run())
        assert outcome.made and not (outcome.failed or outcome.rebuilt)
        shutil.copytree(self.root, self.run)

    def of(self, folder: Path) -> Case:
        shutil.rmtree(self.root)
        shutil.copytree(folder, self.root)
        return self.case


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Copies]:
    return functools.cache(lambda name: Copies(name, tmp_path_factory.mktemp("case")))


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def case(name: str, copies: Callable[[str], Copies]) -> Case:
    """Nothing is made yet."""
    return copies(name).of(copies(name).new)


@pytest.fixture
def done(name: str, copies: Callable[[str], Copies]) -> Case:
    """Everything is made."""
    return copies(name).of(copies(name).run)


def test_current_products_are_untouched(done: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """By content, not by time, and not by the version of the package."""
    made = done.run(Run()).current
    before = times(done.files())
    for path in done.folder.parent.rglob("*"):
        if path.is_file() and path not in before:
            os.utime(path, (2e9, 2e9))
    monkeypatch.setattr(privacy_eval, "__version__", "99")
    again = done.run(Run())
    assert (again.made, again.current) == ([], made)
    assert times(done.files()) == before


def made_of_inputs(file: Path) -> Any:
    """Content of a product; of a record, its values without the digests of its inputs."""
    if file.suffix != ".json":
        return file.read_bytes()
    record = json.loads(file.read_text())
    if isinstance(record, dict):
        return {k: v for k, v in record.items() if k not in ("provenance", "curves_sha256")}
    return record


def test_changed_input_rebuilds_its_products(done: Case) -> None:
    before = made_of_inputs(done.file)
    done.change()
    outcome = done.run(Run())
    assert outcome.made and list(outcome.rebuilt) == outcome.made
    assert not (outcome.failed or outcome.kept)
    assert made_of_inputs(done.file) != before
    assert done.run(Run()).made == []


def test_a_dry_run_writes_nothing(case: Case) -> None:
    def dry() -> Outcome:
        before = snapshot(case.folder)
        outcome = case.run(Run(dry_run=True))
        assert snapshot(case.folder) == before
        return outcome

    assert dry().made
    made = case.run(Run()).made
    assert dry().made == []
    case.change()
    assert set(dry().made) <= set(made) and dry().made


@pytest.mark.parametrize("damage", ["cut", "edited", "removed", "no fingerprint", "not JSON", "{}"])
def test_damaged_products(done: Case, damage: str) -> None:
    """A guarded one is then taken for another tool's and kept; others are rebuilt."""
    before = snapshot(done.folder)
    if damage == "cut":
        done.file.write_bytes(done.file.read_bytes()[:-3])
    elif damage == "edited":
        done.file.write_bytes(done.file.read_bytes().replace(b"1", b"2") + b" ")
    elif damage == "removed":
        done.file.unlink()
    elif damage == "no fingerprint":
        done.note.unlink()
    else:
        done.note.write_text("{" if damage == "not JSON" else "{}")
    damaged = snapshot(done.folder)
    outcome = done.run(Run())
    if done.guarded and (damage != "removed" or done.file.parent.parent.name == "data"):
        assert len(outcome.kept) == 1 and outcome.made == []
        assert snapshot(done.folder) == damaged
        done.change()
        assert len(done.run(Run()).kept) == 1
        assert (
            snapshot(done.folder).items()
            >= {
                n: c for n, c in damaged.items() if n.startswith(str(done.file.parent.name))
            }.items()
        )
    else:
        assert (len(outcome.made), outcome.kept) == (1, [])
        assert snapshot(done.folder) == before


@pytest.mark.parametrize("before", ["nothing", "older"])
def test_killed_at_any_write_the_next_run_ends_with_the_same_bytes(
    case: Case, before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before == "older":
        case.run(Run())
        case.change()
    start = tmp_path / "start"
    if case.folder.exists():
        shutil.copytree(case.folder, start)
    case.run(Run())
    expected = snapshot(case.folder)
    for step in range(6):
        shutil.rmtree(case.folder)
        if start.exists():
            shutil.copytree(start, case.folder)
        left = step

        def killed(real: Callable[..., None], *arguments: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            real(*arguments)

        for name in ("replace", "rename"):
            monkeypatch.setattr(os, name, functools.partial(killed, getattr(os, name)))
        with contextlib.suppress(KeyboardInterrupt):
            case.run(Run())
        monkeypatch.undo()
        outcome = case.run(Run())
        assert not (outcome.kept or outcome.failed), step
        assert snapshot(case.folder) == expected, step
        if left >= 0:
            break
    assert step > 0


# Subsets are made under a lock.
@pytest.mark.parametrize("name", [name for name in CASES if name != "subsets"], indirect=True)
def test_another_run_that_is_faster_is_not_taken_for_another_tool(
    done: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    done.change()
    real = Product.read_fingerprint

    def after_another_run(product: Product) -> object:
        monkeypatch.undo()
        done.run(Run())
        return real(product)

    monkeypatch.setattr(Product, "read_fingerprint", after_another_run)
    outcome = done.run(Run())
    assert (outcome.kept, outcome.failed) == ([], {})
    assert done.run(Run()).made == []


@pytest.mark.parametrize("name", [name for name in CASES if name != "subsets"], indirect=True)
def test_files_that_another_run_made_meanwhile_stay_in_place(
    done: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = times(set(done.files()) - set(done.notes()))
    monkeypatch.setattr(Product, "is_whole", lambda *_: False)
    assert done.run(Run()).rebuilt
    assert times(before) == before


# Data folders are made of each other, and sets of x-vectors are put together after the jobs.
@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("subsets", "x-vectors")], indirect=True
)
def test_job_splits_cover_everything_once(case: Case) -> None:
    made = [name for job in (1, 2, 3) for name in case.run(Run((job, 3))).made]
    assert len(made) == len(set(made)) and case.run(Run()).made == []


def test_leftovers_of_killed_writers_are_swept(done: Case) -> None:
    before = snapshot(done.folder)
    if done.folder.name == "data":
        left = done.folder / f".{done.file.parent.name}.abcdefgh.tmp"
        left.mkdir()
    else:
        for path in (done.file, done.note):
            (path.parent / f".{path.name}.abcdefgh.tmp").write_text("half")
    assert done.run(Run()).made == []
    assert snapshot(done.folder) == before
    assert not list(done.folder.rglob("*.tmp"))


def test_inputs_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run that computes, in one that has nothing to do, and when records are collected;
    archives of vectors for their digest, and once more where they are used."""
    tree = SpeechTree(tmp_path / "tree")
    make_scores(stage_of(tree))
    wer = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/decode/wer_9_0.5"
    lines_to(tree.root / "exp/results-anon/ASR-libri_dev_asr/WER", [wer])
    opened: Counter[str] = Counter()
    real = os.open

    def counted(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        # Folders and temporary files are opened without following links, to lock them.
        reading = not flags & (os.O_WRONLY | os.O_RDWR | os.O_NOFOLLOW)
        if reading and str(path).startswith(str(tree.root)):
            opened[os.path.relpath(path, tree.root)] += 1
        return real(path, flags, *arguments, **options)

    systems = find_systems(tree.root, tree.root / "exp", tree.protocol)
    out = tree.root / "out"
    options = MetricOptions(bootstrap=2)
    stages: dict[str, Callable[[], object]] = {
        "evaluate": lambda: evaluate_tree(systems, out, tree=tree.root, options=options),
        "evaluate again": lambda: evaluate_tree(systems, out, tree=tree.root, options=options),
        "collect": lambda: collect(systems, out, tree.protocol, tree=tree.root),
        "scores": lambda: make_scores(stage_of(tree)),
        "similarity": lambda: make_planned(plan_similarity, experiment_of(tree), (), Run()),
    }
    monkeypatch.setattr(os, "open", counted)
    for stage, run in stages.items():
        opened.clear()
        run()
        inputs = {n: c for n, c in opened.items() if "/" in n and NOTE not in n}
        often = {name: n for name, n in inputs.items() if n > 1 + name.endswith(".ark")}
        assert inputs and not often, stage
        assert any(n.endswith("/WER") for n in inputs) == (stage == "collect")


def test_content_of_a_fingerprint(done: Case) -> None:
    plain = json.loads(done.note.read_text())
    assert {"key", "revision", "subject", "options", "inputs", "files"} <= set(plain)
    for entry in plain["inputs"].values():
        assert len(entry["sha256"]) == 64 and not os.path.isabs(entry["path"])
    assert plain["files"] and not plain["replaces"]
    assert str(done.folder.parent) not in done.note.read_text()


def test_a_set_of_files_loses_those_of_before(tmp_path: Path) -> None:
    write_set(tmp_path, {"a.txt": "1", "sub/b.txt": "2"})
    (tmp_path / "mine.txt").write_text("x")
    before = times([tmp_path / "a.txt"])
    write_set(tmp_path, {"a.txt": "1"})
    assert sorted(snapshot(tmp_path)) == [NOTE, "a.txt", "mine.txt"]
    assert times(before).keys() == before.keys()


def test_a_fingerprint_of_an_untrusted_tree_removes_nothing_elsewhere(tmp_path: Path) -> None:
    out, precious = tmp_path / "out", lines_to(tmp_path / "precious.txt", ["x"])
    write_set(out, {"a.txt": "1"})
    note = json.loads((out / NOTE).read_text())
    note["files"] = {"../precious.txt": "", "a.txt": ""}
    (out / NOTE).write_text(json.dumps(note))
    write_set(out, {"b.txt": "1"})
    assert precious.exists() and sorted(snapshot(out)) == [NOTE, "a.txt", "b.txt"]


def test_there_is_one_schema(done: Case) -> None:
    notes = [path for path in done.notes() if path.suffix == ".json"]
    assert done.note in notes
    for path in notes:
        names = {*freshness.Fingerprint.__annotations__, "hmac"}
        assert set(json.loads(path.read_text())) == names


@pytest.mark.parametrize("by", ["another user", "a forger", "an earlier version"])
def test_only_fingerprints_of_this_user_count(
    done: Case, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a submission brings is rebuilt, or kept as external, and the outcome says so."""
    whole = snapshot(done.folder)
    if by == "another user":
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    else:
        note = json.loads(done.note.read_text())
        name = os.path.relpath(done.file, done.note.parent)
        if by == "a forger":
            done.file.write_bytes(done.file.read_bytes() + b"\n")
            note["files"][name] = hashlib.sha256(done.file.read_bytes()).hexdigest()
        else:
            del note["hmac"]
        done.note.write_text(json.dumps(note))
    outcome = done.run(Run())
    if done.guarded:
        assert any(freshness.UNSIGNED in text for text in outcome.notes) and outcome.kept
        assert not outcome.rebuilt
    else:
        assert outcome.made and not outcome.kept
        assert set(outcome.rebuilt.values()) == {freshness.UNSIGNED}
        assert done.run(Run()).made == []
        if by != "another user":
            assert snapshot(done.folder) == whole


def test_without_a_place_for_the_key_there_is_one_error(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(lines_to(tmp_path / "file", ["x"])))
    with pytest.raises(PrivacyEvalError, match="set XDG_STATE_HOME"):
        case.run(Run())


NAMES = ("first", "bad", "last")
RUNS = {"serial": Run(), "parallel": Run(nj=2), "isolated": Run(isolated=True)}


def find(inputs: Inputs) -> Sources:
    return {}


def make(path: Path, *_: object) -> Content:
    return Content({path: b"content"})


def fail(error: BaseException, *_: object) -> Any:
    raise error


def product(folder: Path, name: str, **overrides: Any) -> Product:
    path = folder / name / "file"
    defaults = {"find": find, "make": partial(make, path)}
    return Product(name, folder, path.with_name(NOTE), (path,), **{**defaults, **overrides})


def outcome_of(folder: Path, run: Run, **overrides: Any) -> Outcome:
    """Run three products, of which the second differs."""
    products = [product(folder, n, **(overrides if n == "bad" else {})) for n in NAMES]
    return bring_up_to_date(products, Inputs(), run)


ERRORS = [
    (ValueError("no number"), "ValueError: no number"),
    (KeyError("EER"), "KeyError: 'EER'"),
    (RecursionError("too deep"), "RecursionError: too deep"),
    (OverflowError("too large"), "OverflowError: too large"),
    (MemoryError(), "not enough memory"),
    (PrivacyEvalError("scores:1: empty"), "scores:1: empty"),
]


@pytest.mark.parametrize(("error", "message"), ERRORS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("where", ["find", "make"])
def test_other_products_are_made(
    error: Exception, message: str, run: Run, where: str, tmp_path: Path
) -> None:
    outcome = outcome_of(tmp_path, run, **{where: partial(fail, error)})
    assert outcome.failed == {"bad": message}
    assert outcome.made == ["first", "last"]
    assert sorted(path.parent.name for path in tmp_path.glob("*/file")) == ["first", "last"]


def test_failures_before_the_work_begins_are_those_of_one_product(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, Run(), absent=partial(fail, ValueError("a name")))
    assert outcome.failed == {"bad": "ValueError: a name"}
    assert outcome.made == ["first", "last"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("error", [OutputError("disk full"), UsageError("--option")], ids=repr)
def test_errors_of_all_products_end_the_run(error: Exception, run: Run, tmp_path: Path) -> None:
    with pytest.raises(type(error), match=str(error)):
        outcome_of(tmp_path, run, make=partial(fail, error))


def test_an_interrupt_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        outcome_of(tmp_path, Run(), make=partial(fail, KeyboardInterrupt()))
    assert not (tmp_path / "last").exists()


@pytest.mark.parametrize("variable", [(DEBUG, "1"), (PROGRESS, "lines")])
def test_the_traceback_is_logged_in_jobs_and_on_request(
    variable: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable)
    outcome = outcome_of(tmp_path, Run(), make=partial(fail, ValueError("no number")))
    cause, *lines = outcome.failed["bad"].splitlines()
    assert cause == "ValueError: no number" and lines[0].startswith("Traceback")
    assert any("in fail" in line for line in lines)
    missing = outcome_of(tmp_path, Run(), find=partial(fail, MissingInput("key", "trials")))
    assert [*missing.missing] == ["bad"] and missing.failed == {}


def test_a_product_whose_inputs_cannot_be_read_is_not_current(tmp_path: Path) -> None:
    good = product(tmp_path, "good")
    assert bring_up_to_date([good], Inputs()).made == ["good"]
    assert good.is_current(Inputs())
    assert not product(tmp_path, "good", find=partial(fail, KeyError("x"))).is_current(Inputs())


def shares_of(seconds: list[float], jobs: int) -> list[list[int]]:
    return [split(range(len(seconds)), seconds, (j, jobs)) for j in range(1, jobs + 1)]


@settings(max_examples=80)
@given(
    seconds=st.lists(st.floats(0, 1e4) | st.sampled_from([0.0, 1.0, 2.0]), max_size=30),
    jobs=st.integers(1, 8),
)
def test_every_piece_is_in_one_share_and_none_is_too_heavy(seconds: list[float], jobs: int) -> None:
    shares = shares_of(seconds, jobs)
    assert sorted(i for part in shares for i in part) == list(range(len(seconds)))
    assert all(part == sorted(part) for part in shares)
    assert shares == shares_of(seconds, jobs)
    heaviest = max(sum(seconds[i] for i in part) for part in shares)
    bound = sum(seconds) / jobs + max(seconds, default=0.0)
    assert heaviest <= bound * (1 + 1e-9)


@given(
    seconds=st.lists(st.integers(0, 50), max_size=20).map(lambda x: [float(i) for i in x]),
    jobs=st.integers(1, 5),
)
def test_shares_by_a_second_implementation(seconds: list[float], jobs: int) -> None:
    loads = np.zeros(jobs)
    expected: list[list[int]] = [[] for _ in range(jobs)]
    for index in np.argsort(-np.array(seconds), kind="stable").tolist():
        lightest = int(np.argmin(loads))  # the first of equal ones
        loads[lightest] += seconds[index]
        expected[lightest].append(index)
    assert shares_of(seconds, jobs) == [sorted(part) for part in expected]


def test_shares_by_hand() -> None:
    assert shares_of([1, 5, 2, 3, 3], 2) == [[1, 2], [0, 3, 4]]
    assert shares_of([], 2) == [[], []]
    assert shares_of([1, 1], 4) == [[0], [1], [], []]


def test_costs_grow_with_the_work_and_no_piece_is_free() -> None:
    for function in (metrics_cost, scoring_cost, similarity_cost):
        costs = [function(n) for n in (0, 10, 10**4, 10**6)]
        assert 0 < costs[0] and costs == sorted(set(costs))
    assert metrics_cost(10**5, 10) < metrics_cost(10**5, 100)


def test_lines_by_the_size_of_a_file(tmp_path: Path) -> None:
    lines = [f"{1000 + i % 40} {1000 + i % 40}-128104-{i:04d} target" for i in range(3000)]
    assert estimate_lines(lines_to(tmp_path / "trials", lines)) == pytest.approx(3000, rel=0.2)
    assert (
        estimate_lines(tmp_path / "none") == estimate_lines(tmp_path) == estimate_lines(None) == 0
    )


def test_lines_of_a_gzip_file_count_unpacked(tmp_path: Path) -> None:
    """A file of little size does not pass for one of few lines, whatever its name."""
    text = b"1 1-128104-0001 0.123456789\n" * 100_000
    for name in ("scores.gz", "scores"):
        (tmp_path / name).write_bytes(gzip.compress(text))
        assert estimate_lines(tmp_path / name) == pytest.approx(100_000, rel=0.2)
    (tmp_path / "cut").write_bytes(b"\x1f\x8b")
    assert 0 <= estimate_lines(tmp_path / "cut") < 10


# --- of a tree

PROTOCOL_JOBS = load_protocol("vpc2020")


def conditions(root: Path) -> Tree:
    """Three conditions, of which one costs more than the others together."""
    tree = Tree(root)
    tree.keys("libri_dev_trials_f", "libri_dev_trials_f_anon")
    paths = tree.libri("exp/results-now")
    paths[1].write_text(paths[1].read_text() * 4000)
    return tree


def test_the_largest_condition_has_its_own_job(tmp_path: Path) -> None:
    tree = conditions(tmp_path)
    systems = find_systems(tmp_path, tmp_path / "exp", PROTOCOL_JOBS)
    largest = max(systems[0].conditions, key=condition_cost)
    assert largest.condition.name == "ASV-libri_dev_enrolls-libri_dev_trials_f_anon"
    names = []
    for job in (1, 2, 2, 1):  # records that are there by then change nothing
        outcome = evaluate_tree(systems, tree.root / "out", tree=tmp_path, run=Run((job, 2)))
        names.append({*outcome.made, *outcome.current, *outcome.failed})
    assert names[0] == names[3] == {f"now {largest.condition.name}"}
    assert len(names[1]) == 2 and names[1] == names[2] and not names[0] & names[1]


def test_a_trial_set_costs_by_its_utterances(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "t")
    (trial_set,) = tree.protocol.trial_sets()

    def cost() -> float:
        access = TreeAccess(tree.root, tree.root / "exp")
        return trial_set_cost(trial_set, AsvSystems(access, tree.protocol))

    assert cost() == similarity_cost(12)
    utt2spk = tree.root / "data/libri_dev_trials_f/utt2spk"
    # What lies outside the tree is not read.
    utt2spk.rename(tmp_path / "elsewhere")
    utt2spk.symlink_to(tmp_path / "elsewhere")
    assert cost() == similarity_cost(0)
    utt2spk.unlink()
    assert cost() == similarity_cost(0)


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_it_is_made_on_request_only_and_readable_by_its_owner_only(own_state: Path) -> None:
    assert user_key() is None and not own_state.exists()
    made = user_key(create=True)
    assert made and made == user_key() == user_key(create=True)
    path = own_state / "privacy_eval/key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["key"]


def test_jobs_that_begin_together_get_the_same_key(own_state: Path) -> None:
    code = "from privacy_eval.products.freshness import user_key as key; print(key(create=True))"
    jobs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(6)
    ]
    assert len({job.communicate()[0] for job in jobs}) == 1
    assert [p.name for p in (own_state / "privacy_eval").iterdir()] == ["key"]


@pytest.mark.parametrize("relative", ["", "exp/state"])
def test_a_relative_state_folder_is_not_used(
    relative: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be looked for in the folder one is in, which may be a submission."""
    monkeypatch.setenv("XDG_STATE_HOME", relative)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_path() == tmp_path / ".local/state/privacy_eval/key"


@pytest.mark.parametrize("content", ["", "0" * 63, "0" * 65, "x" * 64])
def test_a_damaged_key_is_refused(own_state: Path, content: str) -> None:
    path = own_state / "privacy_eval/key"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(PrivacyEvalError, match="key: damaged; remove it"):
        user_key(create=True)


def test_a_folder_in_its_place_is_an_error(own_state: Path) -> None:
    (own_state / "privacy_eval/key").mkdir(parents=True)
    with pytest.raises(PrivacyEvalError, match="set XDG_STATE_HOME"):
        user_key(create=True)
