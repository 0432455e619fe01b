"""ASV models with the back end cosine: golden scores, and no back end to train or to miss."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from attacker_support import REAL_B2, golden_scores, read_score_file, spk2utt_lines
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    ROOT,
    SMALL_PROTOCOL,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    changed_protocol,
    cli,
    lines_to,
    ok,
    stage_of,
    utterances_of,
)

from privacy_eval.errors import PrivacyEvalError
from privacy_eval.io.vectors import read_vectors, write_vectors
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import galleries

COSINE = f"""\
asv_models:
  - {{trained_on: original, folder: {MODEL}, backend: cosine}}
  - {{trained_on: anonymized, folder: "exp/models/own{{suffix}}", backend: cosine}}
attackers:
  - {{id: cosine, title: cosine of ECAPA vectors, scoring: cosine}}
"""


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    tree = SpeechTree(tmp_path / "tree", protocol=SMALL_PROTOCOL + COSINE)
    shutil.rmtree(tree.root / BACKEND)
    for name in (TRIALS, f"{TRIALS}_anon"):
        spoken = utterances_of(name)
        lines_to(tree.root / "data" / name / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))
    return tree


def unit(vectors: np.ndarray) -> np.ndarray:
    doubled = vectors.astype(np.float64)
    return doubled / np.sqrt((doubled**2).sum(axis=-1, keepdims=True))


def test_scores_of_real_speech_are_golden(tmp_path: Path) -> None:
    """Enrollment original, trials anonymized: `cosine` of the golden data, to 1e-9."""
    names = {"libri_dev_enrolls": "orig", "libri_dev_trials_f_anon": "anon"}
    lines_to(tmp_path / "small.yaml", (SMALL_PROTOCOL + COSINE).splitlines())
    for name, kind in names.items():
        folder = tmp_path / MODEL / f"xvect_{name}"
        folder.mkdir(parents=True)
        vectors = read_vectors(REAL_B2 / f"test_{kind}.ark.gz")
        np.savez(folder / "xvector.npz", **dict(zip(vectors.ids, vectors.matrix, strict=True)))
    data = tmp_path / "data"
    lines_to(data / "libri_dev_enrolls/spk2utt", spk2utt_lines(REAL_B2 / "test_utt2spk"))
    shutil.copy(REAL_B2 / "enrolls", data / "libri_dev_enrolls/enrolls")
    lines_to(data / "libri_dev_trials_f/trials", (REAL_B2 / "trials").read_text().splitlines())
    (tmp_path / "exp/results-anon").mkdir()
    run = cli("stage", "asv-scores", "--tree", tmp_path, "--results", "exp", "--conf", "small.yaml")
    assert "(1 new)" in run.out, run.err
    condition = "exp/results-anon/ASV-libri_dev_enrolls-libri_dev_trials_f_anon"
    written, expected = read_score_file(tmp_path / condition / "scores"), golden_scores("cosine")
    assert list(written) == list(expected)
    assert list(written.values()) == pytest.approx(list(expected.values()), rel=0, abs=1e-9)


def test_nothing_is_trained_or_missing(tree: SpeechTree) -> None:
    run = tree.run("train-backend")
    assert run.code == 0 and "new" not in run.out
    assert "plda" not in tree.run("check").out.lower()
    assert "(3 new)" in tree.run("asv-scores").out
    tree.scp(TRIALS).unlink()
    run = tree.run("asv-scores")
    assert "no x-vectors" in run.err and "back end" not in run.err


@pytest.mark.wing("disclosure")
def test_identification_and_similarity_follow(tree: SpeechTree) -> None:
    """The rank of each trial's speaker, from unit vectors and their means."""
    for verb in ("asv-scores", "privacy-metrics", "similarity", "identification", "collect"):
        ok(tree.run(verb))
    results = read_results(tree.root / "exp/privacy_eval/results.json")
    assert {r.condition.attacker for r in results.verification} == {"cosine"}
    assert {r.provenance["backend"] for r in results.identification} == {"cosine"}
    assert {r.provenance["backend"] for r in results.similarity} == {"cosine"}
    for suffix, speech in (("", "original"), ("_anon", "anonymized")):
        enrolled = read_vectors(tree.scp(f"{ENROLLS}{suffix}"), tree=tree.root)
        tried = read_vectors(tree.scp(f"{TRIALS}{suffix}"), tree=tree.root)
        speakers = sorted({u.partition("-")[0] for u in enrolled.ids})
        means = [
            np.mean(
                [
                    unit(v)
                    for u, v in zip(enrolled.ids, enrolled.matrix, strict=True)
                    if u.startswith(s)
                ],
                axis=0,
            )
            for s in speakers
        ]
        scores = unit(np.array(means)) @ unit(tried.matrix).T
        best = [speakers[row] for row in scores.argmax(axis=0)]
        right = np.mean([u.startswith(s) for u, s in zip(tried.ids, best, strict=True)])
        (record,) = [
            r
            for r in results.identification
            if r.condition.enrollment == r.condition.trial == speech
        ]
        assert galleries(record)["value"][-1] == pytest.approx(right)


