"""SW1xx: the inputs of a call don't fit the program."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW101",
        "an input is missing",
        "Inputs go by position or by name, as in the model's `forward`. Only parameters without any"
        " array in them (fixed numbers, strings, None) may be left out.",
        "program(user_ids)",
        "program(user_ids, item_ids)",
    ),
    Entry(
        "SW102",
        "an input too many, under an unknown name, or twice",
        "The names are those of the model's `forward`; `program.manifest.parameters` lists them.",
        "program(ids, item=dense)",
        "program(ids, dense=dense)",
    ),
    Entry(
        "SW103",
        "an input nests in another way than the example inputs did",
        "Lists, tuples and dicts keep the structure that they had when the model was compiled."
        " Lists and tuples may stand for each other; a dict must have exactly the same keys.",
        'program({"user": ids})',
        'program({"user": ids, "item": items})',
    ),
    Entry(
        "SW104",
        "a fixed argument has another value than it was compiled for",
        "Numbers, strings and None among the example inputs become part of the program.",
        "program = swath.compile(model, (x, 5))\nprogram(x, 6)",
        "program = swath.compile(model, (x, 6))\nprogram(x, 6)",
    ),
    Entry(
        "SW105",
        "an input isn't an array whose memory can be read",
        "Inputs are NumPy arrays, torch tensors, or objects with `__dlpack__` on the CPU. Lists and"
        " data frames would be copied, and their dtype guessed, in every call; masked arrays would"
        " lose their mask; sparse tensors have no memory that a program could walk.",
        "program([[1, 2], [3, 4]])",
        "program(np.asarray([[1, 2], [3, 4]], dtype=np.int64))",
    ),
    Entry(
        "SW106",
        "an input has the wrong dtype",
        "Dtypes are fixed when a model is compiled. NumPy makes float64 and int64 by default, most"
        " models take float32: convert once, where the array is made. Byte-swapped arrays count as"
        " another dtype.",
        "program(np.random.rand(8, 39))",
        "program(np.random.rand(8, 39).astype(np.float32))",
    ),
    Entry(
        "SW107",
        "an input has the wrong number of axes",
        "A single row still has a batch axis, of length 1.",
        "program(row)          # shape [39]",
        "program(row[None])    # shape [1, 39]",
    ),
    Entry(
        "SW108",
        "an input has the wrong shape",
        "Only the batch axis may differ from the model; an axis on which k rows-per-row lie "
        "(written B*k) must be a multiple of k.",
        "program(x[:, :38])    # the model takes [B, 39]",
        "program(x)",
    ),
    Entry(
        "SW109",
        "inputs disagree about the number of rows",
        "All inputs with a batch axis have the same number of rows in one call.",
        "program(user[:1], items[:100])",
        "program(np.repeat(user[:1], 100, axis=0), items[:100])",
    ),
    Entry(
        "SW110",
        "an input lies on another device",
        "A program that was compiled for the CPU reads memory of the CPU.",
        'program(x.to("cuda"))',
        "program(x.cpu())",
    ),
    Entry(
        "SW111",
        "offsets don't cut their values into bags",
        "Offsets begin at 0, never decrease, and end within the values. They are checked at every"
        " call, in a copy, so that no lookup can ever leave its values.",
        "program(values, np.array([0, 5, 3]))",
        "program(values, np.array([0, 3, 5]))",
    ),
    Entry(
        "SW112",
        "columns that share offsets have different lengths",
        "Values and per-sample weights that the same offsets cut have one element for each other.",
        "program(ids[:10], weights[:9], offsets)",
        "program(ids[:10], weights[:10], offsets)",
    ),
    Entry(
        "SW113",
        "an id is outside of its table",
        "An id is a row of an embedding table. By default an id outside of the table fails the call"
        ' and is named. `swath.Input(ids="default_row")` sends such ids to one row of the table,'
        ' `ids="modulo"` takes them modulo the number of rows.',
        "program(np.array([[1_000_000]]))    # the table has 100 rows",
        "swath.compile(model, example_inputs,\n"
        '              inputs={"ids": swath.Input(ids="default_row", default_row=0)})',
    ),
    Entry(
        "SW114",
        "the program is closed",
        "`close()`, or the end of a `with` block, gives back the memory of a program. Calls that"
        " are running then finish; later ones are refused.",
        "with swath.load(path) as program:\n    ...\nprogram(x)",
        "with swath.load(path) as program:\n    program(x)",
    ),
    Entry(
        "SW115",
        "an array for an output can't take it",
        "`run_into` writes into arrays that the caller owns. They must be writable and "
        "C-contiguous, and have the dtype and shape of the output.",
        "program.run_into([x], [np.empty((8, 1))])",
        "program.run_into([x], [np.empty((8, 1), dtype=np.float32)])",
    ),
    Entry(
        "SW116",
        "a bfloat16 output was asked for as a NumPy array",
        "Outputs are of the kind of arrays that came in, and NumPy has no bfloat16.",
        "program(x.numpy())",
        "program(x)    # a torch tensor",
    ),
    Entry(
        "SW118",
        "an argument of load() has no meaning",
        '`verify` is "default" or "full"; `threads` is at least 1, or None for all CPUs.',
        "swath.load(path, threads=0)",
        "swath.load(path, threads=1)",
    ),
    Entry(
        "SW119",
        "a declaration of an input doesn't fit",
        "`swath.Input` declares what happens to ids outside of their table. It goes by the name of"
        " an input whose values, as they are or as whole numbers, are ids of a lookup; the default"
        " row lies in every table that they are looked up in.",
        'swath.compile(model, args, inputs={"dense": swath.Input(ids="modulo")})',
        'swath.compile(model, args, inputs={"item": swath.Input(ids="modulo")})',
    ),
    Entry(
        "SW120",
        "an option of the compiler has no meaning",
        "Numbers of rows and threads are 0 or more; targets are a tuple of at least one; the"
        " tolerance is an absolute and a relative one.",
        'swath.Options(targets="x86-64-v3")',
        'swath.Options(targets=("x86-64-v3",))',
    ),
    Entry(
        "SW121",
        "the model indexes outside of an axis",
        "Positions that a model computes from its inputs are checked before they are used. Negative"
        " ones count from the end.",
        "torch.gather(table, 1, index)    # index holds 7, table.shape[1] is 5",
        "torch.gather(table, 1, index.clamp(0, table.shape[1] - 1))",
    ),
)
