"""The gate: golden decisions, what is missing never passes, outputs for build servers."""

import json
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import B1, ROOT, changed, cli, imported, scored, with_eer

from privacy_eval.disclosure.gate import Rule, combine, decide, judge, read_policy
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.metrics import VARIANTS
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.results.json_store import to_json
from privacy_eval.results.records import Record, Results, merge

GOLDEN = json.loads((ROOT / "tests/data/golden/gate/truth_table.json").read_text())

EER = "metric: eer, at-least: 0.3"


def number(plain: object) -> float | None:
    return None if plain is None else float(plain)  # type: ignore[arg-type]


def golden_decision(case: dict[str, Any], rule: dict[str, Any]) -> str:
    return decide(
        number(case["value"]),
        [number(end) for end in case["interval"]],
        at_least=rule.get("low"),
        at_most=rule.get("high"),
        interval_optional=rule.get("interval") == "optional",
        suspect_above=rule.get("suspect"),
    )


def test_golden_rules() -> None:
    assert (len(GOLDEN["single"]), len(GOLDEN["random"])) == (41, 200)
    for case in [*GOLDEN["single"], *GOLDEN["random"]]:
        assert golden_decision(case, case["rule"]) == case["decision"], case


def test_golden_combinations() -> None:
    assert len(GOLDEN["combine"]) == 41
    for case in GOLDEN["combine"]:
        assert combine(case["decisions"]) == case["all"], case


def test_values_that_are_nan_are_missing() -> None:
    assert decide(math.nan, (0.4, 0.5), at_least=0.3) == "UNDECIDED"
    assert decide(0.45, (math.nan, 0.5), at_least=0.3) == "UNDECIDED"
    assert decide(0.45, None, at_least=0.3) == "UNDECIDED"
    assert decide(math.nan, None, at_least=0.3, interval_optional=True) == "UNDECIDED"


# Results


def attacked(attackers: dict[str, Any], **condition: str) -> Results:
    """Results of one trial set, by these attackers with their values and intervals."""
    protocol = load_protocol("vpc2020")
    libri = next(d for d in protocol.data_sets if d.id == "libri")
    small = replace(
        protocol,
        data_sets=(libri,),
        splits=("test",),
        genders={"f": "female"},
        table_rows=("libri",),
    )
    record = next(
        r
        for r in imported(B1).verification
        if r.condition.attack_model == "ignorant" and r.place() == ("libri", "test", "f")
    )
    bare = scored(record, dict.fromkeys(VARIANTS, {"eer": 0.0}), zebra_tag={})
    records = []
    for attacker, case in attackers.items():
        value = with_interval(with_eer(bare, case["value"]), case["interval"])
        records.append(changed(value, attacker=attacker, **condition))
    return Results(small, tuple(records))


def with_interval(record: Record, interval: Any) -> Record:
    bounds = {variant: {"eer": tuple(interval)} for variant in record.by_variant()}
    return scored(record, speaker_intervals=bounds if interval else {})


def rules(tmp_path: Path, *entries: str) -> Path:
    path = tmp_path / "policy.yaml"
    lines = "\n".join(f"  - {{name: rule {n}, {e}}}" for n, e in enumerate(entries))
    path.write_text(f"rules:\n{lines}\n")
    return path


def decided(tmp_path: Path, results: Results, entry: str) -> tuple[str, str]:
    """The decision of one rule, and the reason."""
    (rule,) = judge(read_policy(rules(tmp_path, entry)), results)
    return rule.decision, rule.deciding.reason


@pytest.mark.parametrize("case", GOLDEN["attackers"], ids=lambda case: case["case"])
def test_golden_attackers(case: dict[str, Any]) -> None:
    bounds = {"at_least": case["rule"]["low"], "suspect_above": case["rule"].get("suspect")}
    required = tuple(case["required"])
    rule = Rule("rule", "eer", each="attacker", require=required, **bounds)
    results = attacked(case["found"])
    policy = read_policy(ROOT / "docs/policies/challenge.yaml")
    (verdict,) = judge(replace(policy, rules=(rule,)), results)
    assert verdict.decision == case["decision"]
    decisions = {c.of.split(",")[0]: c.decision for c in verdict.cases if c.of}
    assert decisions == case["each"]


ONE = {"value": 0.45, "interval": [0.41, 0.49]}


def test_a_trial_set_without_a_value_is_undecided(tmp_path: Path) -> None:
    results = attacked({"plda": ONE})
    assert decided(tmp_path, results, EER)[0] == "PASS"
    both = replace(results.protocol, genders={"f": "female", "m": "male"})
    decision, reason = decided(tmp_path, replace(results, protocol=both), EER)
    assert decision == "UNDECIDED" and "libri test m" in reason
    only = f"{EER}, only: {{gender: [f]}}"
    assert decided(tmp_path, replace(results, protocol=both), only)[0] == "PASS"


