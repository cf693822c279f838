"""SW03x: the model mixes the rows of a batch."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES = (
    Entry(
        "SW030",
        "the model mixes rows",
        """
A compiled program scores each row on its own: the score must be the same whatever else is in the
call. The step named in the error reads several rows at once (a mean or softmax over the batch, a
product of all rows with all rows, a shift of the rows), so that no program for one row exists.
Often an axis is wrong by accident: attention fed [batch, items, width] without `batch_first=True`
attends over the batch.
""",
        """
def forward(self, x):                 # [batch, features]
    x = x - x.mean(dim=0)             # averages over the batch
    return self.mlp(x)
""",
        """
def forward(self, x):
    x = x - self.running_mean         # learned in training, the same for every call
    return self.mlp(x)
""",
    ),
    Entry(
        "SW031",
        "the position of a row in the batch is used as a number",
        """
`torch.arange(batch)` may be used to pick the own row (`x[torch.arange(batch), last]`), multiplied
by a constant and shifted within the row where rows are merged with another axis. Any other use
makes the score of a row depend on where in the call it stands.
""",
        """
def forward(self, x):                                   # [batch, features]
    position = torch.arange(x.shape[0])
    return self.mlp(x) * position[:, None]
""",
        """
def forward(self, x, position):                         # the caller says it, as a feature
    return self.mlp(x) * position[:, None]
""",
    ),
    Entry(
        "SW032",
        "a constant has the batch in its shape",
        """
Export has stored a value computed from the example inputs as a constant whose size is the batch.
The constant is wrong for every other call. This happens where a computation hides behind `.data`.
""",
        """
def forward(self, history):                             # [batch, length]
    mask = history.data.eq(0)
    return self.encode(history, mask)
""",
        """
def forward(self, history):
    mask = history.eq(0)
    return self.encode(history, mask)
""",
    ),
    Entry(
        "SW033",
        "an input has two dynamic axes",
        """
Rows lie along one axis of an input, and only that one may be dynamic. A second size that differs
between calls must be padded to a bound.
""",
        """
swath.compile(model, (history,), dynamic_shapes=({0: batch, 1: length},))
""",
        """
swath.compile(model, (history_padded_to_50,), dynamic_shapes=({0: batch},))
""",
    ),
    Entry(
        "SW034",
        "an output has one element for each value of a ragged input",
        """
Ragged values (the ids of bags) can be looked up, weighted and pooled, but not returned: an output
has a fixed size for each row.
""",
        """
def forward(self, ids, offsets):
    return self.table(ids)
""",
        """
def forward(self, ids, offsets):
    return self.bag(ids, offsets)                       # one pooled vector a row
""",
    ),
)
