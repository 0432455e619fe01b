"""The verb `metrics` on two systems, on lists of enrolled utterances, at other operating points."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from latex_support import compiled, needs_latex
from support import cli, lines_to, ok, printed

import privacy_eval as pe
from privacy_eval.metrics import min_dcf, of_kind
from privacy_eval.metrics.confidence import least_replicates

SPEAKERS = [f"id{n}" for n in range(8)]


def trial_ids() -> list[tuple[str, str]]:
    """Pair an enrolled utterance of every speaker with two of every speaker."""
    return [(f"{a}/x/0.wav", f"{b}/x/{n}.wav") for a in SPEAKERS for b in SPEAKERS for n in (1, 2)]


def is_target(trial: tuple[str, str]) -> bool:
    return trial[0].split("/")[0] == trial[1].split("/")[0]


def scores(folder: Path, name: str, seed: int, strength: float) -> Path:
    draw = np.random.default_rng(seed).normal
    return lines_to(
        folder / name,
        (f"{a} {b} {draw(strength * is_target((a, b)), 1):.6f}" for a, b in trial_ids()),
    )


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    labels = (f"{int(is_target(t))} {' '.join(t)}" for t in trial_ids())
    key = lines_to(tmp_path / "veri_test.txt", labels)
    a, b = scores(tmp_path, "a", 1, 2.0), scores(tmp_path, "b", 2, 0.5)
    return ["metrics", "--scores", a, "--versus", b, "--trials", key, "--key-format", "voxceleb"]


def test_versus_as_json(files: list[object]) -> None:
    run = ok(cli(*files, "--bootstrap", 50, "--format", "json"))
    plain = json.loads(run.out)
    (name,) = plain["versus"]
    assert name == str(files[4])
    alone = json.loads(cli(*files[:3], *files[5:], "--format", "json").out)
    other = json.loads(cli("metrics", "--scores", *files[4:], "--format", "json").out)
    for variant in ("challenge", "exact"):
        assert plain[variant] == alone[variant]
        differences = plain["versus"][name][variant]
        assert differences.keys() == of_kind("scores").keys()
        for key, entry in differences.items():
            assert entry["value"] == other[variant][key]
            assert entry["difference"] == pytest.approx(alone[variant][key] - entry["value"])
            assert entry["interval"]["low"] <= entry["interval"]["high"]
            assert entry["p_value_holm"] == entry["p_value"]
    assert plain["versus"][name]["exact"]["eer"]["p_value"] < 0.1


def test_command_line_and_python_agree(files: list[object]) -> None:
    plain = json.loads(cli(*files, "--bootstrap", 30, "--seed", 4, "--format", "json").out)
    label = [is_target(t) for t in trial_ids()]
    sides = zip(*([side.split("/")[0] for side in t] for t in trial_ids()), strict=True)
    speakers = dict(zip(("enrolled_speaker", "trial_speaker"), sides, strict=True))
    systems = {
        str(path): pe.read_scores(Path(str(path))).with_columns(label=label, **speakers)
        for path in (files[2], files[4])
    }
    result = pe.compare(systems, bootstrap=30, seed=4)
    for key, entry in plain["versus"][str(files[4])]["exact"].items():
        difference = result[key][str(files[4])]
        assert entry["interval"]["low"] == pytest.approx(difference.interval.low)
        assert entry["p_value"] == difference.p_value


def test_systems_are_named_as_they_were_given(files: list[object]) -> None:
    path = Path(str(files[4]))
    given = f"{path.parent}/./{path.name}"
    run = cli(*files[:4], given, *files[5:], "--bootstrap", 5, "--format", "json")
    assert list(json.loads(run.out)["versus"]) == [given]


def test_versus_as_text(files: list[object], tmp_path: Path) -> None:
    third = scores(tmp_path, "c", 3, 0.5)
    run = cli(*files, "--versus", third, "--bootstrap", 50)
    assert "linkability" in run.out.partition("less private side")[0].splitlines()[-1]
    assert run.code == 0, run.err
    assert " 16 target and 112 nontarget trials, 8 speakers" in run.out.splitlines()[0]
    rows = printed(run.out)
    assert [row["System"] for row in rows[:6]] == ["a", "b", "c"] * 2
    place = next(n for n, row in enumerate(rows) if row["Metric"] == "Cllr, bit")
    of_miss = next(n for n, row in enumerate(rows) if row["Metric"].startswith("Miss rate at 1 %"))
    assert [row["Value"] for row in rows[of_miss : of_miss + 3]] == ["n/a"] * 3
    assert all("[" in row["Value"] for row in rows[place : place + 3])
    assert all("[" in row["Difference"] for row in rows[place + 1 : place + 3])
    assert run.out.count("\nCllr, bit") == 1  # the same in both variants
    (pairs,) = (line for line in run.out.splitlines() if line.startswith("p (Holm)"))
    assert all(str(name) in pairs for name in (files[4], third))
    needed = least_replicates(8, tests=2)
    assert f"Significance among all 2 comparisons needs --bootstrap {needed:.0f} " in run.out


def test_the_caveat_of_a_withheld_value_is_named_beside_it(files: list[object]) -> None:
    plain = json.loads(cli(*files, "--bootstrap", 5, "--format", "json").out)
    of_other = plain["versus"][str(files[4])]["exact"]
    for key, caveat in {"miss_at_fa_0.01": "few_nontargets_0.01", "eer": None}.items():
        assert of_other[key]["caveat"] == caveat
    assert "few_nontargets_0.01" in plain["caveats"]
    assert plain["exact"]["miss_at_fa_0.01"] is not None


def test_chosen_metrics_in_every_format(files: list[object]) -> None:
    options = *files, "--bootstrap", 20, "--metrics", "cllr_min,eer,eer", "--variant", "exact"
    plain = json.loads(cli(*options, "--format", "json").out)
    (other,) = plain["versus"].values()
    chosen = ["cllr_min", "eer"]
    printed = (plain["exact"], plain["intervals"]["exact"], other["exact"])
    assert [list(part) for part in printed] == [chosen] * 3
    assert list(plain["caveats"]) == [
        "coarse_eer"
    ]  # those of linkability and of miss rates are not among them
    everything = json.loads(cli(*files, "--bootstrap", 20, "--format", "json").out)
    for key in chosen:
        assert plain["exact"][key] == everything["exact"][key]
        assert other["exact"][key] == everything["versus"][str(files[4])]["exact"][key]

    rows = list(csv.DictReader(cli(*options, "--format", "csv").out.splitlines()))
    assert [(r["system"], r["against"], r["metric"]) for r in rows] == [
        (str(files[n]), against, key)
        for n, against in ((2, ""), (4, ""), (2, str(files[4])))
        for key in chosen
    ]
    for row in rows[4:]:
        entry = other["exact"][row["metric"]]
        bounds = entry["interval"]["low"], entry["interval"]["high"]
        cells = [row[k] for k in ("other", "value", "low", "high", "p")]
        expected = [entry["value"], entry["difference"], *bounds, entry["p_value"]]
        assert list(map(float, cells)) == expected

    table = cli(*options, "--format", "latex")
    assert table.code == 0 and table.out.startswith("% needs \\usepackage{booktabs}\n")
    for key in chosen:
        value = pe.METRICS[key].format(plain["exact"][key], detailed=True)
        assert table.out.count(f" & {value} [") == 1
        of_other = pe.METRICS[key].format(other["exact"][key]["value"], detailed=True)
        assert f" & {of_other} [" in table.out
    assert table.out.count("\n\\privacyevaltable{") == 1
    text = cli(*options)
    bounds = [row["p_is_bound"] for row in rows]
    assert (bounds[:4], {*bounds[4:]} <= {"True", "False"}) == ([""] * 4, True)
    assert text.out.count("<= ") == bounds.count("True") > 0
    assert "min Cllr" in text.out and "inkability" not in text.out + table.out
    assert "SpeechBrain" not in text.out + table.out


@needs_latex
def test_the_table_of_two_systems_fits_one_column_beside_that_of_one(
    files: list[object], tmp_path: Path
) -> None:
    """Without graphicx, in an article of 10 pt, in one part and with a label of its own."""
    one = [str(files[n]) for n in range(len(files)) if n not in (3, 4)]
    text = cli(*files, "--bootstrap", 100, "--format", "latex").out
    for number in (2, 4):
        text = text.replace(f"& {Path(str(files[number])).name} &", r"& asv\_anon\_B1 &")
    (tmp_path / "versus.tex").write_text(text)
    (tmp_path / "one.tex").write_text(cli(*one, "--bootstrap", 20, "--format", "latex").out)
    assert text.count("\n\\privacyevaltable{") == 1
    document = r"\documentclass[10pt]{article}\usepackage{booktabs}\begin{document}"
    document += r"\input{versus}\input{one}\end{document}"
    (tmp_path / "tables.tex").write_text(document)
    log = compiled(tmp_path, runs=2)
    assert "Overfull" not in log and "multiply defined" not in log


@pytest.mark.parametrize(
    "change",
    [
        ["--metrics", "eer,der"],
        ["--metrics", "eer", "--strongest", "--bootstrap", "20"],
        ["--format", "csv", "--speakers"],
        ["--scores", "another"],  # would be evaluated in its place
    ],
    ids=" ".join,
)
def test_what_cannot_be_printed(files: list[object], change: list[str]) -> None:
    run = cli(*files[:3], *files[5:], *change)
    assert (run.code, run.out) == (2, "")


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ([], 2, "--bootstrap"),
        (["--bootstrap", "20", "--versus", "short"], 1, "do not contain the same trials"),
        (["--bootstrap", "20", "--versus", "-"], 2, "stdin"),
        (["--bootstrap", "20", "--c-miss", "1", "--c-miss", "2"], 2, "--c-miss"),
        (["--p-target", "1.5", "--bootstrap", "20"], 2, "between 0 and 1"),
        (["--p-target", "0.5", "--c-fa", "0", "--bootstrap", "20"], 2, "above 0"),
    ],
)
def test_what_cannot_be_compared(
    files: list[object], tmp_path: Path, change: list[str], code: int, words: str
) -> None:
    lines_to(tmp_path / "short", Path(str(files[4])).read_text().splitlines()[:-1])
    run = cli(*files, *(str(tmp_path / w) if w == "short" else w for w in change))
    assert (run.code, run.out) == (code, "")
    assert words in run.err


def test_operating_points(files: list[object]) -> None:
    options = "--p-target", 0.05, "--p-target", 0.2, "--c-miss", 10, "--c-miss", 1, "--c-fa", 1
    plain = json.loads(cli(*files[:3], *files[5:], *options, "--format", "json").out)
    values = pe.read_scores(Path(str(files[2]))).score
    target = np.array([is_target(t) for t in trial_ids()])
    both = pe.TrialScores(values[target], values[~target])
    costs = {"min_dcf_0.05_10_1": (0.05, 10, 1), "min_dcf_0.2": (0.2, 1, 1)}
    for key, (p, miss, fa) in costs.items():
        # By trying every threshold.
        least = min(
            p * miss * np.mean(both.target < t) + (1 - p) * fa * np.mean(both.nontarget >= t)
            for t in [*values, np.inf]
        ) / min(p * miss, (1 - p) * fa)
        assert plain["exact"][key] == pytest.approx(least, rel=1e-12)
        assert min_dcf(both, p, c_miss=miss, c_fa=fa).value == pytest.approx(least)
    assert not any(key in pe.METRICS for key in costs)
    chosen = cli(*files[:3], *files[5:], *options, "--metrics", "eer", "--format", "csv").out
    printed = [row["metric"] for row in csv.DictReader(chosen.splitlines())]
    assert printed == ["eer", *costs] * 2


def test_few_replicates_are_noted(files: list[object]) -> None:
    alone = [*files[:3], *files[5:]]
    noted = "Too few bootstrap replicates for 95 % with so few speakers (needed: at least 174)"
    assert noted in cli(*alone, "--bootstrap", 2).out
    assert "Too few" not in cli(*alone, "--bootstrap", 400).out


def test_the_second_variant_prints_what_differs(files: list[object], tmp_path: Path) -> None:
    """Ties at a threshold: the challenge's variant counts them by their order."""
    tied = lines_to(
        tmp_path / "tied", (f"{a} {b} {int(is_target((a, b)))}" for a, b in trial_ids())
    )
    lines = tied.read_text().splitlines()
    lines[::5] = [line[:-1] + "0" for line in lines[::5]]
    lines_to(tied, lines)
    alone = ["metrics", "--scores", tied, *files[5:]]
    plain = json.loads(cli(*alone, "--format", "json").out)
    first, second = cli(*alone).out.split("exact, where it differs\n")
    different = {k for k, v in plain["exact"].items() if v != plain["challenge"][k]}
    titles = {pe.METRICS[key].sentence for key in different & pe.METRICS.keys()}
    lines = second.split("\n\n")[0].splitlines()
    shown = {line.split("  ")[0] for line in lines}
    assert shown and shown <= titles
    assert "EER" not in shown and not set(first.splitlines()) & set(lines)


