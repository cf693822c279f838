"""SW0xx: the model can't be imported or compiled."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW001",
        "the model is in training mode",
        """
In training mode dropout drops elements at random and batch normalisation takes the mean of the
batch. A program only scores, so it is made from the model in eval mode. The error names the
submodules whose mode is wrong: calling `eval()` on the whole model sets them all.
""",
        """
model = MyModel(); model.load_state_dict(state)
program = swath.compile(model, example_inputs)
""",
        """
model = MyModel(); model.load_state_dict(state)
program = swath.compile(model.eval(), example_inputs)
""",
    ),
    Entry(
        "SW002",
        "the example inputs don't fit the model",
        """
The model is traced with the example inputs. They are a tuple of positional arguments, a dict of
keyword arguments, or a pair of both, as `forward` takes them. The names in `inputs=` are those of
`forward`, with the path inside of nested arguments: `x`, `x.user_id`, `x[0]`.
""",
        """
class Model(nn.Module):
    def forward(self, dense, ids): ...
swath.compile(model, {"dense": dense, "id": ids})
""",
        """
class Model(nn.Module):
    def forward(self, dense, ids): ...
swath.compile(model, {"dense": dense, "ids": ids})
""",
    ),
    Entry(
        "SW003",
        "torch.export can't trace the model",
        """
Swath reads models through torch.export, which has failed in a way that swath knows no more about.
The text is the one of torch.export; calling it alone gives the whole traceback.
""",
        """
class Model(nn.Module):
    def forward(self, x):
        return self.client.lookup(x)           # a call to another service
""",
        """
class Model(nn.Module):
    def forward(self, x, looked_up):           # the caller looks it up and passes it
        return self.mlp(torch.cat([x, looked_up], 1))
""",
    ),
    Entry(
        "SW004",
        "an operation is not supported",
        """
Swath compiles a closed set of operations; most of PyTorch is a composition of them, but this one
is not.
""",
        """
def forward(self, x):
    return torch.linalg.matrix_exp(x)
""",
        """
def forward(self, x):                          # a composition of supported operations
    return torch.eye(4) + x + x @ x / 2 + x @ x @ x / 6
""",
    ),
    Entry(
        "SW005",
        "Python branches on the value of a tensor",
        """
The model is traced once, for all inputs: the program can't hold an `if`, `while` or `assert` whose
outcome depends on the data. Compute both sides and choose element by element.
""",
        """
def forward(self, x, history):
    if (history > 0).any():
        x = x + self.pool(history)
    return self.mlp(x)
""",
        """
def forward(self, x, history):
    some = (history > 0).any(dim=1, keepdim=True)      # one answer a row
    x = torch.where(some, x + self.pool(history), x)
    return self.mlp(x)
""",
    ),
    Entry(
        "SW006",
        "a tensor is turned into a Python number",
        """
`.item()`, `int(x)`, `float(x)` and `.tolist()` take a number out of a tensor. It is known only when
the model runs, so that nothing in the program can follow from it. A number that is fixed when the
model is built belongs into a Python attribute.
""",
        """
def forward(self, x, position):
    return x[:, position.item()]
""",
        """
def forward(self, x, position):
    return x.gather(1, position)
""",
    ),
    Entry(
        "SW007",
        "NumPy computes in forward",
        """
Tracing sees torch operations. What NumPy computes from a tensor or from the size of the batch would
be frozen as a constant that is right for the example alone.
""",
        """
def forward(self, ids):
    positions = np.tile(np.arange(ids.shape[1]), [ids.shape[0], 1])
    return self.table(torch.as_tensor(positions))
""",
        """
def forward(self, ids):
    positions = torch.arange(ids.shape[1]).expand(ids.shape[0], -1)
    return self.table(positions)
""",
    ),
    Entry(
        "SW008",
        "a packed sequence is used",
        """
`pack_padded_sequence` sorts the rows by their lengths and cuts the batch anew at each step, which
depends on the data. The recurrent layer on the whole padded batch gives the same state at the real
end of each row, since later steps can't change earlier outputs.
""",
        """
packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
_, state = self.gru(packed)
""",
        """
out, _ = self.gru(x)                                   # [batch, time, width]
last = (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, out.shape[2])
state = out.gather(1, last).squeeze(1)
state = torch.where(lengths.view(-1, 1) > 0, state, 0)
""",
    ),
    Entry(
        "SW009",
        "the model ties the batch to certain sizes",
        """
A compiled program takes any number of rows. Here Python code has used the size of the batch as a
number: a list repeated by it, a loop over the rows, `len(x)`, NumPy, a comparison, or a size that
is written into the code. The traced program would only work for the example's batch.
""",
        """
def forward(self, x):
    ones = torch.tensor([[1.0]] * x.shape[0])
    return torch.cat([x, ones], 1)
""",
        """
def forward(self, x):
    ones = x.new_ones(x.shape[0], 1)
    return torch.cat([x, ones], 1)
""",
    ),
    Entry(
        "SW010",
        "the size of a tensor depends on the data",
        """
All sizes must follow from the sizes of the inputs: memory is planned before the first call, and
each row has a part of its own. Selecting by a mask, `nonzero` and `unique` have results whose size
is known only afterwards. Keep the full size and mask what doesn't count.
""",
        """
def forward(self, values, mask):
    return values[mask].sum()
""",
        """
