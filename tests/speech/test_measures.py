"""Stage 6: quality, phones and other tools' measures of the speech of a tree."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support import Run, cli, csv_rows, ok, refused, with_row

from privacy_eval import PrivacyEvalError
from privacy_eval.errors import OPTIONAL, UsageError, missing_library
from privacy_eval.numbers.cells import ORIGINAL_COLUMN, cells_from_results
from privacy_eval.numbers.rankings import rank
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol, protocol_from_dict
from privacy_eval.report.figures.plane import figures
from privacy_eval.report.first_screen import front
from privacy_eval.report.system_tables import system_tables
from privacy_eval.report.utility_tables import utility_tables
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results
from privacy_eval.speech import utility
from privacy_eval.speech.audio import Audio
from privacy_eval.speech.trees import measures

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")
pytest.importorskip("kaldialign", reason="the extra wer is not installed")

SETS = [f"libri_{split}_trials_{gender}" for split in ("dev", "test") for gender in "fm"]


class Quality:
    """Opinions that are the mean sample, by hundreds."""

    def rate(self, audio: Audio) -> dict[str, float]:
        if not audio.samples.size:
            raise PrivacyEvalError("no samples")
        return dict.fromkeys(utility.QUALITIES, float(audio.samples.mean()) / 100)


class Recognizer:
    """A phone per ten samples, of the value of the first."""

    def recognize(self, audio: Audio) -> list[str]:
        return [f"p{audio.samples[0]}"] * (audio.samples.size // 10)

    def pronounce(self, text: str) -> list[str]:
        return text.split()


class Tree:
    """A demo tree of two systems; of the first, every utterance has speech in some trial sets."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.out = root / "exp/privacy_eval"

    def run(self, verb: str, *more: object) -> Run:
        where = ("--tree", self.root, "--results", "exp", "--conf", "small.yaml")
        return cli("stage", verb, *where, *more)

    def measure(self, *more: object) -> Run:
        return self.run("measures", "--quality", "--phones", "--bootstrap", 60, *more)

    def collect(self) -> Results:
        ok(self.run("collect"))
        return read_results(self.out / "results.json")

    def utterances(self, name: str) -> list[tuple[str, str]]:
        lines = (self.root / "data" / name / "utt2spk").read_text().splitlines()
        return [(line.split()[0], line.split()[1]) for line in lines]

    def speak_all(self) -> None:
        """Lower the anonymized speech of B1 by 1, and that of B2 by 2 opinions."""
        for name in SETS:
            for suffix, value in (("", 300), ("_B1", 200), ("_B2", 100)):
                self.speak(name, suffix, value)

    def speak(self, name: str, suffix: str, value: int) -> None:
        """Write constant speech, higher by the number of the speaker."""
        folder = self.root / "data" / f"{name}{suffix}"
        folder.mkdir(exist_ok=True)
        if suffix:
            shutil.copy(self.root / "data" / name / "utt2spk", folder / "utt2spk")
        speakers = sorted({s for _, s in self.utterances(name)})
        scp = []
        for utterance, speaker in self.utterances(name):
            samples = np.full(100, value + speakers.index(speaker), np.int16)
            path = folder / f"{utterance}.wav"
            soundfile.write(path, samples, 16000)
            scp.append(f"{utterance} data/{folder.name}/{utterance}.wav\n")
        (folder / "wav.scp").write_text("".join(scp))


@pytest.fixture(scope="module", name="evaluated")
def _evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with privacy metrics, without speech."""
    root = tmp_path_factory.mktemp("measures") / "tree"
    sizes = ("--speakers", 3, "--utterances", 3, "--systems", 2)
    ok(cli("demo-tree", root, "--conf", "vpc2024", *sizes))
    (root / "small.yaml").write_text(yaml.safe_dump({"extends": "vpc2024"}))
    ok(Tree(root).run("privacy-metrics", "--bootstrap", 60))
    return root


@pytest.fixture(scope="module", autouse=True)
def _networks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utility, "load_dnsmos", lambda cache: Quality().rate)
        patch.setattr(utility, "load_phone_recognizer", Recognizer)
        measures._network.cache_clear()
        measures._phone_recognizer.cache_clear()
        yield
    measures._network.cache_clear()
    measures._phone_recognizer.cache_clear()


@pytest.fixture(name="tree")
def _tree(evaluated: Path, tmp_path: Path) -> Tree:
    return Tree(Path(shutil.copytree(evaluated, tmp_path / "tree")))


@pytest.fixture(scope="module", name="measured")
def _measured(evaluated: Path, tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The tree with speech of both systems, its measures and results."""
    tree = Tree(Path(shutil.copytree(evaluated, tmp_path_factory.mktemp("measured") / "tree")))
    tree.speak_all()
    run = tree.measure()
    assert run.code == 0 and "(24 new)" in run.out, run.err
    tree.collect()
    return tree


