"""The version of swath, as pyproject.toml states it too."""

VERSION = "0.1.0"