@pytest.mark.parametrize("extension", ["pdf", "png", "tex"])
def test_systems_are_plotted(files: list[object], tmp_path: Path, extension: str) -> None:
    plot = tmp_path / "plots" / f"det.{extension}"
    plot.parent.mkdir()
    ok(cli(*files, "--bootstrap", 20, "--plot", plot))
    begins = {"pdf": b"%PDF", "png": b"\x89PNG", "tex": b"%"}[extension]
    assert plot.read_bytes().startswith(begins)
    assert [p.name for p in plot.parent.iterdir()] == [plot.name]
    assert cli(*files, "--bootstrap", 20, "--plot", tmp_path / "det.gif").code == 2


def test_the_legend_of_a_plot_names_files_as_given(
    files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = "./a", Path(str(files[4])).name
    options = "--scores", given[0], "--versus", given[1], *files[5:], "--bootstrap", 20
    plain = json.loads(cli("metrics", *options, "--plot", "det.tex", "--format", "json").out)
    bounds = plain["intervals"]["exact"]["eer"]
    numbers = plain["exact"]["eer"], bounds["low"], bounds["high"]
    eer, low, high = (f"{100 * x:.2f}" for x in numbers)
    legend = (tmp_path / "det.tex").read_text()
    assert f"{{./a (EER {eer} [{low}, {high}] " in legend
    assert f"{{{given[1]} (" in legend


def test_several_systems_have_lines_of_their_own_on_one_axes(files: list[object]) -> None:
    from matplotlib.figure import Figure

    target = np.array([is_target(t) for t in trial_ids()])
    systems = {}
    for name, path in (("A", files[2]), ("B", files[4])):
        values = pe.read_scores(Path(str(path))).score
        systems[name] = pe.TrialScores(values[target], values[~target])
    axes = pe.plot_det(systems, Figure().subplots())
    assert len({line.get_color() for line in axes.get_lines()}) == 2
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [text[0] for text in texts] == ["B", "A"]  # the weaker attack first
    profile = pe.plot_ece(systems, Figure().subplots())
    assert len(profile.get_legend().get_texts()) == 3  # and full privacy
