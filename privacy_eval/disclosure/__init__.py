"""What recordings disclose of persons: identification in galleries, amounts of speech, attributes,
worst cases; the release gate, and the statement of a data protection impact assessment."""
