"""The verbs from x-vectors to scores and voice similarity: contracts, codes, bad input."""

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    ODD_NAME,
    TRIALS,
    Run,
    SpeechTree,
    cli,
    command,
    csv_rows,
    lines_to,
    ok,
    options_of,
    printed,
    refused,
    snapshot,
    times,
    utterances_of,
)

import privacy_eval.stages.collect as collecting
from privacy_eval.asv.backend import BACKENDS, score_matrix, train_backend
from privacy_eval.asv.inputs import load_enrollment
from privacy_eval.asv.model_folder import load_backend
from privacy_eval.asv.trials import score_trials
from privacy_eval.asv.voice_similarity import voice_similarity
from privacy_eval.choices import DEMO_MARKER
from privacy_eval.io.vectors import read_vectors, write_vectors
from privacy_eval.metrics import METRICS, VARIANTS
from privacy_eval.products.freshness import NOTE
from privacy_eval.results.json_store import read_results
from privacy_eval.stages.access import TreeAccess


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    return SpeechTree(tmp_path / f"a {ODD_NAME}")


class Files:
    """The single verbs on files of a tree."""

    def __init__(self, tree: SpeechTree) -> None:
        self.tree = tree
        self.root = tree.root
        self.out = tree.root / "out/scores"

    def score(self, *more: object, model: object = BACKEND, trial: str = TRIALS) -> Run:
        return cli(
            "asv-scores",
            *("--scp-base", self.root, "--model", self.root / str(model)),
            *("--enroll-vectors", self.tree.scp(ENROLLS)),
            *("--spk2utt", self.root / f"data/{ENROLLS}/spk2utt"),
            *("--trial-vectors", self.tree.scp(trial)),
            *("--trials", self.root / f"data/{trial}/trials", "--out", self.out),
            *more,
        )

    def similarity(self, *more: object, model: object = BACKEND) -> Run:
        return cli(
            "similarity",
            *("--scp-base", self.root, "--model", self.root / str(model)),
            *("--original", self.tree.scp(TRIALS), "--anonymized", self.tree.scp(f"{TRIALS}_anon")),
            *("--utt2spk", self.root / f"data/{TRIALS}/utt2spk"),
            *more,
        )


@pytest.fixture(name="files")
def _files(tree: SpeechTree) -> Files:
    return Files(tree)


# --- options


def keywords(function: Callable[..., object]) -> set[str]:
    return {n for n, p in signature(function).parameters.items() if p.kind == p.KEYWORD_ONLY}


def test_options_are_the_keywords_of_the_functions() -> None:
    reading = keywords(read_vectors) - {"only", "double"}  # a sample; the precision of alignment
    assert reading == {"tree", "allow_pipes", "allow_outside"}

    def of(verb: str) -> set[str]:
        return {*options_of(verb), *options_of(f"stage {verb}")} - reading

    enrolled = set(signature(load_enrollment).parameters)
    vectors = {"enroll_vectors", "trial_vectors", "trials", "out"}
    tree = {"tree", "results", "out", "conf", "system", "anon_suffix", "keys", "allow_outside"}
    jobs = {"nj", "cmd", "log_dir", "job", "isolate"}
    stage = tree | jobs | {"config", "scp_base", "details"}
    attackers = {"attackers", "align", "align_from", "align_to", "top"}
    attackers |= {"cohort", "cohort_anonymized", "cohort_spk2utt"}
    attackers |= {"standardize", "lda", "lda_utt2spk", "lda_dim", "lda_ridge"}
    asv_scores = keywords(score_trials) | enrolled | vectors | stage | attackers
    assert of("asv-scores") | reading == asv_scores | reading
    # `part` is for the sets of a tree; there is one variant or both.
    similarity = set(signature(voice_similarity).parameters) - {"part", "variants", "speakers"}
    assert (
        of("similarity") | reading
        == similarity | {"utt2spk", "variant", "format"} | stage | reading
    )
    trained = keywords(train_backend) | {"vectors", "utt2spk"} | stage - jobs
    assert of("train-backend") | reading == trained | reading
    for verb in ("asv-scores", "similarity"):
        assert options_of(verb)["backend"].choices == list(BACKENDS)
    assert options_of("similarity")["variant"].choices == [*VARIANTS, "both"]
    place = {f.name for f in fields(TreeAccess)} - {"inputs"}
    assert place <= tree | {"allow_pipes", "allow_missing"}
    assert set(options_of("stage subsets")) == tree | {"anonymized", "details", "config"}