def test_nothing_is_asked_for_by_default(tree: Tree) -> None:
    run = tree.run("measures")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert '"measures"' not in to_json(tree.collect())


def test_a_tree_without_speech_is_told_so(tree: Tree) -> None:
    run = tree.measure()
    assert run.code == 0 and "no speech for 24 measures: data/libri_dev_trials_f/wav.scp" in run.err
    assert run.out == "measures: 24 of 24 missing (no speech)\n"


def test_measures_reach_results_and_tables(measured: Tree) -> None:
    """Means by hand: opinions are 3, 3.01, 3.02 of the three speakers, anonymized 2, 2.01, 2.02;
    all phones differ."""
    tree = measured
    assert "24 up to date\n" in tree.measure().out
    results = read_results(tree.out / "results.json")
    assert len(results.measures) == 24
    quality = {
        (r.condition.gender, r.condition.trial): r
        for r in results.measures
        if r.facts["source"] == "quality" and r.condition.split == "test"
    }
    counts = [
        len([u for u, s in tree.utterances(SETS[2]) if s == speaker])
        for speaker in sorted({s for _, s in tree.utterances(SETS[2])})
    ]
    expected = sum(n * (3 + 0.01 * i) for i, n in enumerate(counts)) / sum(counts)
    record = quality["f", "original"]
    assert record.values()["dnsmos_ovrl"] == pytest.approx(expected)
    row = record.find("dnsmos_ovrl")
    assert 3 <= row["low"] <= expected <= row["high"] <= 3.03
    per = [r.values() for r in results.measures if r.facts["source"] == "phones"]
    assert per == [{"per_original": 1.0}] * 8
    rows = csv_rows(tree.out / "results.csv")
    (row,) = [r for r in rows if (r["metric"], r["name"]) == ("dnsmos_ovrl", f"{SETS[2]}_B1")]
    assert float(row["value"]) == pytest.approx(expected - 1) and row["low"]
    assert row["trial"] == "anonymized"
    cells = cells_from_results(results)
    keys = {*cells.rows.select(metric="dnsmos_p808").values("system")}
    assert keys == {ORIGINAL_COLUMN, *cells.systems}


def shown(results_json: Path, **options: Any) -> Any:
    return read_report_data(ReportSources((results_json,), **options))


def test_report_tables_and_plane_show_measures(measured: Tree) -> None:
    plain = json.loads((measured.out / "results.json").read_text())
    for record in plain["verification"]:  # values of few trials are in no figure
        record["facts"] |= {"n_target": 500, "n_nontarget": 50_000}
    many = measured.out / "many.json"
    many.write_text(json.dumps(plain))
    data = shown(many, utility=("dnsmos_ovrl", "per_original"))
    many.unlink()
    with pytest.raises(UsageError, match="dnsmos_ovrl"):
        shown(measured.out / "results.json", utility=("naturalness",))
    system = data.results.systems[0]
    (folder, *_) = data.results.results_folders(system)
    table = {t.name: t for t in system_tables(data, system, folder)}["measures"]
    assert any("DNSMOS OVRL" in c.title for c in table.columns)
    utility = {t.name: t for t in utility_tables(data)}["utility_test"]
    assert "DNSMOS OVRL (higher is better)" in utility.caption
    plane = next(d for d in figures(data) if d.name == "plane_test")
    axes = plane.canvas.axes
    assert [a.get_ylabel() for a in axes[:2]] == ["DNSMOS OVRL", "PER to original speech, %"]
    sentences = " ".join(s for _, of in front(data).answers for s in of)
    assert "DNSMOS 3.0" in sentences and "100.00 %" in sentences
    ranking = rank(data.means, metric="dnsmos_ovrl", split="test")
    assert [r["system"] for r in ranking.ranked] == ["B1", "B2"]
    following = ranking.ranked[0]["next"]
    assert [following[name] for name in ("value", "low", "high")] == pytest.approx([1, 1, 1])


