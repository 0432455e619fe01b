"""The public names of the package."""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from support import B1, imported

import privacy_eval as pe
from privacy_eval import metrics
from privacy_eval.asv.trials import score_trials
from privacy_eval.asv.voice_similarity import measure
from privacy_eval.cli import parser
from privacy_eval.results.json_store import to_json

LAZY = sorted(set(pe.__all__) - {"PrivacyEvalError", "__version__"})


def test_api_has_the_documented_names() -> None:
    assert set(LAZY) >= {
        *("TrialScores", "evaluate", "score_metrics", "METRICS", "rocch_eer", "kaldi_eer"),
        *("cllr", "min_cllr", "min_dcf", "linkability", "zebra", "speaker_bootstrap"),
        *("read_scores", "read_trials", "pair", "read_vectors", "load", "read_results"),
        *("load_protocol", "find_systems", "evaluate_tree", "collect", "signature"),
        *("similarity_matrix", "voice_similarity", "score_matrix", "train_backend"),
    }
    assert set(LAZY) <= set(dir(pe))


def test_lazy_names_equal_type_checked_imports() -> None:
    tree = ast.parse(Path(pe.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    places = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert places == pe._LAZY
    assert sorted([*places, "PrivacyEvalError", "__version__"]) == sorted(pe.__all__)


@pytest.mark.parametrize("name", LAZY)
def test_a_public_name_is_no_module_and_is_documented(name: str) -> None:
    value = getattr(pe, name)
    assert not inspect.ismodule(value)
    assert not callable(value) or inspect.getdoc(value)


@pytest.mark.parametrize("name", metrics.__all__)
def test_metric_names_are_not_modules(name: str) -> None:
    assert not inspect.ismodule(getattr(metrics, name))


def test_the_package_is_imported_without_numpy() -> None:
    script = "import sys, privacy_eval; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="evaluat_tree"):
        pe.evaluat_tree  # noqa: B018


def test_evaluate_gives_every_metric() -> None:
    target, nontarget = [3.0, 5.0, 7.0, 8.0], [1.0, 2.0, 4.0, 6.0]
    result = pe.evaluate(target, nontarget, variant="challenge")
    scores = pe.TrialScores(target, nontarget)
    assert result.values == pe.score_metrics(scores, variant="challenge")
    assert result.zebra_tag == pe.zebra(scores, variant="challenge").tag
    assert (result.n_target, result.n_nontarget, result.variant) == (4, 4, "challenge")


def test_load_reads_results(tmp_path: Path) -> None:
    results = imported(B1)
    (tmp_path / "results.json").write_text(to_json(results), encoding="utf-8")
    assert pe.load(tmp_path / "results.json") == results


#: Functions of the API with the verbs that call them, and what of their keywords is no option:
#: back ends are read from --model, speakers of trials from utt2spk.
AGREEING = {
    "privacy-metrics": (pe.evaluate, {"target", "nontarget"}),
    "zebra": (pe.zebra, {"tags"}),
    "train-backend": (pe.train_backend, {"speakers"}),
    "asv-scores": (score_trials, {"enrolled", "enrollment", "trial"}),
    "similarity": (measure, {"variants", "part"}),
}


@pytest.mark.parametrize("verb", AGREEING)
def test_options_agree_with_keywords(verb: str) -> None:
    function, keywords = AGREEING[verb]
    (verbs,) = (a for a in parser(verb)._actions if isinstance(a, argparse._SubParsersAction))
    options = {o.dest for o in verbs.choices[verb]._actions}
    named = set(inspect.signature(function).parameters) - keywords - {"scores"}
    assert named - options == set()