# --- score


def test_scores_of_one_condition(files: Files) -> None:
    """The same text as of a whole tree; `--tree` is where paths in scp files start."""
    assert files.score() == Run(0, "", "")
    text = files.out.read_text()
    assert files.tree.run("asv-scores").code == 0
    assert files.tree.all_scores["oo"].read_text() == text
    assert len(text.splitlines()) == 48
    assert all(re.fullmatch(r"s\d s\d-u\d -?\d[\d.e-]*", line) for line in text.splitlines())
    done = command(
        *("asv-scores", "--model", BACKEND, "--backend", "plda"),
        *("--enroll-vectors", f"{MODEL}/xvect_{ENROLLS}/xvector.scp"),
        *("--spk2utt", f"data/{ENROLLS}/spk2utt", "--enrolls", f"data/{ENROLLS}/enrolls"),
        *("--trial-vectors", f"{MODEL}/xvect_{TRIALS}/xvector.scp"),
        *("--trials", f"data/{TRIALS}/trials", "--out", "scores"),
        cwd=files.root,
    )
    assert done == Run(0, "", "")
    assert (files.root / "scores").read_text() == text


@pytest.mark.parametrize("backend", ["cosine", "euclidean"])
def test_other_back_ends_need_no_model(files: Files, backend: str) -> None:
    more = ("--backend", backend)
    assert files.score(*more, model="no/where") == Run(0, "", "")
    found = [float(line.split()[2]) for line in files.out.read_text().splitlines()]
    one, two = (read_vectors(files.tree.scp(n), tree=files.root) for n in (ENROLLS, TRIALS))
    means = np.stack([one.matrix[2 * i : 2 * i + 2].mean(axis=0) for i in range(4)])
    assert found == pytest.approx(
        score_matrix(means, 2, two.matrix, backend=backend).ravel(),  # type: ignore[arg-type]
        abs=1e-5,
    )
    run = ok(files.similarity(*more, "--format", "json", model="no/where"))
    assert json.loads(run.out)["exact"]["deid"] <= 1


def test_a_model_of_plda_alone(files: Files) -> None:
    """Vectors that are projected already."""
    shutil.copytree(files.root / BACKEND, files.root / "alone")
    (files.root / "alone/mean.vec").unlink()
    run = ok(files.score(model="alone"))
    assert f"{files.root}/alone: no mean.vec" in run.err
    (files.root / "alone/transform.mat").unlink()
    refused(files.score(model="alone"), "vectors of 6 dimensions, the PLDA model has 5")


def test_scores_with_utterances_left_out(files: Files) -> None:
    files.tree.vectors(TRIALS, without=["s2-u1"])
    files.tree.vectors(ENROLLS, without=["s4-e0"])
    run = files.score("--allow-missing")
    assert run == Run(
        0, "", "privacy-eval: 4 trials and 1 enrollment utterances without x-vectors left out\n"
    )
    assert len(files.out.read_text().splitlines()) == 44


# --- similarity


def test_similarity_as_json(files: Files) -> None:
    run = files.similarity("--format", "json")
    assert (run.code, run.err) == (0, "")
    plain = json.loads(run.out)
    assert list(plain) == ["challenge", "exact", "speakers"]
    assert list(plain["challenge"]) == ["deid", "gvd_db"]
    assert list(plain["exact"]) == ["deid", "gvd_db", "d_diag_oo", "d_diag_oa", "d_diag_aa"]
    assert plain["speakers"] == 4
    exact = plain["exact"]
    assert exact["deid"] == pytest.approx(1 - exact["d_diag_oa"] / exact["d_diag_oo"])
    assert exact["gvd_db"] == pytest.approx(
        10 * math.log10(exact["d_diag_aa"] / exact["d_diag_oo"])
    )
    for variant in VARIANTS:
        one = json.loads(files.similarity("--variant", variant, "--format", "json").out)
        assert one == {variant: plain[variant], "speakers": 4}
    assert json.loads(files.similarity("--variant", "both", "--format", "json").out) == plain
    allowed = json.loads(files.similarity("--allow-missing", "--format", "json").out)
    assert allowed == {**plain, "utterances_left_out": 0}