@pytest.mark.wing("organizers")
def test_opinions_above_those_of_original_speech_are_a_caution(tree: Tree) -> None:
    for suffix, value in (("", 300), ("_B1", 320), ("_B2", 305)):
        tree.speak(SETS[2], suffix, value)
    assert tree.run("measures", "--quality").code == 0
    marked = [r for r in tree.collect().measures if r.caveats]
    assert {(r.condition.system, *r.caveats) for r in marked} == {("B1", "rated_above_original")}
    rows = json.loads(tree.run("check", "--format", "json", "--quick").out)
    assert not any("is rated above" in row["problem"] for row in rows)
    rows = json.loads(tree.run("check", "--format", "json").out)
    (row,) = (row for row in rows if "is rated above" in row["problem"])
    assert row["team"] == "B1" and "3.21, original 3.01" in row["problem"]


def test_refused_utterances_and_changed_speech(tree: Tree) -> None:
    tree.speak_all()
    (utterance, _), *_ = tree.utterances(SETS[0])
    path = tree.root / "data" / SETS[0] / f"{utterance}.wav"
    soundfile.write(path, np.zeros(0, np.int16), 16000)
    run = tree.run("measures", "--quality")
    assert run.code == 1 and utterance in run.err and "(14 new)" in run.out
    ok(tree.run("measures", "--quality", "--allow-missing"))
    partial = [r for r in tree.collect().measures if r.facts["utterances_left_out"]]
    assert [(r.condition.name, r.facts["utterances_left_out"]) for r in partial] == [
        (SETS[0], 1)
    ] * 2
    tree.speak(SETS[0], "", 310)
    assert "(2 new)" in tree.run("measures", "--quality").out


@pytest.mark.parametrize("content", [b"", b"RIFF but no audio"], ids=["empty", "no audio"])
def test_an_unreadable_recording_costs_the_average_of_its_system(
    tree: Tree, content: bytes
) -> None:
    tree.speak_all()
    folder = tree.root / "data" / f"{SETS[2]}_B1"
    min(folder.glob("*.wav")).write_bytes(content)
    assert tree.run("measures", "--quality").code == 1
    assert tree.run("collect").code == 1
    path = tree.out / "results.json"
    results = read_results(path)
    assert [*results.failed] == ["B1"] and folder.name in results.failures[0]
    means = read_report_data(ReportSources((path,))).means
    split = next(r.condition.split for r in results.measures if SETS[2] in r.condition.name)
    blank, whole = (means.of("dnsmos_ovrl", None, split, system) for system in ("B1", "B2"))
    assert blank["value"] is blank["of_present"] is None and whole["value"] is not None
    assert blank["why_blank"] == f"no value of 1 of 2: {blank['withheld'][0]}"


