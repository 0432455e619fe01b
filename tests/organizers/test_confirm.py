"""Recognition that cannot be right, and scores of two systems, in `check`, `collect`, `import` and
tables alike, until `--confirm` ends it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import B1, ENROLLS, TRIALS, SpeechTree, cli, lines_to, ok

import privacy_eval as pe
from privacy_eval.cli.config import expand_config
from privacy_eval.metrics import CAVEATS
from privacy_eval.metrics.caveats import IMPLAUSIBLE_SET, PARTIAL, SAME_SCORES
from privacy_eval.results.json_store import read_results

OA, AA = (f"ASV-{ENROLLS}{suffix}-{TRIALS}_anon" for suffix in ("", "_anon"))
DAY, NEXT_DAY = "1795824000", "1795910400"  # 2026-11-28 and 29


def line(errors: int, data_set: str, more: str = "") -> str:
    counts = f"[ {errors} / 1000, 0 ins, 0 del, {errors} sub ]{more}"
    return (
        f"%WER {errors / 10:.2f} {counts} exp/models/asr_eval/decode_{data_set}_tglarge/wer_9_0.5"
    )


def write_words(tree: SpeechTree, results: str, vctk: tuple[int, int] = (995, 80)) -> None:
    for name, errors in (("libri", (40, 70)), ("vctk", vctk)):
        for suffix, number in zip(("", "_anon"), errors, strict=True):
            folder = tree.root / results / f"ASR-{name}_dev_asr{suffix}"
            lines_to(folder / "WER", [line(number, f"{name}_dev_asr{suffix}")])


@pytest.fixture(name="tree")
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpeechTree:
    tree = SpeechTree(tmp_path / "tree")
    for verb in ("asv-scores", "privacy-metrics", "similarity"):
        assert tree.run(verb).code == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", DAY)
    return tree


def rows(tree: SpeechTree, *options: str) -> list[dict[str, str]]:
    return json.loads(tree.run("check", "--format", "json", *options).out)


def test_a_broken_decoding(tree: SpeechTree) -> None:
    write_words(tree, tree.results)
    assert {row["status"] for row in rows(tree)} == {"incomplete"}
    (row,) = (r for r in rows(tree) if r["problem"].startswith(CAVEATS[IMPLAUSIBLE_SET].reason))
    assert "vctk dev (99.50 %)" in row["problem"] and "[--confirm original:vctk]" in row["problem"]
    assert {row["status"] for row in rows(tree, "--confirm", "original:vctk")} == {"ready"}
    assert "original:vctk" in tree.run("check", "--confirm", "orignal").err

    results = tree.root / "exp/privacy_eval/results.json"
    run = tree.run("collect")
    assert "99.50" in run.err and "--confirm original:vctk" in run.err
    assert sum("caveats" in r for r in json.loads(results.read_text())["recognition"]) == 2
    printed = cli("tables", "--results", results).out
    blank = "WER (implausible: 1 of 2 values, vctk)"
    assert f"anon {blank}" in printed

    assert tree.run("collect", "--confirm", "original:vctk").code == 0
    plain = json.loads(results.read_text())
    assert plain["confirmed"] == {"original:vctk": "2026-11-28"}
    assert not any("caveats" in r for r in plain["recognition"])
    shown = cli("tables", "--results", results).out
    assert blank not in shown
    assert "Confirmed on 2026-11-28" in shown


def test_the_day_of_a_confirmation_is_kept_and_that_of_others_not_believed(
    tree: SpeechTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_words(tree, tree.results)
    results = tree.root / "exp/privacy_eval/results.json"
    assert tree.run("collect", "--confirm", "original").code == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", NEXT_DAY)
    names = ("--confirm", "original", "--confirm", "anon:vctk")
    assert "(unchanged)" in tree.run("collect", "--confirm", "original").out
    write_words(tree, tree.results, vctk=(994, 80))
    assert "ends nothing" in tree.run("collect", *names).err
    assert read_results(results).confirmed == {"original": "2026-11-28"}

    shutil.copytree(results.parent, tree.root / "handed_in")
    copied = tree.root / "handed_in/results.json"
    assert read_results(copied).confirmed == {"original": "2026-11-28"}  # a copy of this user's
    copied.write_text(copied.read_text().replace('"original": "2026', '"original": "2020'))
    assert read_results(copied).confirmed == {}
    assert any(r.caveats for r in read_results(copied).recognition)
    assert tree.run("collect").code == 0
    assert read_results(results).confirmed == {}


def test_word_errors_of_some_utterances(tree: SpeechTree) -> None:
    path = tree.root / tree.results / "ASR-libri_dev_asr_anon/WER"
    lines_to(path, [line(70, "libri_dev_asr_anon", " [PARTIAL]")])
    (row,) = rows(tree)
    assert row["status"] == "incomplete" and row["problem"].startswith(CAVEATS[PARTIAL].reason)
    assert rows(tree, "--confirm", "anon:libri")[0]["status"] == "ready"


def as_it_is(lines: list[str]) -> list[str]:
    return lines


def turned(lines: list[str]) -> list[str]:
    return [line.replace(" ", "  ") + " " for line in reversed(lines)]


def of_other_digits(lines: list[str]) -> list[str]:
    ids, _, score = lines[0].rpartition(" ")
    return [f"{ids} {float(score) + 1e-5}", *lines[1:]]


@pytest.mark.parametrize("edited", [as_it_is, turned, of_other_digits])
def test_scores_of_another_team(tree: SpeechTree, edited: Callable[[list[str]], list[str]]) -> None:
    ours = tree.root / tree.results
    other = shutil.copytree(ours, tree.root / "exp/other/x/results-1")
    shutil.rmtree(ours.parent / "x", ignore_errors=True)
    for path in other.rglob("scores"):
        lines_to(path, edited(path.read_text().splitlines()))
    statuses = {row["team"]: row["status"] for row in rows(tree) if row["team"]}
    assert set(statuses.values()) == {"incomplete"} and len(statuses) == 2
    held = [r for r in rows(tree) if r["problem"].startswith(CAVEATS[SAME_SCORES].reason)]
    assert len(held) == 2 and all(OA in r["problem"] and AA in r["problem"] for r in held)
    confirmed = {
        row["team"]: row["status"] for row in rows(tree, "--confirm", "other") if row["team"]
    }
    assert confirmed.pop("other/x") == "ready" and {*confirmed.values()} == {"incomplete"}
    for verb in ("privacy-metrics", "collect"):
        ok(tree.run(verb, "--allow-missing", "--out", "out"))
    results = pe.read_results(str(tree.root / "out/results.json"))
    marked = {r.condition.system for r in results.verification if SAME_SCORES in r.caveats}
    assert len(marked) == 2 and "other/x" in marked


def test_a_value_for_failed_trials_makes_no_scores_the_same(tree: SpeechTree) -> None:
    """Two teams write -1e6 for the same trial, and have other scores for the rest."""
    ours = tree.root / tree.results
    other = shutil.copytree(ours, tree.root / "exp/other/x/results-1")
    for number, folder in enumerate((ours, other)):
        for path in folder.rglob("scores"):
            parts = [line.rpartition(" ") for line in path.read_text().splitlines()]
            scores = [float(row[2]) + 0.1 * number * (at % 3) for at, row in enumerate(parts)]
            scores[0] = -1e6
            lines_to(path, (f"{row[0]} {s}" for row, s in zip(parts, scores, strict=True)))
    problems = [row["problem"] for row in rows(tree) if OA in row["problem"]]
    assert not any(p.startswith(CAVEATS[SAME_SCORES].reason) for p in problems)


def test_imported_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", DAY)
    text, out = B1.read_text(), tmp_path / "out.json"
    block = text[text.index("ASR-vctk_dev_asr\n") :]
    words = block.split("%WER ")[1].split(" / ")[1].split(",")[0]
    first = block.split("\n")[1]
    errors = int(words) - 1
    broken = (
        f"  %WER {100 * errors / int(words):.2f} [ {errors} / {words}, 0 ins, 0 del, {errors} sub"
    )
    changed = tmp_path / "results.txt"
    changed.write_text(text.replace(first, f"{broken} ]{first.partition(']')[2]}"))
    command = ("import", changed, "--system", "B1", "--out", out)
    run = cli(*command)
    assert CAVEATS[IMPLAUSIBLE_SET].reason[:30] in run.err and "original:vctk" in run.err
    assert cli(*command, "--confirm", "original:vctk").code == 0
    assert read_results(out).confirmed == {"original:vctk": "2026-11-28"}
    assert not any(r.caveats for r in read_results(out).recognition)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", NEXT_DAY)
    assert cli(*command, "--confirm", "original:vctk").code == 0
    assert read_results(out).confirmed == {"original:vctk": "2026-11-28"}
    assert cli(*command).code == 0
    assert read_results(out).confirmed == {}
    shown = cli("tables", "--results", out, "--confirm", "original:vctk").out
    assert "Confirmed on 2026-11-29" in shown


def test_names_of_a_recipe_are_separated_by_blanks(tmp_path: Path) -> None:
    from privacy_eval.cli import parser

    config = lines_to(tmp_path / "options.conf", ["--confirm=original:vctk team"])
    for verb in ("check", "stage collect", "tables", "figures", "report"):
        words = expand_config(verb, parser(verb), ["--config", str(config)])[1]
        assert words.count("--confirm=original:vctk") == words.count("--confirm=team") == 1
