"""Attribute inference: values of scikit-learn and anonymeter, a slow second implementation, no
information, and the verb with every kind of metadata."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ROOT, Run, cli, lines_to, ok, printed, refused, write

import privacy_eval as pe
from privacy_eval import PrivacyEvalError, infer_attribute
from privacy_eval.disclosure.attributes import fit_lda, inference_risk, ledoit_wolf

GOLDEN = ROOT / "tests/data/golden/attributes"
FACTS = json.loads((GOLDEN / "expected.json").read_text())
SETS = [name for name in FACTS if name != "risk_formula"]
SHARED = ROOT.parent / "shared" / "disclosure" / "attributes"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no golden attributes beside the repository ({SHARED})"
)


def files_of(folder: Path, source: Path) -> list[object]:
    """Write a golden set as files; return the verb's options."""
    sets = np.load(source)
    ids = [f"u{n:03d}" for n in range(len(sets["speaker"]))]
    for name in ("orig", "anon"):
        np.savez(folder / f"{name}.npz", ids=np.array(ids), matrix=sets[name])
    speakers, labels = sets["speaker"].tolist(), sets["label"].tolist()
    lines_to(folder / "utt2spk", map(" ".join, zip(ids, speakers, strict=True)))
    of_speaker = sorted({f"{s},{label}" for s, label in zip(speakers, labels, strict=True)})
    lines_to(folder / "speakers.csv", ["speaker,label", *of_speaker])
    return [
        *("--vectors", folder / "orig.npz", "--anon-vectors", folder / "anon.npz"),
        *("--utt2spk", folder / "utt2spk", "--labels", f"{folder / 'speakers.csv'}:label"),
        *("--bootstrap", 50, "--format", "json", "--out", folder / "predictions.csv"),
    ]


def assert_golden(folder: Path, run: Run, facts: dict) -> None:
    assert run.code == 0, run.err
    printed = json.loads(run.out)
    by_set: dict[str, list[str]] = {}
    with (folder / "predictions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            by_set.setdefault(row["set"], []).append(row["prediction"])
    assert set(by_set) == {"orig_to_orig", "orig_to_anon", "anon_to_anon"} == set(facts)
    for name, expected in facts.items():
        values = printed[name]
        assert set(values) == {"uar", "interval", "bits", "risk", "risk_interval"}
        assert np.mean(np.array(by_set[name]) == expected["predictions"]) >= 0.995
        assert values["uar"] == pytest.approx(expected["uar"], abs=1e-9)
        assert values["bits"] == pytest.approx(expected["bits"], abs=1e-9)
        assert values["risk"] == pytest.approx(expected["risk"]["risk"], abs=1e-12)
        assert values["risk_interval"] == pytest.approx(expected["risk"]["interval_95"], abs=1e-12)
        assert values["interval"][0] <= values["uar"] <= values["interval"][1]
    larger = max(("anon_to_anon", "orig_to_anon"), key=lambda name: facts[name]["uar"])
    assert printed["reported"] == larger


@pytest.mark.parametrize("name", SETS)
def test_values_are_those_of_other_programs(name: str, tmp_path: Path) -> None:
    run = cli("attributes", *files_of(tmp_path, GOLDEN / f"{name}.npz"))
    assert_golden(tmp_path, run, FACTS[name])


@needs_shared
@pytest.mark.parametrize("name", ["gender_kept", "gender_removed", "librispeech_10"])
def test_values_of_more_sets(name: str, tmp_path: Path) -> None:
    facts = {
        situation: {
            "uar": values["uar"],
            "bits": values["mutual_information_bits"],
            "risk": values["per_speaker_vote"]["risk_against_majority"],
            "predictions": values["predictions"],
        }
        for situation, values in json.loads((SHARED / "expected.json").read_text())[name][
            "lda"
        ].items()
    }
    assert_golden(tmp_path, cli("attributes", *files_of(tmp_path, SHARED / f"{name}.npz")), facts)


@pytest.mark.parametrize("case", FACTS["risk_formula"])
def test_risk_is_that_of_anonymeter(case: dict) -> None:
    risk = inference_risk(case["n"], case["attack_success"], case["control_success"])
    assert risk["value"] == pytest.approx(case["risk"], abs=1e-12)
    assert (risk["low"], risk["high"]) == pytest.approx(case["interval_95"], abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 999))