@pytest.mark.parametrize("package", sorted({*OPTIONAL} - {"pdflatex", "matplotlib"}))
def test_measures_without_their_package(
    tree: Tree, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning; everything else is there."""

    def absent(*_: object) -> None:
        raise missing_library("measures", package)

    tree.speak_all()
    with monkeypatch.context() as patch:
        patch.setattr(measures, "_network", absent)
        run = tree.run("measures", "--quality")
    assert run.code == 0 and f"pip install {package}" in run.err
    results = tree.collect()
    assert results.verification and not results.failed and not results.measures


def test_averaged_channels_are_said_once_and_again(tree: Tree) -> None:
    tree.speak_all()
    names = [name for name, _ in tree.utterances(SETS[0])]
    for name in names:
        path = tree.root / "data" / SETS[0] / f"{name}.wav"
        soundfile.write(path, np.full((100, 2), 300, np.int16), 16000)
    for _ in range(2):  # computed, and current
        run = ok(tree.run("measures", "--quality", "--details"))
        said = [line for line in run.err.splitlines() if "several channels, averaged" in line]
        assert len(said) == len({speaker for _, speaker in tree.utterances(SETS[0])})
        assert all(": 3 (" in line for line in said) and names[0] in said[0]


def test_phones_of_transcripts(tree: Tree) -> None:
    """Ten phones p300 of the first speaker where the transcript has nine and another: an error."""
    tree.speak_all()
    for name in SETS:
        speakers = sorted({s for _, s in tree.utterances(name)})
        text = [
            f"{u} {' '.join([f'p{300 + speakers.index(s)}'] * 9)} x\n"
            for u, s in tree.utterances(name)
        ]
        (tree.root / "data" / name / "text").write_text("".join(text))
    ok(tree.run("measures", "--phones", "--phone-reference", "text"))
    per = {(r.condition.trial, r.values()["per"]) for r in tree.collect().measures}
    assert per == {("original", 0.1), ("anonymized", 1.0)}


def test_other_tools_measures_of_the_protocol(tree: Tree) -> None:
    protocol = yaml.safe_load((tree.root / "small.yaml").read_text())
    one = {"id": "nisqa", "title": "NISQA", "file": "nisqa/{set}.csv", "column": "mos"}
    protocol["measures"] = [{**one, "range": [1, 5], "meaning": "predicted naturalness"}]
    (tree.root / "small.yaml").write_text(yaml.safe_dump(protocol))
    (tree.root / "nisqa").mkdir()
    for name in SETS:
        for end, mos in (("", 4), ("_B1", 3.5), ("_B2", 3.5)):
            lines = [f"{u}.wav,{mos},9\n" for u, _ in tree.utterances(name)]
            path = tree.root / "nisqa" / f"{name}{end}.csv"
            path.write_text("".join(["deg,mos,noise\n", *lines]))
    run = tree.run("measures", "--bootstrap", 60)
    assert run.code == 0 and "(16 new)" in run.out, run.err
    results = tree.collect()
    assert {r.values()["nisqa"] for r in results.measures} == {4, 3.5}
    assert json.loads(to_json(results))["metrics"]["nisqa"]["title"] == "NISQA"
    data = shown(tree.out / "results.json")
    assert "NISQA (higher is better)" in utility_tables(data)[0].caption
    path = tree.root / "nisqa" / f"{SETS[0]}.csv"
    path.write_text(path.read_text().replace(",4,", ",7,"))
    refused(tree.run("measures"), "not within 1 to 5")
    path.write_text("deg,stoi,noise\nu1,1,1\n")
    refused(tree.run("measures"), f"{path}: expected the column mos")
    path.unlink()
    run = tree.run("measures")
    assert f"no files of measures for 2 measures: nisqa/{SETS[0]}.csv" in run.err


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"id": "quality"}, "another meaning"),
        ({"file": "nisqa.csv"}, "must hold {set}"),
        ({"file": "../{set}.csv"}, "below the tree"),
        ({"file": "/x/{set}.csv"}, "below the tree"),
        ({"file": "{set.__class__}.csv"}, "must hold {set}"),
        ({"file": "{set}/{0}.csv"}, "below the tree"),
        ({"id": "a/b"}, "becomes part of file names"),
    ],
)
def test_wrong_entries_of_the_protocol(entry: dict[str, str], message: str) -> None:
    plain = load_protocol("vpc2024").to_dict()
    plain["measures"] = [{"id": "a", "title": "A", "file": "{set}.csv", **entry}]
    with pytest.raises(PrivacyEvalError, match=re.escape(message)):
        protocol_from_dict(plain, "x.yaml")


def test_damaged_records_are_refused(measured: Tree) -> None:
    results = read_results(measured.out / "results.json")
    first = results.measures[0]
    for wrong in (
        with_row(first, "dnsmos_ovrl", value=9),
        with_row(first, "dnsmos_ovrl", metric="eer", value=0.1),
        with_row(first, "dnsmos_ovrl", value=1.0),
        with_row(first, "dnsmos_ovrl", low=3.0, high=2.0),
        first.with_facts(n_utterances=0),
        first.with_facts(speakers={"per": first.facts["speakers"]["dnsmos_ovrl"]}),
    ):
        with pytest.raises(PrivacyEvalError):
            replace(results, measures=(wrong, *results.measures[1:])).check()
    with pytest.raises(PrivacyEvalError, match="duplicate"):
        replace(results, measures=(*results.measures, first)).check()
