"""The command line: contracts, exit codes, and every kind of bad input."""

import argparse
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from support import (
    B1,
    B2,
    ENROLLS,
    MODEL,
    ODD_NAME,
    ROOT,
    Run,
    SpeechTree,
    Tree,
    assert_golden,
    cli,
    command,
    imported,
    keys,
    lines_to,
    nonempty,
    ok,
    options_of,
    printed,
    refused,
    run_program,
    score_lines,
    snapshot,
    three_conditions,
    trial_lines,
    utterances,
)

from privacy_eval import __version__
from privacy_eval.cli import every_verb, parser, stage_runs, stages
from privacy_eval.cli.inputs import log_items
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import of_kind
from privacy_eval.protocol.protocol import bundled, load_protocol
from privacy_eval.protocol.published import published_names
from privacy_eval.results.json_store import to_json
from privacy_eval.stages import recipe as recipe_table
from privacy_eval.stages.options import MetricOptions
from privacy_eval.stages.privacy_metrics import evaluate_tree
from privacy_eval.stages.recipe import STAGES, parse_stage, stage_number, stages_of_wings
from privacy_eval.wings import told

KEYS = [
    *("eer", "eer_speechbrain", "cllr", "cllr_min", "rocch_eer", "linkability"),
    *("zebra_population", "zebra_individual", "zebra_tag", "min_dcf_0.01", "min_dcf_0.001"),
    *("miss_at_fa_0.01", "miss_at_fa_0.001"),
]
GOLDEN_SCORES = ROOT / "tests" / "data" / "golden" / "scores"
CASES = sorted(p.name for p in GOLDEN_SCORES.iterdir() if p.is_dir())


