"""The models of the suite: the feed-forward ranking models of deepctr-torch, DIN, and the DLRM of
`examples/`.

MODELS maps a name to a factory `() -> (model, example_inputs, make_inputs)`, so that each can be
named on the command line: `swath bench benchmarks.models:MODELS.DeepFM`. Where nothing else is said
a model has 26 columns of ids with vocabularies from a thousand to a million, embeddings 16 wide,
and 13 dense columns, as in the Criteo data.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from deepctr_torch import models as library
from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat
from examples.dlrm import dlrm, take_rows
from torch import Tensor, nn

from benchmarks.inputs import (
    LONGEST_HISTORY,
    dense_features,
    history_lengths,
    padded_histories,
    zipf_ids,
)
from benchmarks.weights import scale_as_trained

Column: TypeAlias = Any
MakeInputs: TypeAlias = Callable[[int, int], tuple[Any, ...]]
Made: TypeAlias = tuple[nn.Module, tuple[Any, ...], MakeInputs]
Factory: TypeAlias = Callable[[], Made]
TakeRows: TypeAlias = Callable[[Any, int, int], tuple[Any, ...]]

SPARSE_COLUMNS = 26
DENSE_COLUMNS = 13
EXAMPLE_BATCH = 64


def criteo(width: int = 16, largest: float = 1e6) -> list[Column]:
    """Columns as in the Criteo data; embeddings `width` wide, the largest vocabulary `largest`."""
    vocabularies = np.geomspace(1e3, largest, SPARSE_COLUMNS).astype(int)
    sparse = [
        SparseFeat(f"C{number}", int(vocabulary), embedding_dim=width)
        for number, vocabulary in enumerate(vocabularies)
    ]
    return sparse + [DenseFeat(f"I{number}", 1) for number in range(DENSE_COLUMNS)]


def with_tags() -> list[Column]:
    """Columns with lists of ids besides, pooled by mean, sum and max, padded or with a length."""
    pooled = [
        VarLenSparseFeat(SparseFeat(f"tags_{pooling}", 10_000, embedding_dim=8), 20, pooling)
        for pooling in ("mean", "sum", "max")
    ]
    genres = VarLenSparseFeat(SparseFeat("genres", 10_000, embedding_dim=8), 10, "mean", "genres_n")
    return [*criteo(8, 1e5), *pooled, genres]


def with_history() -> list[Column]:
    """Columns of a shop: the user, the item shown and the history of items and categories."""
    items, categories = 500_000, 10_000
    history = [
        VarLenSparseFeat(
            SparseFeat(f"hist_{name}", vocabulary, width, embedding_name=name),
            LONGEST_HISTORY,
            "mean",
            "history_n",
        )
        for name, vocabulary, width in (("item", items, 32), ("category", categories, 16))
    ]
    return [
        SparseFeat("user", 1_000_000, 16),
        SparseFeat("gender", 3, 4),
        SparseFeat("item", items, 32),
        SparseFeat("category", categories, 16),
        DenseFeat("price", 1),
        *history,
    ]


def fill_matrix(model: nn.Module, columns: Sequence[Column]) -> MakeInputs:
    """Draws what deepctr-torch feeds its models: a float32 matrix [batch, columns], ids too."""
    places: Mapping[str, tuple[int, int]] = model.feature_index  # type: ignore[assignment]
    width = max(end for _, end in places.values())

    def make_inputs(batch: int, seed: int) -> tuple[Tensor]:
        random = np.random.default_rng(seed)
        matrix = np.zeros((batch, width), np.float32)
        lengths = history_lengths(random, batch, LONGEST_HISTORY)
        for column in columns:
            begin, end = places[column.name]
            if isinstance(column, SparseFeat):
                vocabulary = cast(int, column.vocabulary_size)  # pyright: ignore
                matrix[:, begin] = zipf_ids(random, vocabulary, batch)
            elif isinstance(column, DenseFeat):
                matrix[:, begin:end] = dense_features(random, batch, end - begin)
            else:
                kept = np.minimum(lengths, column.maxlen)
                matrix[:, begin:end] = padded_histories(
                    random, column.vocabulary_size, kept, column.maxlen
                )
                if column.length_name:
                    matrix[:, places[column.length_name][0]] = kept
        return (torch.as_tensor(matrix),)

    return make_inputs


def finished(model: nn.Module, columns: Sequence[Column]) -> Made:
    """The model with weights as trained, example inputs, and how to draw more."""
    make_inputs = fill_matrix(scale_as_trained(model), columns)
    return model, make_inputs(EXAMPLE_BATCH, 0), make_inputs


def wide_and_deep(
    name: str, columns: Callable[[], list[Column]] = criteo, deep_dense: bool = True, **options: Any
) -> Factory:
    """A model with a linear part over all columns and a deep part, without dense columns if so."""

    def factory() -> Made:
        wide = columns()
        deep = [column for column in wide if deep_dense or not isinstance(column, DenseFeat)]
        return finished(getattr(library, name)(wide, deep, device="cpu", **options), wide)

    return factory


def deep_only(name: str, columns: Callable[[], list[Column]] = criteo, **options: Any) -> Factory:
    """A model without a linear part."""

    def factory() -> Made:
        chosen = columns()
        return finished(getattr(library, name)(chosen, device="cpu", **options), chosen)

    return factory


def attends(name: str, **options: Any) -> Factory:
    """A model that attends over the user's history."""

    def factory() -> Made:
        columns = with_history()
        model = getattr(library, name)(columns, ["item", "category"], device="cpu", **options)
        return finished(model, columns)

    return factory


