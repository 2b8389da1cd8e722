"""The worker half: documents in, checked answers out."""
