"""What verbs on single files find, in every format: the same numbers, escaped as each demands."""

import json
from pathlib import Path

import pytest
from support import cli, csv_rows, lines_to, printed, score_lines, trial_lines

from privacy_eval.results.measurements import metric_of

FORMATS = ("text", "csv", "json", "latex", "markdown")


@pytest.fixture(name="commands", scope="module")
def _commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    """Commands on small files in a folder whose name LaTeX and Markdown must escape."""
    folder = tmp_path_factory.mktemp("single") / "a_b|%"
    folder.mkdir()
    files = {
        "scores": score_lines("o-o"),
        "trials": trial_lines(),
        "ref": ["u1 a b c", "u2 d e", "u3 f"],
        "hyp": ["u1 a x c", "u2 d", "u3 f"],
        "other": ["u1 a b c", "u2 d", "u3 g"],
        "utt2spk": ["u1 s1", "u2 s2", "u3 s3"],
        "mos": ["u1 3", "u2 4.5", "u3 2"],
        "later": ["u1 2", "u2 4", "u3 2"],
        "said.csv": ["utterance,reference,prediction", "u1,a,a", "u2,b,a", "u3,b,b"],
        "g.csv": ["speaker,g", "s1,x", "s2,y", "s3,y"],
    }
    at = {name: lines_to(folder / name, lines) for name, lines in files.items()}
    of_speakers = ["--utt2spk", at["utt2spk"]]
    by = ["--by", f"{at['g.csv']}:g"]
    return {
        "metrics": ["--scores", at["scores"], "--trials", at["trials"]],
        "wer": ["--hypothesis", at["hyp"], "--reference", at["ref"], *of_speakers, *by]
        + ["--versus", at["other"], "--bootstrap", 20],
        "uar": ["--predictions", at["said.csv"], *of_speakers, *by],
        "measures": ["--file", at["mos"], "--versus", at["later"], *of_speakers],
    }


@pytest.mark.parametrize("verb", ["metrics", "wer", "uar", "measures"])
def test_every_format_has_the_same_numbers(verb: str, commands: dict[str, list[object]]) -> None:
    runs = {form: cli(verb, *commands[verb], "--format", form) for form in FORMATS}
    assert {form: run.code for form, run in runs.items()} == dict.fromkeys(FORMATS, 0)
    assert json.loads(runs["json"].out)
    rows = csv_rows(runs["csv"].out)
    assert len(rows) > 2
    values = [metric_of(r["metric"]).format(float(r["value"]), detailed=True) for r in rows]
    shown = [row["Value"].split()[0].rstrip("?") for row in printed(runs["text"].out)]
    assert shown and {*shown} <= {*values, "n/a"}
    for text in shown:
        assert text.replace("-", "$-$") in runs["latex"].out and text in runs["markdown"].out
    assert r"\begin{tabular}" in runs["latex"].out and "a_b|" not in runs["latex"].out
    assert "| " in runs["markdown"].out and "a_b|" not in runs["markdown"].out


def test_differences_are_rows_with_what_they_are_against(commands: dict[str, list[object]]) -> None:
    run = cli("wer", *commands["wer"], "--format", "csv")
    rows = csv_rows(run.out)
    (row,) = (row for row in rows if row["against"])
    hypothesis, other = (Path(str(commands["wer"][n])) for n in (1, 9))
    assert (row["against"], row["system"]) == (str(hypothesis), str(other))
    assert float(row["value"]) == pytest.approx(2 / 6 - 2 / 6) and row["p"]
    groups = {row["group"]: float(row["value"]) for row in rows if row["group"]}
    assert groups == {"x": pytest.approx(1 / 3), "y": pytest.approx(1 / 3)}
