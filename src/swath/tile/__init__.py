"""The loop-level program: buffers, strided views, expressions, kernels."""
