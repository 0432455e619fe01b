"""What a tree holds and lacks, what differs and what cannot be right in it: one screen."""

from .screen import check_tree, not_there

__all__ = ["check_tree", "not_there"]