@pytest.mark.wing("disclosure")
def test_lengths_of_vectors_do_not_matter(tree: SpeechTree) -> None:
    """Whatever the powers of two that vectors are multiplied by, which is exact."""
    verbs = ("asv-scores", "similarity", "identification")
    assert all(tree.run(verb).code == 0 for verb in verbs)
    records = tree.root / "exp/privacy_eval/records"

    def numbers() -> list[object]:
        scores = [path.read_bytes() for path in tree.all_scores.values()]
        keys = ("metrics", "linkage", "speakers")
        plain = [json.loads(path.read_text()) for path in sorted(records.glob("*/[!.]*.json"))]
        return [*scores, *({key: record.get(key) for key in keys} for record in plain)]

    before = numbers()
    assert len(before) == 3 + 1 + 3
    for scp in (tree.root / MODEL).glob("xvect_*/xvector.scp"):
        vectors = read_vectors(scp, tree=tree.root)
        factors = 2.0 ** np.random.default_rng(len(scp.parent.name)).integers(
            -6, 7, len(vectors.ids)
        )
        matrix = vectors.matrix * factors.astype(np.float32)[:, None]
        write_vectors(scp, vectors.ids, matrix, tree=tree.root)
    for verb in verbs:
        assert tree.run(verb).code == 0
    assert numbers() == before


def test_each_model_has_its_back_end(tmp_path: Path) -> None:
    """PLDA for original, cosine for anonymized speech: only the former needs a back end."""
    protocol = SMALL_PROTOCOL_2022 + COSINE.replace(
        f"folder: {MODEL}, backend: cosine", f"folder: {MODEL}, training_set: train_clean_360"
    )
    tree = SpeechTree(tmp_path / "tree", protocol=protocol)
    tree.anonymized("_anon", model="exp/models/own_anon")
    assert tree.run("asv-scores").code == 0
    asv = stage_of(tree)
    assert [asv.default_backend(speech) for speech in ("original", "anonymized")] == [
        "plda",
        "cosine",
    ]
    assert asv.find_backend("anonymized", "_anon") is None
    assert asv.find_backend("original", "_anon") == tree.root / BACKEND


@pytest.mark.wing("disclosure")
def test_vectors_of_zeros_are_an_error(tree: SpeechTree) -> None:
    """A failed extraction must not look like perfect privacy."""
    vectors = read_vectors(tree.scp(TRIALS), tree=tree.root)
    matrix = vectors.matrix.copy()
    matrix[2] = 0
    write_vectors(tree.scp(TRIALS), vectors.ids, matrix, tree=tree.root)
    for verb in ("asv-scores", "identification", "similarity"):  # whatever the back end
        run = tree.run(verb, "--details")
        named = f"1 vectors are zero and have no direction: {vectors.ids[2]}"
        assert run.code == 1 and named in run.err
    run = tree.run("asv-scores", "--allow-missing", "--details")
    assert run.code == 0 and "4 trials and 0 enrollment utterances without x-vectors" in run.err


def test_torch_files_of_a_tree(tree: SpeechTree) -> None:
    """`speaker_vectors.pt` of a model folder: rows named by `id2idx`, of 24 golden vectors."""
    golden = ROOT / "tests/data/golden/speaker_vectors/slice"
    expected = np.load(golden / "expected.npy")
    for name in (ENROLLS, TRIALS, f"{ENROLLS}_anon", f"{TRIALS}_anon"):
        folder = tree.scp(name).parent
        shutil.rmtree(folder)
        folder.mkdir()
        shutil.copy(golden / "speaker_vectors.pt", folder)
        ids = [*utterances_of(name), *(f"x-{n}" for n in range(24))][:24]
        lines_to(folder / "id2idx", (f"{u} {n}" for n, u in enumerate(ids)))
    assert "(3 new)" in tree.run("asv-scores").out
    place = list(utterances_of(ENROLLS)).index
    tried = list(utterances_of(TRIALS)).index
    for (speaker, utterance), score in read_score_file(tree.all_scores["oo"]).items():
        enrolled = unit(expected[[place(f"{speaker}-e{n}") for n in range(2)]]).mean(axis=0)
        cosine = unit(enrolled) @ unit(expected[tried(utterance)])
        assert score == pytest.approx(cosine, rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"attackers": [{"id": "plda", "title": "PLDA", "scoring": "plda"}]}, "has the back end c"),
        ({"asv_models": [{"trained_on": "original", "folder": "exp/m"}]}, "needs a training_set"),
        (
            {"asv_models": [{"trained_on": "original", "folder": "exp/m", "backend": "euclidean"}]},
            "expected plda or cosine",
        ),
    ],
)
def test_protocols_that_disagree_are_refused(entries: dict[str, object], message: str) -> None:
    models = [{"trained_on": s, "folder": f"exp/{s}", "backend": "cosine"} for s in SPEECH]
    own = [{"id": "cosine", "title": "cosine", "scoring": "cosine"}]
    with pytest.raises(PrivacyEvalError, match=message):
        changed_protocol(**{"asv_models": models, "attackers": own, **entries})
    assert changed_protocol(asv_models=models, attackers=own).own_attacker == "cosine"
    assert changed_protocol(asv_models=models, attackers=[]).own_attacker == "cosine"


SPEECH = ("original", "anonymized")
