"""The verbs from results to what is read, end to end: tables, figures, report."""

import base64
import functools
import html
import itertools
import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from latex_support import needs_latex, well_set
from support import (
    ANON,
    B1,
    B2,
    BACKEND,
    ODD_NAME,
    ORIG,
    ROOT,
    Run,
    SpeechTree,
    cells_of,
    cli,
    imported,
    lines_to,
    metrics_of,
    ok,
    options_of,
    pixels,
    run_program,
    scored,
    snapshot,
    speaker_values,
    three_conditions,
    times,
    trial_lines,
    undrawn,
)

from privacy_eval.choices import FIGURE_FORMATS
from privacy_eval.cli.options import progress
from privacy_eval.curves import figures as curves
from privacy_eval.errors import PROGRESS
from privacy_eval.io.files import digest
from privacy_eval.metrics import of_kind
from privacy_eval.numbers.rankings import ranking_metrics, rankings
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published
from privacy_eval.report import figures
from privacy_eval.report.figures import all_figures, bars, write_figures
from privacy_eval.report.figures.scatter import PAIRS
from privacy_eval.report.page import Front
from privacy_eval.report.table_formats import FORMATS as TABLE_FORMATS
from privacy_eval.report.table_formats import write_tables
from privacy_eval.report.tables_and_report import Publication
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results, merge

# --- options


def defaults_of(function: Callable[..., object]) -> dict[str, object]:
    """The keywords of a function with their defaults."""
    found = signature(function).parameters.values()
    return {p.name: p.default for p in found if p.kind == p.KEYWORD_ONLY}


def test_a_run_of_a_recipe_has_each_warning_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of folders in every stage; of values when they are collected, not in tables again."""
    tree = three_conditions(tmp_path / "tree")
    scores = tree.condition("exp/results-now", "libri_dev_enrolls", "libri_dev_trials_f_anon")
    lines = (line.split() for line in trial_lines())
    lines_to(scores, (f"{s} {u} {int(kind == 'nontarget')}" for s, u, kind in lines))
    (tree.root / "exp/results-now/ASV-other").mkdir()
    options = ("--tree", tree.root, "--results", "exp")
    out = tree.root / "exp/privacy_eval"
    show = ("tables", "--results", out / "results.json", "--out")
    said = {}
    for place in ("alone", "recipe"):
        if place == "recipe":
            monkeypatch.setenv("PRIVACY_EVAL_LOGGED", str(tmp_path / "logged"))
        runs = [cli("stage", "privacy-metrics", *options), cli("stage", "collect", *options)]
        runs.append(cli(*show, tmp_path / place))
        assert [run.code for run in runs] == [0, 0, 0], runs
        folders = ["ASV-other" in run.err for run in runs]
        said[place] = folders, ["above 65 % is implausible" in run.err for run in runs[1:]]
    assert said["alone"] == ([True, True, False], [True, True])
    assert said["recipe"] == ([True, False, False], [True, False])


def test_options_are_the_keywords_of_the_functions() -> None:
    shared = {"results", "config", "conf", "published", "variant", "system", "by_strongest"}
    shared |= {"utility", "confirm", "tables"}
    drawing, writing, ranking = map(defaults_of, (write_figures, write_tables, rankings))
    options = options_of("figures")
    drawing |= defaults_of(all_figures)
    names = {"formats": "format"}
    names |= {"everything": "all_figures"}
    jobs = {"job", "nj", "cmd", "log_dir"}
    assert set(options) == shared | {"out"} | {
        names.get(n, n) for n in drawing.keys() - {"drawn_from", "run"} | jobs
    }
    assert options["format"].choices == drawing["formats"] == FIGURE_FORMATS
    assert options["conventional"].default == drawing["conventional"]
    assert options["job"].default is None
    options = options_of("tables")
    assert options["format"].choices == tuple(TABLE_FORMATS)
    names = {"metric": "rank_by", "style": "table_style"}
    chosen = {names.get(n, n) for n in writing.keys() | ranking.keys()}
    assert set(options) == shared | {"out", "format"} | chosen - {"split", "cells"}
    assert set(ranking_metrics()) == {
        *of_kind("scores"),
        *of_kind("measures"),
        "pitch_correlation_mean",
        "deid",
        "gvd_db",
    } - {"cllr", "level_db"}
    for option, default in (
        ("rank_by", ReportSources.rank_by),
        ("attack_model", ranking["attack_model"]),
        ("table_style", writing["style"]),
        ("formats", writing["formats"]),
    ):
        assert options[option].default == default
    published = {"public", "title", "date", "sentence", "statement", "evidence"}
    assert set(options_of("report")) == shared | {"figures", "listening", "out"} | published


# --- progress


def test_long_steps_are_told_before_they_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a terminal or in the log of a job; nothing otherwise."""
    command = ("tables", "--published", "voice_similarity", "--out")
    assert "1/3" not in cli(*command, tmp_path / "quiet").err
    monkeypatch.setenv(PROGRESS, "lines")
    run = cli(*command, tmp_path / "told")
    assert [n for n in range(4) if f"{n}/3 done" in run.err] == [0, 1, 2, 3]


