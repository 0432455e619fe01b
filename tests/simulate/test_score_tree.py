"""Demo trees of the editions that compute their own scores."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import changed_protocol, cli, ok, snapshot

import privacy_eval as pe
from privacy_eval import PrivacyEvalError
from privacy_eval.io.wer import read_wer_folder
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import read_results
from privacy_eval.simulate import write_demo_tree
from privacy_eval.simulate.folders import true_sizes
from privacy_eval.simulate.models import anonymization, cosine_scores, original_model

#: Editions, and numbers of systems.
CONFS = {"vpc2024": 2, "vpc2026_track1": 1, "vpc2026_track2": 1}
SMALL = ("--speakers", "3", "--utterances", "6")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tree of every edition."""
    folder = tmp_path_factory.mktemp("trees")
    for conf, systems in CONFS.items():
        options = ("--conf", conf, *SMALL, "--systems", systems)
        assert cli("demo-tree", folder / conf, *options).code == 0
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of the challenge's size."""
    folder = tmp_path_factory.mktemp("whole") / "tree"
    write_demo_tree(folder, load_protocol("vpc2024"), systems=2)
    return folder


def eer(tree: Path, trials: str, scores: str) -> float:
    key = pe.read_trials(tree / "data" / trials / "trials")
    pairs = pe.pair(pe.read_scores(tree / "exp" / scores / "scores"), key)
    return pe.evaluate(pairs.score[pairs.is_target], pairs.score[~pairs.is_target]).values["eer"]


def test_numbers_of_trials_are_the_challenges(whole: Path) -> None:
    """Targets and nontargets of the evaluation plan of 2024."""
    published = {
        "libri_dev_trials_f": (704, 14566),
        "libri_dev_trials_m": (644, 12796),
        "libri_test_trials_f": (548, 11196),
        "libri_test_trials_m": (449, 9457),
    }
    for name, counts in published.items():
        labels = [x.split()[2] for x in (whole / f"data/{name}/trials").read_text().splitlines()]
        assert (labels.count("target"), labels.count("nontarget")) == counts
    # Track 2: all trials of a language and split, in the organizers' statistics.
    totals = {"de_dev": 44025, "fr_test": 18486, "es_test": 20170, "en_dev": 67620}
    for name, total in totals.items():
        sizes = [true_sizes()[(*name.split("_"), gender)] for gender in "fm"]
        assert sum(size.enrolled * size.utterances for size in sizes) == total


def test_systems_are_of_sensible_strength(whole: Path) -> None:
    sets = {"dev": "libri_dev", "test": "libri_test"}
    for name in sets.values():
        trials = f"{name}_trials_f"
        places = {
            "original": f"asv_orig/{name}_enrolls-{trials}",
            "ignorant": f"asv_orig/{name}_enrolls-{trials}_B1",
            "lazy": f"asv_orig/{name}_enrolls_B1-{trials}_B1",
            "semi": f"asv_anon_B1/{name}_enrolls_B1-{trials}_B1",
            "stronger": f"asv_anon_B2/{name}_enrolls_B2-{trials}_B2",
        }
        rates = {what: eer(whole, trials, place) for what, place in places.items()}
        assert 0.02 < rates["original"] < 0.09
        assert 0.1 < rates["semi"] < rates["lazy"] < rates["ignorant"] < 0.6
        assert rates["semi"] < rates["stronger"] < 0.45
    first = (whole / "exp/asv_orig" / "libri_dev_enrolls-libri_dev_trials_f/scores").read_text()
    scores = np.array([float(line.split()[2]) for line in first.splitlines()])
    assert np.abs(scores).max() < 1  # as cosines


@pytest.mark.wing("attackers")
@pytest.mark.parametrize(
    ("conf", "model", "enrolled", "tried"),
    [
        ("vpc2024", "asv_orig", "libri_dev_enrolls", "libri_dev_trials_m"),
        ("vpc2024", "asv_orig", "libri_test_enrolls", "libri_test_trials_f_B2"),
        ("vpc2024", "asv_orig", "libri_dev_enrolls_B1", "libri_dev_trials_f_B1"),
        ("vpc2024", "asv_anon_B1", "libri_dev_enrolls_B1", "libri_dev_trials_m_B1"),
        ("vpc2026_track1", "asv_ssl", "libri_dev_enrolls", "libri_dev_trials_mixed_B1"),
        (
            "vpc2026_track2",
            "asv_anon_track2_10_de_B1",
            "de_dev_enrolls_B1",
            "de_dev_trials_mixed_B1",
        ),
    ],
)
def test_scores_are_the_cosines_of_the_vectors(
    conf: str, model: str, enrolled: str, tried: str, trees: Path, tmp_path: Path
) -> None:
    tree = trees / conf
    folder, data = tree / "exp" / model, tree / "data"
    at = "cosine_out/emb_xvect/{}/utt-level/speaker_vectors.pt"
    done = cli(
        *("asv-scores", "--backend", "cosine", "--out", tmp_path / "scores"),
        *("--enroll-vectors", folder / at.format(enrolled)),
        *("--spk2utt", data / enrolled.removesuffix("_B1") / "spk2utt"),
        *("--trial-vectors", folder / at.format(tried)),
        *("--trials", data / tried.removesuffix("_B1").removesuffix("_B2") / "trials"),
    )
    assert done.code == 0, done.err
    computed, written = (
        {tuple(line.split()[:2]): float(line.split()[2]) for line in path.read_text().splitlines()}
        for path in (tmp_path / "scores", folder / f"{enrolled}-{tried}" / "scores")
    )
    assert computed == pytest.approx(written, abs=2e-7)  # printed with 7 decimals


