"""Check a tree: missing inputs, original/anonymized mismatches, implausible scores."""

from .tree import check_tree

__all__ = ["check_tree"]
