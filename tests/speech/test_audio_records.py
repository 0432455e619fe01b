"""Results of audits of audio: a system with original speech left in is not ranked."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from support import ENROLLS, TRIALS, SpeechTree, cli, lines_to, refused, utterances_of

from privacy_eval.metrics.caveats import RAW_SPEECH
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.results.json_store import read_results, to_json

RATE = 16000


def write_audio(tree: SpeechTree, name: str, seed: int) -> None:
    """Noise with the loudness of syllables; the same seed gives the same audio."""
    folder = tree.root / "data" / name
    files = {}
    for number, utterance in enumerate(utterances_of(name)):
        generator = np.random.default_rng([seed, number])
        loudness = np.repeat(generator.uniform(0.01, 0.3, 20), RATE // 20)
        path = folder / f"{utterance}.wav"
        soundfile.write(path, loudness * generator.standard_normal(RATE), RATE)
        files[utterance] = path.relative_to(tree.root)
    lines_to(folder / "wav.scp", (f"{u} {p}" for u, p in files.items()))


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    tree = SpeechTree(tmp_path / "tree")
    for seed, name in enumerate((ENROLLS, TRIALS, f"{ENROLLS}_anon")):
        write_audio(tree, name, seed)
    write_audio(tree, f"{TRIALS}_anon", 1)  # of the original
    for verb in ("asv-scores", "privacy-metrics", "similarity"):
        assert tree.run(verb).code == 0
    return tree


@pytest.mark.wing("organizers")
def test_raw_speech_is_not_ranked_until_another_audit(tree: SpeechTree) -> None:
    out = tree.root / "exp/privacy_eval"
    assert tree.run("collect").code == 0
    assert read_report_data(ReportSources((out / "results.json",))).rankings["dev"][0].ranked
    assert tree.run("measures").out == ""  # external x-vectors: audio is audited on request
    checked = tree.run("check", "--audio", "--allow-missing")
    assert "not to be ranked" in checked.out
    assert "2 up to date\n" in tree.run("measures", "--audio", "true").out
    assert tree.run("collect").code == 0
    results = read_results(out / "results.json")
    assert json.loads(to_json(results)) == json.loads((out / "results.json").read_text())
    assert {r.condition.name: len(r.facts["raw"]) for r in results.audio} == {
        f"{ENROLLS}_anon": 0,
        f"{TRIALS}_anon": len(utterances_of(TRIALS)),
    }
    for r in results.verification:
        assert (RAW_SPEECH in r.caveats) == (not r.condition.is_original)
    rankings = read_report_data(ReportSources((out / "results.json",))).rankings["dev"]
    assert all(not r.ranked for r in rankings)
    assert "original speech is still in" in str([r.unranked for r in rankings])
    policy = tree.root / "policy.yaml"
    policy.write_text("rules: [{name: any, metric: eer, at-least: 0, interval: optional}]")
    gate = cli("gate", "--policy", policy, out / "results.json", "--format", "json")
    assert gate.code == 3 and "Original speech" in gate.out
    html = tree.root / "report.html"
    assert cli("report", "--results", out / "results.json", "--out", html).code == 0
    assert "Original speech is still in the anonymized audio" in html.read_text()

    write_audio(tree, f"{TRIALS}_anon", 9)
    lines_to(tree.root / "data" / TRIALS / "wav.scp", ["x x"])
    refused(tree.run("collect"), "check --audio")
    write_audio(tree, TRIALS, 1)
    assert tree.run("check", "--audio", "--allow-missing").code == 0
    assert tree.run("collect").code == 0
    results = read_results(out / "results.json")
    assert not results.raw_systems and len(results.audio) == 2
    assert not any(RAW_SPEECH in r.caveats for r in results.verification)
