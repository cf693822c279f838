"""The rules of the pass `simplify`, by theme; each has its own before and after."""

from __future__ import annotations

from swath.passes.rewriter import Rule
from swath.passes.rules.arithmetic import ARITHMETIC_RULES
from swath.passes.rules.broadcasts import BROADCAST_RULES
from swath.passes.rules.casts import CAST_RULES
from swath.passes.rules.chains import CHAIN_RULES
from swath.passes.rules.concats import CONCAT_RULES
from swath.passes.rules.products import PRODUCT_RULES
from swath.passes.rules.ranges import RANGE_RULES
from swath.passes.rules.reductions import REDUCTION_RULES
from swath.passes.rules.reshapes import RESHAPE_RULES
from swath.passes.rules.views import VIEW_RULES

SIMPLIFY_RULES: tuple[Rule, ...] = (
    *CAST_RULES,
    *VIEW_RULES,
    *CHAIN_RULES,
    *PRODUCT_RULES,
    *CONCAT_RULES,
    *RANGE_RULES,
    *BROADCAST_RULES,
    *REDUCTION_RULES,
    *RESHAPE_RULES,
    *ARITHMETIC_RULES,
)
