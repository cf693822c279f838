"""Models to try swath on, each a factory that the command line takes."""
