"""What organizers need: the check of a tree, and submissions."""