class Pair:
    """A score file and its key, and the command on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scores = lines_to(folder / "scores", score_lines("x"))
        self.trials = lines_to(folder / "trials", trial_lines())

    def run(self, *more: object) -> Run:
        """Run the verb; `more` may name other files."""
        files = {"--scores": self.scores, "--trials": self.trials}
        given = [word for name, path in files.items() if name not in more for word in (name, path)]
        return cli("metrics", *given, *more)


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


# --- metrics


def test_metrics_as_json(files: Pair) -> None:
    run = files.run("--format", "json")
    assert (run.code, run.err) == (0, "")
    plain = json.loads(run.out)
    assert list(plain) == ["n_target", "n_nontarget", "caveats", "challenge", "exact"]
    few = ["coarse_eer", "few_targets", "few_nontargets_0.01", "few_nontargets_0.001"]
    assert list(plain["caveats"]) == few and plain["exact"]["linkability"] == 0
    assert (plain["n_target"], plain["n_nontarget"]) == (12, 36)
    for variant in ("challenge", "exact"):
        assert set(plain[variant]) == {*KEYS, *of_kind("scores")}
        assert isinstance(plain[variant]["zebra_tag"], str)
        assert all(isinstance(v, float) for k, v in plain[variant].items() if k != "zebra_tag")
        assert 0 <= plain[variant]["eer"] <= 1
    assert plain["challenge"]["eer"] == plain["exact"]["eer"]


@pytest.mark.parametrize("variant", ["challenge", "exact"])
def test_one_variant(files: Pair, variant: str) -> None:
    plain = json.loads(files.run("--format", "json", "--variant", variant).out)
    assert list(plain) == ["n_target", "n_nontarget", "caveats", variant]
    both = json.loads(files.run("--format", "json", "--variant", "both").out)
    assert plain[variant] == both[variant]
    text = files.run("--variant", variant).out
    assert f"variant {variant}.\n" in text and "differs" not in text
    assert all(pattern.search(text) for pattern in map(re.compile, TEXT_LINES))


def test_infinite_values_are_words(files: Pair) -> None:
    """A nontarget score that overflows exp makes the released Cllr infinite."""
    lines = files.scores.read_text().splitlines()
    nontarget = next(i for i, t in enumerate(trial_lines()) if t.endswith(" nontarget"))
    lines[nontarget] = lines[nontarget].rsplit(" ", 1)[0] + " 1000"
    lines_to(files.scores, lines)
    run = files.run("--format", "json")
    plain = json.loads(run.out, parse_constant=lambda c: pytest.fail(f"{c} is no JSON"))
    assert plain["challenge"]["cllr"] == "inf"
    assert math.isfinite(plain["exact"]["cllr"])
    assert re.search(r"^Cllr +inf bit \(of natural-log LLRs\)$", files.run().out, re.M)


TEXT_LINES = [
    r"EER +\d+\.\d{3} %",
    r"EER \(SpeechBrain\) +\d+\.\d{3} %",
    r"min Cllr +\d\.\d{3} bit",
    r"Cllr +\d+\.\d{3} bit \(of natural-log LLRs\)",
    r"ROCCH-EER +\d+\.\d{3} %",
    r"Linkability +n/a",
    r"Expected privacy disclosure \(population\) +\d\.\d{3} bit",
    r"Worst-case privacy disclosure \(individual\) +\d\.\d{3} log10 LR \([0A-F]\)",
    r"Minimum detection cost at 0\.01 +\d\.\d{4}",
    r"Minimum detection cost at 0\.001 +\d\.\d{4}",
    r"Miss rate at 1 % false alarms +n/a",
    r"Miss rate at 0\.1 % false alarms +n/a",
]


def test_metrics_as_text(files: Pair) -> None:
    text = files.run().out
    lines = text.splitlines()
    plain = json.loads(files.run("--format", "json").out)
    trials = f"{plain['n_target']} target and {plain['n_nontarget']} nontarget trials"
    assert f"{trials}, variant challenge and exact." in lines[0]
    rows = [f"{row['Metric']} {row['Value']}" for row in printed(text)]
    # SpeechBrain's EER, too, which is in no table of a system.
    assert len(rows) == 1 + sum(metric.tabled for metric in of_kind("scores").values())
    matching = [[p for p in TEXT_LINES if re.fullmatch(p, row)] for row in rows]
    assert [pattern for patterns in matching for pattern in patterns] == TEXT_LINES
    notes = lines[lines.index("", 2) + 1 :]
    assert "fewer than 20 target scores" in notes[0]
    assert all(line.startswith("The miss rate") for line in notes[1:-2])
    assert notes[-2].startswith("EERs of fewer than 30")
    assert "By chance alone" in notes[-1] and "12 to 13 %" in notes[-1]


def test_bootstrap(files: Pair) -> None:
    lines_to(files.folder / "utt2spk", (f"{u} {s}" for u, s in utterances().items()))
    options = ("--bootstrap", "5", "--seed", "3")
    first = files.run(*options, "--format", "json")
    plain = json.loads(first.out)
    assert list(plain) == ["n_target", "n_nontarget", "caveats", "challenge", "exact", "intervals"]
    for variant in ("challenge", "exact"):
        assert set(plain["intervals"][variant]) == set(of_kind("scores"))
        assert set(plain["intervals"][variant]["eer"]) >= {"low", "high"}
    assert first == files.run(*options, "--format", "json")
    text = files.run(*options, "--variant", "exact").out.splitlines()
    assert "95 % intervals: bootstrap over speakers (5 replicates)." in text
    shown = [line.split("  ")[0] for line in text if re.search(r"\[.*, .*\]$", line)]
    withheld = {"linkability", "miss_at_fa_0.01", "miss_at_fa_0.001"}
    assert shown == [m.sentence for m in of_kind("scores").values() if m.key not in withheld]
    eer = plain["intervals"]["exact"]["eer"]
    assert f"[{100 * eer['low']:.3f}, {100 * eer['high']:.3f}]" in text[4]
    elsewhere = files.folder / "speakers"
    (files.folder / "utt2spk").rename(elsewhere)
    assert files.run(*options, "--utt2spk", elsewhere, "--format", "json") == first


@pytest.mark.parametrize("case", CASES)
def test_golden_cases_on_the_command_line(case: str) -> None:
    """Counts, both variants to 1e-9, and the EER as Kaldi prints it."""
    folder = GOLDEN_SCORES / case
    expected = json.loads((folder / "expected.json").read_text())
    paths = ("--scores", folder / "scores.gz", "--trials", folder / "trials.gz")
    plain = json.loads(cli("metrics", *paths, "--format", "json").out)
    assert plain["n_target"] == expected["n_target"]
    assert plain["n_nontarget"] == expected["n_nontarget"]
    assert_golden(plain["challenge"], expected["reference"])
    assert_golden(plain["exact"], expected["exact"])
    text = cli("metrics", *paths, "--variant", "challenge").out
    found = re.search(r"^EER +([\d.]+)\?? %", text, re.M)
    kaldi = float(expected["kaldi_compute_eer_stdout"])  # four digits
    assert float(found[1]) == pytest.approx(kaldi, abs=0.0055)
    implausible = case in ("inverted", "one_bin_of_ties")  # 79.9 and 88.3 %
    assert ("? %" in text) is ("EER above 65 % is implausible" in text) is implausible


# --- exit codes and usage


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["completion", "fish"],
        ["metrics"],
        ["metrics", "--scores", "x", "--trials", "y", "--variant", "new"],
        ["metrics", "--scores", "x", "--trials", "y", "--bootstrap", "-1"],
        ["metrics", "--scores", "x", "--trials", "y", "--bootstrap", "1"],
        ["metrics", "--scores", "x", "--trials", "y", "--bootstrap", "many"],
        ["metrics", "--scores", "x", "--trials", "y", "--seed", "1.5"],
        ["stage", "privacy-metrics", "--tree", "."],
        ["stage", "privacy-metrics", "--results", "x", "--nj", "0"],
        ["stage", "privacy-metrics", "--results", "x", "--job", "0/2"],
        ["stage", "privacy-metrics", "--results", "x", "--job", "3/2"],
        ["stage", "privacy-metrics", "--results", "x", "--job", "2"],
        ["stage", "privacy-metrics", "--results", "x", "--job", "a/b"],
        ["stage", "privacy-metrics", "--results", "x", "--job", "1/²"],
        ["tables", "--format", "html"],
        ["tables", "--results"],
        ["import", "x"],
        ["import", "x", "--system", "y", "--out", "z", "--also", "orig"],
        ["export"],
        ["demo-tree"],
        ["stage", "check", "--results", "x", "surplus"],
        ["stage", "subsets"],
        ["train-backend", "--vectors", "x", "--utt2spk", "y"],
        ["train-backend", "--vectors", "x", "--utt2spk", "y", "--out", "z", "--lda-dim", "0"],
        ["asv-scores", "--trials", "x"],
        ["stage", "asv-scores", "--resul", "x"],
        ["score", "--trials", "x"],
        ["stage", "asv-scores", "--results", "x", "--job", "3/2"],
        ["similarity", "--original", "x", "--anonymized", "y"],
        ["stage", "similarity", "--results", "x", "--job", "0/1"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_code_2(arguments: list[str]) -> None:
    run = cli(*arguments)
    assert run.code == 2
    assert run.err.startswith("usage: privacy-eval")
    assert run.out == ""


def test_files_without_options_are_told_the_options() -> None:
    run = cli("metrics", "scores", "trials")
    assert run.code == 2 and "'scores': files are named by options" in run.err
    assert "--scores" in run.err.splitlines()[-1]


def test_help_and_version() -> None:
    first, wings = cli("--version").out.splitlines()
    assert first == f"privacy-eval {__version__}" and wings == told()[0]
    listed = re.findall(r"^  ([a-z][a-z-]+)", cli("--help").out, re.M)
    assert {*listed} == every_verb().keys() - stages_of_wings().keys() and len(listed) == len(
        {*listed}
    )
    assert cli().err == cli("--help").out
    for key in keys():
        run = ok(cli(*key.split(), "--help"))
        assert run.out.startswith(f"usage: privacy-eval {key}")
        (example,) = re.findall(r"^example:\n  (.*)$", run.out, re.M)
        words = shlex.split(example.partition(" > ")[0])
        assert words[0] == "privacy-eval"
        words = words[1:] if words[1] != "stage" else [" ".join(words[1:3]), *words[3:]]
        assert callable(parser(words[0]).parse_args(words[1:]).run)
    run = cli("stage", "--help")
    assert run.code == 0 and all(name in run.out for name in stages.STAGES)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("metrcs", "metrics"),
        ("asv_scores", "asv-scores"),
        ("chek", "check"),
        ("sim", "no verb 'sim'"),
    ],
)
def test_a_mistyped_verb_gets_a_suggestion(word: str, meant: str) -> None:
    run = cli(word, "--tree", "x")
    assert run.code == 2 and run.out == ""
    assert meant in run.err.splitlines()[-1]
    assert ("did you mean" in run.err) is (word != "sim")


COMPLETED = [
    ("met", {"metrics"}),
    ("metrics --var", {"--variant"}),
    ("metrics --variant c", {"challenge"}),
    ("metrics --variant = c", {"challenge"}),  # as bash splits --variant=c
    ("metrics --variant =", {"challenge", "exact", "both"}),
    ("metrics --variant=c", {"--variant=challenge"}),  # as zsh passes it
    ("metrics --metrics eer,cllr_m", {"eer,cllr_min"}),
    ("stage che", {"check"}),
    ("stage check --results --qui", {"--quick"}),
    ("stage check --conf vpc2026", {"vpc2026_track1", "vpc2026_track2"}),
    ("tables --published vpc202", {n for n in published_names() if n.startswith("vpc202")}),
]


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_bash_completes_verbs_options_and_values(
    line: str, expected: set[str], tmp_path: Path
) -> None:
    script = lines_to(tmp_path / "completion", [cli("completion", "bash").out])
    words = ["privacy-eval", *line.split()]
    program = f"""
        . {script}
        COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
        _privacy_eval
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-euc", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected
    assert cli("completion", "zsh").out.endswith(cli("completion", "bash").out)


