"""The release gate: rules on results, each of which passes, fails or is undecided.

An end of the interval decides, not the value: at least m passes if the lower end is at least m and
fails if the upper end is below m. Ends are inclusive and nothing is rounded. What is missing is
undecided and never passes.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from ..choices import LEVEL
from ..errors import PrivacyEvalError, abbreviate, counted
from ..io.files import read_text
from ..io.names import check_name
from ..io.schema import from_plain
from ..io.yaml_text import parse_yaml
from ..metrics import CAVEATS, METRICS, Caveat, describe, withholding_caveat
from ..metrics.caveats import INCOMPLETE
from ..protocol.protocol import ORIGINAL
from ..report.table import Table, aligned
from ..report.table_formats import to_markdown, to_text
from ..results.measurements import Row
from ..results.records import KINDS, Results

Decision = Literal["PASS", "FAIL", "UNDECIDED", "ERROR"]

#: From the most to the least urgent: one of them decides over all that follow.
_ORDER: tuple[Decision, ...] = ("ERROR", "FAIL", "UNDECIDED", "PASS")

#: Names of a metric under a circumstance: rates by size of the gallery or by sentences per test,
#: word error rates by language model.
_UNDER = {
    "gallery": re.compile(r"(linkage|singling_out)_([1-9]\d*)"),
    "sentences": re.compile(r"(eer|rank1)_sentences_([1-9]\d*)"),
    "language_model": re.compile(r"(wer)_(.+)"),
}
#: Metrics that are not in the registry.
_OTHER_METRICS = ("linkage", "singling_out", "rank1", "inference_risk", "raw_utterances")

#: Columns of a value that name its trial set, in which series of values must be complete.
_PLACE = ("data_set", "split", "gender")

#: Kinds of records whose sets are expected of a metric, where they are not those of scores.
_KINDS = {"wer": "recognition", "inference_risk": "attributes", "raw_utterances": "audio"}

#: Columns of a value that name the model that it is by.
_MODELS = ("asv_model", "asr_model")

#: Columns of a value by which rules may be restricted or judged one by one.
_COLUMNS = (*_PLACE, "attacker", "attack_model", *_MODELS, "results_folder", "system")

#: Circumstances of values that are of a part of the trials: no rule is on these.
_PARTS = ("session", "speaker", "fold", "against", "against_group", "threshold")

#: Columns of the verdict as a table.
_HEAD = ("decision", "rule", "value", "95 % interval", "of", "reason")

Bounds = Sequence[float | None] | None


def decide(
    value: float | None,
    interval: Bounds,
    at_least: float | None = None,
    at_most: float | None = None,
    interval_optional: bool = False,
    suspect_above: float | None = None,
) -> Decision:
    """Decide a rule on a value by the ends of its interval.

    Parameters
    ----------
    value : float or None
        None or NaN if it is missing.
    interval : (float or None, float or None) or None
        Ends; missing ones are None or NaN.
    at_least, at_most : float or None
        Inclusive bounds of the value.
    interval_optional : bool
        The value stands for an interval that is missing.
    suspect_above : float or None
        A value above it is undecided: an EER far above 50 % does not protect.

    Returns
    -------
    {"PASS", "FAIL", "UNDECIDED", "ERROR"}
        ERROR: the ends are reversed.

    Examples
    --------
    >>> decide(0.35, (0.31, 0.39), at_least=0.3), decide(0.35, (0.28, 0.42), at_least=0.3)
    ('PASS', 'UNDECIDED')
    >>> decide(0.12, None, at_most=0.1), decide(0.12, None, at_most=0.1, interval_optional=True)
    ('UNDECIDED', 'FAIL')
    """
    if value is None or math.isnan(value) or (suspect_above is not None and value > suspect_above):
        return "UNDECIDED"
    low, high = interval or (None, None)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        if not interval_optional:
            return "UNDECIDED"
        low = high = value
    if low > high:
        return "ERROR"
    least = -math.inf if at_least is None else at_least
    most = math.inf if at_most is None else at_most
    if high < least or low > most:
        return "FAIL"
    return "PASS" if low >= least and high <= most else "UNDECIDED"


def combine(decisions: Iterable[Decision]) -> Decision:
    """Combine decisions that must all pass; none at all is undecided.

    Examples
    --------
    >>> combine(["PASS", "UNDECIDED", "FAIL"]), combine([])
    ('FAIL', 'UNDECIDED')
    """
    return min(decisions, key=_ORDER.index, default="UNDECIDED")


@dataclass(frozen=True)
class Rule:
    """A rule of a policy on every value of a metric, of anonymized speech.

    Attributes
    ----------
    name : str
    metric : str
        Key of a metric; `linkage_N`: rank-1 rate among N enrolled speakers; `inference_risk`.
    each : str
        Column whose values are judged one by one: `attacker`, `attack_model`, a column of metadata.
    require : tuple of str
        Values of this column that must be there.
    only : mapping
        By column, the values to which the rule is restricted.
    at_least, at_most, suspect_above, interval
        As `decide` has them.
    """

    name: str
    metric: str
    each: str = ""
    require: tuple[str, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    at_least: Annotated[float | None, "at-least"] = None
    at_most: Annotated[float | None, "at-most"] = None
    suspect_above: Annotated[float | None, "suspect-above"] = None
    interval: Literal["required", "optional"] = "required"

    def check(self, where: str) -> None:
        """Check what the types of the entries leave open."""
        for text in filter(None, (self.name, self.metric, self.each, *self.require)):
            check_name(text, where)
        if not (self.name and self.metric):
            raise PrivacyEvalError(f"{where}: expected a name and a metric")
        if self.at_least is None and self.at_most is None:
            raise PrivacyEvalError(f"{where}: expected at-least or at-most, or both")
        if self.require and not self.each:
            raise PrivacyEvalError(f"{where}: require: needs each, the column of these values")
        if unknown := [name for name in self.only if name not in _COLUMNS]:
            raise PrivacyEvalError(
                f"{where}: only: unknown column {unknown[0]!r}, expected {', '.join(_COLUMNS)}"
            )
        metric = METRICS.get(self.metric)
        low, high = metric.range if metric else (-math.inf, math.inf)
        for bound in (self.at_least, self.at_most, self.suspect_above):
            if bound is not None and not low <= bound <= high:
                raise PrivacyEvalError(
                    f"{where}: {bound:g} is not within {low:g} to {high:g}, the range of "
                    f"{self.metric} (rates are fractions: 30 % is 0.3)"
                )
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise PrivacyEvalError(f"{where}: at-least is above at-most")

    @property
    def demand(self) -> str:
        """What the rule demands of a value."""
        demands = {"at least": self.at_least, "at most": self.at_most}
        return " and ".join(f"{t} {b:.10g}" for t, b in demands.items() if b is not None)

    def text(self, number: float) -> str:
        """Write four significant digits; all of them where rounding would reach a bound, as
        29.998 % is below 30 %, and of whole numbers."""
        rounded = float(f"{number:.4g}")
        bounds = [b for b in (self.at_least, self.at_most, self.suspect_above) if b is not None]
        moved = any((number < b, number > b) != (rounded < b, rounded > b) for b in bounds)
        return f"{number if moved or float(number).is_integer() else rounded:.10g}"

    def interval_text(self, interval: tuple[float, float]) -> str:
        """Write an interval in the digits of `text`."""
        return f"[{', '.join(map(self.text, interval))}]"

    def decide(self, value: float | None, interval: Bounds) -> Decision:
        """Decide the rule for one value."""
        optional = self.interval == "optional"
        bounds = (self.at_least, self.at_most)
        return decide(value, interval, *bounds, optional, self.suspect_above)


@dataclass(frozen=True)
class Policy:
    """Rules that must all pass, and the level of the intervals."""

    rules: tuple[Rule, ...]
    level: float = LEVEL


def read_policy(path: Path) -> Policy:
    """Read a policy, a YAML file.

    Raises
    ------
    PrivacyEvalError
        Unreadable, a missing, unknown or wrong entry, no rules, two rules of one name, a level
        other than that of the intervals of results.
    """
    policy = from_plain(Policy, parse_yaml(read_text(path), str(path)), str(path))
    if not policy.rules:
        raise PrivacyEvalError(f"{path}: rules must not be empty")
    if policy.level != LEVEL:
        raise PrivacyEvalError(f"{path}: level: intervals of results have the level {LEVEL:g}")
    for number, rule in enumerate(policy.rules):
        rule.check(f"{path}: rules[{number}]")
    names = [rule.name for rule in policy.rules]
    if duplicate := [name for name in names if names.count(name) > 1]:
        raise PrivacyEvalError(f"{path}: duplicate rule {duplicate[0]!r}")
    return policy


@dataclass(frozen=True)
class Case:
    """A value that a rule judged, or one that is missing.

    Attributes
    ----------
    of : str
        Attacker, condition and what else the value is of.
    reason : str
    """

    of: str
    decision: Decision
    value: float | None
    interval: tuple[float, float] | None
    reason: str


@dataclass(frozen=True)
class RuleVerdict:
    """A rule, the decision, and the cases that it was derived from."""

    rule: Rule
    decision: Decision
    cases: tuple[Case, ...]

    @property
    def deciding(self) -> Case:
        """The case that led to the decision: of several the one farthest from passing."""
        cases = [c for c in self.cases if c.decision == self.decision]
        return min(cases, key=lambda case: _margin(self.rule, case))

    def to_dict(self) -> dict[str, Any]:
        """Return the decision and its deciding case as plain values."""
        case = self.deciding
        return {
            "name": self.rule.name,
            "decision": self.decision,
            "value": case.value,
            "interval": None if case.interval is None else list(case.interval),
            "of": case.of,
            "reason": case.reason,
        }


def _margin(rule: Rule, case: Case) -> float:
    """Return by how much the interval of a case satisfies a rule; a missing value comes first."""
    if case.value is None:
        return -math.inf
    low, high = case.interval or (case.value, case.value)
    above = math.inf if rule.at_least is None else low - rule.at_least
    below = math.inf if rule.at_most is None else rule.at_most - high
    return min(above, below)


def judge(policy: Policy, results: Results) -> tuple[RuleVerdict, ...]:
    """Judge the results of all their systems by every rule of a policy: `combine` decides."""
    verdicts = []
    for rule in policy.rules:
        cases = tuple(_cases(rule, results))
        verdicts.append(RuleVerdict(rule, combine(c.decision for c in cases), cases))
    return tuple(verdicts)


def named(metric: str) -> tuple[str, dict[str, object]]:
    """Return the metric of a rule, and its circumstance.

    Examples
    --------
    >>> named("linkage_20"), named("wer_large"), named("eer")
    (('linkage', {'gallery': 20}), ('wer', {'language_model': 'large'}), ('eer', {}))
    """
    if metric in METRICS:
        return metric, {}
    for name, form in _UNDER.items():
        if found := form.fullmatch(metric):
            return found[1], {name: int(found[2]) if found[2].isdecimal() else found[2]}
    return metric, {}


def _values(rule: Rule, results: Results) -> list[Row]:
    """List the values of anonymized speech that a rule is about: those of groups where it is on
    each of a column of metadata."""
    metric, under = named(rule.metric)
    table = results.measurements.select(metric=metric, **dict.fromkeys(_PARTS))
    if rule.metric != "wer":
        equal = "equal" if "sentences" in under else None
        table = table.select(**{name: under.get(name) for name in _UNDER}, speakers=equal)
    by = rule.each if rule.each in results.measurements.values("group_by") else None
    table = table.select(group_by=by).in_variant(results.protocol.variant)
    return [
        {**row, rule.each: row["group"]} if by else row
        for row in table
        if row.get("trial") != ORIGINAL
        and all(str(row.get(name, "")) in names for name, names in rule.only.items())
    ]


def _withheld(row: Row, held: Mapping[str, Caveat]) -> str:
    """Return why a value must not be judged; "" if it may be."""
    if row["system"] in held:
        return held[row["system"]].reason
    if row.get("scores_without_trial"):
        return CAVEATS[INCOMPLETE].reason
    caveat = withholding_caveat(row["caveats"], row["metric"])
    return "" if caveat is None else caveat.reason


def _cases(rule: Rule, results: Results) -> Iterator[Case]:
    """Yield a case of every value that a rule is about, then those of missing ones."""
    if unknown := _unknown(rule, results):
        yield _without_value("", unknown, "ERROR")
        return
    several, held = len(results.systems) > 1, results.held
    by_system: dict[str, list[Row]] = {s: [] for s in results.systems}
    for row in _values(rule, results):
        by_system[row["system"]].append(row)
    for system, of_system in by_system.items():
        name = system if several else ""
        if rule.each and not any(rule.each in row for row in of_system) and of_system:
            yield _without_value(name, f"the results have no {rule.metric} by {rule.each}")
            continue
        for row in of_system:
            yield _judged(rule, row, name, held)
        yield from _missing(rule, results, of_system, name)
    if not by_system:
        yield _without_value("", "the results are empty")


def _unknown(rule: Rule, results: Results) -> str:
    """Say which metric or value a rule names that results cannot have; "" if none."""
    metric, _ = named(rule.metric)
    if metric not in (*METRICS, *results.described, *_OTHER_METRICS):
        return f"unknown metric {rule.metric}"
    possible = _possible(results)
    for column in rule.only.keys() & possible.keys():
        known = possible[column]
        if unknown := [name for name in rule.only[column] if name not in known]:
            names = abbreviate(sorted(filter(None, known)))
            return f"only: no {column} {unknown[0]!r} in the protocol or results: {names}"
    return ""


def _possible(results: Results) -> dict[str, set[str]]:
    """Return all values of the columns of which the protocol and the results know all."""
    protocol = results.protocol
    possible: dict[str, set[str]] = {name: set() for name in _PLACE}
    for kind in KINDS.values():
        for place in kind.places(protocol):
            for name, part in zip(_PLACE, place, strict=False):
                possible[name].add(part)
    possible["attack_model"] = {attack.id for attack in protocol.attack_models}
    for name, known in possible.items():
        known.update("" if v is None else v for v in results.measurements.columns.get(name, ()))
    return possible


def _judged(rule: Rule, row: Row, system: str, held: Mapping[str, Caveat]) -> Case:
    """Judge one value."""
    columns = ("attribute", "attacker", "attack_model", *_PLACE, "results_folder")
    parts = [system, *(str(row.get(name, "")) for name in columns)]
    if rule.each not in (*columns, ""):
        parts.insert(1, str(row.get(rule.each, "")))
    if rule.metric == "wer" and "language_model" in row:
        parts.append(f"wer_{row['language_model']}")
    of = ", ".join(filter(None, parts))
    low, high = row.get("low"), row.get("high")
    # Replicates that are all equal do not show the uncertainty of the value.
    interval = None if low is None or high is None or low == high else (low, high)
    if withheld := _withheld(row, held):
        return Case(of, "UNDECIDED", row["value"], interval, withheld)
    decision = rule.decide(row["value"], interval)
    return Case(
        of, decision, row["value"], interval, _reason(rule, row["value"], interval, decision)
    )


def _reason(
    rule: Rule, value: float, interval: tuple[float, float] | None, decision: Decision
) -> str:
    """Say why a value led to a decision."""
    if rule.suspect_above is not None and value > rule.suspect_above:
        return f"{rule.text(value)} is above {rule.suspect_above:.10g}: suspect"
    if interval is None and rule.interval == "required":
        return "no interval (--bootstrap), which the rule requires"
    text = rule.interval_text(interval) if interval else f"{rule.text(value)} (without interval)"
    verbs = {"PASS": "satisfies", "FAIL": "violates", "UNDECIDED": "may or may not satisfy"}
    return f"{text} {verbs.get(decision, 'cannot be judged by')}: {rule.demand}"


def _missing(rule: Rule, results: Results, rows: Sequence[Row], system: str) -> Iterator[Case]:
    """Yield undecided cases of what is required and absent, and of trial sets without a value."""
    present = {str(row.get(rule.each, "")) for row in rows} if rule.each else set()
    for name in rule.require:
        if name not in present:
            of = ", ".join(filter(None, (system, name)))
            yield _without_value(of, f"required {rule.each} without a value of {rule.metric}")
    if not rows and not rule.require:
        of = " and ".join(f"{name} {' or '.join(names)}" for name, names in rule.only.items())
        restricted = f" with {of}" if of else ""
        yield _without_value(system, f"the results have no value of {rule.metric}{restricted}")
    series: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    fixed = ("attacker", "attack_model", *_MODELS, "language_model", "results_folder", "attribute")
    for row in rows:
        place = tuple(row[name] for name in _PLACE if name in row)
        series.setdefault(tuple(row.get(name, "") for name in fixed), set()).add(place)
    for label, places in series.items():
        absent = sorted(_places(rule, results) - places)
        if absent:
            sets = abbreviate([" ".join(place) for place in absent])
            reason = f"no value of {counted(len(absent), 'trial set')}: {sets}"
            yield _without_value(", ".join(filter(None, (system, *label))), reason)


def _places(rule: Rule, results: Results) -> set[tuple[str, ...]]:
    """Return the places under the protocol of the results to which a rule is not restricted."""
    metric, _ = named(rule.metric)
    is_of_emotion = describe(metric).kind == "emotion"
    kind = _KINDS.get(metric, "emotion" if is_of_emotion else "verification")
    return {
        place
        for place in KINDS[kind].places(results.protocol)
        if all(
            name not in rule.only or part in rule.only[name]
            for name, part in zip(_PLACE, place, strict=False)
        )
    }


def _without_value(of: str, reason: str, decision: Decision = "UNDECIDED") -> Case:
    return Case(of, decision, None, None, reason)


def verdict_text(rules: Sequence[RuleVerdict]) -> str:
    """Write the rules with their deciding cases as a table, and the decision."""
    return f"{to_text(_of_rules(rules))}\n{_decision(rules)}\n"


def verdict_markdown(rules: Sequence[RuleVerdict]) -> str:
    """Write the rules with their deciding cases, then all cases that do not pass."""
    rows = (_row(r, c) for r in rules for c in r.cases if c.decision != "PASS")
    open_cases = _table("All that did not pass", tuple(rows))
    parts = [_of_rules(rules), *([open_cases] if open_cases.rows else [])]
    return "\n".join(to_markdown(part) for part in parts)


def verdict_junit(rules: Sequence[RuleVerdict], of: str) -> str:
    """Write JUnit XML: a suite for each rule, a test case for each value. An undecided case is a
    failure of the type UNDECIDED, as build servers let skipped ones pass.

    Parameters
    ----------
    of : str
        Policy and systems, by which a build server tells reports apart.
    """
    root = ElementTree.Element("testsuites", name="privacy gate")
    for of_rule in rules:
        decisions = [case.decision for case in of_rule.cases]
        failures = decisions.count("FAIL") + decisions.count("UNDECIDED")
        counts = {"tests": len(decisions), "failures": failures, "errors": decisions.count("ERROR")}
        suite_name = f"{of}: {of_rule.rule.name}"
        texts = {"name": suite_name, **{key: str(n) for key, n in counts.items()}}
        suite = ElementTree.SubElement(root, "testsuite", texts)
        for case in of_rule.cases:
            name = case.of or of_rule.rule.metric
            names = {"classname": suite_name, "name": name}
            test = ElementTree.SubElement(suite, "testcase", names)
            if case.decision != "PASS":
                kind = "error" if case.decision == "ERROR" else "failure"
                why = {"type": case.decision, "message": case.reason}
                ElementTree.SubElement(test, kind, why).text = case.reason
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, "unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _decision(rules: Sequence[RuleVerdict]) -> Decision:
    return combine(rule.decision for rule in rules)


def _of_rules(rules: Sequence[RuleVerdict]) -> Table:
    caption = f"Privacy gate: {_decision(rules)}, {counted(len(rules), 'rule')}"
    return _table(caption, tuple(_row(of_rule, of_rule.deciding) for of_rule in rules))


def _table(caption: str, rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table("gate", caption, tuple(aligned("l", *_HEAD)), (rows,))


def _row(of_rule: RuleVerdict, case: Case) -> tuple[str, ...]:
    """Return the cells of a case."""
    rule = of_rule.rule
    value = "" if case.value is None else rule.text(case.value)
    interval = "" if case.interval is None else rule.interval_text(case.interval)
    return case.decision, rule.name, value, interval, case.of, case.reason