def test_similarity_as_text(files: Files) -> None:
    plain = json.loads(files.similarity("--format", "json").out)
    text = files.similarity().out
    assert text.startswith("4 speakers, ") and "\nThe least protected speakers (" in text
    values = [row["Value"] for row in printed(text)]
    for variant, place in (("challenge", 0), ("exact", 5)):
        keys = ("deid", "gvd_db")
        expected = [METRICS[k].format(plain[variant][k], detailed=True) for k in keys]
        assert [value.split()[0] for value in values[place : place + 2]] == expected
        one = printed(files.similarity("--variant", variant, "--format", "text").out)
        assert [row["Value"] for row in one[:2]] == values[place : place + 2]
    assert [row["Metric"] for row in printed(text)[10:13]] == [
        METRICS["deid"].sentence,
        METRICS["linkability"].sentence,
        "evidence",
    ]


def test_similarity_leaves_its_matrices(files: Files) -> None:
    out = files.root / "new/folder"
    assert files.similarity("--out", out).code == 0
    matrices = {f"similarity_matrix_{n}.npy" for n in ("osp_osp", "osp_psp", "psp_psp")}
    assert {p.name for p in out.iterdir()} == matrices | {
        *("similarity.npz", "speakers.csv", "DeIDentification", "gain_of_voice_distinctiveness")
    }
    stored = np.load(out / "similarity.npz")
    assert stored["speakers"].tolist() == ["s1", "s2", "s3", "s4"]
    kinds = {"oo": "osp_osp", "oa": "osp_psp", "aa": "psp_psp"}
    assert set(stored) == {"speakers", *(f"{v}_{k}" for v in VARIANTS for k in kinds)}
    for kind, name in kinds.items():
        matrix = np.load(out / f"similarity_matrix_{name}.npy")
        assert np.array_equal(matrix, stored[f"challenge_{kind}"])
        assert ((matrix > 0) & (matrix < 1)).all()
    rows = csv_rows(out / "speakers.csv")
    assert {r["speaker"] for r in rows} == {"s1", "s2", "s3", "s4"}
    assert [float(r["deid"]) for r in rows] == sorted(float(r["deid"]) for r in rows)
    plain = json.loads(files.similarity("--format", "json").out)
    for name, key in (("DeIDentification", "deid"), ("gain_of_voice_distinctiveness", "gvd_db")):
        assert float((out / name).read_text().split(":")[1]) == plain["challenge"][key]
    assert files.similarity("--out", out, "--variant", "exact").code == 0
    text = (out / "DeIDentification").read_text()
    assert float(text.split(":")[1]) == plain["exact"]["deid"]


def test_similarity_with_utterances_left_out(files: Files) -> None:
    files.tree.vectors(f"{TRIALS}_anon", without=["s1-u0", "s2-u0", "s2-u1"])
    run = files.similarity("--allow-missing", "--format", "json")
    assert (run.code, run.err) == (0, "privacy-eval: left out 4 utterances\n")
    plain = json.loads(run.out)
    assert (plain["speakers"], plain["utterances_left_out"]) == (3, 4)


# --- train-backend


def test_training_a_back_end(files: Files) -> None:
    scp = files.tree.training_set("train", MODEL)
    utt2spk = files.root / "data/train/utt2spk"
    common = ("--vectors", scp, "--utt2spk", utt2spk, "--scp-base", files.root)
    out = files.root / "new/model"
    run = cli("train-backend", *common, "--out", out)
    assert run == Run(0, f"{out}: back end from 80 x-vectors of 20 speakers\n", "")
    assert {p.name for p in out.iterdir()} == {"plda", "mean.vec", "transform.mat"}
    assert load_backend(out).model.transform.shape == (6, 7)  # type: ignore[union-attr]
    assert files.score(model="new/model") == Run(0, "", "")
    before = snapshot(out)
    assert cli("train-backend", *common, "--out", out).code == 0
    assert snapshot(out) == before
    more = ("--lda-dim", 3, "--total-covariance-factor", 0.1)
    assert cli("train-backend", *common, "--out", out, *more).code == 0
    assert load_backend(out).model.transform.shape == (3, 7)  # type: ignore[union-attr]
    for options, message in (
        (("--lda-dim", 7), "LDA to 7 dimensions: expected 1 to 6"),
        (("--total-covariance-factor", "2"), "factor must be within 0 and 1, not 2.0"),
    ):
        before = snapshot(out)
        run = cli("train-backend", *common, "--out", out, *options)
        assert (run.code, run.out) == (1, "")
        assert run.err.startswith(f"privacy-eval: {scp}: ") and message in run.err
        assert snapshot(out) == before
    lines_to(utt2spk, utt2spk.read_text().splitlines()[:-5])
    run = refused(cli("train-backend", *common, "--out", out), "no speaker of 5 utterances")
    assert run.err.endswith("t18-u3, t19-u0, t19-u1, t19-u2, t19-u3\n")