def test_help_loads_what_numpy_loads_and_little_more() -> None:
    """A recipe starts dozens of commands; each of these takes longer to load than most run."""
    heavy = ("scipy.special", "matplotlib", "tabulate")
    script = (
        "import sys; from privacy_eval.cli import parser\n"
        f"for verb in {keys()}: parser(verb)\n"
        f"print(*{{*{heavy}}} & set(sys.modules))"
    )
    assert run_program(sys.executable, "-c", script, cwd=ROOT).out == "\n"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("privacy-metrics --scores x --trials y", "privacy-metrics"),
        ("similarity --tree . --results r --original x", "--tree"),
        ("train-backend --results r --utt2spk x", "--results"),
        ("asv-scores --job 1/2 --trials x", "--job"),
    ],
)
def test_a_stage_is_not_called_by_its_name_alone(text: str, option: str) -> None:
    run = cli(*text.split())
    assert run.code == 2 and run.out == ""
    last = run.err.splitlines()[-1]
    assert option in last and f"privacy-eval stage {text.split()[0]}" in last


def test_a_stage_is_a_function_and_a_row_of_two_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A toy stage, found by the command and by the table."""

    def toy_stage(arguments: argparse.Namespace) -> int:
        print("over a tree", arguments.job, arguments.depth)
        return 0

    rules = (("depth", "tree", "--depth needs --tree"), ("depth", "!quick", "one of both"))
    own = {"--depth": {"type": int}, "--quick": {"action": "store_true"}}
    toy = {"shared": "job", "rules": rules, **own}
    monkeypatch.setitem(stages.STAGES, "toy-stage", toy)
    monkeypatch.setattr(stage_runs, "toy_stage", toy_stage, raising=False)
    row = "12 | toy_stage | count the files | data/ -> OUT/toy.json"
    assert parse_stage(row).names == ("toy_stage",)
    monkeypatch.setattr(recipe_table, "STAGES", (*STAGES, parse_stage(row)))
    assert stage_number("toy_stage") == 12
    common = ("--results", tmp_path, "--job", "1/2", "--depth", 3)
    for name in ("toy-stage", "toy_stage", "12"):
        assert cli("stage", name, *common).out == "over a tree (1, 2) 3\n"
    run = cli("stage", "toy-stage", *common, "--quick")
    assert run.code == 2 and run.err == "privacy-eval: one of both\n"
    assert cli("stage", "toy-stage", "--input", "x").code == 2
    assert "toy-stage" in cli("stage", "--help").out


def test_the_stages_of_a_number_get_the_options_that_they_have() -> None:
    words = ["--tree=a", "--results", "b", "--attackers", "all"]
    assert stages.stage_commands(["6", *words[:3], "--quality"], parser) == [
        ("stage recognize", words[:3]),
        ("stage privacy-metrics", words[:3]),
        ("stage measures", [*words[:3], "--quality"]),
        ("stage costs", words[:3]),
    ]
    of_5 = dict(stages.stage_commands(["5", *words], parser))
    assert of_5["stage subsets"] == [*words[:3], "--anonymized"]
    assert of_5["stage asv-scores"] == words
    assert dict(stages.stage_commands(["3", *words[:3]], parser)) == {"stage subsets": words[:3]}
    for wrong in (["5", *words, "--quality"], ["none"], ["99"]):
        assert cli("stage", *wrong).code == 2


def test_a_stage_that_cannot_begin_ends_those_of_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 4 where an earlier one has failed, so that a recipe does not go on."""
    ran: list[str] = []

    def stage(arguments: argparse.Namespace) -> int:
        ran.append(arguments.verb)
        if arguments.verb == "identification":
            raise PrivacyEvalError("no protocol")
        return codes[0]

    for name in ("similarity", "identification", "attributes"):
        monkeypatch.setattr(stage_runs, name, stage, raising=False)
    for codes in ((0, 1), (1, 4)):
        ran.clear()
        assert cli("stage", 7, "--results", tmp_path).code == codes[1]
        assert ran == ["similarity", "identification"]


