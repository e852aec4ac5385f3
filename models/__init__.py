"""Models: what was learned. Network definitions, trainers, and weights with their SHA-256, loaded by name."""
