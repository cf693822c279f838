"""The artefact: a folder `name.swath/` with manifest, graph text, generated source, libraries, weights and tables."""