def test_stages_of_a_number_go_on_unless_jobs_end_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def stage(arguments: argparse.Namespace) -> int:
        ran.append(arguments.verb)
        code = ends.get(arguments.verb, 0)
        if code > 1:  # that of jobs
            raise SystemExit(code)
        return code

    monkeypatch.setattr(recipe_table, "stages_of_wings", dict)
    for name in ("recognize", "privacy_metrics", "measures"):
        monkeypatch.setattr(stage_runs, name, stage, raising=False)
    for code, number in ((0, 3), (1, 3), (3, 1)):
        ran.clear()
        ends = {"recognize": code}
        assert cli("stage", 6, "--results", tmp_path).code == code
        assert ran == ["recognize", "privacy-metrics", "measures"][:number]


def test_options_are_the_keywords_of_the_functions() -> None:
    own = {f.name for f in fields(MetricOptions)} - {"groups"}  # which a protocol names
    inner = {"systems", "options", "progress", "dry_run"}
    keywords = set(signature(evaluate_tree).parameters) - inner - {"run", "inputs"} | {"job", "nj"}
    keywords |= {"cmd", "log_dir", "isolate", "details", "config"}
    tree = {"tree", "results", "conf", "system", "anon_suffix", "keys", "allow_outside"}
    assert options_of("stage privacy-metrics").keys() == (
        own - {"ids"} | {"user_metrics"} | keywords | tree
    )


# --- bad input

Change = Callable[[list[str]], list[str]]


def without(number: int) -> Change:
    return lambda lines: lines[:-number]


