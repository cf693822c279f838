"""The typed graph: values, a closed set of semantic ops, text form, verifier, interpreter."""
