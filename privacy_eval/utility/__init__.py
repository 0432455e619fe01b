"""What anonymized speech is good for: word errors, recalls of emotions, other tools' measures."""
