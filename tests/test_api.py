"""The public names of the package."""

import ast
import csv
import importlib
import inspect
import io
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support import B1, ROOT, imported, options_of

import privacy_eval as pe
from privacy_eval import metrics
from privacy_eval.asv.trials import score_trials
from privacy_eval.results.json_store import to_json
from privacy_eval.results.measurements import Measurements
from privacy_eval.results.outputs import to_csv

LAZY = sorted(set(pe.__all__) - {"PrivacyEvalError", "__version__"})


def test_a_name_of_a_wing_that_is_not_there_names_the_wing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(pe._ABSENT, "lda", "attackers")
    monkeypatch.delitem(vars(pe), "lda", raising=False)
    with pytest.raises(AttributeError, match=r"privacy_eval\.lda: the wing attackers"):
        _ = pe.lda
    assert not hasattr(pe, "lda")


def test_api_has_the_documented_names() -> None:
    assert set(LAZY) >= {
        *("TrialScores", "evaluate", "score_metrics", "METRICS", "rocch_eer", "kaldi_eer"),
        *("cllr", "min_cllr", "min_dcf", "linkability", "zebra", "speaker_bootstrap"),
        *("read_scores", "read_trials", "pair", "read_vectors", "read_results"),
        *("load_protocol", "find_systems", "evaluate_tree", "collect", "signature"),
        *("similarity_matrix", "voice_similarity", "score_matrix", "train_backend"),
    }
    assert dir(pe) == pe.__all__ and len(pe.__all__) <= 50