def line(number: int, text: str) -> Change:
    return lambda lines: [*lines[: number - 1], text, *lines[number:]]


#: By name: what is done to the lines of the scores, of the key, and facts of the message.
BAD: dict[str, tuple[Change | None, Change | None, str]] = {
    "trials without a score": (
        without(7),
        None,
        r"  7 trials .*trials:42\): 's4 s2-u2', .*, \.\.\.",
    ),
    "scores without a trial": (
        None,
        without(6),
        r"  6 scores .*scores:43\): 's4 s3-u0', .*, \.\.\.",
    ),
    "both": (
        line(3, "s1 new 0.5"),
        None,
        r"  1 trial .*trials:3\): 's1 s1-u2'\n  1 score .*scores:3\): 's1 new'\n.*--allow-missing",
    ),
    "duplicate scores": (lambda x: [*x, *x[:6]], None, r"scores:49: 6 .*: 's1 s1-u0', .*, \.\.\."),
    "duplicate trials": (None, lambda x: [x[0], *x], r"trials:2: 1 duplicate .*: 's1 s1-u0'"),
    "two labels": (None, lambda x: [*x, "s1 s1-u0 nontarget"], r"trials:49: 1 duplicate"),
    "NaN": (line(5, "s1 s2-u1 nan"), None, r"scores:5: .*decimal.*'nan'"),
    "inf": (line(6, "s1 s2-u2 -inf"), None, r"scores:6: .*finite.*'-inf'"),
    "too large": (line(6, "s1 s2-u2 1e999"), None, r"scores:6: .*finite.*'1e999'"),
    "no number": (line(7, "s1 s3-u0 1,5"), None, r"scores:7: .*decimal.*'1,5'"),
    "unknown label": (None, line(8, "s1 s3-u1 targets"), r"trials:8: .*nontarget.*'targets'"),
    "no label": (None, line(8, "s1 s3-u1"), r"trials:8: .*3 fields.* 2: 's1 s3-u1'"),
    "four fields": (line(9, "s1 s3-u2 1 2"), None, r"scores:9: .*3 fields.* 4"),
    "no targets": (
        None,
        lambda x: [t.replace(" target", " nontarget") for t in x],
        r"trials: no target",
    ),
    "no nontargets": (None, lambda x: [t.replace("non", "") for t in x], r"trials: no nontarget"),
    "empty scores": (lambda x: [], None, r"scores: empty file"),
    "empty key": (None, lambda x: ["", " "], r"trials: empty file"),
    "control character": (line(4, "s1 s2-u0\x07 1"), None, r"scores:4: control character"),
    "a long field": (line(4, "s1 " + "u" * 2000 + " 1"), None, r"scores:4: .*2000 bytes"),
}


def damage(case: str, scores: Path, trials: Path) -> str:
    """Change the lines of both files; the facts that a message must tell."""
    *changes, message = BAD[case]
    for path, change in zip((scores, trials), changes, strict=True):
        if change is not None:
            lines_to(path, change(path.read_text().splitlines()))
    return message


@pytest.mark.parametrize("case", BAD)
def test_bad_input_of_metrics(files: Pair, case: str) -> None:
    message = damage(case, files.scores, files.trials)
    run = files.run()
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("privacy-eval: ")
    assert re.search(message, run.err, flags=re.M), run.err


@pytest.mark.parametrize("case", BAD)
def test_bad_input_of_evaluate(tmp_path: Path, case: str) -> None:
    """The same in a tree: named with system and condition; nothing is written for it, and the
    conditions of other files are done and collected."""
    tree = three_conditions(tmp_path)
    name = "ASV-libri_dev_enrolls-libri_dev_trials_f"
    scores = tree.root / "exp/results-now" / name / "scores"
    message = damage(case, scores, tree.root / "data/libri_dev_trials_f/trials")
    common = ("--tree", tree.root, "--results", "exp", "--out", "out")
    run = cli("stage", "privacy-metrics", *common)
    failed = 3 if BAD[case][1] else 1  # all conditions use the original key
    assert run.code == 1 and f" {failed} of 3 failed" in run.out
    assert (f": {3 - failed} up to date" in run.out) == (failed < 3)
    assert f"now {name}" in run.err
    assert re.search(message, run.err, flags=re.M), run.err
    assert not [p for p in snapshot(tree.root) if p.startswith("out/") and f"/{name}." in p]
    refused(cli("stage", "collect", *common), f"now {name}")
    results = tree.root / "out/results.json"
    assert results.is_file() is (failed == 1)
    if failed == 1:
        plain = json.loads(results.read_text())
        assert len(plain["verification"]) == 2 and f"now {name}: " in str(plain["failed"]["now"])


