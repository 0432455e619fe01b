"""Arguments of a wrong type are refused by name, not where they happen to break."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

from privacy_eval import metrics, speaker_bootstrap
from privacy_eval.compat.zebra import assess
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import TrialScores, kaldi_eer


def functions_of_scores() -> dict[str, Callable[..., Any]]:
    actual: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(metrics.__path__):
        of_module = importlib.import_module(f"privacy_eval.metrics.{module.name}")
        for name, function in inspect.getmembers(of_module, inspect.isfunction):
            first = next(iter(inspect.signature(function).parameters.values()), None)
            takes = "" if first is None else str(first.annotation)
            if takes in ("TrialScores", "TrialScores | Replicates") and name[0] != "_":
                actual[name] = function
    return actual


@pytest.mark.parametrize("name", functions_of_scores())
def test_metrics_need_labelled_scores(name: str) -> None:
    rates = {"miss_rate": {"false_alarm": 0.1}, "miss_rates": {"false_alarm": [0.1]}}
    options = {"min_dcf": {"p_target": 0.5}, **rates}.get(name, {})
    with pytest.raises(TypeError, match="expected scores as TrialScores"):
        functions_of_scores()[name]([1, 2, 3], **options)


def test_all_metrics_are_covered() -> None:
    assert {"zebra", "kaldi_eer", "score_metrics", "det_curve"} <= set(functions_of_scores())


@pytest.mark.parametrize("scores", [["1", "2"], [1, "2"], [b"1"], [None], [1j], [{}]])
def test_scores_are_numbers(scores: list[Any]) -> None:
    for make in (
        lambda: TrialScores(scores, [0.5]),
        lambda: TrialScores([0.5], scores),
        lambda: TrialScores.from_labels(scores, [True] * len(scores)),
    ):
        with pytest.raises(PrivacyEvalError, match="must be numbers"):
            make()


def test_integer_scores_are_numbers() -> None:
    assert kaldi_eer(TrialScores([1, 3], [0, 2])).value == 0.5


def test_statistic_must_return_named_values() -> None:
    def bootstrap(statistic: Callable[..., Any]) -> object:
        trials = metrics.Trials(
            score=[2.0, 0.0, 1.0, 3.0],
            label=[True, False, False, True],
            enrolled_speaker=["a", "a", "b", "b"],
            trial_speaker=["a", "b", "a", "b"],
        )
        return speaker_bootstrap(trials, statistic=statistic, replicates=2, seed=0)

    assert bootstrap(lambda scores: {"eer": kaldi_eer(scores).value})
    with pytest.raises(TypeError, match="statistic must return metrics by name.* not float"):
        bootstrap(lambda scores: kaldi_eer(scores).value)


def test_the_toolkits_interface_documents_its_default() -> None:
    default = inspect.signature(assess).parameters["variant"].default
    assert default == "challenge" and "The default is `challenge`" in str(assess.__doc__)