def test_every_line_of_the_stub_is_a_public_name() -> None:
    """`__init__.py` reads it by a pattern, type checkers as Python (`import x as x` exports x)."""
    stub = ast.parse(Path(pe.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    modules = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(modules) == pe.__all__
    for name, module in modules.items():
        defined = importlib.import_module(f"privacy_eval.{module}")
        assert getattr(pe, name) is getattr(defined, name)


@pytest.mark.parametrize("name", LAZY)
def test_a_public_name_is_no_module_and_is_documented(name: str) -> None:
    value = getattr(pe, name)
    assert not inspect.ismodule(value)
    assert not callable(value) or inspect.getdoc(value)


@pytest.mark.parametrize("name", ["cllr", "linkability", "pav", "zebra"])
def test_metrics_hide_the_modules_of_their_names(name: str) -> None:
    assert inspect.isfunction(getattr(metrics, name))


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
    assert result.zebra_tag is None and "few_trials" in result.caveats
    assert (result.n_target, result.n_nontarget, result.variant) == (4, 4, "challenge")


def test_results_are_read(tmp_path: Path) -> None:
    results = imported(B1)
    (tmp_path / "results.json").write_text(to_json(results), encoding="utf-8")
    assert pe.read_results(tmp_path / "results.json") == results


#: Functions of the API with the verbs that call them, and what of their keywords is no option:
#: back ends are read from --model, speakers of trials from utt2spk.
AGREEING = {
    "metrics": (pe.evaluate, {"target", "nontarget", "labels"}),
    "zebra": (pe.zebra, {"tags"}),
    "train-backend": (pe.train_backend, {"speakers"}),
    "asv-scores": (score_trials, {"enrolled", "enrollment", "trial"}),
    "similarity": (pe.voice_similarity, {"variants", "part", "speakers"}),
}


@pytest.mark.parametrize("verb", AGREEING)
def test_options_agree_with_keywords(verb: str) -> None:
    function, keywords = AGREEING[verb]
    options = set(options_of(verb))
    named = set(inspect.signature(function).parameters) - keywords - {"scores"}
    assert named - options == set()


def test_evaluate_with_speakers_gives_the_intervals_of_the_bootstrap() -> None:
    random = np.random.default_rng(1)
    names = np.array(["a", "b", "c", "d"])
    own = names.repeat(10)
    pairs = np.array([(x, y) for x in names for y in names if x != y]).repeat(5, axis=0)
    target, nontarget = random.normal(1, 1, len(own)), random.normal(0, 1, len(pairs))
    trials = metrics.Trials(
        score=np.append(target, nontarget),
        label=np.repeat([True, False], [len(own), len(pairs)]),
        enrolled_speaker=np.append(own, pairs[:, 0]),
        trial_speaker=np.append(own, pairs[:, 1]),
    )
    result = pe.evaluate(trials, bootstrap=30, seed=5)
    replicates = pe.speaker_bootstrap(
        trials,
        statistic=lambda sample: pe.score_metrics(sample, variant="exact"),
        replicates=30,
        seed=5,
    )
    assert list(result.intervals) == list(result.values)
    for key, interval in result.intervals.items():
        expected = replicates.interval(key)
        assert (interval.level, interval.replicates) == (0.95, 30)
        assert [interval.low, interval.high] == pytest.approx([expected.low, expected.high]), key


def test_an_evaluation_prints_as_a_table_without_withheld_values() -> None:
    result = pe.evaluate([3.0, 5.0, 7.0, 8.0], [1.0, 2.0, 4.0, 6.0])
    rows = {row["metric"]: row["value"] for row in result.cells()}
    assert rows["EER"] == "25.000? %" and rows["Linkability"] == "n/a"
    assert "25.000? %" in repr(result) and result.caveats["few_targets"] in repr(result)
    assert "<td>25.000? %" in result._repr_html_().replace(" </td>", "</td>")
    inverted = pe.evaluate(np.arange(20.0), np.arange(20.0, 40.0))
    assert inverted.cells()[0]["value"].endswith("? %") and "(A)" not in repr(inverted)
    assert "n_target=4" in repr(result.scores)


def test_results_give_the_rows_of_the_csv_and_escape_names() -> None:
    results = imported(B1, system="<b>")
    header, *lines = csv.reader(io.StringIO(to_csv(results)))
    read = [{name: v for name, v in zip(header, line, strict=True) if v} for line in lines]
    read = [{**row, "value": float(row["value"])} for row in read]
    rows = [{**row, "n_words": str(row.get("n_words", ""))} for row in results.to_rows()]
    assert [{n: v for n, v in row.items() if v not in ("", {})} for row in rows] == read
    assert "<b>" in repr(results) and len(repr(results)) < 200
    html = results._repr_html_()
    assert "&lt;b&gt;" in html and "<table>" in html and "<b>" not in html


def test_notebooks_have_tables_in_latex() -> None:
    """What nbconvert writes into a PDF: a row per value, names escaped."""
    results, result = imported(B1, system="a_b%"), pe.evaluate([3, 5, 7, 8], [1, 2, 4, 6])
    for shown, rows in ((results, results._repr_html_().count("<td>") // 4), (result, None)):
        latex = shown._repr_latex_()
        assert latex.startswith(r"\begin{longtable}") and latex.count(r" \\") > 5
        assert rows is None or latex.count(r"a\_b\% &") == rows > 5


def test_frames_have_one_kind_of_blank_and_integer_counts() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    results = imported(B1, system="x")
    frame, rows = results.to_frame(), results.to_rows()
    for name, column in frame.items():
        assert list(column.isna()) == [row.get(name) in (None, {}) for row in rows]
    counted = Measurements.of([{"n_target": 3, "value": 0.5}, {"value": 1.0}]).to_frame()
    assert counted["n_target"].dtype == pandas.Int64Dtype() and counted["n_target"].sum() == 3
    assert frame["value"].dtype == counted["value"].dtype == "float64"


def test_the_script_of_the_docs_prints_intervals_and_plots(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(to_json(imported(B1)), encoding="utf-8")
    script = [sys.executable, ROOT / "docs" / "notebook.py", "results.json"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "95 % interval" in done.stdout and "\nB1 " in done.stdout
    assert (tmp_path / "notebook.png").stat().st_size > 10_000


def test_plots_of_implausible_scores_have_no_grade() -> None:
    scores = pe.TrialScores(np.arange(20.0), np.arange(20.0, 40.0))
    texts = {}
    for plot in (pe.plot_det, pe.plot_ece, pe.plot_scores):
        axes = plot(scores)
        legend = [text.get_text() for text in axes.get_legend().get_texts()]
        texts[plot.__name__] = " ".join([axes.get_title(), *legend])
    assert "?)" in texts["plot_ece"] and ", A)" not in texts["plot_ece"]
    assert "?" in texts["plot_scores"]
    with pytest.raises(TypeError, match="TrialScores"):
        pe.plot_det([1.0, 2.0])  # type: ignore[arg-type]
    plt.close("all")
