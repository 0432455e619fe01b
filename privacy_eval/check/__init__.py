"""Check a tree: missing inputs, original/anonymized mismatches, implausible scores."""

from .missing import not_evaluated
from .tree import check_tree

__all__ = ["check_tree", "not_evaluated"]
