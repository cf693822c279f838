"""All ops by name."""

from __future__ import annotations

from collections.abc import Mapping

from swath.graph.ops.attention import Attention
from swath.graph.ops.base import Op
from swath.graph.ops.convolution import Convolution, Pool
from swath.graph.ops.create import Fill, Iota
from swath.graph.ops.elementwise import Binary, Cast, Unary, Where
from swath.graph.ops.indexing import Gather, Index, IndexPut, Scatter
from swath.graph.ops.linear import Linear, MatMul
from swath.graph.ops.lookup import Embedding, EmbeddingBag, LookupGroup
from swath.graph.ops.norm import BatchNorm, LayerNorm, RmsNorm
from swath.graph.ops.order import Sort, TopK
from swath.graph.ops.reduce import ArgReduce, Cumulative, Reduce, Softmax
from swath.graph.ops.views import Concat, Expand, Permute, Reshape, Slice, Take

OP_TYPES: tuple[type[Op], ...] = (
    Unary, Binary, Where, Cast,
    Reshape, Permute, Slice, Take, Expand, Concat,
    Fill, Iota,
    Reduce, ArgReduce, Softmax, Cumulative, Sort, TopK,
    Linear, MatMul, Convolution, Pool, Attention,
    Embedding, LookupGroup, EmbeddingBag,
    Index, IndexPut, Gather, Scatter,
    BatchNorm, LayerNorm, RmsNorm,
)  # fmt: skip

OPS: Mapping[str, type[Op]] = {op.name: op for op in OP_TYPES}
