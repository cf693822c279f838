"""Inputs distributed as a ranking service sees them.

Ids follow Zipf's law over each vocabulary, so that a few rows of a table are hot and the rest miss
the cache; dense features are logarithms of counts, some missing and some forgotten to be scaled;
histories have all lengths.
"""

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]

LONGEST_HISTORY = 50


def zipf_ids(random: np.random.Generator, vocabulary: int, shape: int | tuple[int, ...]) -> Ids:
    """Ids from 1 to vocabulary - 1, id k with a share of about 1/k. Id 0 is left to padding."""
    logarithms = random.random(shape) * np.log(vocabulary)
    return np.clip(np.exp(logarithms).astype(np.int64), 1, max(1, vocabulary - 1))


def dense_features(random: np.random.Generator, batch: int, count: int) -> Floats:
    """[batch, count]: log(1 + n) of log-normal n; a tenth is missing (0), a fiftieth not scaled."""
    counts = np.floor(random.lognormal(1.5, 2.0, (batch, count)))
    kind = random.random((batch, count))
    values = np.where(kind < 0.02, counts, np.log1p(counts))
    return np.where(kind > 0.9, 0.0, values).astype(np.float32)


def history_lengths(random: np.random.Generator, batch: int, longest: int) -> Ids:
    """How many entries each history has: mostly few, some full, one in fifty none."""
    lengths = np.minimum(random.geometric(3.0 / longest, batch), longest)
    return np.where(random.random(batch) < 0.02, 0, lengths).astype(np.int64)


def padded_histories(
    random: np.random.Generator, vocabulary: int, lengths: Ids, longest: int
) -> Ids:
    """Ids [batch, longest], zero beyond each length."""
    ids = zipf_ids(random, vocabulary, (len(lengths), longest))
    return np.where(np.arange(longest)[None, :] < lengths[:, None], ids, 0)