def test_allow_missing_lists_what_it_leaves_out(files: Pair) -> None:
    lines_to(files.scores, [*files.scores.read_text().splitlines()[:-3], "s1 new 0.5"])
    run = ok(files.run("--allow-missing", "--format", "json"))
    assert (
        run.err == "privacy-eval: left out 3 trials without a score and 1 scores without a trial\n"
    )
    plain = json.loads(run.out)
    assert (plain["trials_without_score"], plain["scores_without_trial"]) == (3, 1)
    assert plain["n_target"] + plain["n_nontarget"] == 45


@pytest.mark.parametrize("file", ["scores", "trials"])
@pytest.mark.parametrize("verb", ["metrics", "zebra"])
def test_a_last_line_without_newline_is_named(files: Pair, verb: str, file: str) -> None:
    options = ("--scores", files.scores, "--trials", files.trials)
    assert "newline" not in str(cli(verb, *options))
    path = files.folder / file
    path.write_text(path.read_text().removesuffix("\n"))
    run = ok(cli(verb, *options))
    assert f"{path}: no newline" in run.err + run.out


@pytest.mark.parametrize("option", ["--scores", "--trials", "--utt2spk"])
@pytest.mark.parametrize("what", ["missing", "a folder"])
def test_missing_files_are_reported(files: Pair, option: str, what: str) -> None:
    path = files.folder / "other"
    if what == "a folder":
        path.mkdir()
    run = files.run(option, path, "--bootstrap", "2")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"privacy-eval: {path}: ")


def test_a_limit_of_memory_as_grids_set_it(files: Pair) -> None:
    limit = 4 << 30
    program = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n"
        "from privacy_eval.cli import main\n"
        "sys.exit(main(['metrics', '--scores', 'scores', '--trials', 'trials']))"
    )
    ok(run_program(sys.executable, "-c", program, cwd=files.folder, OPENBLAS_NUM_THREADS="1"))


@pytest.mark.parametrize(
    "verb", ["privacy-metrics", "collect", "subsets", "train-backend", "asv-scores", "similarity"]
)
def test_bad_trees(tmp_path: Path, verb: str) -> None:
    tree = three_conditions(tmp_path)
    (tmp_path / "empty").mkdir()
    cases = [
        (("--tree", tmp_path / "no", "--results", "exp"), "no: no such folder (exp"),
        (("--tree", tree.root, "--results", "exp", "--conf", "x"), "x: unknown protocol"),
    ]
    if verb != "subsets":  # it needs none
        nokeys = ("--results", "exp", "--keys", "nokeys")
        cases.append((("--tree", tree.root, *nokeys), "nokeys: no such folder"))
    if verb in ("privacy-metrics", "collect"):
        for name, message in (("nothere", "no such folder (results"), ("empty", "no results,")):
            cases.append((("--tree", tree.root, "--results", name), f"{name}: {message}"))
    for arguments, message in cases:
        run = cli("stage", verb, *arguments)
        assert (run.code, run.out) == (2 if "--conf" in arguments else 1, ""), arguments
        assert message in run.err


def test_yaml_is_loaded_safely(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    mark = tmp_path / "pwned"
    text = f"extends: vpc2020\ntitle: !!python/object/apply:os.system ['touch {mark}']\n"
    (tmp_path / "my.yaml").write_text(text)
    run = cli(
        "stage", "privacy-metrics", "--tree", tree.root, "--results", "exp", "--conf", "my.yaml"
    )
    assert run.code == 1
    assert f"{tmp_path}/my.yaml:2: invalid YAML" in run.err
    assert not mark.exists()


# --- export, tables


def test_choosing_what_to_export(tmp_path: Path) -> None:
    for system, path in (("B1", B1), ("B2", B2)):
        results = imported(path, system=system)
        (tmp_path / f"{system}.json").write_text(to_json(results))
    tables = ("tables", "--results", tmp_path / "B1.json", tmp_path / "B2.json")
    assert cli(*tables, "--out", tmp_path / "t").code == 0
    assert all((tmp_path / f"t/more/{system}_asv.tex").exists() for system in ("B1", "B2"))
    run = cli("export", tmp_path / "B1.json", "--system", "B3")
    assert (run.code, run.out) == (1, "")
    assert "contains the systems B1; choose one of them with --system" in run.err
    run = cli("export", tmp_path / "B1.json", "--results-folder", ".orig")
    assert run.code == 1
    assert "B1 has no results folder '.orig', only '': --results-folder" in run.err
    again = cli("tables", "--results", tmp_path / "B1.json", tmp_path / "B1.json")
    assert again.code == 1
    assert "in two results files" in again.err


@pytest.mark.parametrize("content", ["", "{", '{"format": 1}', "[1]", '{"format":\nNaN}'])
@pytest.mark.parametrize("verb", [["export"], ["tables", "--results"]], ids=["export", "tables"])
def test_broken_results(tmp_path: Path, content: str, verb: list[str]) -> None:
    path = tmp_path / "r.json"
    path.write_text(content)
    run = cli(*verb, path)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"privacy-eval: {path}")


