"""Amount of speech and attributes in a tree: records, CSV, tables, report, statement and gate."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from support import BACKEND, ENROLLS, SPEAKERS, TRIALS, SpeechTree, cli, lines_to

from privacy_eval import PrivacyEvalError, load_protocol
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results

SENTENCES = ("--sentences", "1,3", "--bootstrap", "20")
COLUMN = "data/speakers.csv:accent"


def write_accents(tree: SpeechTree, accents: dict[str, str]) -> None:
    rows = [f"{name},{accent}" for name, accent in accents.items()]
    lines_to(tree.root / "data/speakers.csv", ["speaker,accent", *rows])


def of_speakers(accents: str) -> dict[str, str]:
    return {s: a.strip("-") for s, a in zip(SPEAKERS, accents, strict=True)}


@pytest.fixture(name="tree", scope="module")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    tree = SpeechTree(tmp_path_factory.mktemp("disclosures") / "tree")
    write_accents(tree, of_speakers("abab"))
    for verb, *options in (
        ("asv-scores",),
        ("privacy-metrics", "--bootstrap", "20"),
        ("similarity",),
        ("identification", *SENTENCES),
        ("attributes", "--attribute", COLUMN),
        ("collect",),
    ):
        run = tree.run(verb, *options)
        assert run.code == 0, run.err
    return tree


def results_of(tree: SpeechTree) -> Results:
    path = tree.root / "exp/privacy_eval/results.json"
    results = read_results(path)
    assert json.loads(to_json(results)) == json.loads(path.read_text())
    return results


def test_amounts_are_those_of_single_files(tree: SpeechTree) -> None:
    records = {r.condition.attack_model: r for r in results_of(tree).amounts}
    assert set(records) == {"original", "ignorant", "lazy-informed"}
    for record in records.values():
        c = record.condition
        single = cli(
            "identification",
            *("--model", tree.root / BACKEND, "--scp-base", tree.root, "--format", "json"),
            *("--enroll-vectors", tree.scp(c.enrollment_set)),
            *("--spk2utt", tree.root / "data" / c.enrollment_set / "spk2utt"),
            *("--trial-vectors", tree.scp(c.trial_set)),
            *("--utt2spk", tree.root / "data" / TRIALS / "utt2spk"),
            *SENTENCES,
        )
        found = json.loads(single.out)["amount_of_equal_speakers"]
        assert record.averaged == "vectors"
        assert [str(a.length) for a in record.equal] == list(found)
        for a in record.equal:
            of = found[str(a.length)]
            assert (a.eer, a.rank1, a.conversations) == (
                of["eer"],
                of["rank1"],
                of["conversations"],
            )
            assert [*(a.rank1_interval or ())] == of["rank1_interval"]


def test_attributes_are_those_of_single_files(tree: SpeechTree) -> None:
    (record,) = results_of(tree).attributes
    c = record.condition
    single = cli(
        "attributes",
        *("--vectors", tree.scp(TRIALS), "--anon-vectors", tree.scp(f"{TRIALS}_anon")),
        *("--utt2spk", tree.root / "data" / TRIALS / "utt2spk", "--scp-base", tree.root),
        *("--labels", tree.root / COLUMN, "--format", "json"),
    )
    found = json.loads(single.out)
    assert (c.attribute, record.reported) == ("accent", found["reported"])
    assert sum(record.classes.values()) == len(SPEAKERS)
    assert record.caveat
    for name, of in record.situations.items():
        assert (of.uar, [*of.interval]) == (found[name]["uar"], found[name]["interval"])
        assert (of.risk, [*of.risk_interval]) == (found[name]["risk"], found[name]["risk_interval"])


def test_csv_tables_report_and_statement(tree: SpeechTree) -> None:
    out = tree.root / "exp/privacy_eval"
    with open(out / "results.csv", newline="") as file:
        rows = {(r["name"], r["metric"]): r for r in csv.DictReader(file)}
    (record,) = results_of(tree).attributes
    risk = rows[record.condition.name, "inference_risk"]
    assert float(risk["value"]) == record.strongest.risk and risk["caveat"]
    amounts = {metric for _, metric in rows if "_sentences_" in metric}
    assert amounts == {f"{key}_sentences_{n}" for key in ("eer", "rank1") for n in (1, 3)}
    files = ("--results", out / "results.json")
    assert cli("tables", *files, "--out", tree.root / "tables").code == 0
    for name in ("amount_of_speech", "attributes"):
        (table,) = (tree.root / "tables").rglob(f"*_{name}.txt")
        assert "[" in table.read_text()
    figures = tree.root / "figures"
    assert cli("figures", *files, "--out", figures).code == 0
    assert list(figures.glob("amount_*.png"))
    report = tree.root / "report.html"
    assert cli("report", *files, "--figures", figures, "--out", report).code == 0
    html = report.read_text()
    assert "With how much speech" in html and "with 3 sentences instead of 1" in html
    assert "What else the voice gives away" in html
    statement = tree.root / "statement.md"
    assert cli("report", *files, "--statement", "--out", statement).code == 0
    text = statement.read_text()
    assert "With 3 sentences instead of 1" in text and "| inference | accent" in text
    assert "Long or repeated recordings" not in text
    public = tree.root / "public.html"
    assert cli("report", *files, "--public", "--out", public).code == 0
    assert "exp/models" not in public.read_text()


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        ("metric: inference_risk, at-most: 1", "PASS"),
        (
            "metric: inference_risk, each: attribute, require: [accent, age], at-most: 1",
            "UNDECIDED",
        ),
        ("metric: rank1_sentences_3, at-most: 0", "FAIL"),
        ("metric: eer_sentences_30, at-least: 0", "UNDECIDED"),
    ],
)
def test_the_gate_judges_them(tree: SpeechTree, rule: str, decision: str) -> None:
    policy = tree.root / "policy.yaml"
    policy.write_text(f"rules: [{{name: one, {rule}}}]")
    results = tree.root / "exp/privacy_eval/results.json"
    run = cli("gate", "--policy", policy, results, "--format", "json")
    (judged,) = json.loads(run.out)["rules"]
    assert judged["decision"] == decision, judged


def test_submissions_without_vectors_are_judged_by_their_scores(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    assert tree.run("asv-scores").code == 0
    for name in (ENROLLS, TRIALS):
        for suffix in ("", "_anon"):
            tree.scp(f"{name}{suffix}").unlink()
    run = tree.run("identification", "--sentences", "1,3")
    assert "3 computed" in run.out.splitlines()[-1], run.err
    assert tree.run("privacy-metrics").code == 0
    assert tree.run("collect", "--allow-missing").code == 0
    records = results_of(tree).amounts
    assert {r.averaged for r in records} == {"scores"}
    assert "3 current" in tree.run("identification", "--sentences", "1,3").out.splitlines()[-1]


def test_changed_inputs_are_noticed(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    write_accents(tree, of_speakers("abab"))
    for verb in (("asv-scores",), ("privacy-metrics",), ("similarity",)):
        assert tree.run(*verb).code == 0
    ask = ("attributes", "--attribute", COLUMN)
    assert "1 computed" in tree.run(*ask).out
    assert "1 current" in tree.run(*ask).out
    write_accents(tree, of_speakers("baba"))
    stale = tree.run("collect")
    assert stale.code == 1 and "accent" in stale.err
    assert "1 computed" in tree.run(*ask).out
    assert tree.run("collect").code == 0
    assert tree.run("attributes").out == ""  # nothing asked for


@pytest.mark.parametrize(
    ("accents", "code", "message"),
    [
        (of_speakers("aaaa"), 0, "no two labels"),
        (of_speakers("aabc"), 0, "no two labels"),
        (of_speakers("aab-"), 0, "no two labels"),
        ({"other": "a"}, 0, "no two labels"),
        ({f"{s}-u{n}": "ab"[n % 2] for s in SPEAKERS for n in range(3)}, 1, "several labels"),
    ],
)
def test_unusable_labels(tmp_path: Path, accents: dict[str, str], code: int, message: str) -> None:
    tree = SpeechTree(tmp_path / "tree")
    write_accents(tree, accents)
    tree.scores(ENROLLS, TRIALS).parent.mkdir(parents=True)
    run = tree.run("attributes", "--attribute", COLUMN)
    assert (run.code, message in run.err) == (code, True), run.err


def test_gender_is_of_spk2gender(tree: SpeechTree) -> None:
    run = tree.run("attributes", "--attribute", "gender")
    assert run.code == 0 and "no labels of speakers" in run.err
    outside = tree.run("attributes", "--attribute", "../speakers.csv:accent")
    assert outside.code == 1 or "no labels of speakers" in outside.err


@pytest.mark.parametrize(
    "entry", ["attributes: [../x.csv:a]", "attributes: [gender, gender]", "sentences: [1, 1]"]
)
def test_wrong_entries(tmp_path: Path, entry: str) -> None:
    (tmp_path / "p.yaml").write_text(f"extends: vpc2020\nname: wrong\n{entry}\n")
    with pytest.raises(PrivacyEvalError, match=r"p\.yaml"):
        load_protocol(str(tmp_path / "p.yaml"))
    assert not {"attributes", "sentences"} & load_protocol("vpc2020").to_dict().keys()
