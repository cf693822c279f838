"""SW2xx: an artefact is damaged, foreign or can't be written."""

from __future__ import annotations

from swath.errors import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "SW201",
        "a path doesn't lead to an artefact",
        "An artefact is a folder with a file manifest.json, written by `program.save(path)` or"
        " `swath compile`.",
        'swath.load("model.pt2")',
        'swath.load("model.swath")',
    ),
    Entry(
        "SW202",
        "a file of the artefact is missing or cut",
        "The manifest states the size of every file. An interrupted copy is the usual cause.",
        "cp -r model.swath/lib model.swath/manifest.json elsewhere.swath/",
        "cp -r model.swath elsewhere.swath",
    ),
    Entry(
        "SW203",
        "a file of the artefact was altered",
        "The manifest states the SHA-256 of every file. Tables beyond 64 MB are checked by size and"
        ' header when an artefact is loaded, and in full by `verify="full"` and `swath verify`.',
        "editing model.swath/weights.safetensors",
        "compile the changed model again",
    ),
    Entry(
        "SW204",
        "the artefact has another version of the format or of the ABI",
        "An artefact is read by versions of swath that know its format.",
        "an artefact of a newer swath, loaded by this one",
        "pip install --upgrade swath",
    ),
    Entry(
        "SW205",
        "the manifest is damaged",
        "manifest.json begins with the SHA-256 of the rest; no byte of it may change.",
        "editing model.swath/manifest.json",
        "compile the model again with other options",
    ),
    Entry(
        "SW206",
        "the manifest contradicts itself",
        "Its bytes are those that were written, but they describe something impossible, such as an"
        " output outside of the weights. The writer of the artefact has a defect.",
        "an artefact of another program that imitates the format",
        "an artefact written by swath",
    ),
    Entry(
        "SW207",
        "something is in the way",
        "An artefact is replaced only when that is asked for, and nothing but an artefact or an"
        " empty folder is ever replaced.",
        'program.save("model.swath")    # exists',
        'program.save("model.swath", overwrite=True)',
    ),
    Entry(
        "SW208",
        "an artefact can't be written",
        "It is written beside its place and moved there when it is whole, so that the parent folder"
        " must exist and may be written to.",
        'program.save("missing/model.swath")',
        'Path("missing").mkdir()\nprogram.save("missing/model.swath")',
    ),
    Entry(
        "SW210",
        "a library or file of the artefact can't be opened",
        "The digests are right, yet the system can't load the library: it was built for another"
        " system, or the folder is mounted without the right to execute.",
        "an artefact on a file system mounted with noexec",
        "an artefact on another file system",
    ),
)
