"""Readers of model formats: each gives a batched graph and the signature of the model."""
