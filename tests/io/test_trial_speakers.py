"""Speakers of both sides of trials."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import lines_to

from privacy_eval import PrivacyEvalError
from privacy_eval.io.scores import read_scores, with_speakers
from privacy_eval.metrics.pairing import pair
from privacy_eval.metrics.trials import Trials

SPEAKERS = ["a", "b"]


def paired(folder: Path, enrolled: dict[str, str], spoken: dict[str, str]) -> Trials:
    """Pair every enrolled id with every utterance; both by their speaker."""
    lines = (
        f"{e} {u} 0.5 {'target' if enrolled[e] == spoken[u] else 'nontarget'}"
        for e in enrolled
        for u in spoken
    )
    scores = read_scores(lines_to(folder / "scores", lines), format="wespeaker")
    return pair(scores)


def spk(folder: Path, name: str, speaker_of: dict[str, str]) -> Path:
    return lines_to(folder / name, (f"{u} {s}" for u, s in speaker_of.items()))


UTTERANCES = {"u1": "a", "u2": "b"}


@pytest.mark.parametrize("enrolled", [{"a": "a", "b": "b"}, {"u3": "a", "u4": "b", "b": "b"}])
def test_utt2spk_lists_enrolled_utterances_and_other_ids_are_speakers(
    tmp_path: Path, enrolled: dict[str, str]
) -> None:
    trials = paired(tmp_path, enrolled, UTTERANCES)
    utt2spk = spk(tmp_path, "utt2spk", {**UTTERANCES, "u3": "a", "u4": "b"})
    known = with_speakers(trials, utt2spk)
    assert known.enrolled_speaker.tolist() == [enrolled[e] for e in trials.enrolled.tolist()]
    assert known.trial_speaker.tolist() == [UTTERANCES[u] for u in trials.utterance.tolist()]


def test_a_speaker_named_like_an_utterance_is_the_speaker(tmp_path: Path) -> None:
    trials = paired(tmp_path, {"a": "a", "b": "b"}, UTTERANCES)
    utt2spk = spk(tmp_path, "utt2spk", {**UTTERANCES, "a": "b"})
    assert with_speakers(trials, utt2spk).enrolled_speaker.tolist() == trials.enrolled.tolist()


def test_models_have_speakers_of_their_own_file(tmp_path: Path) -> None:
    models = {"m1": "a", "m2": "a", "m3": "b"}
    trials = paired(tmp_path, models, UTTERANCES)
    files = spk(tmp_path, "utt2spk", UTTERANCES), spk(tmp_path, "models", models)
    assert with_speakers(trials, *files).enrolled_speaker.tolist() == [
        models[m] for m in trials.enrolled.tolist()
    ]
    with pytest.raises(PrivacyEvalError, match=r"models: 1 enrolled ids have no speaker: m3"):
        with_speakers(trials, files[0], spk(tmp_path, "models", {"m1": "a", "m2": "a"}))
    with pytest.raises(PrivacyEvalError, match=r"m1 \(taken for a speaker.*--enroll-utt2spk"):
        with_speakers(trials, files[0])


def test_first_folders_name_speakers(tmp_path: Path) -> None:
    ids = {f"{s}/x/{n}.wav": s for s in SPEAKERS for n in range(2)}
    trials = paired(tmp_path, ids, ids)
    for utt2spk in (None, tmp_path / "missing", spk(tmp_path, "utt2spk", ids)):
        known = with_speakers(trials, utt2spk)
        assert known.enrolled_speaker.tolist() == [
            t.split("/")[0] for t in trials.enrolled.tolist()
        ]
        assert known.trial_speaker.tolist() == [t.split("/")[0] for t in trials.utterance.tolist()]


def test_contradictions_name_both_readings(tmp_path: Path) -> None:
    ids = {"a/1.wav": "a", "b/1.wav": "b"}
    trials = paired(tmp_path, ids, ids)
    utt2spk = spk(tmp_path, "utt2spk", {"a/1.wav": "b", "b/1.wav": "b"})
    message = r"(?s)labels of 2 trials contradict .*\(speaker b, by .*trial .*\(speaker b, by "
    with pytest.raises(PrivacyEvalError, match=message):
        with_speakers(trials, utt2spk)


def test_without_a_file_or_folders_the_file_is_asked_for(tmp_path: Path) -> None:
    trials = paired(tmp_path, {"a": "a", "b": "b"}, UTTERANCES)
    with pytest.raises(PrivacyEvalError, match="--utt2spk"):
        with_speakers(trials, None)
    with pytest.raises(PrivacyEvalError, match="1 trial utterances have no speaker: u2"):
        with_speakers(trials, spk(tmp_path, "utt2spk", {"u1": "a"}))
