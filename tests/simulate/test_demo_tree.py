"""The demo tree: its layout, its bytes, its sizes, and what its systems are like."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from numpy.typing import NDArray
from support import OTHER_PLAN, changed_plan, cli, command, snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import (
    PldaBackend,
    score_matrix,
    speaker_means,
    train_backend,
)
from privacy_eval.io.kaldi_objects import read_matrix, read_vector
from privacy_eval.io.plda import Plda, read_plda
from privacy_eval.io.scp import Vectors, read_vectors
from privacy_eval.metrics import TrialScores, kaldi_eer
from privacy_eval.metrics.similarity import SimilarityMatrix, similarity_matrix, voice_similarity
from privacy_eval.protocol.protocol import Protocol, TrialSet, load_protocol
from privacy_eval.results.json_store import read_json
from privacy_eval.simulate import DEMO_SIZES, VectorModel, demo_tree, write_demo_tree
from privacy_eval.stages.access import TreeAccess
from privacy_eval.stages.subsets import make_subsets

CONFIG = load_protocol("vpc2020")
ORIGINAL_MODEL = "exp/models/asv_eval/xvect_01709_1"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulate") / "tree"
    assert write_demo_tree(folder, CONFIG, seed=3)
    return folder


def test_the_same_seed_gives_the_same_bytes(tree: Path, tmp_path: Path) -> None:
    assert write_demo_tree(tmp_path / "other place", CONFIG, seed=3)
    assert snapshot(tmp_path / "other place") == snapshot(tree)
    assert len(snapshot(tree)) == 2 + data_files() + 40 * 2 + 3 + 2 * 8


def data_files() -> int:
    """Three tables and a list in every data folder, but no list in eight combined ones."""
    return 40 * 4 - 8


def test_another_seed_changes_all_vectors_and_no_data(tree: Path, tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", CONFIG, seed=4)
    one, two = snapshot(tree), snapshot(tmp_path / "t")
    assert set(one) == set(two)
    changed = {name for name in one if one[name] != two[name] and not name.endswith("/WER")}
    archives = {name for name in one if name.endswith(".ark")}
    trained = {f"{ORIGINAL_MODEL}/xvect_train_clean_360/{n}" for n in BACKEND}
    assert len(archives) == 40
    assert changed == {*archives, *trained, "ratings.csv", "demo_tree.json"}


def test_it_is_left_alone_where_it_is(tree: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    assert not write_demo_tree(tree, CONFIG, seed=3)
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == before
    assert not list(tree.parent.glob(".*.partial"))


BACKEND = ("mean.vec", "transform.mat", "plda")
ORIGINAL_SETS = {
    *(f"{c}_{s}_enrolls" for c in ("libri", "vctk") for s in ("dev", "test")),
    *(f"{c}_{s}_trials_{g}" for c in ("libri", "vctk") for s in ("dev", "test") for g in "fm"),
    *(f"vctk_{s}_trials_{g}_common" for s in ("dev", "test") for g in "fm"),
}
ANONYMIZED_SETS = {
    *(f"{c}_{s}_enrolls" for c in ("libri", "vctk") for s in ("dev", "test")),
    *(f"libri_{s}_trials_{g}" for s in ("dev", "test") for g in "fm"),
    *(f"vctk_{s}_trials_{g}_all" for s in ("dev", "test") for g in "fm"),
}


def sets_of(*systems: str) -> set[str]:
    """Data folders of the originals and of some systems."""
    return ORIGINAL_SETS | {f"{name}_{s}" for name in ANONYMIZED_SETS for s in systems}


def below(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_the_tree_is_as_anonymization_leaves_it(tree: Path) -> None:
    assert below(tree) == {"data", "exp", "ratings.csv", "demo_tree.json"}
    assert below(tree / "data") == sets_of("B1", "B2")
    assert below(tree / "exp") == {"B1", "B2", "models"}
    assert below(tree / ORIGINAL_MODEL) == {
        "xvect_train_clean_360",
        *(f"xvect_{name}" for name in sets_of("B1", "B2")),
    }
    for system in ("B1", "B2"):
        assert below(tree / "exp" / system) == {f"results-demo_{system}"}
        assert below(tree / "exp" / system / f"results-demo_{system}") == {
            f"ASR-{c}_{s}_asr{suffix}"
            for c in ("libri", "vctk")
            for s in ("dev", "test")
            for suffix in ("", f"_{system}")
        }
    assert not [p for p in tree.rglob("*") if p.name.startswith("ASV-") or p.name == "scores"]


def test_data_folders_agree_with_each_other(tree: Path) -> None:
    for folder in sorted(p for p in (tree / "data").iterdir()):
        utt2spk = table(folder / "utt2spk")
        spk2utt = {
            line.split()[0]: line.split()[1:]
            for line in (folder / "spk2utt").read_text().splitlines()
        }
        genders = table(folder / "spk2gender")
        assert {u: s for s, us in spk2utt.items() for u in us} == utt2spk
        assert set(genders) == set(spk2utt)
        assert list(utt2spk) == sorted(utt2spk)
        if "enrolls" in folder.name:
            assert set((folder / "enrolls").read_text().split()) == set(utt2spk)
            assert len(utt2spk) == 2 * 16 * 3
            continue
        assert set(genders.values()) == {"f" if "_f" in folder.name else "m"}
        assert len(utt2spk) == 12 * 12 * (2 if "_all" in folder.name else 1)
        assert (folder / "trials").exists() == ("_all" not in folder.name)
        if "_all" not in folder.name:
            lines = [line.split() for line in (folder / "trials").read_text().splitlines()]
            assert len(lines) == 16 * len(utt2spk)
            assert all((utt2spk[u] == s) == (label == "target") for s, u, label in lines)


def table(path: Path) -> dict[str, str]:
    return dict(line.split() for line in path.read_text().splitlines())


def test_every_utterance_has_its_vector(tree: Path) -> None:
    for data in (tree / "data").iterdir():
        found = vectors_of(tree, ORIGINAL_MODEL, data.name)
        assert found.ids == tuple(table(data / "utt2spk"))
        assert found.matrix.shape[1] == 24
        assert len(np.unique(found.matrix, axis=0)) == len(found.ids)


def test_the_back_end_is_the_same_whatever_the_signs_of_eigenvectors(tree: Path) -> None:
    model = backend(tree, ORIGINAL_MODEL, "train_clean_360")
    assert model.dimension() == 24
    assert model.transform is not None and model.transform.shape == (16, 25)
    for rows in (model.transform[:, :24], model.plda.transform):
        assert (rows.max(axis=1) > -rows.min(axis=1)).all()
    assert (tree / ORIGINAL_MODEL / "xvect_train_clean_360/mean.vec").read_bytes()[:2] == b" ["


def test_signs_and_last_digits_of_a_back_end_are_none_of_its_scores() -> None:
    generator = np.random.default_rng(6)
    voices = VectorModel(dimension=6)
    # Speakers with more and fewer vectors: PLDA's mean is not that of all vectors.
    speaker = np.repeat(np.arange(30), np.arange(30) % 7 + 2)
    vectors = voices.utterances(voices.voices(30, generator) + 1, generator)[:5]
    training = voices.utterances((voices.voices(30, generator) + 1)[speaker], generator)
    model = train_backend(training.astype(np.float32), [f"{s}" for s in speaker], lda_dim=4)
    assert model.mean is not None and model.transform is not None
    assert np.abs(model.plda.mean).min() > 1e-3
    of_lda, of_plda = np.array([1, -1, 1, -1]), np.array([-1, 1, 1, -1])
    turned = PldaBackend(
        Plda(
            model.plda.mean * of_lda,
            of_plda[:, None] * model.plda.transform * of_lda,
            model.plda.psi,
        ),
        model.mean,
        of_lda[:, None].astype(np.float32) * model.transform,
    )
    scores = []
    for one in (model, demo_tree._reproducible(model), demo_tree._reproducible(turned)):
        scores.append(score_matrix(vectors.astype(np.float32), 1, vectors, model=one))
    assert scores[1] == pytest.approx(scores[0], abs=1e-3)
    assert np.array_equal(scores[1], scores[2])


def test_a_plan_of_one_gender_anonymizes_trial_sets_on_their_own(tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", changed_plan(genders={"m": "male"}))
    assert below(tmp_path / "t/data") == {n for n in sets_of("B1", "B2") if "_trials_f" not in n}


def test_stage_5_cuts_all_anonymized_sets_out_of_the_tree(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree, tmp_path / "t")
    access = TreeAccess(tmp_path / "t", tmp_path / "t/exp")
    make_subsets(access, CONFIG, suffixes=["", "_B1", "_B2"])
    for suffix in ("", "_B1", "_B2"):
        for name in sorted(ORIGINAL_SETS):
            made = table(tmp_path / "t/data" / f"{name}{suffix}" / "utt2spk")
            assert made == table(tree / "data" / name / "utt2spk")


# Sizes


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "tree"
    assert write_demo_tree(folder, CONFIG, speakers=3, utterances=2, systems=3)
    return folder


@pytest.mark.parametrize(
    ("plan", "speakers", "utterances"),
    [
        ("vpc2020", 2, 2),
        ("vpc2020", 37, 2),
        ("vpc2020", 38, 2),
        ("vpc2022", 38, 2),
        ("vpc2020", 2, 1001),
        ("vpc2020", 376, 2),
    ],
)
def test_ids_of_any_size_are_unique_and_sorted(
    plan: str, speakers: int, utterances: int, tmp_path: Path
) -> None:
    """37 speakers are the most of which those enrolled, 50, are numbered as ever."""
    protocol, tree = load_protocol(plan), tmp_path / "t"
    write_demo_tree(tree, protocol, speakers=speakers, utterances=utterances, systems=1)
    enrolled = speakers + -(-speakers // 3)
    owners: dict[str, str] = {}
    for trial_set in protocol.trial_sets():
        utt2spk = columns(tree / "data" / trial_set.trials_name / "utt2spk")
        assert len(utt2spk) == speakers * utterances
        assert len({s for _, s in utt2spk}) == speakers
        # Numbers count in the order of their utterances.
        numbers = [int(u.rpartition("-")[2]) for u, _ in utt2spk]
        assert numbers == list(range(utterances)) * speakers
    for name in {t.enrollment_name for t in protocol.trial_sets()}:
        utt2spk = columns(tree / "data" / name / "utt2spk")
        named = {s for _, s in utt2spk}
        assert len(named) == 2 * enrolled
        assert {len(s) for s in named} == {4 if enrolled <= 50 else 5 if enrolled <= 500 else 6}
        assert not named & set(owners)  # nobody is in two enrollment sets
        owners.update(dict.fromkeys(named, name))
    for folder in (tree / "data").iterdir():
        utt2spk = columns(folder / "utt2spk")
        ids, speakers_of = (list(column) for column in zip(*utt2spk, strict=True))
        assert ids == sorted(set(ids))
        assert speakers_of == sorted(speakers_of)
        for name in ("spk2utt", "spk2gender"):
            assert [row[0] for row in columns(folder / name)] == sorted(set(speakers_of))


def columns(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in path.read_text().splitlines()]


def test_what_is_tried_is_every_enrolled_speaker_with_every_utterance(small: Path) -> None:
    for trial_set in CONFIG.trial_sets():
        folder = small / "data" / trial_set.trials_name
        spoken = table(folder / "utt2spk")
        genders = table(small / "data" / trial_set.enrollment_name / "spk2gender")
        enrolled = sorted(s for s, gender in genders.items() if gender == trial_set.gender)
        assert len(enrolled) == 4
        assert columns(folder / "trials") == [
            (s, u, "target" if s == spoken[u] else "nontarget") for s in enrolled for u in spoken
        ]


def test_further_systems_change_nothing_of_the_others(small: Path, tmp_path: Path) -> None:
    whole = snapshot(small)
    for systems, more in ((1, {"B2", "S3"}), (2, {"S3"})):
        write_demo_tree(tmp_path / f"{systems}", CONFIG, speakers=3, utterances=2, systems=systems)
        fewer = snapshot(tmp_path / f"{systems}")
        changed = {n for n in fewer if fewer[n] != whole[n]}
        assert changed == {"demo_tree.json", "ratings.csv"}  # of all systems, both
        added = set(whole) - set(fewer)
        assert added == {n for n in whole if any(f"_{s}/" in n for s in more)}
    shapes = {
        (small / ORIGINAL_MODEL / f"xvect_libri_dev_enrolls_{s}/xvector.ark").read_bytes()
        for s in ("B1", "B2", "S3")
    }
    assert len(shapes) == 3


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        (1, ["B1"]),
        (9, ["B1", "B2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]),
        (11, ["B1", "B2", "S03", "S04", "S05", "S06", "S07", "S08", "S09", "S10", "S11"]),
    ],
)
def test_systems_sort_by_name(systems: int, names: list[str], tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", CONFIG, speakers=2, utterances=2, systems=systems)
    assert sorted(below(tmp_path / "t/exp") - {"models"}) == names
    # Word error rates are drawn around those of the baselines, each system's its own.
    rates = {
        name: (results / f"ASR-libri_test_asr_{name}/WER").read_text().split()[1]
        for name in names
        for results in [tmp_path / f"t/exp/{name}/results-demo_{name}"]
    }
    assert len(set(rates.values())) == systems
    assert all(5 < float(rate) < 17 for rate in rates.values())


@pytest.mark.parametrize("seed", [0, 7])
def test_further_systems_lie_between_hardly_and_well_anonymized(seed: int, tmp_path: Path) -> None:
    """EERs of original against anonymized speech, and of anonymized speech alone."""
    write_demo_tree(tmp_path / "t", CONFIG, seed=seed, systems=6)
    for system in ("S3", "S4", "S5", "S6"):
        several = attacks(tmp_path / "t", CONFIG, system, ORIGINAL_MODEL, "train_clean_360")
        assert 0.15 < mean(a.eer("oa") for a in several) < 0.55
        assert 0.08 < mean(a.eer("aa") for a in several) < 0.45


def test_the_same_sizes_and_seed_give_the_same_bytes(small: Path, tmp_path: Path) -> None:
    sizes = {"speakers": 3, "utterances": 2, "systems": 3}
    write_demo_tree(tmp_path / "same", CONFIG, **sizes)
    write_demo_tree(tmp_path / "other", CONFIG, seed=1, **sizes)
    one, two = snapshot(small), snapshot(tmp_path / "other")
    assert snapshot(tmp_path / "same") == one
    assert set(two) == set(one)
    archives = {name for name in one if name.endswith((".ark", "/plda"))}
    assert len(archives) == 16 + 3 * 12 + 1
    assert not [name for name in archives if one[name] == two[name]]


def test_the_smallest_tree_of_three_systems_is_evaluated(small: Path, tmp_path: Path) -> None:
    tree = tmp_path / "t"
    shutil.copytree(small, tree)
    common = ("--tree", tree, "--results", "exp", "--out", "out")
    for verb in (
        ("subsets", *common, "--anonymized"),
        ("score-tree", *common),
        ("evaluate", *common),
        ("similarity-tree", *common),
        ("collect", *common),
    ):
        run = cli(*verb)
        assert run.code == 0, run.err
    results = read_json(tree / "out/results.json")
    assert results.systems == ["B1", "B2", "S3"]
    assert len(results.verification) == 3 * 36
    assert len(results.similarity) == 3 * 12


@pytest.mark.parametrize(
    ("option", "other"), [("speakers", 4), ("utterances", 3), ("systems", 2), ("seed", 1)]
)
def test_another_size_is_not_written_over(option: str, other: int, small: Path) -> None:
    sizes = {"seed": 0, "speakers": 3, "utterances": 2, "systems": 3}
    assert not write_demo_tree(small, CONFIG, **sizes)
    before = snapshot(small)
    run = cli("demo-tree", small, *[f"--{o}={v}" for o, v in {**sizes, option: other}.items()])
    assert (run.code, run.out) == (1, "")
    assert f"(it is one of {option} {sizes[option]}, not {other}); remove it or name" in run.err
    assert snapshot(small) == before


@pytest.mark.parametrize("name", DEMO_SIZES)
def test_bad_sizes(name: str, tmp_path: Path) -> None:
    allowed = DEMO_SIZES[name]
    for size in (-1, 0, allowed[0] - 1, allowed[-1] + 1):
        with pytest.raises(ValueError, match=f"expected {name} from {allowed[0]} to .*not {size}"):
            write_demo_tree(tmp_path / "t", CONFIG, **{name: size})
    for text in (str(allowed[0] - 1), str(10**30), "-3", "2.5", "²", "many", ""):
        run = cli("demo-tree", tmp_path / "t", f"--{name}={text}")
        assert (run.code, run.out) == (2, "")
        assert f"argument --{name}: expected a whole number from" in run.err
    assert not list(tmp_path.iterdir())


def test_progress_counts_every_data_folder(tmp_path: Path) -> None:
    for plan in ("vpc2020", "vpc2022"):
        told: list[tuple[int, int, str]] = []
        write_demo_tree(
            tmp_path / plan,
            load_protocol(plan),
            speakers=2,
            utterances=2,
            systems=3,
            progress=lambda *now, told=told: told.append(now),
        )
        folders = below(tmp_path / plan / "data")
        assert [(done, total) for done, total, _ in told] == [
            (i, len(folders)) for i in range(1, len(folders) + 1)
        ]
        assert {name for _, _, name in told} == folders


# What the systems are like


def vectors_of(tree: Path, model: str, name: str) -> Vectors:
    return read_vectors(tree / model / f"xvect_{name}" / "xvector.scp", tree=tree)


def backend(tree: Path, model: str, training: str) -> PldaBackend:
    folder = tree / model / f"xvect_{training}"
    return PldaBackend(
        read_plda(folder / "plda"),
        read_vector(folder / "mean.vec"),
        read_matrix(folder / "transform.mat"),
    )


class Attack:
    """One trial set of a system under a model."""

    def __init__(
        self, tree: Path, trial_set: TrialSet, system: str, folder: str, model: PldaBackend
    ) -> None:
        data = tree / "data"
        utt2spk = table(data / trial_set.trials_name / "utt2spk")
        keys = (data / trial_set.trials_name / "trials").read_text().splitlines()
        self.model = model
        speakers = sorted({line.split()[0] for line in keys})
        self.speaker = np.array([speakers.index(s) for s in utt2spk.values()])
        self.enrolled, self.tried = {}, {}
        held = trial_set.trials_name.removesuffix("_common")
        held += ("_all" if "vctk" in held else "") + f"_{system}"
        for speech, enrollment, trials in (
            ("o", trial_set.enrollment_name, trial_set.trials_name),
            ("a", f"{trial_set.enrollment_name}_{system}", held),
        ):
            found = vectors_of(tree, folder, enrollment)
            owner = table(data / enrollment / "utt2spk")
            members = [[i for i, u in enumerate(found.ids) if owner[u] == s] for s in speakers]
            self.enrolled[speech] = speaker_means(found.matrix, members)
            found = vectors_of(tree, folder, trials)
            self.tried[speech] = found.matrix[found.rows(list(utt2spk), "the trials")]

    def eer(self, speech: str) -> float:
        """Of enrollment and trial speech, `oo`, `oa` or `aa`."""
        means, counts = self.enrolled[speech[0]]
        scores = score_matrix(means, counts, self.tried[speech[1]], model=self.model)
        is_target = np.arange(len(means))[:, None] == self.speaker
        return kaldi_eer(TrialScores.from_labels(scores.ravel(), is_target.ravel())).value

    def similarity(self) -> tuple[float, float]:
        """DeID and G_VD in dB."""
        own = np.arange(self.speaker.size)

        def matrix(speech: str, column_of: NDArray[np.int64] | None = None) -> SimilarityMatrix:
            first, second = (self.tried[kind] for kind in speech)
            scores = score_matrix(first, 1, second, model=self.model)
            return similarity_matrix(scores, self.speaker, column_of=column_of)

        found = voice_similarity(matrix("oo"), matrix("oa", own), matrix("aa"))
        return found.deid, found.gvd_db


def attacks(
    tree: Path, protocol: Protocol, system: str, folder: str, training: str
) -> list[Attack]:
    model = backend(tree, folder, training)
    return [Attack(tree, t, system, folder, model) for t in protocol.trial_sets()]


@pytest.mark.parametrize("seed", [0, 3])
def test_the_systems_are_shaped_like_the_baselines(seed: int, tmp_path: Path) -> None:
    """Means over trial sets: EER, DeID and G_VD of the challenge's B1 and B2."""
    write_demo_tree(tmp_path / "t", CONFIG, seed=seed)
    found = {}
    for system in ("B1", "B2"):
        several = attacks(tmp_path / "t", CONFIG, system, ORIGINAL_MODEL, "train_clean_360")
        assert len(several) == 12
        for speech in ("oo", "oa", "aa"):
            found[system, speech] = mean(a.eer(speech) for a in several)
        deid, gvd_db = zip(*(a.similarity() for a in several), strict=True)
        found[system, "deid"], found[system, "gvd_db"] = mean(deid), mean(gvd_db)
    assert found["B1", "oo"] == found["B2", "oo"]
    bounds = {
        ("B1", "oo"): (0.03, 0.06),
        ("B1", "oa"): (0.45, 0.52),
        ("B1", "aa"): (0.30, 0.36),
        ("B1", "deid"): (0.98, 1.0),
        ("B1", "gvd_db"): (-12, -6),
        ("B2", "oa"): (0.23, 0.30),
        ("B2", "aa"): (0.12, 0.20),
        ("B2", "deid"): (0.5, 0.8),
        ("B2", "gvd_db"): (-5, -2),
    }
    outside = {k: found[k] for k, (low, high) in bounds.items() if not low < found[k] < high}
    assert not outside


