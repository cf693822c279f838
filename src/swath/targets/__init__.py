"""One folder per target; only here does a program become text."""