def test_values_that_are_withheld_are_undecided(tmp_path: Path) -> None:
    results = attacked({"plda": {"value": 0.96, "interval": [0.95, 0.97]}})
    decision, reason = decided(tmp_path, results, EER)
    assert decision == "UNDECIDED" and "implausible" in reason
    (record,) = attacked({"plda": ONE}).verification
    left_out = replace(results, verification=(scored(record, trials_without_score=1),))
    assert decided(tmp_path, left_out, EER)[0] == "UNDECIDED"
    equal = attacked({"plda": {"value": 0.45, "interval": [0.45, 0.45]}})
    assert decided(tmp_path, equal, EER)[0] == "UNDECIDED"  # in all replicates
    assert decided(tmp_path, equal, f"{EER}, interval: optional")[0] == "PASS"


@pytest.mark.parametrize(
    ("entry", "decision"),
    [
        ("metric: eer, each: accent, at-least: 0.3", "UNDECIDED"),
        ("metric: eer, only: {attacker: [pdla]}, at-least: 0.3", "UNDECIDED"),
        ("metric: eer, each: attribute, at-least: 0.3", "UNDECIDED"),
        ("metric: inference_risk, at-most: 0.2", "UNDECIDED"),
        ("metric: linkage_20, each: attacker, at-most: 0.2", "UNDECIDED"),
        ("metric: wer, at-most: 0.2", "UNDECIDED"),
        ("metric: equal_error, at-most: 0.2", "ERROR"),
    ],
)
def test_what_results_lack_never_passes(tmp_path: Path, entry: str, decision: str) -> None:
    assert decided(tmp_path, attacked({"plda": ONE}), entry)[0] == decision


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("only: {split: [tset]}", ("split 'tset'", "test")),
        ("only: {split: [test, tset]}", ("split 'tset'",)),
        ("only: {attack_model: [ignorante]}", ("attack_model 'ignorante'", "ignorant")),
    ],
)
def test_what_a_policy_misspells_is_its_error(
    tmp_path: Path, entry: str, names: tuple[str, ...]
) -> None:
    decision, reason = decided(tmp_path, attacked({"plda": ONE}), f"{EER}, {entry}")
    assert decision == "ERROR" and all(name in reason for name in names)


def test_restrictions_that_only_the_results_know_are_no_errors(tmp_path: Path) -> None:
    """The protocol has women only: 0.41, the lower end for men, is above 0.3."""
    results = attacked({"plda": ONE}, gender="m")
    assert list(results.protocol.genders) == ["f"]
    assert decided(tmp_path, results, f"{EER}, only: {{gender: [m]}}")[0] == "PASS"
    assert decided(tmp_path, results, f"{EER}, only: {{gender: [x]}}")[0] == "ERROR"


def test_restrictions_that_the_protocol_knows_are_no_errors(tmp_path: Path) -> None:
    for entry in ("data_set: [libri], split: [test]", "attack_model: [ignorant]"):
        only = f"{EER}, only: {{{entry}}}"
        assert decided(tmp_path, attacked({"plda": ONE}), only)[0] == "PASS"
    absent = f"{EER}, only: {{attack_model: [lazy-informed]}}"
    decision, reason = decided(tmp_path, attacked({"plda": ONE}), absent)
    assert decision == "UNDECIDED" and "lazy-informed" in reason


def test_numbers_are_short_but_never_rounded_to_a_bound() -> None:
    rule = Rule("rule", "eer", at_least=0.3)
    assert [rule.text(n) for n in (0.09027777778, 0.29999, 0.300001, 0.3, 123456)] == [
        "0.09028",
        "0.29999",
        "0.300001",
        "0.3",
        "123456",
    ]


def test_original_speech_is_not_judged(tmp_path: Path) -> None:
    policy = read_policy(rules(tmp_path, EER, "metric: wer, at-most: 1, interval: optional"))
    results = imported(B1)
    for verdict, records in zip(
        judge(policy, results), (results.verification, results.recognition), strict=True
    ):
        anonymized = [r for r in records if r.condition.trial != "original"]
        assert len(verdict.cases) == len(anonymized) > 0


