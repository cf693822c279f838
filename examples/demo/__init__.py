"""The demo: train, compile, compare and bench a DeepFM on MovieLens 100K."""