def test_a_plan_of_two_results_folders_has_both_models(tmp_path: Path) -> None:
    protocol = load_protocol("vpc2022")
    tree = tmp_path / "t"
    write_demo_tree(tree, protocol)
    assert below(tree / "data") == sets_of("B1", "B2")
    assert below(tree / "exp/models") == {"asv_eval", "user_asv_eval_B1", "user_asv_eval_B2"}
    assert not [p for p in tree.rglob("*") if p.name.startswith("ASV-")]
    for system in ("B1", "B2"):
        folder = f"exp/models/user_asv_eval_{system}/xvect_01709_1"
        training = f"train_clean_360_{system}"
        assert below(tree / folder) == {
            f"xvect_{training}",
            *(f"xvect_{name}" for name in sets_of(system)),
        }
        lazy = attacks(tree, protocol, system, ORIGINAL_MODEL, "train_clean_360")
        semi = attacks(tree, protocol, system, folder, training)
        # An attacker with a model of such speech sees more.
        assert mean(a.eer("aa") for a in semi) < mean(a.eer("aa") for a in lazy) - 0.05
        parts = [f"results-demo_{system}", f"results-demo_{system}.orig"]
        assert below(tree / "exp" / system) == set(parts)
        own, original = (tree / "exp" / system / part for part in parts)
        assert below(own) == below(original)
        assert len(below(own)) == 8
        for name in below(own):
            assert "user_asr_eval_anon/decode_" in (own / name / "WER").read_text()
            assert "models/asr_eval/decode_" in (original / name / "WER").read_text()


