"""The verdict of a gate as text, Markdown and JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from ..errors import counted
from ..report.table import Table, aligned
from ..report.table_formats import to_markdown, to_text
from .gate import Case, RuleVerdict, Verdict

_HEAD = ("decision", "rule", "value", "95 % interval", "of", "reason")


def verdict_text(verdict: Verdict) -> str:
    """Write the rules with their deciding cases as a table, and the decision."""
    return f"{to_text(_of_rules(verdict))}\n{verdict.decision}\n"


def verdict_markdown(verdict: Verdict) -> str:
    """Write the rules with their deciding cases, then all cases that do not pass."""
    rows = (_row(r, c) for r in verdict.rules for c in r.cases if c.decision != "PASS")
    open_cases = _table("All that did not pass", tuple(rows))
    parts = [_of_rules(verdict), *([open_cases] if open_cases.rows else [])]
    return "\n".join(to_markdown(part) for part in parts)


def verdict_junit(verdict: Verdict, of: str) -> str:
    """Write JUnit XML: a suite for each rule, a test case for each value. An undecided case is a
    failure of the type UNDECIDED, as build servers let skipped ones pass.

    Parameters
    ----------
    of : str
        Policy and systems, by which a build server tells reports apart.
    """
    root = ElementTree.Element("testsuites", name="privacy gate")
    for of_rule in verdict.rules:
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


def _of_rules(verdict: Verdict) -> Table:
    caption = f"Privacy gate: {verdict.decision}, {counted(len(verdict.rules), 'rule')}"
    return _table(caption, tuple(_row(of_rule, of_rule.deciding) for of_rule in verdict.rules))


def _table(caption: str, rows: tuple[tuple[str, ...], ...]) -> Table:
    return Table("gate", caption, tuple(aligned("l", *_HEAD)), (rows,))


def _row(of_rule: RuleVerdict, case: Case) -> tuple[str, ...]:
    """Return the cells of a case."""
    rule = of_rule.rule
    value = "" if case.value is None else rule.text(case.value)
    interval = "" if case.interval is None else rule.interval_text(case.interval)
    return case.decision, rule.name, value, interval, case.of, case.reason
