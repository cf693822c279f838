"""The artefact: a folder with manifest, graph text, generated source, libraries, weights, tables.

    manifest     what the compiler states and the runtime relies on
    contents     what the compiler hands over; `weights` lays out the weights
    writer       writes an artefact
    reader       checks and reads one
    publish      puts a folder in its place, whole or not at all
    envelope, consistency, tables    the parts of the format

Nothing is exported here: reading an artefact must not import what writing one needs (NumPy).
"""