def test_a_plan_without_models_has_no_place_for_vectors(tmp_path: Path) -> None:
    plan = changed_plan(asv_models=[])
    with pytest.raises(PrivacyEvalError, match="plan vpc2020: asv_models names no model trained"):
        write_demo_tree(tmp_path / "t", plan)
    assert not list(tmp_path.iterdir())


def test_two_systems_cannot_share_a_model_of_anonymized_speech(tmp_path: Path) -> None:
    values = load_protocol("vpc2022").to_dict()
    models = [{**m, "folder": "exp/m", "training_set": "train"} for m in values["asv_models"]]
    with pytest.raises(PrivacyEvalError, match=r"one place for all systems, expected \{suffix\}"):
        write_demo_tree(
            tmp_path / "t", changed_plan(**{**values, "name": "vpc2022", "asv_models": models})
        )
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise PrivacyEvalError("no space left")

    monkeypatch.setattr(demo_tree, "write_plda", fails)
    with pytest.raises(PrivacyEvalError, match="no space left"):
        write_demo_tree(tmp_path / "t", CONFIG)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["a file", "a folder", "another seed", "no marker"])
def test_foreign_folders_are_refused_and_left_alone(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    if content == "a file":
        folder.write_text("mine")
    elif content == "a folder":
        (folder / "sub").mkdir(parents=True)
    else:
        folder.mkdir()
        marker = {"demo_tree": 3, "seed": 9} if content == "another seed" else {}
        (folder / "demo_tree.json").write_text(json.dumps(marker))
    before = snapshot(tmp_path)
    with pytest.raises(PrivacyEvalError, match=f"^{folder}: holds something other than the demo"):
        write_demo_tree(folder, CONFIG)
    assert snapshot(tmp_path) == before
    run = cli("demo-tree", folder)
    assert (run.code, run.out) == (1, "")


def test_what_a_killed_run_left_is_made_anew(tree: Path, tmp_path: Path) -> None:
    left = tmp_path / ".t.9999999999.partial" / "data"
    left.mkdir(parents=True)
    (left / "rubbish").write_text("x")
    (tmp_path / "t").mkdir()
    assert write_demo_tree(tmp_path / "t", CONFIG, seed=3)
    assert snapshot(tmp_path / "t") == snapshot(tree)
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_into_the_empty_folder_one_is_in(tmp_path: Path) -> None:
    run = command("demo-tree", ".", cwd=tmp_path)
    assert "Traceback" not in run.err


def test_a_plan_of_other_comparisons_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "radio.yaml").write_text(OTHER_PLAN)
    run = cli("demo-tree", tmp_path / "t", "--conf", tmp_path / "radio.yaml")
    assert (run.code, run.out) == (1, "")
    assert "plan radio: asv_models names no model trained on original speech" in run.err


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    first = cli("demo-tree", tmp_path / "t")
    again = cli("demo-tree", tmp_path / "t")
    assert (first.code, first.err) == (0, f"{tmp_path}/t: made\n")
    assert (again.code, again.err) == (0, f"{tmp_path}/t: there already\n")