def test_shrunk_covariance_is_that_of_the_definition(n: int, dimension: int, seed: int) -> None:
    """Equation 14 of Ledoit and Wolf, utterance by utterance."""
    x = np.random.default_rng(seed).normal(size=(n, dimension))
    x -= x.mean(axis=0)
    sample = sum((np.outer(row, row) for row in x), np.zeros((dimension, dimension))) / n
    target = np.trace(sample) / dimension * np.eye(dimension)
    d2 = np.sum((sample - target) ** 2) / dimension
    b2 = sum(np.sum((np.outer(row, row) - sample) ** 2) for row in x) / n**2 / dimension
    b2 = min(b2, d2)
    alone = dimension == 1 or d2 < 1e-12
    expected = sample if alone else b2 / d2 * target + (1 - b2 / d2) * sample
    assert ledoit_wolf(x) == pytest.approx(expected, abs=1e-9)


def test_a_constant_dimension_does_not_matter() -> None:
    generator = np.random.default_rng(1)
    labels = np.repeat([0, 1], 20)
    vectors = generator.normal(size=(40, 3)) + labels[:, None]
    constant = np.column_stack([vectors, np.full(40, 7.0)])
    expected = fit_lda(vectors, labels)(vectors)
    assert np.mean(fit_lda(constant, labels)(constant) == expected) > 0.9


def test_labels_permuted_over_speakers_leave_nothing() -> None:
    """Over 25 sets the mean UAR is at chance, and few intervals of the risk lie above 0."""
    generator = np.random.default_rng(0)
    results = []
    for _ in range(25):
        own = np.repeat(np.arange(20), 6)
        labels = generator.permutation(np.repeat(["f", "m"], 10))[own]
        vectors = generator.normal(size=(20, 8))[own] + generator.normal(size=(120, 8))
        names = [f"s{speaker:02d}" for speaker in own]
        results += infer_attribute(vectors, labels, names, bootstrap=99).values()
    assert np.mean([r.uar for r in results]) == pytest.approx(0.5, abs=0.06)
    assert sum(r.interval[0] <= 0.5 <= r.interval[1] for r in results) >= 18
    assert sum(r.risk["low"] > 0 for r in results) <= 3


def test_a_speaker_is_never_in_training_and_test() -> None:
    """Vectors that name the speaker but not the label predict nothing."""
    own = np.repeat(np.arange(12), 5)
    labels = np.array(["f", "m"])[own % 2]
    names = [f"s{speaker:02d}" for speaker in own]
    result = infer_attribute(np.eye(12)[own], labels, names)["orig_to_orig"]
    assert result.uar < 0.8  # 1 with a shared speaker


def test_a_uar_of_one_has_an_interval() -> None:
    names = np.repeat(list("abcdefgh"), 3)
    labels = np.repeat(["f", "m"], 12)
    vectors = (labels == "f")[:, None] + np.random.default_rng(0).normal(size=(24, 2)) / 100
    result = infer_attribute(vectors, labels, names)["orig_to_orig"]
    assert result.uar == 1
    assert result.interval == pytest.approx((8 / (8 + 1.959964**2), 1), abs=1e-6)  # Wilson
    assert not math.isnan(result.bits)


# The verb


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    return files_of(tmp_path, GOLDEN / "accent_unequal.npz")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("speaker,label\ns00,en\n", "39 of 40 speakers have no label: s01"),
        ("speaker,label\ns00,en\ns00,us\n", "speakers.csv:3: duplicate 's00' with another label"),
        ("speaker,accent\ns00,en\n", "speakers.csv:1: expected one column 'label'"),
        ("speaker,label\n", "no labels"),
        ("speaker,label\ns00,en,x\n", "speakers.csv:2: expected 2 cells"),
        ("utterance,label\nu000,en\nu001,us\n", "speaker 's00' has several labels of label"),
    ],
)
def test_wrong_labels(labels: str, message: str, tmp_path: Path, options: list) -> None:
    write(tmp_path / "speakers.csv", labels)
    run = cli("attributes", *options)
    assert run.code in (1, 2)
    assert message in run.err
    assert not (tmp_path / "predictions.csv").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"en": "us", "ga": "us", "sc": "us"}, "all 40 speakers have the label 'us'"),
        ({"s39": "alone"}, "only one speaker of alone"),
    ],
)
def test_classes_that_cannot_be_learned(
    change: dict, message: str, tmp_path: Path, options: list
) -> None:
    rows = [line.split(",") for line in (tmp_path / "speakers.csv").read_text().split()]
    changed = [(s, change.get(s, change.get(label, label))) for s, label in rows]
    lines_to(tmp_path / "speakers.csv", map(",".join, changed))
    run = cli("attributes", *options)
    assert (run.code, message in run.err) == (1, True)