def forward(self, values, mask):
    return torch.where(mask, values, 0).sum(dim=1)
""",
    ),
    Entry(
        "SW011",
        "the model draws random numbers",
        """
The same input must always give the same score. Dropout that is called as a function drops in eval
mode too unless it is told the mode.
""",
        """
def forward(self, x):
    return self.out(F.dropout(x, 0.5))
""",
        """
def forward(self, x):
    return self.out(F.dropout(x, 0.5, training=self.training))
""",
    ),
    Entry(
        "SW012",
        "a step only serves training",
        """
Losses, and normalisations that take the statistics of the batch, make a score depend on the other
rows of the call. A program only scores.
""",
        """
self.norm = nn.BatchNorm1d(64, track_running_stats=False)
""",
        """
self.norm = nn.BatchNorm1d(64)                 # uses the running statistics in eval mode
""",
    ),
    Entry(
        "SW013",
        "the size of the batch is used as a number",
        """
The score of a row must not depend on how many rows the call has. The size of the batch may stand in
shapes (`reshape`, `zeros`), not in arithmetic.
""",
        """
def forward(self, x):
    return self.mlp(x) / x.shape[0]
""",
        """
def forward(self, x):
    return self.mlp(x) / self.scale
""",
    ),
    Entry(
        "SW014",
        "an element type or layout is not supported",
        """
Values are float32, float64, integers or bool. Tables may be stored in half precision if they are
widened before anything is computed with them. Complex, quantised and sparse tensors aren't
supported.
""",
        """
model.half()
swath.compile(model, (dense.half(), ids))
""",
        """
model.float()
swath.compile(model, (dense.float(), ids))
""",
    ),
    Entry(
        "SW015",
        "inputs have several sizes that vary",
        """
One size may vary from call to call: the batch, which every input shares. The values of bags (one
flat list for all rows, cut by offsets) may vary too if an `nn.EmbeddingBag` uses them or they are
declared. Other sizes, such as the length of sequences, must be fixed.
""",
        """
swath.compile(model, (dense, ids, offsets),
              dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
""",
        """
swath.compile(model, (dense, ids, offsets),
              dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
              inputs={"ids": swath.Input(ragged="offsets")})
""",
    ),
    Entry(
        "SW017",
        "the model changes its own state",
        """
A compiled program has no state: calls may run at the same time and in any order, and all share the
weights, which are read-only.
""",
        """
def forward(self, x):
    self.seen += x.sum(0)
    return self.mlp(x - self.seen)
""",
        """
def forward(self, x, seen):                    # the caller keeps it
    return self.mlp(x - seen)
""",
    ),
    Entry(
        "SW018",
        "the model fails on the example inputs",
        """
Tracing has failed because the model itself raises an error when it is called with the example
inputs. The error says at which line.
""",
        """
model = nn.Linear(10, 1).eval()
swath.compile(model, (torch.randn(4, 9),))
""",
        """
model = nn.Linear(10, 1).eval()
swath.compile(model, (torch.randn(4, 10),))
""",
    ),
    Entry(
        "SW019",
        "no input has a batch axis",
        """
An exported program whose sizes are all fixed scores exactly the batch of its example. Export it
with a free batch, or give swath the module: it then frees the leading axis of all inputs.
""",
        """
exported = torch.export.export(model, (x,))
swath.compile(exported)
""",
        """
exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
swath.compile(exported)
""",
    ),
    Entry(
        "SW020",
        "an operation is not supported with these arguments",
        """
The operation is supported, but not in this form. The error names the argument.
""",
        """
torch.nn.functional.max_pool1d(x, 3, dilation=2)
""",
        """
x[..., ::2].unfold(-1, 3, 1).amax(-1)
""",
    ),
    Entry(
        "SW021",
        "an input or output has an unsupported structure",
        """
Inputs and outputs are tensors in tuples, lists, dicts with string keys, named tuples and registered
data classes, next to fixed numbers, strings and None. Sizes of the batch can't be outputs.
""",
        """
def forward(self, x):
    return {0: self.click(x), 1: self.buy(x)}
""",
        """
def forward(self, x):
    return {"click": self.click(x), "buy": self.buy(x)}
""",
    ),
    Entry(
        "SW022",
        "a saved program can't be read",
        """
A `.pt2` file is written by `torch.export.save` and read by the same version of torch. It is not a
file of `torch.save`, whose pickles swath never reads.
""",
        """
torch.save(model, "model.pt2")
""",
        """
torch.export.save(torch.export.export(model, args, dynamic_shapes=shapes), "model.pt2")
""",
    ),
    Entry(
        "SW023",
        "an operation works along the batch axis",
        """
Rows must not depend on one another or on their number: the batch can't be cut, joined, sorted,
shifted or padded within the model.
""",
        """
def forward(self, x):
    first, second = x.chunk(2, dim=0)          # pairs of rows
    return self.mlp(first - second)
""",
        """
def forward(self, first, second):              # two inputs
    return self.mlp(first - second)
""",
    ),
    Entry(
        "SW024",
        "this is no model that can be read",
        """
Swath reads an `nn.Module` (through torch.export), an `ExportedProgram`, or the path of a saved one.
TorchScript isn't read: it is no longer maintained, and has lost how the model was written.
""",
        """
swath.compile(torch.jit.script(model), example_inputs)
""",
        """
swath.compile(model, example_inputs)
""",
    ),
)
