"""Check a tree: missing inputs, original/anonymized mismatches, implausible scores."""

from .findings import ERROR, Finding, Report, Row
from .tree import check_tree

__all__ = ["ERROR", "Finding", "Report", "Row", "check_tree"]