def test_time_left_is_by_the_pace_since_work_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten seconds each; what took 100 seconds before the first of them does not count."""
    times = iter([100.0, 110.0, 120.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    show = progress()
    for done in range(3):
        show(done, 5, "item")
    assert "about 40 s left" in (err := capsys.readouterr().err) and "about 30 s left" in err


# --- tables


def store(path: Path, results: Results) -> Path:
    path.write_text(to_json(results), encoding="utf-8")
    return path


def incomplete() -> Results:
    """An own system that lacks conditions, an attack model of a split, and single values."""
    whole = imported(ANON, ORIG, protocol="vpc2022", system=ODD_NAME)
    kept = []
    for r in whole.verification:
        c = r.condition
        place = (c.attack_model, c.split, c.data_set, c.gender)
        if place in {
            ("ignorant", "dev", "libri", "f"),
            ("original", "test", "libri", "m"),
        } or place[:2] == ("semi-informed", "test"):
            continue
        if place == ("lazy-informed", "dev", "libri", "m"):
            values = {k: v for k, v in r.by_variant()["challenge"].items() if k != "cllr"}
            r = scored(r, metrics={"challenge": values})
        kept.append(r)
    return replace(whole, verification=tuple(kept), similarity=whole.similarity[3:])


@pytest.fixture(name="beside", scope="module")
def _beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of the incomplete system beside the published ones."""
    folder = tmp_path_factory.mktemp("beside")
    path = store(folder / "mine.json", incomplete())
    shown = ("--published", "vpc2020", "--formats", "md,txt", "--out", folder / "D")
    run = ok(cli("tables", "--results", path, *shown))
    assert re.search(
        r"Original speech: published results vpc2020 if missing in .*linkability", run.err
    )
    return folder / "D"


def comparisons(folder: Path, extension: str) -> list[Path]:
    found = sorted(folder.rglob(f"comparison_*{extension}"))
    assert len(found) == 14
    return found


#: How headings of blocks begin.
TITLES = {
    "EER, %": "eer",
    "Cllr, bit": "cllr",
    "min Cllr, bit": "cllr_min",
    "ZEBRA: expected privacy disclosure (population), bit": "zebra_population",
    "ZEBRA: worst-case privacy disclosure (individual), log10 LR": "zebra_individual",
    "Linkability": "linkability",
    "Gain of voice distinctiveness (G_VD), dB": "gvd_db",
    "De-identification (DeID), %": "deid",
}
Key = tuple[str, "str | None", str, str, str, str]


def own_values(results: Results) -> dict[Key, float]:
    """What records hold, as a table of comparison shows it."""
    values: dict[Key, float] = {}
    records: list[tuple[Any, str | None]] = [
        *((r, r.condition.attack_model) for r in results.verification if r.condition.attack_model),
        *((r, None) for r in results.similarity),
    ]
    for r, attack in records:
        column = "Orig" if attack == "original" else r.condition.system
        for metric, value in r.by_variant()["challenge"].items():
            if metric in TITLES.values():
                factor = 100 if metric in ("eer", "deid") else 1
                at = (r.condition.split, r.condition.data_set, r.condition.gender)
                values[(metric, attack, *at, column)] = factor * value
    return values


@functools.cache
def published_values() -> dict[Key, str]:
    """Values of Tables 2 to 15, as printed."""
    return {
        (
            p.metric,
            "original" if p.system == "Orig" else p.attack_model,
            *(p.split, p.data_set, p.gender, p.system),
        ): p.value
        for p in load_published("vpc2020")
        if p.table < 18
    }


def test_blanks_and_numbers_are_those_of_records_and_published_tables(beside: Path) -> None:
    results = incomplete()
    protocol = results.protocol
    own, printed = own_values(results), published_values()
    titles = {re.sub("[()]", "", d.title): d for d in protocol.data_sets}
    genders = {word: letter for letter, word in protocol.genders.items()}
    attacks = {a.title: a.id for a in protocol.attack_models}
    places = [(d, g) for d in protocol.data_sets for g in protocol.genders]
    seen, blank, averages = set(), 0, 0
    for path in comparisons(beside, ".tex"):
        split = path.stem.rpartition("_")[2]
        rows = rows_of(beside, path.stem)
        systems = {title for row in rows for title in row} - {"Block", "Data", "Gender"}
        for row in rows:
            data_set, word = row["Data"], row.get("Gender", "")
            heading = row["Block"]
            title, _, model = heading.partition(" \u2013 ")
            metric, attack = TITLES[title], attacks[model.rpartition(" ")[0]] if model else None
            for system in systems:
                text = row.get(system, "")
                of = "original" if system == "Orig" and attack else attack

                def key(data_set: str, gender: str, at: Any = (metric, of, split, system)) -> Key:
                    return (*at[:3], data_set, gender, at[3])

                if data_set == "Weighted average":
                    found = [(d.weight, key(d.id, g)) for d, g in places]
                    whole = all(k in own or k in printed for _, k in found)
                    assert (text != "") == whole, (path.name, heading, system)
                    if whole:
                        total = sum(w * float(own.get(k, printed.get(k, ""))) for w, k in found)
                        assert agrees(text, total / sum(w for w, _ in found))
                        averages += 1
                    continue
                place = key(titles[data_set].id, genders[word])
                seen.add(place)
                number = text.split(" ")[0]
                if place in own:
                    assert agrees(number, own[place]), place
                elif place in printed:
                    assert number == printed[place], place
                else:
                    assert text == "", place
                    blank += system == ODD_NAME
                assert re.fullmatch(r"-?\d+\.\d+( [0A-F])?|", text)
    assert seen >= {*own, *printed}
    # Six metrics of a condition, one Cllr, DeID and G_VD of three trial sets; the system has
    # no column where all is missing.
    assert blank == 6 + 1 + 2 * 3
    assert averages > 500


def agrees(text: str, number: float) -> bool:
    """Whether a number is printed as it should be, to the last digit."""
    return abs(float(text) - number) <= 0.5001 * 10.0 ** -len(text.partition(".")[2])