def narrow() -> list[Column]:
    """Columns with embeddings 8 wide."""
    return criteo(8)


def narrow_and_small() -> list[Column]:
    """Columns for ONN, which has two tables for each pair of columns."""
    return criteo(8, 2e3)


def four_wide() -> list[Column]:
    """Columns for MLR, which is linear."""
    return criteo(4, 1e5)


FEED_FORWARD: Mapping[str, Factory] = {
    "WDL": wide_and_deep("WDL"),
    "DeepFM": wide_and_deep("DeepFM"),
    "DeepFM_bn": wide_and_deep("DeepFM", dnn_use_bn=True),
    "DeepFM_prelu": wide_and_deep("DeepFM", dnn_activation="prelu"),
    "DeepFM_varlen": wide_and_deep("DeepFM", with_tags),
    "xDeepFM": wide_and_deep("xDeepFM"),
    "xDeepFM_nosplit": wide_and_deep("xDeepFM", cin_split_half=False, cin_activation="linear"),
    "AutoInt": wide_and_deep("AutoInt"),
    "AutoInt_nores": wide_and_deep("AutoInt", att_res=False),
    "DCN": wide_and_deep("DCN"),
    "DCN_matrix": wide_and_deep("DCN", cross_parameterization="matrix"),
    "DCNMix": wide_and_deep("DCNMix"),
    "NFM": wide_and_deep("NFM"),
    "AFM": wide_and_deep("AFM", deep_dense=False),
    "DIFM": wide_and_deep("DIFM", deep_dense=False),
    "IFM": wide_and_deep("IFM", deep_dense=False),
    "CCPM": wide_and_deep("CCPM", deep_dense=False),
    "AFN": wide_and_deep("AFN", deep_dense=False),
    "ONN": wide_and_deep("ONN", narrow_and_small),
    "FiBiNET_all": wide_and_deep("FiBiNET", narrow, bilinear_type="all"),
    "FiBiNET_each": wide_and_deep("FiBiNET", narrow, bilinear_type="each"),
    "FiBiNET_interaction": wide_and_deep("FiBiNET", narrow, bilinear_type="interaction"),
    "MLR": deep_only("MLR", four_wide),
    "PNN_inner": deep_only("PNN"),
    "PNN_outer_mat": deep_only("PNN", use_inner=False, use_outter=True, kernel_type="mat"),
    "PNN_outer_vec": deep_only("PNN", use_inner=False, use_outter=True, kernel_type="vec"),
    "PNN_outer_num": deep_only("PNN", use_inner=False, use_outter=True, kernel_type="num"),
    "SharedBottom": deep_only("SharedBottom"),
    "ESMM": deep_only("ESMM"),
    "MMOE": deep_only("MMOE"),
    "PLE": deep_only("PLE"),
}

MODELS: Mapping[str, Factory] = {
    **FEED_FORWARD,
    "DIN": attends("DIN"),
    "DIN_softmax": attends("DIN", att_weight_normalization=True),
    "DLRM": dlrm,
}

# How rows are taken out of a model's inputs, where they aren't simply those of the leading axes.
TAKE_ROWS: Mapping[str, TakeRows] = {"DLRM": take_rows}


def take_leading_rows(inputs: tuple[Any, ...], first: int, last: int) -> tuple[Any, ...]:
    """Rows first to last - 1 of every input."""
    return tuple(tensor[first:last].contiguous() for tensor in inputs)
