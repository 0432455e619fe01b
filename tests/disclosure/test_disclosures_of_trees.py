"""Amount of speech and attributes in a tree: records, CSV, tables, report, statement and gate."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import (
    ENROLLS,
    MODEL,
    SPEAKERS,
    TRIALS,
    SpeechTree,
    cli,
    csv_rows,
    lines_to,
    ok,
    refused,
    utterances_of,
)

from privacy_eval import PrivacyEvalError, TrialScores, kaldi_eer, load_protocol
from privacy_eval.disclosure.numbers import by_length, inferred
from privacy_eval.io.vectors import read_vectors
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.records import Results

SENTENCES = ("--sentences", "1,3", "--bootstrap", "20")
TRAINING = "train_clean_360"
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
        ok(tree.run(verb, *options))
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
        single = tree.identified(record.condition, *SENTENCES, "--format", "json")
        found = json.loads(single.out)["amount_of_equal_speakers"]
        assert record.facts["averaged"] == "vectors"
        lengths = by_length(record.measurements, speakers="equal")
        assert [str(at["eer"]["sentences"]) for at in lengths] == list(found)
        for at, of in zip(lengths, found.values(), strict=True):
            rates = (at["eer"]["value"], at["rank1"]["value"], at["eer"]["n_tests"])
            assert rates == (of["eer"], of["rank1"], of["conversations"])
            assert [at["rank1"]["low"], at["rank1"]["high"]] == of["rank1_interval"]


@pytest.fixture(name="attacked", scope="module")
def _attacked(tmp_path_factory: pytest.TempPathFactory) -> SpeechTree:
    """A tree with durations and the scores of all attackers, aligned ones among them."""
    tree = SpeechTree(tmp_path_factory.mktemp("attacked") / "tree")
    for seed, name in enumerate((TRAINING, f"{TRAINING}_anon")):
        tree.training_set(name, MODEL, seed=seed)
    spoken = utterances_of(TRIALS)
    lines_to(tree.root / "data" / TRIALS / "utt2dur", (f"{u} {2 + int(u[-1])}" for u in spoken))
    attackers = ("--attackers", "challenge,procrustes,ridge-reverse-asnorm")
    for verb in (("asv-scores", *attackers), ("identification", "--sentences", "1,3")):
        ok(tree.run(*verb))
    for verb in ("privacy-metrics", "similarity", "collect"):
        assert tree.run(verb).code == 0
    return tree


@pytest.mark.wing("attackers")
def test_aligned_attackers_average_vectors(attacked: SpeechTree) -> None:
    """One utterance: the rates of the scores. Three: of the mean of the mapped unit vectors, one by
    one."""
    from privacy_eval.attackers.alignment import learn_alignment

    records = {r.condition.attacker: r for r in results_of(attacked).amounts}
    spoken, members = utterances_of(TRIALS), utterances_of(ENROLLS)
    read = partial(read_vectors, tree=attacked.root, double=True)
    names = (TRAINING, f"{TRAINING}_anon", ENROLLS, f"{TRIALS}_anon")
    original, anonymized, enrolled, tried = (read(attacked.scp(name)) for name in names)
    learnt = learn_alignment("procrustes", original, anonymized, list(original.ids))
    unit = {v.path: v.matrix / np.linalg.norm(v.matrix, axis=1)[:, None] for v in (enrolled, tried)}
    voices = {}
    for speaker in SPEAKERS:
        rows = [n for n, u in enumerate(enrolled.ids) if members[u] == speaker]
        voices[speaker] = learnt.original([unit[enrolled.path][rows].mean(axis=0)])[0]
    hits, target, nontarget = [], [], []
    for speaker in SPEAKERS:
        of = [n for n, u in enumerate(tried.ids) if spoken[u] == speaker]
        mean = np.mean([learnt.anonymized([unit[tried.path][n]])[0] for n in of], axis=0)
        mean /= np.linalg.norm(mean)
        scores = {s: float(v @ mean / np.linalg.norm(v)) for s, v in voices.items()}
        own = scores.pop(speaker)
        hits.append(own > max(scores.values()))
        target.append(own)
        nontarget += scores.values()
    procrustes = records["procrustes"]
    assert {r.facts["averaged"] for r in records.values()} == {"vectors"}
    of_three = {"sentences": 3, "speakers": "equal"}
    assert procrustes.find("rank1", **of_three)["value"] == np.mean(hits)
    eer = kaldi_eer(TrialScores(target, nontarget)).value
    assert procrustes.find("eer", **of_three)["value"] == eer
    for attacker in ("procrustes", "ridge-reverse-asnorm"):
        folder = attacked.scores(ENROLLS, f"{TRIALS}_anon").parent / attacker
        by_scores = cli(
            *("identification", "--scores", folder / "scores", "--sentences", 1),
            *("--trials", attacked.root / "data" / TRIALS / "trials", "--format", "json"),
            *("--utt2spk", attacked.root / "data" / TRIALS / "utt2spk"),
        )
        one = json.loads(by_scores.out)["amount"]["1"]
        for metric in ("eer", "rank1"):
            row = records[attacker].find(metric, sentences=1, speakers="equal")
            assert row["value"] == one[metric]


@pytest.mark.wing("attackers")
def test_seconds_of_tests(attacked: SpeechTree) -> None:
    """Utterances of 2, 3 and 4 seconds: also the anonymized ones, without a file of their own."""
    results = results_of(attacked)
    every = results.measurements.select(metric="seconds", speakers="equal")
    assert {(row["sentences"], row["value"]) for row in every} == {(1, 3.0), (3, 9.0)}
    rows = results.measurements.select(metric="seconds", sentences=3)
    assert {(row["unit"], row["value"]) for row in rows} == {("s", 9.0)}
    out = attacked.root / "exp/privacy_eval"
    assert cli("report", "--results", out / "results.json", "--out", out / "r.html").code == 0
    page = (out / "r.html").read_text()
    assert "Seconds: mean speech of a test" in page and "3 sentences (9 s)" in page
    lines_to(attacked.root / "data" / TRIALS / "utt2dur", ["s1-u0 2"])
    refused(attacked.run("identification", "--sentences", "1,3"), "no duration of 11 utterances")


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
    risk, recalls = inferred(record)
    reported = risk["situation"]
    assert (c.attribute, reported) == ("accent", found["reported"])
    assert sum(record.facts["classes"].values()) == len(SPEAKERS)
    for name, of in recalls.items():
        assert [of["value"], [of["low"], of["high"]]] == [
            found[name]["uar"],
            found[name]["interval"],
        ]
    interval = found[reported]["risk_interval"]
    assert [risk["value"], [risk["low"], risk["high"]]] == [found[reported]["risk"], interval]


@pytest.mark.wing("disclosure")
def test_csv_tables_report_and_statement(tree: SpeechTree) -> None:
    out = tree.root / "exp/privacy_eval"
    every = csv_rows(out / "results.csv")
    rows = {(r["name"], r["metric"]): r for r in every}
    (record,) = results_of(tree).attributes
    risk = rows[record.condition.name, "inference_risk"]
    assert float(risk["value"]) == inferred(record)[0]["value"]
    assert "speakers" in risk["caveats"]
    amounts = {(r["metric"], r["sentences"]) for r in every if r["sentences"]}
    assert amounts == {(key, n) for key in ("eer", "rank1") for n in ("1", "3")}
    files = ("--results", out / "results.json")
    assert cli("tables", *files, "--out", tree.root / "tables").code == 0
    for name in ("amount_of_speech", "attributes"):
        (table,) = (tree.root / "tables").rglob(f"*_{name}.tex")
        assert "[" in table.read_text()
    figures = tree.root / "figures"
    assert cli("figures", *files, "--out", figures).code == 0
    assert list(figures.glob("amount_*.png"))
    report = tree.root / "report.html"
    assert cli("report", *files, "--figures", figures, "--out", report).code == 0
    html = report.read_text()
    assert "With how much speech" in html and "with 3 sentences of a person" in html
    assert "What else the voice gives away" in html
    statement = tree.root / "statement.md"
    assert cli("report", *files, "--statement", "--out", statement).code == 0
    text = statement.read_text()
    assert "With 3 sentences instead of 1" in text and "| inference | accent" in text
    assert "Long or repeated recordings" not in text
    public = tree.root / "public.html"
    assert cli("report", *files, "--public", "--out", public).code == 0
    assert "exp/models" not in public.read_text()


@pytest.mark.wing("disclosure")
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
    assert "(3 new)" in run.out.splitlines()[-1], run.err
    assert tree.run("privacy-metrics").code == 0
    assert tree.run("collect", "--allow-missing").code == 0
    records = results_of(tree).amounts
    assert {r.facts["averaged"] for r in records} == {"scores"}
    assert "3 up to date\n" in tree.run("identification", "--sentences", "1,3").out


def test_changed_inputs_are_noticed(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "tree")
    write_accents(tree, of_speakers("abab"))
    for verb in (("asv-scores",), ("privacy-metrics",), ("similarity",)):
        assert tree.run(*verb).code == 0
    ask = ("attributes", "--attribute", COLUMN)
    assert "(1 new)" in tree.run(*ask).out
    assert "1 up to date\n" in tree.run(*ask).out
    write_accents(tree, of_speakers("baba"))
    refused(tree.run("collect"), "accent")
    assert "(1 new)" in tree.run(*ask).out
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