def test_submitted_system_is_highlighted(beside: Path) -> None:
    marked = {".md": r"50%\_team \& Co †", ".txt": f"{ODD_NAME} †"}
    for extension, title in marked.items():
        for path in comparisons(beside, extension):
            text = path.read_text(encoding="utf-8")
            lines = [line for line in text.splitlines() if "Gender" in line]
            without = path.stem.endswith("retrained_test")
            assert lines and all((title in line) != without for line in lines)
            assert text.count("†: submitted systems; the others are published.") == (not without)
            assert f"Without a value here: {title[:-2]}." in text or not without
    for path in comparisons(beside, ".tex"):
        text = path.read_text()
        assert (r"\dag{}" in text) is not path.stem.endswith("retrained_test")
    for ranking in beside.rglob("ranking_*.tex"):
        sources = {row["System"]: row["Source"] for row in rows_of(beside, ranking.stem)}
        assert [s for s, source in sources.items() if source == "submitted"] == [ODD_NAME]
        assert set(sources.values()) == {"submitted", "published"}


def test_the_document_has_every_table_once(beside: Path, tmp_path: Path) -> None:
    # A system with one split: its table of that split and of all are the same.
    one = imported(B2, system="dev only")
    one = replace(
        one, verification=tuple(r for r in one.verification if r.condition.split == "dev")
    )
    path = store(tmp_path / "one.json", replace(one, recognition=()))
    assert cli("tables", "--results", path, "--out", tmp_path / "one").code == 0
    left_out = {}
    for folder in (beside, tmp_path / "one"):
        included = re.findall(r"\\input\{(.*)\}", (folder / "tables.tex").read_text())
        assert len(included) == len(set(included))
        there = {str(p.relative_to(folder)) for p in folder.rglob("*.tex")} - {"tables.tex"}
        assert set(included) <= there
        for name in there - set(included):
            others = [rows_of(folder, Path(n).stem) for n in included]
            assert rows_of(folder, Path(name).stem) in others, name
        left_out[folder] = there - set(included)
    assert left_out == {beside: set(), tmp_path / "one": {"more/dev_only_asv.tex"}}


@needs_latex
def test_the_document_compiles(beside: Path, tmp_path: Path) -> None:
    shutil.copytree(beside, tmp_path, dirs_exist_ok=True)
    well_set(tmp_path)


@pytest.fixture(name="baselines", scope="module")
def _baselines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("baselines")
    return (
        store(folder / "B1.json", imported(B1, system="B1")),
        store(folder / "B2.json", imported(B2, system="B2")),
    )


def rows_of(folder: Path, table: str) -> list[dict[str, str]]:
    return cells_of((folder / "tables.csv").read_text(encoding="utf-8"), table)


def test_summary_has_a_row_per_system_split_and_attack_model(
    baselines: tuple[Path, Path], tmp_path: Path
) -> None:
    """Averages by the protocol's weights, from results.json."""
    assert cli("tables", "--results", *baselines, "--out", tmp_path / "D").code == 0
    rows = rows_of(tmp_path / "D", "main_results")
    assert [r["System"] for r in rows[:2]] == ["Original speech"] * 2
    places = [(r["System"], r["Split"], r["Attack model"]) for r in rows[2:]]
    assert len(places) == len(set(places)) == 8 and {p[0] for p in places} == {"B1", "B2"}
    protocol = load_protocol("vpc2020")
    weights = {d.id: d.weight for d in protocol.data_sets}
    for path in baselines:
        verification = json.loads(path.read_text())["verification"]
        for split in protocol.splits:
            parts = [
                (weights[r["data_set"]], metrics_of(r)["challenge"]["eer"])
                for r in verification
                if (r["split"], r["attack_model"]) == (split, "lazy-informed")
            ]
            mean = sum(w * v for w, v in parts) / sum(w for w, _ in parts)
            system = verification[0]["system"]
            (row,) = (
                r
                for r in rows
                if (r["System"], r["Split"], r.get("Attack model"))
                == (system, protocol.split_title(split), "Lazy-informed")
            )
            assert float(row["EER, %"]) == pytest.approx(100 * mean, abs=0.0051)
            assert row["Conditions"] == str(len(parts)) == "6"
            assert "95 % interval" not in row  # no bootstrap


def test_tables_across_systems_need_several(baselines: tuple[Path, Path], tmp_path: Path) -> None:
    def names(*paths: Path) -> list[str]:
        out = tmp_path / "D"  # the same folder: tables of before go
        assert cli("tables", "--results", *paths, "--out", out).code == 0
        return sorted(p.stem for p in out.rglob("*.tex") if p.stem != "tables")

    several = names(*baselines)
    assert [n for n in several if n.startswith(("comparison", "ranking"))] == [
        "comparison_asv_dev",
        "comparison_asv_test",
        "ranking_eer_lazy-informed_dev",
        "ranking_eer_lazy-informed_test",
    ]
    row = rows_of(tmp_path / "D", "comparison_asv_dev")[0]
    assert [*row] == ["Block", "Data", "Gender", "Orig", "B1", "B2"]
    alone = names(baselines[0])
    assert "summary" in alone and {n for n in alone if not n.startswith(("B1_", "paper"))} == {
        "main_results",
        "summary",
    }
    run = cli("tables", "--results", baselines[0])
    assert run.err == "" and "Ranking" not in run.out and "Objective results" not in run.out


