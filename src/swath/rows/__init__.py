"""Taking the batch axis off a graph (debatching), with the row rules that the ops declare."""

from swath.rows.debatch import Debatched, debatch

__all__ = ["debatch", "Debatched"]