# --- bad input of the single verbs


def four_dimensions(files: Files) -> None:
    """Trial vectors of four dimensions instead of six."""
    spoken = utterances_of(TRIALS)
    matrix = np.random.default_rng(1).normal(size=(len(spoken), 4))
    write_vectors(files.tree.scp(TRIALS), list(spoken), matrix, tree=files.root)


def first_line(target: str) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        scp = files.tree.scp(TRIALS)
        lines = scp.read_text().splitlines()
        lines_to(scp, [f"{lines[0].split()[0]} {target}", *lines[1:]])

    return change


#: By name: what is done, and facts that the message of both verbs tells; damaged vectors are in
#: tests/io/test_vectors.py.
BAD: dict[str, tuple[Callable[[Files], object], str]] = {
    "no plda": (lambda f: (f.root / BACKEND / "plda").unlink(), "xvect_train_clean_360: .* plda"),
    "two dimensions": (four_dimensions, r"xvector.scp: .*vectors of \d dimensions, .* \d"),
    "a pipe": (first_line("touch pwned |"), "xvector.scp:1: s1-u0 .*--allow-pipes"),
    "outside": (first_line("/etc/passwd:5"), "xvector.scp:1: s1-u0: /etc/.*--allow-outside"),
    "missing": (lambda f: f.tree.vectors(TRIALS, without=["s3-u2"]), "1 (ids|utterances) .*s3-u2"),
    "a damaged mean": (
        lambda f: (f.root / BACKEND / "mean.vec").write_text(" [ 1 2 "),
        "xvect_train_clean_360/mean.vec: ",
    ),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("verb", ["score", "similarity"])
def test_bad_input(files: Files, verb: str, bad: str) -> None:
    damage, message = BAD[bad]
    damage(files)
    before = snapshot(files.root)
    run = files.score() if verb == "score" else files.similarity("--out", files.root / "out")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("privacy-eval: ")
    assert re.search(message, run.err), run.err
    assert snapshot(files.root) == before


def test_the_back_end_plda_needs_a_model(files: Files) -> None:
    run = cli(
        *("similarity", "--original", "x", "--anonymized", "y", "--utt2spk", "z"),
        *("--backend", "plda"),
    )
    assert (run.code, run.out) == (1, "")


def test_pipes_run_only_where_they_are_allowed(files: Files) -> None:
    mark = files.root / "ran"
    archive = files.tree.scp(TRIALS).with_suffix(".ark").relative_to(files.root)
    first_line(f"touch ran; tail -c +7 '{archive}' | head -c 34 |")(files)
    assert files.score().code == 1
    assert not mark.exists()
    assert files.score("--allow-pipes") == Run(0, "", "")
    assert mark.exists()


# --- trees


def test_a_tree_from_x_vectors_to_results(tree: SpeechTree) -> None:
    """Every stage's verb, in a tree of an odd name; again, nothing is written."""
    verbs = [
        (("subsets",), "data folders: 1 up to date (1 new), 1 external\n"),
        (("subsets", "--anonymized"), "data folders: 1 up to date (1 new), 1 external\n"),
        (("train-backend",), "back ends: 1 external\n"),
        (("asv-scores",), "score files: 3 up to date (3 new)\n"),
        (("privacy-metrics",), "conditions: 3 up to date (3 new)\n"),
        (("similarity",), "voice similarities: 1 up to date (1 new)\n"),
        (("collect",), "1 system, 3 trial conditions and 1 voice similarity\n"),
    ]
    for arguments, text in verbs:
        run = ok(tree.run(*arguments))
        assert run.out.endswith(text) and run.out.count("\n") == 1
    written = (p for p in (tree.root / "exp").rglob("*") if p.is_file())
    before = times(p for p in written if p.parent.name != "privacy_eval")
    for arguments, _ in verbs:
        assert tree.run(*arguments).code == 0
    assert times(before) == before
    results = read_results(tree.root / "exp/privacy_eval/results.json")
    assert [r.condition.name for r in results.verification] == [
        p.parent.name for p in tree.all_scores.values()
    ]
    assert results.similarity[0].values("exact")["deid"] <= 1
    assert [r["system"] for r in csv_rows(tree.root / "exp/privacy_eval/speakers.csv")] == [
        "anon"
    ] * 4


def test_numbers_of_the_tree_are_those_of_the_single_verb(files: Files) -> None:
    for verb in ("asv-scores", "privacy-metrics", "similarity", "collect"):
        assert files.tree.run(verb).code == 0
    plain = json.loads(files.similarity("--format", "json").out)
    (record,) = read_results(files.root / "exp/privacy_eval/results.json").similarity
    for variant in VARIANTS:
        assert plain[variant].items() <= dict(record.values(variant)).items()


def test_collecting_a_stale_similarity_is_an_error(tree: SpeechTree) -> None:
    out = tree.root / "exp/privacy_eval"
    for verb in ("asv-scores", "privacy-metrics", "similarity", "collect"):
        assert tree.run(verb).code == 0
    tree.vectors(f"{TRIALS}_anon", seed=3)
    run = tree.run("collect")
    assert run.code == 1 and " failed: " in run.out
    assert "stage 5 would rebuild it" in run.err
    current = read_results(out / "results.json").verification
    assert [record.condition.trial for record in current] == ["original"]
    for verb in ("asv-scores", "privacy-metrics"):
        assert tree.run(verb).code == 0
    run = tree.run("collect")
    assert run.code == 1
    assert f"anon {TRIALS} (its x-vectors, its back end or the record have changed" in run.err
    assert "stages 5 and 6" in run.err
    results = read_results(out / "results.json")
    assert (len(results.verification), results.similarity) == (3, ())
    run = ok(tree.run("collect", "--allow-missing"))
    assert f"left out: anon {TRIALS} (its x-vectors" in run.err
    results = read_results(out / "results.json")
    assert results.similarity == ()
    assert any("its x-vectors, its back end or" in n for n in results.not_evaluated)
    assert not (out / "speakers.csv").exists()
    assert tree.run("similarity").code == 0
    assert tree.run("collect").code == 0
    assert len(read_results(out / "results.json").similarity) == 1
    assert (out / "speakers.csv").exists()


def test_an_unchanged_collection_parses_no_record(
    tree: SpeechTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("asv-scores", "privacy-metrics", "similarity"):
        assert tree.run(verb).code == 0
    parsed: list[object] = []
    real = collecting.read_record
    monkeypatch.setattr(collecting, "read_record", lambda *a: (parsed.append(a), real(*a))[1])
    out = tree.root / "exp/privacy_eval"
    first = tree.run("collect")
    assert first.code == 0 and len(parsed) == 4
    before = snapshot(out)
    wer = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/decode/wer_9_0.5"
    similarity = [*out.glob("records/*/similarity-*"), *out.glob("records/*/.similarity-*")]
    changes: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "edited": lambda: (out / "results.json").write_text("{}"),
        "removed": lambda: (out / "results.csv").unlink(),
        "words": lambda: lines_to(tree.root / "exp/results-anon/ASR-libri_dev_asr/WER", [wer]),
        "vanished": lambda: [path.unlink() for path in similarity],
        "new": lambda: tree.run("similarity"),
        "other numbers": lambda: tree.run("privacy-metrics", "--bootstrap", "5"),
        "demo": lambda: (tree.root / DEMO_MARKER).write_text("{}"),
    }
    for name, change in changes.items():
        change()
        parsed.clear()
        run = tree.run("collect")
        assert run.code == 0 and bool(parsed) == (name != "nothing"), name
        counts = run.out.removesuffix(" (unchanged)\n").removesuffix("\n")
        assert (run.out == f"{counts} (unchanged)\n") == (name == "nothing"), name
        if name in ("nothing", "edited", "removed"):
            assert (f"{counts}\n", run.err, snapshot(out)) == (first.out, first.err, before), name
        parsed.clear()
        assert tree.run("collect").out == f"{counts} (unchanged)\n" and not parsed, name
    assert tree.run("collect", "--allow-missing").code == 0 and parsed


def test_missing_x_vectors_are_asked_for(tree: SpeechTree) -> None:
    tree.scp(f"{TRIALS}_anon").unlink()
    run = tree.run("asv-scores")
    assert run.code == 1
    assert run.out.startswith("score files: 1 up to date (1 new), 2 of 3 missing (no x-vectors; ")
    assert "stage 0" in run.out
    assert (
        f"privacy-eval: no x-vectors for 2 score files: {MODEL}/xvect_{TRIALS}_anon/xvector.scp or "
    ) in run.err
    assert "final.raw" in run.err
    assert tree.run("asv-scores", "--allow-missing").code == 0
    run = tree.run("similarity")
    assert run.code == 0 and run.out.startswith("voice similarities: 1 of 1 missing (")


def test_a_failure_is_named_and_the_other_products_are_made(tree: SpeechTree) -> None:
    tree.vectors(f"{ENROLLS}_anon", without=["s2-e1"])
    tree.vectors(TRIALS, without=["s3-u0"])
    run = tree.run("asv-scores")
    assert run.code == 1
    assert run.out.startswith("score files: 1 up to date (1 new), 2 of 3 failed")
    assert f"anon ASV-{ENROLLS}_anon-{TRIALS}_anon: " in run.err
    assert re.search(r"no vector for 1 ids of the enrollment in .*: s2-e1 \(", run.err)
    run = tree.run("asv-scores", "--allow-missing")
    assert (run.code, run.out.split(",")[0]) == (0, "score files: 3 up to date (2 new)\n")
    assert "2 made without some of their input:" in run.err
    assert tree.run("similarity").code == 1
    run = ok(tree.run("similarity", "--allow-missing"))
    assert f"anon {TRIALS}: 1 utterances left out" in run.err


@pytest.mark.parametrize("suffix", ["_a b", "_50%", "_x;y", "_.."])
def test_an_unknown_suffix_does_not_stop_other_submissions(tree: SpeechTree, suffix: str) -> None:
    """A folder's name is no reason to stop before the scores of all are evaluated."""
    folder = f"exp/team/results-1{suffix}"
    lines_to(tree.scores(ENROLLS, TRIALS + suffix, folder), ["s1 s1-u0 1"])
    tree.anonymized("_other")
    lines_to(tree.scores(ENROLLS, f"{TRIALS}_other", "exp/two/results-1_other"), ["s1 s1-u0 1"])
    run = ok(tree.run("subsets", "--anonymized"))
    assert f"no data set with suffix {suffix!r}" in run.err
    assert "data folders: 1 up to date (1 new)" in run.out
    run = tree.run("asv-scores")
    assert "Traceback" not in run.err
    assert f"two ASV-{ENROLLS}-{TRIALS}_other" in run.err
    assert len(list((tree.root / "exp/two/results-1_other").glob("ASV-*/scores"))) == 3


def test_notes_are_not_counted_as_conditions(tree: SpeechTree) -> None:
    assert tree.run("asv-scores").code == 0
    assert len(list(tree.root.rglob(f"ASV-*/{NOTE}"))) == 3
    run = ok(tree.run("check"))
    assert run.out.splitlines()[-1].startswith("ready: all 3 conditions")


def test_notices_are_counted_in_a_line_and_listed_on_request(tree: SpeechTree) -> None:
    """Of a protocol's data sets that a user does not have, and scores of another tool."""
    for path in tree.all_scores.values():
        lines_to(path, ["s1 s1-u0 1"])
    for verb in ("subsets", "asv-scores"):
        short = tree.run(verb, "--conf", "vpc2020") if verb == "subsets" else tree.run(verb)
        more = ("--conf", "vpc2020") if verb == "subsets" else ()
        long = tree.run(verb, *more, "--details")
        (line,) = [x for x in short.err.splitlines() if "supplied or" in x or "not made" in x]
        number = int(re.findall(r"privacy-eval: (\d+) ", line)[0])
        assert number > 2 and len(short.err.splitlines()) < 4
        assert len(re.findall("(?m)^  ", long.err)) == number