def test_an_empty_cell_leaves_a_speaker_out(tmp_path: Path, options: list) -> None:
    text = (tmp_path / "speakers.csv").read_text()
    write(tmp_path / "speakers.csv", text.replace("s00,en", "s00,"))
    run = cli("attributes", *options)
    assert (run.code, "left out 1 speakers without label" in run.err) == (0, True)
    assert "s00" not in (tmp_path / "predictions.csv").read_text()


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
def test_a_table_with_an_index_and_columns_in_another_order(
    mark: str, tmp_path: Path, options: list
) -> None:
    """The same values as of the plain table; those of a missing label as without the speaker."""
    rows = [line.split(",") for line in (tmp_path / "speakers.csv").read_text().split()][1:]
    plain = cli("attributes", *options)
    lines = [mark.join([str(n), label, speaker]) for n, (speaker, label) in enumerate(rows)]
    lines_to(tmp_path / "speakers.csv", [mark.join(["index", "label", "speaker"]), *lines])
    again = cli("attributes", *options)
    assert (again.code, again.out) == (0, plain.out)
    assert "by the column 'speaker': en (" in again.err
    lines[0] = lines[0].replace(rows[0][1], "NaN")
    lines_to(tmp_path / "speakers.csv", [mark.join(["index", "label", "speaker"]), *lines])
    assert "left out 1 speakers without label" in cli("attributes", *options).err


def test_labels_of_other_people_are_refused(tmp_path: Path, options: list) -> None:
    write(tmp_path / "speakers.csv", "speaker,label\nx1,en\nx2,us\n")
    refused(cli("attributes", *options), "40 of 40 speakers have no label", "x1, x2")


def test_utterances_without_vectors(tmp_path: Path, options: list) -> None:
    write(tmp_path / "utt2spk", (tmp_path / "utt2spk").read_text() + "u999 s00\n")
    run = cli("attributes", *options)
    assert (run.code, "no vector for 1 ids" in run.err) == (1, True)
    run = cli("attributes", *options, "--allow-missing")
    assert (run.code, "left out 1 utterances without vectors" in run.err) == (0, True)


def test_kaldi_s_gender_and_original_speech_alone(tmp_path: Path) -> None:
    files_of(tmp_path, GOLDEN / "gender_hidden_from_original_model.npz")
    rows = (tmp_path / "speakers.csv").read_text().split()[1:]
    lines_to(tmp_path / "spk2gender", (row.replace(",", " ") for row in rows))
    files = ("--vectors", tmp_path / "orig.npz", "--utt2spk", tmp_path / "utt2spk")
    run = ok(cli("attributes", *files, "--labels", tmp_path / "spk2gender", "--bootstrap", 50))
    assert run.out.startswith("gender: 240 utterances of 30 speakers, 2 classes (f, m)")
    assert printed(run.out)[0]["Value"] == "88.750 %"


def test_few_speakers_are_said_to_be_few(tmp_path: Path, options: list) -> None:
    run = cli("attributes", *options)
    assert "40 speakers (4 of us): too few" in run.err


@pytest.mark.parametrize("option", [("--folds", 1), ("--bootstrap", 0)])
def test_options_that_compute_nothing(option: tuple, options: list) -> None:
    assert cli("attributes", *options, *option).code == 2


def test_dimensions_that_differ() -> None:
    with pytest.raises(PrivacyEvalError, match="differ"):
        infer_attribute(np.eye(8), list("ffffmmmm"), list("abcdefgh"), anonymized=np.eye(8)[:, :4])


def test_results_are_a_table_with_the_caveat_of_the_command_line() -> None:
    rng = np.random.default_rng(0)
    speakers = [f"s{n}" for n in range(12) for _ in range(4)]
    labels = ["f" if int(name[1:]) < 5 else "m" for name in speakers]
    results = pe.infer_attribute(rng.normal(size=(48, 3)), labels, speakers, bootstrap=20)
    rows, of = {row["metric"]: row for row in results.to_rows()}, results["orig_to_orig"]
    row = rows["attribute_uar"]
    assert (row["situation"], row["value"]) == ("orig_to_orig", of.uar)
    assert (row["low"], row["high"]) == of.interval
    assert rows["inference_risk"]["value"] == of.risk["value"]
    assert "12 speakers, 2 classes (f, m); chance 50.0%" in repr(results)
    assert "12 speakers (5 of f): too few" in repr(results)
    assert "<table>" in results._repr_html_()
