"""Every row of the table of caveats: all outputs of one run mark the same values."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import (
    B1,
    B2,
    cli,
    imported,
    models_of,
    ok,
    rows_record,
    scored,
    undrawn,
    with_line,
    write,
    write_outputs,
)

import privacy_eval as pe
from privacy_eval.metrics import CAVEATS, METRICS
from privacy_eval.results.records import Record, Results, line_of, merge
from privacy_eval.tree.conditions import Condition

#: Values that no other record has, in any number of digits.
VALUES = {
    "eer": 0.31937,
    "rocch_eer": 0.29731,
    "cllr": 987.65432,
    "cllr_min": 0.93571,
    "linkability": 0.91373,
    "zebra_population": 0.58437,
    "zebra_individual": 1.57327,
    "miss_at_fa_0.01": 0.86413,
    "miss_at_fa_0.001": 0.96413,
}
WER = 0.41937
PLACE = ("lazy-informed", "test", "libri", "f")


@dataclass(frozen=True)
class Case:
    """How a value gets a caveat: values and counts of its record, changes of other records, and
    target and nontarget scores that have it, if scores can tell."""

    values: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    others: Callable[[Results], Results] = lambda results: results
    scores: tuple[Any, Any] | None = None
    variant: str = "challenge"
    wer: float = WER


def _with_inverted_original(results: Results) -> Results:
    def inverted(r: Record) -> Record:
        values = {variant: {**v, "eer": 0.97} for variant, v in r.by_variant().items()}
        return scored(r, metrics=values) if r.condition.is_original else r

    return replace(results, verification=tuple(map(inverted, results.verification)))


def _with_raw_speech(results: Results) -> Results:
    row = {"metric": "raw_utterances", "value": 1}
    found = {"original": "libri_test", "n_utterances": 9, "raw": ("u",), "raw_seconds": 1.0}
    condition = Condition("mine", "", "libri_test_anon")
    audio = rows_record("audio", condition, [row], **found, problems={})
    return replace(results, audio=(audio,))


def _with_wer(
    speech: str = "anonymized", wer: float = WER, **line: Any
) -> Callable[[Results], Results]:
    def changed(results: Results) -> Results:
        records = list(results.recognition)
        (at,) = (
            number
            for number, r in enumerate(records)
            if (r.condition.system, r.condition.trial, *models_of(r))
            == ("mine", speech, "large", "original")
            and (r.condition.data_set, r.condition.split) == ("libri", "test")
        )
        of = records[at]
        words = line.get("words", line_of(of).words or 0)
        rate = {"wer": wer, "errors": round(wer * words), "words": words}
        others = {"insertions": 0, "deletions": 0, "substitutions": round(wer * words)}
        records[at] = with_line(of, **{**rate, **others, **line})
        return replace(results, recognition=tuple(records))

    return changed


def _with_scores_of_another(results: Results) -> Results:
    shared = {"inputs": {"scores": {"sha256": "0" * 64}}}

    def changed(r: Record) -> Record:
        c = r.condition
        at = (c.attack_model, c.split, c.data_set, c.gender) == PLACE
        return replace(r, provenance=shared) if at else r

    return replace(results, verification=tuple(map(changed, results.verification)))


_INVERTED = {"eer": 0.71937, "rocch_eer": 0.69731}
_NORMAL = np.random.default_rng(0).normal(size=(2, 2000))

#: By the key in `CAVEATS` of each that withholds values.
CASES = {
    "inverted": Case(_INVERTED, scores=(_NORMAL[0] - 2, _NORMAL[1])),
    "constant": Case(counts={"ties": {"constant": 1.0}}, scores=([0.5] * 200, [0.5] * 200)),
    "constant_trials": Case(counts={"ties": {"constant_trials": 1.0}}),
    "constant_enrolled": Case(counts={"ties": {"constant_enrolled": 1.0}}),
    "inverted_original": Case(others=_with_inverted_original),
    "raw_speech": Case(others=_with_raw_speech),
    "few_targets": Case(counts={"n_target": 12}, scores=(_NORMAL[0][:12] + 2, _NORMAL[1])),
    "few_targets_challenge": Case(counts={"n_target": 70}),
    "few_targets_exact": Case(
        counts={"n_target": 40}, scores=(_NORMAL[0][:40] + 2, _NORMAL[1]), variant="exact"
    ),
    "few_trials": Case(counts={"n_target": 7}, scores=(_NORMAL[0][:7] + 2, _NORMAL[1])),
    "few_nontargets_0.01": Case(counts={"n_nontarget": 50}),
    "few_nontargets_0.001": Case(counts={"n_nontarget": 5000}),
    "incomplete": Case(counts={"trials_without_score": 3}),
    "other_words": Case(others=_with_wer(words=12345)),
    "partial": Case(others=_with_wer(partial=True)),
    "same_scores": Case(others=_with_scores_of_another),
    "implausible_set": Case(others=_with_wer("original", 0.61937), wer=0.61937),
    "worse_original": Case(others=_with_wer("original", 0.41937)),
    "implausible_original": Case(
        others=lambda results: _with_wer("original", 0.61937)(_with_wer()(results))
    ),
    "far_set": Case(others=_with_wer(wer=0.91937), wer=0.91937),
}


#: Those of word error rates.
UTILITY = {"other_words", "partial", "implausible_set", "worse_original", "far_set"}
UTILITY |= {"implausible_original"}


def made(case: Case) -> Results:
    """Two systems; one value or record of the first has the caveat."""
    results = merge([imported(B1, system="mine"), imported(B2, system="other")])
    counts = {"n_target": 449, "n_nontarget": 60000, "n_speakers": 16, **case.counts}

    def changed(r: Record) -> Record:
        c = r.condition
        if (c.system, c.attack_model, c.split, c.data_set, c.gender) != ("mine", *PLACE):
            return r
        return scored(r, metrics={case.variant: {**VALUES, **case.values}}, zebra_tag={}, **counts)

    return case.others(replace(results, verification=tuple(map(changed, results.verification))))


def test_every_withholding_caveat_has_a_case() -> None:
    assert {key for key, caveat in CAVEATS.items() if not caveat.ranked} == {*CASES}


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the outputs as their reader sees them."""
    for path in sorted({*folder.glob("tables/**/*"), *folder.glob("*.html"), *folder.glob("*.md")}):
        if path.suffix in {".txt", ".md", ".tex", ".csv", ".html"}:
            text = path.read_text()
            if path.suffix == ".html":
                text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
                text = html.unescape(re.sub(r"<[^>]*>", "|", text))
            yield path.name, text