def test_vectors_have_the_rates_that_are_chosen() -> None:
    """Of a thousand speakers; standard errors are below 1 %."""
    generator, speakers = np.random.default_rng(3), 1000
    original = original_model(0.05, 12)
    hidden = anonymization(0.3, 0.42, original, 12)
    voices = original.voices(speakers, generator)
    one, more = (original.utterances(v, generator) for v in (voices, np.repeat(voices, 12, 0)))
    both = np.concatenate((more, one))
    turned = hidden.anonymize(both, np.zeros_like(both), generator)
    tried = turned[len(more) :]
    speech = {0.05: (more, one), 0.42: (more, tried), 0.3: (turned[: len(more)], tried)}
    speaker, other = np.divmod(np.arange(speakers * 20), 20)
    pairs = speaker, (speaker + 7 * other) % speakers
    is_target = pairs[0] == pairs[1]
    for expected, (enrolled, spoken) in speech.items():
        scores = cosine_scores(enrolled.reshape(speakers, 12, -1), spoken, pairs)
        found = pe.evaluate(scores[is_target], scores[~is_target]).values["eer"]
        assert found == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("conf", CONFS)
@pytest.mark.wing("organizers")
def test_trees_are_complete_and_named_simulated(conf: str, trees: Path) -> None:
    tree = trees / conf
    common = ("--tree", tree, "--results", "exp", "--conf", conf)
    done = cli("stage", "check", *common)
    assert done.code == 0 and "\nready: all " in done.out, done.out
    for verb in ("privacy-metrics", "collect"):
        ok(cli("stage", verb, *common))
    path = tree / "exp/privacy_eval/results.json"
    results = read_results(path)
    n_systems = CONFS[conf]
    assert results.systems == ["B1", "B2"][:n_systems] and results.not_evaluated == ()
    assert len(results.verification) == n_systems * 4 * len(list(results.protocol.trial_sets()))
    spoken = len(results.protocol.recognition.data_sets) * len(results.protocol.splits)
    assert len(results.recognition) == n_systems * 2 * spoken
    assert len(results.emotion) == n_systems * 2 * 2
    assert results.protocol.title.endswith(", simulated data")
    data = read_report_data(ReportSources((path,), conf=conf))
    assert data.protocol.title == results.protocol.title


@pytest.mark.wing("utility")
def test_word_errors_are_those_of_the_transcripts(trees: Path) -> None:
    from privacy_eval.utility.word_errors import word_errors

    def text(path: Path) -> dict[str, str]:
        lines = (line.partition(" ") for line in path.read_text().splitlines())
        return {utterance: words for utterance, _, words in lines}

    tree = trees / "vpc2024"
    for name in ("libri_dev_asr", "IEMOCAP_test"):
        for suffix in ("", "_B2"):
            spoken = text(tree / "data" / name / "text")
            folder = tree / "exp/asr" / f"{name}{suffix}"
            heard = text(folder / "text")
            counts = [word_errors(spoken[u], heard[u]) for u in spoken]
            ((line,), _) = read_wer_folder(folder)
            assert line.words == sum(c.words for c in counts)
            assert line.errors == sum(c.errors for c in counts)


def test_same_seed_gives_same_bytes_and_systems_are_independent(
    trees: Path, tmp_path: Path
) -> None:
    tree = snapshot(trees / "vpc2026_track1")
    before = {n: tree[n] for n in tree if not n.startswith("exp/privacy_eval/")}
    protocol = load_protocol("vpc2026_track1")
    made = {"speakers": 3, "utterances": 6}
    write_demo_tree(tmp_path / "more", protocol, systems=2, **made)
    more = snapshot(tmp_path / "more")
    assert {n for n in before if before[n] != more[n]} == {"demo_tree.json"}
    write_demo_tree(tmp_path / "other", protocol, systems=1, seed=1, **made)
    other = snapshot(tmp_path / "other")
    changed = {n for n in before if before[n] != other[n]}
    assert "data/libri_dev_trials_mixed/trials" not in changed
    assert {n for n in before if n.endswith("/scores")} <= changed


def test_a_set_without_a_true_size_needs_one(tmp_path: Path) -> None:
    protocol = load_protocol("vpc2024")
    other = replace(protocol, data_sets=(replace(protocol.data_sets[0], id="own"),))
    with pytest.raises(PrivacyEvalError, match="not known for own dev f; .*--speakers"):
        write_demo_tree(tmp_path / "t", other)
    assert not list(tmp_path.iterdir())
    write_demo_tree(tmp_path / "t", other, speakers=2, utterances=2)


def test_a_protocol_without_recognizers_gets_scores_only(tmp_path: Path) -> None:
    folders = load_protocol("vpc2024").to_dict()["results_folders"]
    other = changed_protocol(asv_models=[], results_folders=folders)
    write_demo_tree(tmp_path / "t", other, speakers=2, utterances=2, systems=1)
    assert {path.name for path in (tmp_path / "t/exp").iterdir()} == {"asv_orig", "asv_anon_B1"}