@pytest.mark.parametrize("form", ["latex", "markdown", "text", "csv"])
def test_tables_to_stdout(tmp_path: Path, form: str) -> None:
    out = tmp_path / "r.json"
    out.write_text(to_json(imported(B1, system=ODD_NAME)))
    run = cli("tables", "--results", out, "--format", form)
    assert (run.code, run.err) == (0, "")
    assert run.out.count("144.112") == (4 if form == "csv" else 2)  # text and number
    escaped = {"latex": r"50\%\_team \& Co", "markdown": r"50%\_team \& Co"}.get(form, ODD_NAME)
    assert escaped in run.out


def test_a_folder_name_that_is_not_utf8(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.keys("libri_dev_trials_f")
    tree.libri(os.fsdecode(b"exp/te\xffam/results-1"))
    run = command("stage", "privacy-metrics", "--tree", ".", "--results", "exp", cwd=tmp_path)
    assert "Traceback" not in run.err


def test_no_traceback_from_the_program_itself(tmp_path: Path) -> None:
    """As a process: code, nothing on stdout, one message on stderr."""
    Pair(tmp_path).scores.write_text("s1 s1-u0 x\n")
    run = command("metrics", "--scores", "scores", "--trials", "trials", cwd=tmp_path)
    assert run == Run(
        1,
        "",
        "privacy-eval: scores:1: expected a finite decimal number as score, found 'x' "
        "(1 such line to correct)\n",
    )


def test_closed_stdout_ends_without_a_traceback(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    out.write_text(to_json(imported(B1)))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "privacy_eval", "tables", "--results", str(out)],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


# --- what stages log


def test_what_is_said_of_several_names_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    for items, logged in (
        (list("abcdefg"), "7 notes: a, b, c, d, e, ... (--details lists all)"),
        (
            [*(f"{n}: few pairs" for n in "abc"), "d: short: 2"],
            "4 notes: few pairs (a, b, c), d: short: 2",
        ),
    ):
        log_items(SimpleNamespace(details=False), "notes", items)  # type: ignore[arg-type]
        assert capsys.readouterr().err.strip() == f"privacy-eval: {logged}"


# --- recipes


def test_bad_input_is_named_by_the_recipe(tmp_path: Path) -> None:
    """It goes on to the report."""
    tree = three_conditions(tmp_path)
    scores = tree.root / "exp/results-now/ASV-libri_dev_enrolls-libri_dev_trials_f/scores"
    message = damage("NaN", scores, tree.root / "data/libri_dev_trials_f/trials")
    words = ("--stage", 6, "--tree", tree.root, "--results", "exp", "--out", "out", "--nj", 2)
    run = run_program(ROOT / "recipes/vpc2020/run.sh", *words, cwd=ROOT)
    assert run.code == 1
    logs = "".join(p.read_text() for p in (tree.root / "out/log").iterdir())
    assert re.search(message, run.err + logs)
    assert "Traceback" not in run.err + logs
    assert {"results.json", "report.html"} <= {p.name for p in (tree.root / "out").iterdir()}
    assert f"now {scores.parent.name}" in run.err.splitlines()[-1]


def test_trials_without_a_score_are_left_out_where_that_is_allowed(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    scores = tree.root / "exp/results-now/ASV-libri_dev_enrolls-libri_dev_trials_f/scores"
    lines_to(scores, scores.read_text().splitlines()[:-2])
    for verb in ("privacy-metrics", "collect"):
        options = ("--tree", tree.root, "--results", "exp", "--out", "out")
        ok(cli("stage", verb, *options, "--allow-missing"))
    plain = json.loads((tree.root / "out/results.json").read_text())
    left_out = {r["condition"]: r["facts"]["trials_without_score"] for r in plain["verification"]}
    assert sorted(left_out.values()) == [0, 0, 2]


def test_protocols_of_the_repository_are_those_of_the_package() -> None:
    for path in nonempty((ROOT / "conf").glob("*.yaml")):
        assert yaml.safe_load(path.read_text())["name"] == path.stem
        if path.stem in bundled():
            assert load_protocol(str(path)) == load_protocol(path.stem)


# --- likely mistakes


def test_folders_of_a_second_suffix_are_named_with_the_option(tmp_path: Path) -> None:
    tree = three_conditions(tmp_path)
    tree.libri("exp/results-now", suffix="_second")
    common = ("--tree", tree.root, "--results", "exp", "--out", "out")
    run = cli("stage", "privacy-metrics", *common)
    assert "--anon-suffix _second" in run.err
    ok(cli("stage", "privacy-metrics", *common, "--anon-suffix", "_second"))


@pytest.fixture(name="two_suffixes")
def _two_suffixes(tmp_path: Path) -> SpeechTree:
    """A tree whose trial sets have one anonymization suffix, and the enrollment another."""
    tree = SpeechTree(tmp_path / "tree")
    data = tree.root / "data"
    tree.enrollment("libri_dev_trials_all_anon")
    (data / f"{ENROLLS}_anon").rename(data / f"{ENROLLS}_anonrand")
    (tree.root / MODEL / f"xvect_{ENROLLS}_anon").rename(
        tree.root / MODEL / f"xvect_{ENROLLS}_anonrand"
    )
    return tree


def test_data_sets_of_a_second_suffix_are_counted_once(two_suffixes: SpeechTree) -> None:
    run = two_suffixes.run("asv-scores")
    assert run.code == 1
    assert run.err.count("_anonrand (1)") == run.err.count("--anon-suffix _anonrand") == 1
    assert two_suffixes.run("check").out.count("_anonrand (1)") == 1
    assert "_anonrand" not in two_suffixes.run("subsets", "--anonymized").err


@pytest.mark.parametrize(
    ("given", "suggested"),
    [("_B7", "_anon"), ("anno", "_anon"), ("anonrand", "_anonrand"), ("_anonrnd", "_anonrand")],
)
@pytest.mark.parametrize("verb", ["asv-scores", "subsets", "similarity"])
def test_a_suffix_that_no_data_set_has_is_refused(
    two_suffixes: SpeechTree, verb: str, given: str, suggested: str
) -> None:
    before = snapshot(two_suffixes.root)
    more = ["--anonymized"] * (verb == "subsets")
    run = two_suffixes.run(verb, *more, "--anon-suffix", given)
    assert run.code == 2
    assert "_anon (2)" in run.err and "_anonrand (1)" in run.err
    assert run.err.endswith(f"--anon-suffix {suggested}\n")
    assert snapshot(two_suffixes.root) == before


def test_data_folders_without_source_are_counted_by_data_set_and_once(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    common = ("stage", "subsets", "--tree", tree.root, "--results", "exp")
    (line,) = (x for x in cli(*common).err.splitlines() if "not made" in x)
    counts = dict(re.findall(r"(\w+) (\d+)[,)]", line))
    assert counts.keys() == {"libri_dev", "libri_test", "vctk_dev", "vctk_test"}
    assert f" {sum(map(int, counts.values()))} data folders not made, " in line
    assert len(line) < 300 and "utt2spk" not in line
    anonymized = cli(*common, "--anonymized")
    assert "not made" not in anonymized.err and "vctk" not in anonymized.err
    assert ": needs " in cli(*common, "--details").err
    assert "vctk_dev_anon" in cli(*common, "--anonymized", "--details").err


def test_a_misspelt_results_folder_is_not_a_new_system(tmp_path: Path) -> None:
    verb = "asv-scores"
    tree = SpeechTree(tmp_path / "tree")
    assert tree.run("asv-scores", results="exp/results-demo_B1").code == 0
    before = snapshot(tree.root)
    for name in ("results-demo_b1", "results-dmeo_B1", "results-demos_B1"):
        run = tree.run(verb, results=f"exp/{name}")
        assert run.code == 2, name
        assert re.search(r"/exp/results-d\w+: no such folder, but results-demo_B1; ", run.err)
    assert snapshot(tree.root) == before
    for name in ("results-demo_B2", "results-mine"):
        assert tree.run(verb, results=f"exp/{name}").code == 0, name
    (tree.root / "exp/results-demo_b1").mkdir()
    assert tree.run(verb, results="exp/results-demo_b1").code == 0


@pytest.mark.parametrize("verb", ["privacy-metrics", "check", "collect"])
def test_the_parent_of_a_tree_with_its_results_is_named_once(tmp_path: Path, verb: str) -> None:
    tree = three_conditions(tmp_path / "the tree")
    run = cli("stage", verb, "--tree", tmp_path, "--results", "the tree/exp")
    assert run.code == 2
    assert run.err.count("looks like the tree") == 1
    assert run.err.endswith(f"--tree '{tree.root}' --results exp\n")
    shutil.rmtree(tree.root / "exp/results-now")
    assert cli("stage", verb, "--tree", tmp_path, "--results", "the tree/exp").code == 2


@pytest.mark.parametrize("verb", ["asv-scores", "privacy-metrics", "collect"])
def test_an_unknown_system_is_wrong_usage(tmp_path: Path, verb: str) -> None:
    tree = SpeechTree(tmp_path / "tree")
    for name in ("one", "two"):
        tree.libri(f"exp/results-{name}")
    run = tree.run(verb, "--system", "B7")
    assert run.code == 2
    assert run.err.count("no system 'B7'; available: one, two") == 1


@pytest.mark.parametrize("verb", ["check", "privacy-metrics", "asv-scores", "collect"])
def test_a_folder_of_the_tree_is_not_the_tree(tmp_path: Path, verb: str) -> None:
    tree = three_conditions(tmp_path)
    run = cli("stage", verb, "--tree", tree.root / "exp", "--results", "exp")
    assert f"{tree.root} looks like the tree: --tree {tree.root}" in run.err + run.out