_LATEX = r"\\textsuperscript|\$\^|\\ddag"


def unmarked(text: str, key: str, value: float, mark: str) -> list[str]:
    """Find where a value stands without its mark."""
    metric = METRICS[key]
    printed = {metric.format(value), metric.format(value, detailed=True)}
    numbers = "|".join(re.escape(t) for t in sorted(printed, key=len, reverse=True))
    return [
        text[max(0, found.start() - 80) : found.end() + 20]
        for found in re.finditer(rf"(?<![\d.])(?:{numbers})(?!\d)", text)
        # A note that says why is no table.
        if not re.match(rf" \\?%\)|[ %|]*({re.escape(mark)}|{_LATEX})", text[found.end() :])
    ]


@pytest.mark.wing("disclosure")
@pytest.mark.parametrize("key", CASES)
def test_outputs_mark_the_same_values(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undrawn(monkeypatch)
    results, caveat = made(CASES[key]), CAVEATS[key]
    write_outputs(results, tmp_path)
    source = tmp_path / "results.json"
    for arguments in (
        ("tables", "--results", source, "--out", tmp_path / "tables"),
        ("report", "--results", source, "--out", tmp_path / "report.html"),
        ("report", "--results", source, "--out", tmp_path / "statement.md", "--statement"),
    ):
        ok(cli(*arguments))
    values = {**VALUES, **CASES[key].values}
    withheld = [m for m in values if caveat.concerns(m)]
    if key in UTILITY:
        values, withheld = {"wer": CASES[key].wer}, ["wer"]
    assert withheld
    seen = set()
    for name, text in texts(tmp_path):
        for metric in withheld:
            lost = unmarked(text, metric, values[metric], caveat.mark)
            assert not lost, (name, metric, lost)
            seen |= {metric} if METRICS[metric].format(values[metric]) in text else set()
    assert bool(seen) is caveat.printed
    reason = re.split(r"[(:,]", caveat.reason)[0].strip()
    for name in ("report.html", "results.csv")[not caveat.announced :]:
        text = html.unescape((tmp_path / name).read_text())
        assert reason in text, name
    if key in {"implausible_set", "worse_original"}:
        return  # of original speech, which no rule is about
    place = "data_set: [libri], split: [test]"
    if key not in UTILITY:
        place += ", gender: [f], attack_model: [lazy-informed]"
    names = ["wer_large"] if key in UTILITY else withheld
    rules = (
        f"  - {{name: {m}, metric: {m}, at-most: 1, interval: optional, only: {{{place}}}}}\n"
        for m in names
        if m != "cllr" and not m.startswith("zebra")
    )
    policy = write(tmp_path / "policy.yaml", f"rules:\n{''.join(rules)}")
    run = cli("gate", source, "--policy", policy, "--system", "mine")
    assert "PASS" not in run.out and "UNDECIDED" in run.out and reason in run.out, run.out


def tables(result: Any) -> Iterator[list[list[str]]]:
    """Yield the cells of a result as they are printed: as text, HTML and LaTeX, unescaped."""
    text, found, latex = repr(result), result._repr_html_(), result._repr_latex_()
    n_rows = len(result.cells())
    rule = next(n for n, line in enumerate(text.splitlines()) if line.startswith("metric "))
    yield [re.split(r" {2,}", line) for line in text.splitlines()[rule + 1 :][:n_rows]]
    yield [
        [html.unescape(cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in re.findall(r"<tr>(.*?)</tr>", found, flags=re.S)[1:]
    ]
    rows = [line.removesuffix(r" \\") for line in latex.splitlines() if line.endswith(r" \\")][1:]
    yield [[cell.strip().replace(r"\%", "%") for cell in row.split(" & ")] for row in rows]


@pytest.mark.parametrize("key", [key for key, case in CASES.items() if case.scores is not None])
def test_python_says_the_same(key: str) -> None:
    """Text, HTML, LaTeX, rows of numbers and rows of a paper."""
    caveat, (target, nontarget) = CAVEATS[key], CASES[key].scores or ((), ())
    evaluated = pe.evaluate(target, nontarget)
    assert key in evaluated.caveats
    marked = [row["caveat"] is not None for row in evaluated.to_rows()]
    for table in tables(evaluated):
        found = [cells[1].startswith("n/a") or caveat.mark in cells[1] for cells in table]
        assert found == marked
    for row, metric in zip(evaluated.cells(), evaluated.values, strict=True):
        if caveat.concerns(metric):
            expected = {"n/a"} | ({caveat.mark} if caveat.printed else set())
            assert any(mark in row["value"] for mark in expected), row
    reason = caveat.reason.partition("%")[0]
    for text in (repr(evaluated), evaluated._repr_html_(), evaluated._repr_latex_()):
        assert reason in html.unescape(text)
    trials = pe.Trials(
        score=np.append(target, nontarget), label=np.repeat([1, 0], [len(target), len(nontarget)])
    )
    shown = [metric for metric in evaluated.values if caveat.concerns(metric)][:1]
    lines = pe.evaluate({"mine": trials}).to_latex(shown).splitlines()
    assert any(mark in lines[4] for mark in ("n/a", caveat.mark)) and caveat.reason in "\n".join(
        lines
    )
