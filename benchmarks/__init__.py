"""The benchmark suite: models, agreement with eager, speed against the peers."""
