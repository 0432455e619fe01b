"""What recordings disclose of persons: the release gate, and the statement of a data protection
impact assessment."""
