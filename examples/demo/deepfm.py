"""DeepFM of deepctr-torch on MovieLens: training, and the trained model as a factory.

swath bench examples.demo.deepfm:trained      # after `make demo`
"""

from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from deepctr_torch.inputs import DenseFeat, SparseFeat, VarLenSparseFeat
from deepctr_torch.models import DeepFM
from numpy.typing import NDArray
from torch import Tensor

from examples.demo.movielens import MOST_GENRES, Columns, MovieLens, load

FOLDER = Path("build") / "demo"
WEIGHTS = FOLDER / "deepfm.pt"
DENSE = ("user_id_clicks", "user_id_ratings", "item_id_clicks", "item_id_ratings")
WIDTH = 16
EPOCHS, BATCH = 2, 256
EXAMPLE_ROWS = 256


def columns_of(vocabularies: Mapping[str, int]) -> list[Any]:
    """The feature columns in deepctr-torch's words."""
    sparse = [
        SparseFeat(name, size, embedding_dim=WIDTH)
        for name, size in vocabularies.items()
        if name != "genres"
    ]
    genres = SparseFeat("genres", vocabularies["genres"], embedding_dim=WIDTH)
    dense = [DenseFeat(name, 1) for name in DENSE]
    return [*sparse, VarLenSparseFeat(genres, MOST_GENRES, "mean"), *dense]


def untrained(vocabularies: Mapping[str, int]) -> DeepFM:
    """A fresh model."""
    columns = columns_of(vocabularies)
    return DeepFM(
        columns, columns, dnn_hidden_units=(256, 128), dnn_dropout=0.3, l2_reg_embedding=1e-4,
        device="cpu",
    )  # fmt: skip


def train(data: MovieLens) -> DeepFM:
    """A model trained on the training rows, in eval mode."""
    torch.manual_seed(0)
    model = untrained(data.vocabularies)
    model.compile("adam", "binary_crossentropy", metrics=[])
    with redirect_stdout(StringIO()):
        model.fit(data.training, data.training_clicks, BATCH, EPOCHS, verbose=0)
    return model.eval()


def matrix(model: DeepFM, columns: Columns) -> NDArray[np.float32]:
    """The input of the model: one float32 matrix, ids as floats, as deepctr-torch feeds it."""
    parts = [columns[name] for name in model.feature_index]
    return np.concatenate(
        [part.reshape(len(part), -1).astype(np.float32) for part in parts], axis=1
    )


def trained() -> tuple[DeepFM, tuple[Tensor], Callable[[int, int], tuple[Tensor]]]:
    """The trained model, example inputs, and a function that draws held-out rows."""
    data = load(FOLDER)
    model = untrained(data.vocabularies)
    model.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    rows = torch.as_tensor(matrix(model, data.held_out))

    def make_inputs(batch: int, seed: int) -> tuple[Tensor]:
        drawn = np.random.default_rng(seed).integers(0, len(rows), batch)
        return (rows[torch.as_tensor(drawn)],)

    return model.eval(), (rows[:EXAMPLE_ROWS].clone(),), make_inputs
