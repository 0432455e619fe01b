"""The demo tree: its layout, its bytes, its sizes, and how well its systems anonymize."""

import itertools
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from support import (
    OTHER_PROTOCOL,
    changed_protocol,
    cli,
    command,
    lines_to,
    nonempty,
    of_libri,
    ok,
    snapshot,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import PldaBackend, score_matrix, train_backend
from privacy_eval.io.vectors import Plda, read_matrix, read_plda, read_vectors
from privacy_eval.protocol.protocol import load_protocol, protocol_from_dict
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Results
from privacy_eval.simulate import DEMO_SIZES, VectorModel, demo_tree, write_demo_tree

PROTOCOL = load_protocol("vpc2020")
ORIGINAL_MODEL = "exp/models/asv_eval/xvect_01709_1"
LESS = {"speakers": 6, "utterances": 4}
SMALL = {"seed": 0, "speakers": 3, "utterances": 2, "systems": 3}
GROUPS = list(itertools.product(("libri", "vctk"), ("dev", "test")))
ENROLLMENT_SETS = {f"{c}_{s}_enrolls" for c, s in GROUPS}
ORIGINAL_SETS = ENROLLMENT_SETS | {
    f"{c}_{s}_trials_{g}{part}"
    for c, s in GROUPS
    for g in "fm"
    for part in (("", "_common") if c == "vctk" else ("",))
}
TRAINING = "train_clean_360"
ANONYMIZED_SETS = ENROLLMENT_SETS | {
    f"{c}_{s}_trials_{g}{'_all' if c == 'vctk' else ''}" for c, s in GROUPS for g in "fm"
}


def sets_of(*systems: str) -> set[str]:
    """Data folders of the originals and of some systems."""
    anonymized = {f"{name}_{s}" for name in {*ANONYMIZED_SETS, TRAINING} for s in systems}
    return {*ORIGINAL_SETS, TRAINING, *anonymized}


def below(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def rows(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in path.read_text().splitlines()]


def evaluated(tree: Path, protocol: str = "vpc2020", *attackers: str) -> Results:
    """Results of all stages from the subsets on."""
    named = [f"--attackers={','.join(attackers)}"] if attackers else []
    common = ("--tree", tree, "--results", "exp", "--conf", protocol)
    out = ("--out", "out")
    for verb, *more in (
        ("subsets", "--anonymized"),
        ("asv-scores", *named),
        ("privacy-metrics", *out),
        ("similarity", *out),
        ("collect", *out),
    ):
        ok(cli("stage", verb, *common, *more))
    return read_results(tree / "out/results.json")


def means(results: Results) -> dict[tuple[str, str], float]:
    """Means over trial sets by system and attack model or similarity metric."""
    values = defaultdict(list)
    for record in results.by_challenge().verification:
        condition = record.condition
        if condition.attack_model is not None:
            eer = record.by_variant()["exact"]["eer"]
            values[condition.system, condition.attack_model].append(eer)
    for record in results.similarity:
        for metric, value in record.values("exact").items():
            values[record.condition.system, metric].append(value)
    n_sets = len(list(results.protocol.trial_sets()))
    assert {len(of_one) % n_sets for of_one in values.values()} == {0}
    return {key: mean(of_one) for key, of_one in values.items()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulate") / "tree"
    assert write_demo_tree(folder, PROTOCOL, seed=3, **LESS)
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small") / "tree"
    assert write_demo_tree(folder, PROTOCOL, **SMALL)
    return folder


def test_same_seed_gives_same_bytes(tree: Path, small: Path, tmp_path: Path) -> None:
    assert write_demo_tree(tmp_path / "other place", PROTOCOL, **SMALL)
    assert snapshot(tmp_path / "other place") == snapshot(small)
    # Four tables and a list in every data folder, but no list in eight combined ones and in three
    # of training speech.
    assert len(snapshot(tree)) == 2 + (43 * 5 - 8 - 3) + 43 * 2 + 3 + 2 * 8


def test_other_seed_changes_vectors_and_words(tree: Path, tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", PROTOCOL, seed=4, **LESS)
    one, two = snapshot(tree), snapshot(tmp_path / "t")
    assert set(one) == set(two)
    changed = {name for name in one if one[name] != two[name] and not name.endswith("/WER")}
    archives = {name for name in one if name.endswith(".ark")}
    files = ("mean.vec", "transform.mat", "plda")
    back_end = {f"{ORIGINAL_MODEL}/xvect_train_clean_360/{name}" for name in files}
    words = {name for name in one if name.endswith("/text")}
    assert (len(archives), len(words)) == (43, 43)
    assert changed == {*archives, *words, *back_end, "ratings.csv", "demo_tree.json"}


def test_existing_tree_is_kept(tree: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in tree.rglob("*")}
    assert not write_demo_tree(tree, PROTOCOL, seed=3, **LESS)
    assert {p: p.stat().st_mtime_ns for p in tree.rglob("*")} == before
    assert not list(tree.parent.glob(".*"))


def test_layout_is_that_after_anonymization(tree: Path) -> None:
    assert below(tree) == {"data", "exp", "ratings.csv", "demo_tree.json"}
    assert below(tree / "data") == sets_of("B1", "B2")
    assert below(tree / "exp") == {"B1", "B2", "models"}
    vectors = {f"xvect_{name}" for name in sets_of("B1", "B2")}
    assert below(tree / ORIGINAL_MODEL) == {"xvect_train_clean_360", *vectors}
    for system in ("B1", "B2"):
        assert below(tree / "exp" / system) == {f"results-demo_{system}"}
        assert below(tree / "exp" / system / f"results-demo_{system}") == {
            f"ASR-{c}_{s}_asr{suffix}" for c, s in GROUPS for suffix in ("", f"_{system}")
        }
    assert not [p for p in tree.rglob("*") if p.name.startswith("ASV-") or p.name == "scores"]


def test_protocol_with_two_results_folders_gets_both_models(tmp_path: Path) -> None:
    tree = tmp_path / "t"
    write_demo_tree(tree, load_protocol("vpc2022"), systems=1, speakers=6, utterances=6)
    assert below(tree / "data") == sets_of("B1")
    assert below(tree / "exp/models") == {"asv_eval", "user_asv_eval_B1"}
    vectors = {f"xvect_{name}" for name in sets_of("B1") - {TRAINING}}
    assert below(tree / "exp/models/user_asv_eval_B1/xvect_01709_1") == vectors
    parts = ["results-demo_B1", "results-demo_B1.orig"]
    assert below(tree / "exp/B1") == set(parts)
    own, original = (tree / "exp/B1" / part for part in parts)
    assert below(own) == below(original)
    assert len(below(own)) == 8
    for name in below(own):
        assert "user_asr_eval_anon/decode_" in (own / name / "WER").read_text()
        assert "models/asr_eval/decode_" in (original / name / "WER").read_text()
    lines_to(tree / "half.yaml", ["{extends: vpc2022, name: half, splits: [test]}"])
    actual = means(evaluated(tree, "half.yaml"))
    assert actual["B1", "semi-informed"] < actual["B1", "lazy-informed"] - 0.05


def test_protocol_of_one_gender_anonymizes_trial_sets_separately(tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", changed_protocol(genders={"m": "male"}))
    assert below(tmp_path / "t/data") == {n for n in sets_of("B1", "B2") if "_trials_f" not in n}


def test_back_end_signs_are_fixed(tree: Path) -> None:
    folder = tree / ORIGINAL_MODEL / "xvect_train_clean_360"
    transform = read_matrix(folder / "transform.mat")
    assert transform.shape == (16, 25)
    for matrix in (transform[:, :24], read_plda(folder / "plda").transform):
        assert (matrix.max(axis=1) > -matrix.min(axis=1)).all()
    assert (folder / "mean.vec").read_bytes()[:2] == b" ["


def test_scores_do_not_depend_on_eigenvector_signs() -> None:
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
    plda = model.plda
    turned = PldaBackend(
        Plda(plda.mean * of_lda, of_plda[:, None] * plda.transform * of_lda, plda.psi),
        model.mean,
        of_lda[:, None].astype(np.float32) * model.transform,
    )
    scores = [
        score_matrix(vectors.astype(np.float32), 1, vectors, model=one)
        for one in (model, demo_tree._reproducible(model), demo_tree._reproducible(turned))
    ]
    assert scores[1] == pytest.approx(scores[0], abs=1e-3)
    assert np.array_equal(scores[1], scores[2])


# Sizes


@pytest.mark.parametrize(
    ("conf", "splits", "speakers", "utterances"),
    [
        ("vpc2020", ["dev", "test"], 2, 2),
        ("vpc2020", ["test"], 12, 12),
        ("vpc2020", ["dev"], 37, 2),
        ("vpc2020", ["test"], 38, 2),
        ("vpc2022", ["dev", "test"], 3, 2),
        ("vpc2020", ["dev"], 2, 1001),
        ("vpc2020", ["test"], 376, 2),
    ],
)
def test_data_folders_of_any_size_are_consistent(
    conf: str, splits: list[str], speakers: int, utterances: int, tmp_path: Path
) -> None:
    """37 speakers are the most with the usual width of numbers: 50 are then enrolled. The largest
    trees have LibriSpeech only."""
    entries = of_libri(conf) if speakers * utterances > 500 else load_protocol(conf).to_dict()
    protocol = protocol_from_dict({**entries, "splits": splits}, conf)
    tree = tmp_path / "t"
    write_demo_tree(tree, protocol, speakers=speakers, utterances=utterances, systems=1)
    n_enrolled = speakers + -(-speakers // 3)
    width = 4 if n_enrolled <= 50 else 5 if n_enrolled <= 500 else 6
    gender_of: dict[str, str] = {}
    for name in {t.enrollment_name for t in protocol.trial_sets()}:
        by_key = dict(rows(tree / "data" / name / "spk2gender"))
        assert len(by_key) == 2 * n_enrolled and {len(s) for s in by_key} == {width}
        assert not set(by_key) & set(gender_of)  # nobody is in two enrollment sets
        gender_of.update(by_key)
    assert {p.name for p in (tree / "data").glob("train_*")} == {TRAINING, f"{TRAINING}_B1"}
    for folder in nonempty((tree / "data").glob("[!t]*")):
        utt2spk = rows(folder / "utt2spk")
        assert utt2spk == sorted(set(utt2spk))
        speaker_of = dict(utt2spk)
        assert list(speaker_of.values()) == sorted(speaker_of.values())
        assert [(u, s) for s, *of_one in rows(folder / "spk2utt") for u in of_one] == utt2spk
        genders = dict(rows(folder / "spk2gender"))
        assert list(genders) == sorted(set(speaker_of.values()))
        assert genders.items() <= gender_of.items()
        if "enrolls" in folder.name:
            assert rows(folder / "enrolls") == [(u,) for u in speaker_of]
            assert len(utt2spk) == 3 * len(genders)
        else:
            assert set(genders.values()) == {"f" if "_f" in folder.name else "m"}
            assert (folder / "trials").exists() == ("_all" not in folder.name)
    for trial_set in protocol.trial_sets():
        folder = tree / "data" / trial_set.trials_name
        speaker_of = dict(rows(folder / "utt2spk"))
        # Numbers count in the order of their utterances.
        numbers = [int(u.rpartition("-")[2]) for u in speaker_of]
        assert numbers == list(range(utterances)) * speakers
        if speakers * utterances < 500:
            genders = dict(rows(tree / "data" / trial_set.enrollment_name / "spk2gender"))
            enrolled = [s for s, gender in genders.items() if gender == trial_set.gender]
            assert rows(folder / "trials") == [
                (s, u, "target" if s == speaker else "nontarget")
                for s in enrolled
                for u, speaker in speaker_of.items()
            ]


def test_every_utterance_has_its_vector(tree: Path) -> None:
    for data in nonempty((tree / "data").iterdir()):
        scp = tree / ORIGINAL_MODEL / f"xvect_{data.name}" / "xvector.scp"
        vectors = read_vectors(scp, tree=tree)
        assert vectors.ids == tuple(u for u, _ in rows(data / "utt2spk"))
        assert np.unique(vectors.matrix, axis=0).shape == (len(vectors.ids), 24)


def test_further_systems_do_not_change_others(small: Path, tmp_path: Path) -> None:
    whole = snapshot(small)
    for systems, more in ((1, {"B2", "S3"}), (2, {"S3"})):
        write_demo_tree(tmp_path / f"{systems}", PROTOCOL, **{**SMALL, "systems": systems})
        fewer = snapshot(tmp_path / f"{systems}")
        changed = {n for n in fewer if fewer[n] != whole[n]}
        assert changed == {"demo_tree.json", "ratings.csv"}  # of all systems, both
        added = set(whole) - set(fewer)
        assert added == {n for n in whole if any(f"_{s}/" in n for s in more)}
    archive = f"{ORIGINAL_MODEL}/xvect_libri_dev_enrolls_{{}}/xvector.ark"
    assert len({whole[archive.format(s)] for s in ("B1", "B2", "S3")}) == 3


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        (1, ["B1"]),
        (9, ["B1", "B2", *(f"S{n}" for n in range(3, 10))]),
        (11, ["B1", "B2", *(f"S{n:02d}" for n in range(3, 12))]),
    ],
)
def test_systems_sort_by_name(systems: int, names: list[str], tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", PROTOCOL, speakers=2, utterances=2, systems=systems)
    assert sorted(below(tmp_path / "t/exp") - {"models"}) == names
    # Word error rates are drawn around those of the baselines, each system's its own.
    rates = {
        float((results / f"ASR-libri_test_asr_{name}/WER").read_text().split()[1])
        for name in names
        for results in [tmp_path / f"t/exp/{name}/results-demo_{name}"]
    }
    assert len(rates) == systems
    assert 5 < min(rates) and max(rates) < 17


@pytest.mark.wing("attackers")
def test_smallest_tree_is_evaluated(tmp_path: Path) -> None:
    write_demo_tree(tmp_path / "t", PROTOCOL, **{**SMALL, "systems": 1})
    results = evaluated(tmp_path / "t")
    conditions = results.by_challenge().verification
    assert (len(conditions), len(results.similarity)) == (36, 12)
    by_words = [r.condition for r in results.verification if r.condition.attacker == "words"]
    assert len(by_words) == 12 and {c.attack_model for c in by_words} == {"ignorant"}


def test_an_edition_without_original_speech_and_recognition_has_a_report(tmp_path: Path) -> None:
    model = "asv_models: [{trained_on: original, folder: exp/models/one, backend: cosine}]\n"
    text = re.sub(r"recognition:\n(  .*\n)+", model, OTHER_PROTOCOL)
    protocol = load_protocol(lines_to(tmp_path / "radio.yaml", text.splitlines()))
    write_demo_tree(tmp_path / "t", protocol, **SMALL)
    assert {name for name in below(tmp_path / "t/data") if name.startswith("_")} == set()
    results = evaluated(tmp_path / "t", str(tmp_path / "radio.yaml"))
    assert len(results.verification) == 6 and not results.recognition
    shown = ("--results", tmp_path / "t/out/results.json")
    ok(cli("figures", *shown, "--out", tmp_path / "figures", "--all-figures"))
    ok(cli("report", *shown, "--out", tmp_path / "report.html"))


@pytest.mark.parametrize(
    ("option", "other"), [("speakers", 4), ("utterances", 3), ("systems", 2), ("seed", 1)]
)
def test_tree_of_another_size_is_not_overwritten(option: str, other: int, small: Path) -> None:
    assert not write_demo_tree(small, PROTOCOL, **SMALL)
    before = snapshot(small)
    run = cli("demo-tree", small, *[f"--{o}={v}" for o, v in {**SMALL, option: other}.items()])
    assert (run.code, run.out) == (1, "")
    assert f"{option} {SMALL[option]}, not {other}" in run.err
    assert snapshot(small) == before


@pytest.mark.parametrize("name", DEMO_SIZES)
def test_bad_sizes(name: str, tmp_path: Path) -> None:
    allowed = DEMO_SIZES[name]
    for size in (-1, 0, allowed[0] - 1, allowed[-1] + 1):
        with pytest.raises(ValueError, match=f"{name} from {allowed[0]} to .*not {size}"):
            write_demo_tree(tmp_path / "t", PROTOCOL, **{name: size})
    for text in (str(allowed[0] - 1), str(10**30), "-3", "2.5", "²", "many", ""):
        run = cli("demo-tree", tmp_path / "t", f"--{name}={text}")
        assert (run.code, run.out) == (2, "")
        assert f"argument --{name}: " in run.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("protocol", ["vpc2020", "vpc2022"])
def test_progress_counts_every_data_folder(protocol: str, tmp_path: Path) -> None:
    calls: list[tuple[int, int, str]] = []
    write_demo_tree(
        tmp_path / "t", load_protocol(protocol), **SMALL, progress=lambda *now: calls.append(now)
    )
    folders = below(tmp_path / "t/data")
    assert [call[:2] for call in calls] == [(i, len(folders)) for i in range(1, len(folders) + 1)]
    assert {name for _, _, name in calls} == folders


# How well the systems anonymize


@pytest.mark.wing("attackers")
def test_systems_resemble_the_baselines(tmp_path: Path) -> None:
    """Means over trial sets: EER, DeID and G_VD of the challenge's B1 and B2; further systems
    lie between poor and good ones."""
    write_demo_tree(tmp_path / "t", changed_protocol(splits=["test"]), seed=0, systems=3)
    lines_to(tmp_path / "t/half.yaml", ["{extends: vpc2020, name: half, splits: [test]}"])
    results = evaluated(tmp_path / "t", "half.yaml")
    assert results.systems == ["B1", "B2", "S3"]
    actual = means(results)
    assert actual["B1", "original"] == actual["B2", "original"]
    bounds = {
        ("B1", "original"): (0.03, 0.06),
        ("B1", "ignorant"): (0.45, 0.52),
        ("B1", "lazy-informed"): (0.30, 0.36),
        ("B1", "deid"): (0.98, 1.0),
        ("B1", "gvd_db"): (-12, -6),
        ("B2", "ignorant"): (0.23, 0.30),
        ("B2", "lazy-informed"): (0.12, 0.20),
        ("B2", "deid"): (0.5, 0.8),
        ("B2", "gvd_db"): (-5, -2),
        ("S3", "ignorant"): (0.15, 0.55),
        ("S3", "lazy-informed"): (0.08, 0.45),
    }
    assert not {k: actual[k] for k, (low, high) in bounds.items() if not low < actual[k] < high}
    words = [r for r in results.verification if r.condition.attacker == "words"]
    assert 0.3 < mean(r.by_variant()["exact"]["eer"] for r in words) < 0.4


@pytest.mark.wing("attackers")
def test_stronger_attackers_are_stronger(tmp_path: Path) -> None:
    """An alignment undoes most of what B1 turns; fusing it with the words gains more."""
    half = changed_protocol(splits=["test"])
    write_demo_tree(tmp_path / "t", half, speakers=8, utterances=6, systems=1)
    lines_to(tmp_path / "t/half.yaml", ["{extends: vpc2020, name: half, splits: [test]}"])
    results = evaluated(tmp_path / "t", "half.yaml", "all")
    eers = defaultdict(list)
    for record in results.verification:
        if record.condition.attack_model == "ignorant":
            eers[record.condition.attacker].append(record.by_variant()["exact"]["eer"])
    by_crops = {a.id for a in PROTOCOL.attackers if a.attack_model}  # of recordings
    assert eers.keys() == {a.id for a in PROTOCOL.attackers if not a.encoder} - by_crops
    assert {len(of_one) for of_one in eers.values()} == {6}
    eer = {attacker: mean(of_one) for attacker, of_one in eers.items()}
    assert eer["plda"] > 0.4
    assert max(eer["ridge-reverse"], eer["procrustes"], eer["ridge-reverse-asnorm"]) < 0.35
    assert eer["fused"] < min(eer["words"], eer["plda"])


# Errors


def test_protocols_without_vector_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="vpc2020: asv_models lacks a model trained on orig"):
        write_demo_tree(tmp_path / "t", changed_protocol(asv_models=[]))
    values = load_protocol("vpc2022").to_dict()
    models = [{**m, "folder": "exp/m", "training_set": "train"} for m in values["asv_models"]]
    with pytest.raises(PrivacyEvalError, match=r"same folder .*, expected \{suffix\}"):
        write_demo_tree(tmp_path / "t", changed_protocol(**{**values, "asv_models": models}))
    assert not list(tmp_path.iterdir())
    (tmp_path / "radio.yaml").write_text(OTHER_PROTOCOL)
    run = cli("demo-tree", tmp_path / "t", "--conf", tmp_path / "radio.yaml")
    assert (run.code, run.out) == (1, "")
    assert "radio: asv_models lacks a model trained on original" in run.err


@pytest.mark.parametrize("content", ["a file", "a folder", "another seed", "no marker"])
def test_foreign_folders_are_refused_and_kept(content: str, tmp_path: Path) -> None:
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
    run = cli("demo-tree", folder)
    assert (run.code, run.out) == (1, "")
    assert f"{folder}: contains something other than the demo tree" in run.err
    assert snapshot(tmp_path) == before


def test_leftovers_of_a_killed_run_are_removed(tree: Path, tmp_path: Path) -> None:
    left = tmp_path / ".t.abcd1234.tmp" / "data"
    left.mkdir(parents=True)
    (left / "rubbish").write_text("x")
    (tmp_path / "t").mkdir()
    assert write_demo_tree(tmp_path / "t", PROTOCOL, seed=3, **LESS)
    assert snapshot(tmp_path / "t") == snapshot(tree)
    assert [p.name for p in tmp_path.iterdir()] == ["t"]


def test_current_folder_is_refused(tmp_path: Path) -> None:
    run = command("demo-tree", ".", cwd=tmp_path)
    assert run.code == 1
    assert "is the current folder" in run.err and "Traceback" not in run.err


def test_command_reports_existing_tree(tmp_path: Path) -> None:
    sizes = [f"--{name}={size}" for name, size in SMALL.items()]
    first = cli("demo-tree", tmp_path / "t", *sizes)
    again = cli("demo-tree", tmp_path / "t", *sizes)
    assert (first.code, again.code) == (0, 0)
    assert f"{tmp_path}/t: " in first.err and first.err != again.err


def test_the_tree_of_2022_has_the_challenges_numbers_of_trials(tmp_path: Path) -> None:
    """Targets and nontargets of the evaluation plan; each trial once."""
    write_demo_tree(tmp_path / "t", load_protocol("vpc2022"), systems=1)
    published = {
        "libri_dev_trials_f": (704, 14566),
        "libri_test_trials_m": (449, 9457),
        "vctk_dev_trials_f": (1781, 13219),
        "vctk_test_trials_m": (1742, 13258),
        "vctk_dev_trials_m_common": (351, 4911),
    }
    for name, counts in published.items():
        key = rows(tmp_path / "t/data" / name / "trials")
        labels = [label for _, _, label in key]
        assert (labels.count("target"), labels.count("nontarget")) == counts
        assert len({pair[:2] for pair in key}) == len(key)
        speaker_of = dict(rows(tmp_path / "t/data" / name / "utt2spk"))
        assert all((speaker_of[u] == e) == (label == "target") for e, u, label in key)
        enrolled = dict(
            rows(tmp_path / "t/data" / f"{name.split('_trials')[0]}_enrolls/spk2gender")
        )
        assert {e for e, _, _ in key} <= set(enrolled)