def test_the_ranking_asked_for(baselines: tuple[Path, Path], tmp_path: Path) -> None:
    common = ("tables", "--results", *baselines, "--out", tmp_path)
    published = ("--published", "vpc2020")
    individual = ("--rank-by", "zebra_individual", "--attack-model", "semi-informed")
    for options, name, column in (
        ((), "eer_lazy-informed", "EER, %"),
        (("--rank-by", "cllr_min"), "cllr_min_lazy-informed", "min Cllr, bit"),
        (("--attack-model", "ignorant"), "eer_ignorant", "EER, %"),
        (("--rank-by", "deid", *published), "deid_voice", "De-identification (DeID), %"),
        (
            (*individual, *published),
            "zebra_individual_semi-informed",
            "worst-case privacy disclosure (individual), log10 LR",
        ),
    ):
        assert cli(*common, *options).code == 0
        assert {p.stem for p in tmp_path.rglob("ranking_*.tex")} == {
            f"ranking_{name}_dev",
            f"ranking_{name}_test",
        }
        rows = rows_of(tmp_path, f"ranking_{name}_dev")
        values = [float(row[column]) for row in rows if "#" in row]
        assert values == sorted(values, reverse=not name.startswith("zebra"))
        assert len(values) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--attack-model", "x"), "not an attack model of protocol vpc2020; known: ig"),
        (("--attack-model", "original"), "not an attack model of protocol"),
        (("--rank-by", "deid", "--attack-model", "ignorant"), "deid does not depend on an attack"),
    ],
)
def test_rankings_that_cannot_be(
    baselines: tuple[Path, Path], options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    for results in (baselines, baselines[:1]):
        run = cli("tables", "--results", *results, "--out", tmp_path / "D", *options)
        assert (run.code, run.out) == (1, "")
        assert run.err.startswith("privacy-eval: --attack-model ") and message in run.err
        assert not (tmp_path / "D").exists()


def test_a_ranking_without_values_is_said_not_to_be(baselines: tuple[Path, Path]) -> None:
    for options, text in (
        (("--attack-model", "semi-informed"), "by EER under the attack model semi-informed"),
        (("--rank-by", "min_dcf_0.01"), "by min DCF at 0.01"),
    ):
        run = cli("tables", "--results", *baselines, *options)
        assert run.code == 0 and "Ranking" not in run.out and "Objective results" in run.out
        assert f"privacy-eval: no ranking {text}: no system has values of it\n" in run.err
    for metric in ("wer", "cllr"):
        run = cli("tables", "--results", *baselines, "--rank-by", metric)
        assert run.code == 2
        assert f"--rank-by: no ranking by {metric!r}, only by eer, " in run.err


def test_a_published_system_of_the_same_name_stays(
    baselines: tuple[Path, Path], tmp_path: Path
) -> None:
    records = read_results(baselines[0])
    first = next(r for r in records.verification if r.condition.attack_model == "ignorant")
    changed = scored(first, metrics={"challenge": {"eer": 0.125}})
    others = tuple(changed if r == first else r for r in records.verification)
    path = store(tmp_path / "B1.json", replace(records, verification=others))
    ok(cli("tables", "--results", path, "--published", "vpc2020", "--out", tmp_path / "D"))
    row = rows_of(tmp_path / "D", "comparison_asv_dev")[0]
    assert (row["B1"], row["B1 (published)"], row["B2"]) == ("12.50", "50.14", "35.23")
    systems = [r["System"] for r in rows_of(tmp_path / "D", "ranking_eer_lazy-informed_dev")]
    assert {"B1", "B1 (published)"} <= set(systems) and len(systems) == 18 + 1


def test_tables_of_published_systems_alone(tmp_path: Path) -> None:
    ok(cli("tables", "--published", "vpc2020", "--out", tmp_path / "D"))
    names = {p.stem for p in (tmp_path / "D").rglob("*.tex")}
    assert {n.split("_")[0] for n in names} == {
        *("published", "comparison", "ranking", "tables", "paper")
    }
    document = (tmp_path / "D/tables.tex").read_text()
    assert document.index("published_systems.tex") < document.index("comparison_")
    included = {Path(n).stem for n in re.findall(r"\\input\{(.*)\}", document)}
    assert names - {"tables"} == included


def test_the_terminal_has_all_tables_that_are_written(tmp_path: Path) -> None:
    path = store(tmp_path / "r.json", imported(B1))
    assert cli("tables", "--results", path, "--formats", "txt", "--out", tmp_path / "D").code == 0
    run = cli("tables", "--results", path, "--format", "text")
    written = [p.read_text() for p in (tmp_path / "D").rglob("*.txt")]
    assert len(written) > 5 and all(text in run.out for text in written)


def test_the_table_of_the_similarity_paper(tmp_path: Path) -> None:
    run = cli("tables", "--published", "voice_similarity", "--out", tmp_path)
    assert run.code == 0 and {p.stem for p in tmp_path.rglob("*.tex")} == {
        "comparison_voice_dev",
        "paper",
        "tables",
    }
    rows = rows_of(tmp_path, "comparison_voice_dev")
    shown = {
        (metric, row["Data"], row["Gender"], system): row[system]
        for row in rows
        if row["Data"] != "Weighted average"
        for metric in ("DeID", "G_VD")
        if metric in row["Block"]
        for system in ("B1", "B2")
    }
    protocol = load_protocol("vpc2020")
    titles = {d.id: re.sub("[()]", "", d.title) for d in protocol.data_sets}
    assert shown == {
        (
            {"deid": "DeID", "gvd_db": "G_VD"}[p.metric],
            titles[p.data_set],
            protocol.genders[p.gender],
        )
        + (p.system,): p.value
        for p in load_published("voice_similarity")
    }
    assert shown["DeID", "LibriSpeech", "male", "B2"] == "41.23"
    alone = cli("listening", "--published", "voice_similarity", "--out", tmp_path / "S")
    assert alone.code == 2 and "no published results of this name; known: vpc2020" in alone.err


# --- figures


@pytest.fixture(name="measured", scope="module")
def _measured(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    """One trial set of a system, with curves, matrices and speakers; not to be changed."""
    tree = SpeechTree(tmp_path_factory.mktemp("measured") / f"a {ODD_NAME}")
    named = ("--system", ODD_NAME)
    for arguments in (
        ("asv-scores",),
        ("privacy-metrics", "--bootstrap", 20, *named),
        ("similarity", *named),
        ("collect", *named),
    ):
        ok(tree.run(*arguments))
    return tree


def results_of(tree: SpeechTree) -> Path:
    return tree.root / "exp/privacy_eval/results.json"


def run_without_numpy(*commands: Sequence[object]) -> str:
    """Run commands in a process that must not load NumPy; return what they print."""
    script = """
import json, sys
from privacy_eval.cli import main
for command in json.loads(sys.argv[1]):
    assert main(command) == 0 and "numpy" not in sys.modules, command
"""
    words = json.dumps([list(map(str, command)) for command in commands])
    return ok(run_program(sys.executable, "-c", script, words, cwd=ROOT)).out


def test_nothing_to_do_is_told_without_numpy(measured: SpeechTree, beside: Path) -> None:
    """A recipe starts a dozen commands; importing NumPy takes longer than finding that all is
    current."""
    config = beside.with_name("options.conf")
    config.write_text(f"--tree={measured.root}\n--results=exp\n--conf=./small.yaml\n")
    out = run_without_numpy(
        ["check-options", config],
        *(["stage", v, "--config", config] for v in ("train-backend", "xvectors", "asv-scores")),
        ["tables", "--results", beside.with_name("mine.json"), "--published", "vpc2020"]
        + ["--conf", "vpc2022", "--formats", "md,txt", "--out", beside],
    )
    lines = re.sub(r"\d+ files", "files", out).splitlines()
    assert [line for line in lines if "|" not in line] == [  # without stages of wings
        "back ends: 1 external",
        "nothing to do",
        "score files: 3 up to date",
        f"{beside}: files up to date",
    ]


def test_current_records_are_recognized_without_numpy(measured: SpeechTree, tmp_path: Path) -> None:
    """Metrics and record fields are part of fingerprints, but need not be imported for them."""
    tree = shutil.copytree(measured.root, tmp_path / "tree")
    config = tmp_path / "options.conf"
    config.write_text(f"--tree={tree}\n--results=exp\n--conf=./small.yaml\n--bootstrap=20\n")
    verbs = ("privacy-metrics", "similarity", "identification", "collect")
    for verb in verbs:
        assert cli("stage", verb, "--config", config).code == 0
    out = run_without_numpy(*(["stage", verb, "--config", config] for verb in verbs))
    ends = [line.split(": ")[1] for line in out.splitlines()[:3]]
    assert ends == ["3 up to date", "1 up to date", "3 up to date"]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two figures of bars and one of curves, in place of all."""
    for module, name, count in ((bars, "figures", 2), (curves, "det_figures", 1)):
        draw = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda data, d=draw, n=count: itertools.islice(d(data), n)
        )
    every, two = figures.FigureKind.figures, ("bars", "det")
    monkeypatch.setattr(
        figures.FigureKind, "figures", lambda k, data: every(k, data) if k.name in two else iter(())
    )


CURVE = "det_ignorant_libri_dev_f"


def pictures(folder: Path, *, extensions: Iterable[str] = ("png", "pdf", "tex")) -> set[str]:
    return {p.name for p in folder.iterdir() if p.suffix[1:] in extensions}


def drawn(folder: Path, written: int, there: int) -> Run:
    new = f" ({written} new)" * bool(written)
    return Run(0, f"{folder}: {written + there} figures up to date{new}\n", "")


@pytest.mark.usefixtures("few")
def test_figures_are_drawn_once(measured: SpeechTree, tmp_path: Path) -> None:
    out, conf = tmp_path / "new/D", measured.root / "small.yaml"
    command = ("figures", "--results", results_of(measured), "--conf", conf, "--out", out)
    command = (*command, "--all-figures")
    assert cli(*command) == drawn(out, 3, 0)
    captions = json.loads((out / "captions.json").read_text())
    assert len(captions) == 3 and set(captions) >= {CURVE}
    assert all(entry["caption"] and entry["section"] for entry in captions.values())
    expected = {f"{name}.{kind}" for name in captions for kind in ("png", "pdf")}
    assert pictures(out) == {*expected, f"{CURVE}.tex"}
    before = times(out.iterdir())
    content = (out / f"{CURVE}.pdf").read_bytes()
    assert run_without_numpy(command) == drawn(out, 0, 3).out
    assert times(out.iterdir()) == before
    (out / f"{CURVE}.pdf").unlink()
    assert cli(*command) == drawn(out, 1, 2)
    assert (out / f"{CURVE}.pdf").read_bytes() == content


@pytest.mark.usefixtures("few")
def test_only_the_formats_asked_for(measured: SpeechTree, tmp_path: Path) -> None:
    command = ("figures", "--results", results_of(measured), "--out", tmp_path)
    command = (*command, "--all-figures")
    assert cli(*command, "--format", "png", "--format", "png") == drawn(tmp_path, 3, 0)
    assert {p.suffix for p in tmp_path.iterdir() if p.name[0] != "."} == {".png", ".json"}
    assert len(pictures(tmp_path)) == 3
    assert cli(*command, "--format", "tex", "--format", "tex").code == 0
    assert pictures(tmp_path) == {f"{CURVE}.tex"}
    assert cli(*command, "--format", "svg").code == 2


@pytest.mark.usefixtures("few")
def test_other_published_systems_make_other_figures(measured: SpeechTree, tmp_path: Path) -> None:
    command = ("figures", "--results", results_of(measured), "--out", tmp_path)
    command = (*command, "--all-figures", "--format", "png")
    assert cli(*command) == drawn(tmp_path, 3, 0)
    before = snapshot(tmp_path)
    assert cli(*command, "--published", "vpc2020") == drawn(tmp_path, 3, 0)
    after = snapshot(tmp_path)
    assert before[f"{CURVE}.png"] == after[f"{CURVE}.png"]  # nobody published curves
    assert before.keys() - after.keys() <= {"bars_mean_eer.png"}
    assert before != after


def test_published_values_alone_make_figures_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures 1, 2 and 13 to 23 of the supplement; those of curves need scores."""
    undrawn(monkeypatch)
    out = tmp_path / "D"
    alone = ("--published", "vpc2020")
    ok(cli("figures", *alone, "--all-figures", "--format", "png", "--out", out))
    of_splits = ("eer", "cllr_min", "gvd_db", "deid", "attacks")
    names = {f"bars_{kind}_{split}" for kind in of_splits for split in ("dev", "test")}
    names |= {"bars_mean_eer", "scatter_deid"}
    assert {name for name in pictures(out) if name.startswith(("bars", "scatter"))} == {
        *(f"{name}.png" for name in names),
        *(f"scatter_{x}_{y}.png" for x, y in PAIRS),
    }
    of_curves = tuple(kind.name for kind in figures.kinds() if kind.curves)
    assert not [name for name in pictures(out) if name.startswith((*of_curves, "matrices"))]
    path = tmp_path / "report.html"
    ok(cli("report", *alone, "--figures", out, "--out", path))
    page = Page(path.read_text(encoding="utf-8"))
    figures_of = ["Privacy of the systems", "Metric against metric"]
    titles = [*ANSWER, "Systems side by side", *figures_of, "Published systems"]
    expected = [*titles, *FOOT]
    assert [title for title in page.titles if title in expected] == expected
    assert {*page.titles} <= {*expected, *(kind.section for kind in figures.kinds())}
    assert sum(map(len, page.images.values())) == len({*pictures(out)} - {"answer.png"})
    what, whose = page.texts[FOOT[-1]][:2]
    assert what == "Published results" and "vpc2020" in whose and "hal-03335126v6" in whose


@pytest.mark.parametrize("verb", ["figures", "report"])
def test_neither_results_nor_published_ones(verb: str, tmp_path: Path) -> None:
    run = cli(verb, "--out", tmp_path / "D")
    assert (run.code, run.out) == (1, "")
    assert run.err == "privacy-eval: nothing to show: neither --results nor --published is given\n"


@pytest.mark.parametrize("verb", ["figures", "tables", "report"])
def test_results_that_nobody_published(measured: SpeechTree, verb: str, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "D")
    run = cli(verb, "--results", results_of(measured), "--published", "vpc1999", *out)
    assert (run.code, run.out) == (2, "")
    assert re.match(r"privacy-eval: vpc1999: no published .*; known: .*\bvpc2020\b", run.err)
    assert not (tmp_path / "D").exists()


def test_without_curves_nothing_is_written_as_tex(measured: SpeechTree, tmp_path: Path) -> None:
    """Results without `records/` beside them; of TeX there is nothing, so nothing is written."""
    shutil.copy(results_of(measured), tmp_path)
    out = tmp_path / "D"
    command = ("figures", "--results", tmp_path / "results.json", "--out", out)
    ok(cli(*command, "--all-figures", "--conventional", "--format", "tex"))
    assert json.loads((out / "captions.json").read_text()) == {}
    assert pictures(out) == set()


def another(path: Path, results: Path) -> str:
    """One bit is not what it was."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    return "does not match the record in results.json; run stages 6 to 8 again"


def cut_short(path: Path, results: Path) -> str:
    """Before its digest was taken."""
    before, text = digest(path.read_bytes()), results.read_text()
    path.write_bytes(path.read_bytes()[:-30])
    assert before in text
    results.write_text(text.replace(before, digest(path.read_bytes())))
    return "not arrays of NumPy, or damaged: "


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("damage", [another, cut_short])
def test_curves_that_are_not_those_of_the_record(
    measured: SpeechTree, damage: Callable[[Path, Path], str], tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(results_of(measured).parent, folder)
    record = next(
        r
        for r in read_results(folder / "results.json").verification
        if r.condition.attack_model == "ignorant"
    )
    assert record.curves is not None
    path = folder / "records" / record.curves
    message = damage(path, folder / "results.json")
    common = ("--results", folder / "results.json")
    run = cli("figures", *common, "--all-figures", "--out", tmp_path / "D")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"privacy-eval: {path}: {message}")
    assert not (tmp_path / "D/captions.json").exists()
    # The resamples of a ranking are in the same file.
    rank = ("--published", "vpc2020", "--attack-model", "ignorant")
    run = cli("tables", *common, *rank, "--out", tmp_path / "T")
    assert (run.code, run.out) == (1, "")
    assert f"privacy-eval: {path}: {message}" in run.err
    assert not (tmp_path / "T").exists()


# --- report


class Page(HTMLParser):
    """Sections, with the tables, images and texts in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.tables: dict[str, list[str]] = {}
        self.images: dict[str, list[object]] = {}
        self.texts: dict[str, list[str]] = {}
        self.tag, self.links, self.ids = "", list[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tag, given = tag, {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        if tag == "section":
            self.titles.append("")
        if tag == "table" and "id" in given:  # the picture has none
            self.tables.setdefault(self.titles[-1], []).append(given["id"])
        if tag == "img":
            kind, _, data = given["src"].partition(",")
            assert kind == "data:image/webp;base64"
            self.images.setdefault(self.titles[-1], []).append(pixels(base64.b64decode(data)))

    def handle_data(self, data: str) -> None:
        if self.tag == "h2" and not self.titles[-1]:
            self.titles[-1] = data
        elif data.strip() and self.titles:
            self.texts.setdefault(self.titles[-1], []).append(data.strip())


@pytest.fixture(name="drawings", scope="module")
def _drawings(measured: SpeechTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All figures that there are, as PNG."""
    out = tmp_path_factory.mktemp("drawings") / "D"
    command = ("figures", "--results", results_of(measured), "--out", out, "--format", "png")
    ok(cli(*command, "--all-figures", "--conventional"))
    return out


def report(out: Path, results: object, *more: object) -> Page:
    run = cli("report", "--results", results, "--out", out, *more)
    assert (run.code, run.out) == (0, f"{out}\n"), run.err
    page = Page(out.read_text(encoding="utf-8"))
    assert len(page.ids) == len(set(page.ids))
    assert len(page.links) == len(page.titles) and set(page.links) <= {f"#{i}" for i in page.ids}
    return page


FIGURES = {
    "Privacy of the systems": "bars",
    "Voice similarity": "matrices",
    "Metric against metric": "scatter",
    "Conventional plots": "conventional",
}
VARIANTS, LEAST = "Challenge and exact values", "The least protected speakers"
OWN, MADE = f"System {ODD_NAME}", "Methods"
ANSWER = ("Answer", "The answer in detail")
FOOT = ("Glossary", "About this report")


def test_a_report_has_every_part(measured: SpeechTree, drawings: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    more = ("--figures", drawings, "--published", "vpc2020")
    page = report(out, results_of(measured), *more)
    entries = json.loads((drawings / "captions.json").read_text())
    shown = {kind.section: kind.name for kind in figures.kinds() if not kind.curves}
    shown = {title: shown[title] for title in shown if title in {*page.titles}}
    assert FIGURES.items() <= shown.items()
    assert page.titles == [
        *(*ANSWER, "Systems side by side", LEAST, *shown, "Curves"),
        *(OWN, VARIANTS, MADE, "Published systems", *FOOT),
    ]
    captions = {name: entry["caption"] for name, entry in entries.items()}
    for title, start in shown.items():
        names = [n for n in captions if n.startswith(start)]
        assert page.images[title] == [pixels((drawings / f"{n}.png").read_bytes()) for n in names]
        assert {captions[n] for n in names} <= set(page.texts[title])
    curves = {n for n in captions if n.startswith(("det", "ece", "linkability"))}
    assert sum(map(len, page.images.values())) == len({*captions} - {"answer"}) - len(curves) > 10
    drawn_inline = {n for n in curves if not n.startswith("ece-prior")}
    assert {captions[n] for n in drawn_inline} <= set(page.texts["Curves"])
    assert "tab-comparison_asv_dev" in page.tables["Systems side by side"]
    assert page.tables[ANSWER[1]] == ["tab-ranking_eer_lazy-informed_dev", "tab-main_results"]
    assert page.tables[VARIANTS] == ["tab-0-variants"]
    assert page.tables[LEAST] == ["tab-0-speakers"]
    assert {"Speaker verification, dev. set", "Linkability"} <= set(page.texts[OWN])
    assert {"tab-0-asv_dev", "tab-0-voice", "tab-0-attacks"} <= set(page.tables[OWN])
    assert {"tab-0-variants", "tab-0-speakers"}.isdisjoint(page.tables[OWN])
    similarity = read_results(results_of(measured)).similarity[0]
    assert next(iter(speaker_values(similarity, "deid"))) in page.texts[LEAST]
    first, written = out.read_bytes(), out.stat().st_mtime_ns
    again = ("--results", results_of(measured), *more, "--out", out)
    assert (
        run_without_numpy(["report", *again, "--conf", measured.root / "small.yaml"])
        == f"{out} up to date\n"
    )
    assert out.stat().st_mtime_ns == written
    out.unlink()
    report(out, results_of(measured), *more)
    assert out.read_bytes() == first
    text = first.decode()
    assert ODD_NAME not in text and "50%_team &amp; Co" in text
    assert str(tmp_path) not in text and str(measured.root) not in text


def test_provenance_lists_the_inputs(measured: SpeechTree, tmp_path: Path) -> None:
    page = report(tmp_path / "report.html", results_of(measured))
    assert page.tables[MADE] == ["tab-made_conditions", "tab-made_similarity"]
    text = "\n".join(page.texts[MADE])
    inputs = [
        *measured.all_scores.values(),
        *measured.root.glob("data/libri_dev_trials_f/trials"),
        *measured.root.glob("data/libri_dev_trials_f/utt2spk"),
        *measured.root.glob(f"{BACKEND}/*"),
    ]
    assert len(inputs) == 5 + 3
    for path in inputs:
        name = path.relative_to(measured.root).as_posix()
        assert f"{name} {digest(path.read_bytes())[:12]}" in text
        assert digest(path.read_bytes()) not in text
    assert "bootstrap: 20" in text


def test_a_report_to_publish_names_no_path(
    measured: SpeechTree, drawings: Path, tmp_path: Path
) -> None:
    """Everything else is in it, as in the report."""
    words = {"--title": "Results <2024>", "--date": "1 May 2024", "--sentence": "A & B thank all."}
    said = (word for pair in words.items() for word in pair)
    out, results = tmp_path / "public.html", results_of(measured)
    figures = ("--figures", drawings)
    page = report(out, results, "--public", *said, *figures)
    text = html.unescape(out.read_text(encoding="utf-8"))
    assert f"<h1>{words.pop('--title')}</h1>" in text
    assert list(words.values()) == page.texts["Answer"][:2]
    files = [*measured.root.rglob("*")]
    paths = {str(p.relative_to(measured.root)) for p in files if p.parent != measured.root}
    folders = {path.name for path in files if path.is_dir() and path.name.startswith("results")}
    assert len(paths) > 50 and folders
    text = re.sub(r"base64,[A-Za-z0-9+/=]*", "", text)
    assert not [path for path in {*paths, *folders, str(tmp_path)} if path in text]
    ours = report(tmp_path / "report.html", results, *figures)
    assert any("scores in " in fact for fact in ours.texts[FOOT[-1]])
    assert (page.tables, page.images) == (ours.tables, ours.images)
    for title in set(ours.titles) - {*ANSWER, MADE, FOOT[-1]}:
        assert page.texts[title] == ours.texts[title]
    made = "\n".join(page.texts[MADE])
    assert all(digest(p.read_bytes())[:12] in made for p in measured.all_scores.values())
    answer = (tmp_path / "public.answer.json").read_text(encoding="utf-8")
    assert not [path for path in {*paths, *folders, str(tmp_path)} if path in answer]
    assert not (tmp_path / "report.answer.json").exists()


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is of a JSON schema, of what ours use of it."""
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "number": float}
    types |= {"integer": int, "null": type(None)}
    named = schema.get("type", [])
    wanted = [types[name] for name in ([named] if isinstance(named, str) else named)]
    if wanted and type(value) not in wanted or schema.get("const", value) != value:
        return False
    if isinstance(value, list):
        return all(fits(one, schema["items"]) for one in value)
    if not isinstance(value, dict):
        return True
    known, others = schema.get("properties", {}), schema["additionalProperties"]
    return {*schema.get("required", ())} <= value.keys() and all(
        fits(one, known[key]) if key in known else bool(others) and fits(one, others)
        for key, one in value.items()
    )


def test_the_answer_of_a_public_report_is_for_programs_too(tmp_path: Path) -> None:
    results = merge([imported(B2, system="a worse"), imported(B1, system="b better")])
    report(tmp_path / "p.html", store(tmp_path / "r.json", results), "--public")
    answer = json.loads((tmp_path / "p.answer.json").read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "docs/answer.schema.json").read_text(encoding="utf-8"))
    assert fits(answer, schema) and not fits({**answer, "more": 1}, schema)
    assert not fits({**answer, "systems": [{}]}, schema) and not fits({}, schema)
    original, *systems = answer["systems"]
    assert original["rank"] is original["address"] is None
    assert [(of["system"], of["rank"]) for of in systems] == [("b better", 1), ("a worse", 2)]
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    for of in systems:
        assert f'<tr id="{of["address"][1:]}">' in page
        best = [attack["value"] for attack in of["attacks"] if attack["best"]]
        assert best == [min(attack["value"] for attack in of["attacks"])]
        assert 0 < of["utility"]["wer"]["value"] < 1


def test_a_public_report_has_no_hints_at_options() -> None:
    front = Front(attackers=("Attackers that were tried: words.",), hints=("--attackers fused",))
    assert Publication(public=True).front(front) == replace(front, hints=())
    assert Publication().front(front) == front


def test_a_public_report_hides_where_damage_is(tmp_path: Path) -> None:
    results = replace(imported(B1), not_evaluated=("x ASV-y (/home/me/tree/scores:3: no number)",))
    text = "\n".join(
        line
        for lines in report(
            tmp_path / "r.html", store(tmp_path / "r.json", results), "--public"
        ).texts.values()
        for line in lines
    )
    assert "/home" not in text and "missing or was left out" in text


def test_main_results_are_in_the_order_of_the_ranking(tmp_path: Path) -> None:
    """The first name is that of the worse system."""
    worse, better = imported(B2, system="a worse"), imported(B1, system="b better")
    path = store(tmp_path / "r.json", merge([worse, better]))
    for chosen, first in ((), "b better"), (("a worse", "b better"), "a worse"):
        options = [word for name in chosen for word in ("--system", name)]
        assert cli("tables", "--results", path, *options, "--out", tmp_path / first).code == 0
        systems = dict.fromkeys(r["System"] for r in rows_of(tmp_path / first, "main_results"))
        assert list(systems)[:2] == ["Original speech", first]


def test_a_report_without_figures_and_other_systems(
    baselines: tuple[Path, Path], tmp_path: Path
) -> None:
    """No part is there that would be empty."""
    page = report(tmp_path / "report.html", baselines[0])
    assert page.titles == [*ANSWER, "System B1", MADE, *FOOT]
    assert page.images == {}
    run = ok(cli("report", "--results", *baselines, "--out", tmp_path / "two.html"))
    assert "Original speech differs between systems" in run.err
    page = Page((tmp_path / "two.html").read_text())
    two = ("Systems side by side", "System B1", "System B2")
    assert page.titles == [*ANSWER, *two, MADE, *FOOT]
    assert any("Original speech differs" in text for text in page.texts[ANSWER[1]])


def test_systems_and_results_folders_of_one_name_are_all_reported(tmp_path: Path) -> None:
    """The folder `.orig` of `x`, and the system `x.orig`."""
    both = imported(ANON, ORIG, protocol="vpc2022", system="x")
    other = imported(ANON, protocol="vpc2022", system="x.orig")
    page = report(tmp_path / "report.html", store(tmp_path / "r.json", merge([both, other])))
    systems = [title for title in page.titles if title.startswith("System ")]
    assert len(set(systems)) == 3
    assert [title.startswith("System x.orig,") for title in systems] == [False, False, True]
    assert [i for i in page.ids if i.endswith("-linkability")] == [
        f"tab-{number}-linkability" for number in range(3)
    ]


def test_folders_that_hold_no_figures(measured: SpeechTree, drawings: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    command = ("report", "--results", results_of(measured), "--out", out, "--figures")
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (empty, tmp_path / "none"):
        run = cli(*command, folder)
        assert (run.code, run.out) == (1, "")
        assert run.err.startswith(f"privacy-eval: {folder / 'captions.json'}: cannot be read")
    for name in ("captions.json", ".privacy_eval.json"):  # as if only PDF had been asked for
        shutil.copy(drawings / name, empty)
    run = cli(*command, empty)
    assert (run.code, run.out) == (1, "")
    assert re.search(r"empty/\w+\.png: cannot be read", run.err)
    assert not out.exists()
