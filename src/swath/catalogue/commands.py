"""SW4xx: a command names something that isn't there."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW401",
        "a model is named in a way that can't be read",
        "A model is named by the factory that makes it, as `package.module:factory` or"
        " `file.py:factory`, or by a `.pt2` file that torch.export.save wrote. Dots behind the"
        " colon walk attributes and mappings: `module:MODELS.DeepFM`.",
        "swath check model.py",
        "swath check model.py:make",
    ),
    Entry(
        "SW402",
        "the module or file of a model isn't there, or fails when it is imported",
        "Modules are looked up in the current folder and in the environment of the `swath` that"
        " runs.",
        "swath check models.deepfm:make    # in a folder without models/deepfm.py",
        "cd where-models-is && swath check models.deepfm:make",
    ),
    Entry(
        "SW403",
        "the module has no such factory",
        "What stands behind the colon is an attribute of the module, or of what the names before it"
        " lead to, or a key of a mapping.",
        "swath check model.py:mkae",
        "swath check model.py:make",
    ),
    Entry(
        "SW404",
        "the factory failed",
        "The factory is called without arguments. It raised the exception that is shown.",
        "def make(path):\n    return load(path), example",
        'def make():\n    return load("weights.pt"), example',
    ),
    Entry(
        "SW405",
        "the factory returned something else than a model and its example inputs",
        "A factory returns `(model, example_inputs)`: an `nn.Module` (it is put into eval mode) or"
        " an ExportedProgram, and a tuple of positional arguments, a dict of keyword arguments, or"
        " a pair of both. Behind these it may return the dynamic shapes of torch.export, and a"
        " function `make_inputs(batch, seed)` that draws inputs.",
        "def make():\n    return Model()",
        "def make():\n    return Model(), (torch.zeros(8, 39),)",
    ),
    Entry(
        "SW406",
        "a saved program holds no example inputs",
        "Rows to compare and to bench are made from example inputs, which torch.export.save keeps"
        " beside the program unless they were removed.",
        "program.example_inputs = None\ntorch.export.save(program, path)",
        "torch.export.save(torch.export.export(model, example_inputs), path)",
    ),
    Entry(
        "SW407",
        "no rows can be made of the example inputs or of the given file",
        "Rows are drawn from the example inputs, which must hold at least one. A file of inputs"
        " (`--inputs`) is an .npz with one array for each input, under the names that `swath"
        " inspect` shows, all for the same number of rows.",
        'np.savez("rows.npz", x=ids)          # the model has inputs `ids` and `dense`',
        'np.savez("rows.npz", ids=ids, dense=dense)',
    ),
    Entry(
        "SW408",
        "there is no such error",
        "`swath explain` without an id lists all of them.",
        "swath explain SW000",
        "swath explain SW113",
    ),
    Entry(
        "SW410",
        "an artefact holds no report of its compilation",
        "`swath inspect` reads what the compiler did from report.json in the artefact. Artefacts"
        " that were written by hand, or by another version, may have none.",
        "swath inspect by_hand.swath --passes",
        "swath inspect model.py:make --passes",
    ),
    Entry(
        "SW411",
        "there is no kernel or step of that name",
        "Kernels are named by their number or by their function in the source, steps by the name of"
        " a pass, `import` or `debatch`.",
        "swath inspect model.swath --kernel 99",
        "swath inspect model.swath --kernels",
    ),
    Entry(
        "SW412",
        "a model fails in eager PyTorch on the rows to compare",
        "Random rows mix the columns of the example inputs, which some models can't take: a length"
        " beyond its sequence, say. The rows can be given instead.",
        "swath compare model.py:make    # make returns (model, example_inputs)",
        "swath compare model.py:make    # make returns (model, example_inputs, make_inputs)",
    ),
)