# Policies


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("metric: eer", "at-least or at-most"),
        ("metric: eer, at-least: 30", "30 % is 0.3"),
        ("metric: eer, at-least: 0.3, at-most: 0.2", "above"),
        ("metric: eer, at-least: 0.3, require: [words]", "needs each"),
        ("metric: eer, at-least: 0.3, only: {colour: [red]}", "colour"),
        ("metric: eer, at-least: x", "expected a number"),
        ("metric: eer, at-least: 0.3, interval: never", "required or optional"),
        ("metric: eer, at_least: 0.3", "unknown entry"),
        ('metric: "e\\nr", at-least: 0.3', "unprintable"),
    ],
)
def test_wrong_policies(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        read_policy(rules(tmp_path, entry))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: []", "empty"),
        ("level: 0.9\nrules: [{name: a, metric: eer, at-most: 1}]", "0.95"),
        ("rules: [{name: a, metric: eer, at-most: 1}, {name: a, metric: wer, at-most: 1}]", "dupl"),
        ("rules", "mapping"),
    ],
)
def test_wrong_policy_files(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(PrivacyEvalError, match=message):
        read_policy(tmp_path / "policy.yaml")


def test_policies_of_the_docs_are_valid() -> None:
    policies = sorted((ROOT / "docs/policies").glob("*.yaml"))
    assert len(policies) == 3
    assert all(read_policy(path).rules for path in policies)


# The verb


@pytest.mark.parametrize(
    ("value", "interval", "code"),
    [(0.45, [0.41, 0.49], 0), (0.2, [0.1, 0.25], 1), (0.45, [0.25, 0.6], 3)],
)
def test_exit_codes(tmp_path: Path, value: float, interval: list[float], code: int) -> None:
    (tmp_path / "r.json").write_text(
        to_json(attacked({"plda": {"value": value, "interval": interval}}))
    )
    run = cli("gate", "--policy", rules(tmp_path, EER), tmp_path / "r.json", "--format", "json")
    decision = {0: "PASS", 1: "FAIL", 3: "UNDECIDED"}[code]
    assert run.code == code and run.err == ""
    plain = json.loads(run.out)
    (rule,) = plain["rules"]
    assert plain["decision"] == rule["decision"] == decision
    assert list(rule) == ["name", "decision", "value", "interval", "of", "reason"]
    assert (rule["name"], rule["value"], rule["interval"]) == ("rule 0", value, interval)
    assert "plda" in rule["of"]


def test_errors_are_code_2(tmp_path: Path) -> None:
    results = tmp_path / "r.json"
    results.write_text(to_json(attacked({"plda": ONE})))
    policy = rules(tmp_path, EER)
    assert cli("gate", "--policy", tmp_path / "none.yaml", results).code == 2
    assert cli("gate", "--policy", policy, tmp_path / "none.json").code == 2
    assert cli("gate", "--policy", policy, policy).code == 2
    assert cli("gate", "--policy", policy, results, "--system", "B9").code == 2
    assert cli("gate", "--policy", policy, results, "--junit", results / "x.xml").code == 2
    run = cli("gate", "--policy", rules(tmp_path, "metric: equal_error, at-most: 0.2"), results)
    assert run.code == 2 and "unknown metric" in run.out


def test_a_run_that_ends_with_an_error_leaves_no_files_of_an_earlier_one(tmp_path: Path) -> None:
    results, policy = tmp_path / "r.json", rules(tmp_path, EER)
    results.write_text(to_json(attacked({"plda": ONE})))
    files = (tmp_path / "j.xml", tmp_path / "m.md")
    options = ("--junit", files[0], "--markdown", files[1])
    for wrong in ((tmp_path / "none.yaml", results), (policy, tmp_path / "none.json")):
        assert cli("gate", "--policy", policy, results, *options).code == 0
        assert all(file.is_file() for file in files)
        assert cli("gate", "--policy", *wrong, *options).code == 2
        assert not any(file.exists() for file in files)
    assert cli("gate", "--policy", policy, results, "--junit", results).code == 2
    assert results.is_file()


def test_reports_of_two_systems_have_different_names(tmp_path: Path) -> None:
    results = attacked({"plda": ONE})
    two = merge([results, attacked({"plda": ONE}, system="other")])
    (tmp_path / "r.json").write_text(to_json(two))
    suites = set()
    for system in two.systems:
        run = ("gate", "--policy", rules(tmp_path, EER), tmp_path / "r.json", "--system", system)
        assert cli(*run, "--junit", tmp_path / "j.xml").code == 0
        (suite,) = ElementTree.parse(tmp_path / "j.xml").getroot()
        suites.add(suite.attrib["name"])
        assert system in suite.attrib["name"] and "policy" in suite.attrib["name"]
        assert suite[0].get("classname") == suite.attrib["name"]
    assert len(suites) == len(two.systems) == 2


def test_files_for_build_servers(tmp_path: Path) -> None:
    """Names are escaped; what is undecided is a failure, as skipped test cases pass."""
    found = {"plda": ONE, "words": {"value": 0.3, "interval": [0.2, 0.4]}}
    (tmp_path / "r.json").write_text(to_json(attacked(found)))
    policy = tmp_path / "policy.yaml"
    entry = '{name: "<b>|\\"&\'", metric: eer, each: attacker, at-least: 0.3}'
    policy.write_text(f"rules: [{entry}]")
    files = ("--junit", tmp_path / "j.xml", "--markdown", tmp_path / "m.md")
    run = cli("gate", "--policy", policy, tmp_path / "r.json", *files)
    assert run.code == 3 and "<b>|\"&'" in run.out
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    (suite,) = root
    assert suite.attrib.pop("name").endswith("<b>|\"&'")
    assert suite.attrib == {"tests": "2", "failures": "1", "errors": "0"}
    assert [[child.get("type") for child in test] for test in suite] == [[], ["UNDECIDED"]]
    text = (tmp_path / "m.md").read_text()
    assert "UNDECIDED" in text and "<b>" not in text and "words" in text
