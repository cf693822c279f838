"""Rewrites of graphs in row form; pipeline.py has their order."""
