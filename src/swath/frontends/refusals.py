"""Why ops that have no rule are refused, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from swath.errors import InternalError, Problem
from swath.frontends.unsupported import Unsupported, where
from swath.graph.ir import Origin
from swath.graph.types import TensorType

_RANDOM = (
    "SW011",
    "draws random numbers",
    "the same input must always give the same score",
    "draw the numbers outside of the model and pass them as an input, or use the expected value",
)
_DATA_SIZE = (
    "SW010",
    "has an output size that depends on the data",
    "output sizes must follow from input sizes",
    "pad to a bound and mask (torch.where(mask, x, 0)), or move this step into feature preparation",
)
_HOST = (
    "SW006",
    "turns a tensor into a Python number",
    "the number is known only when the model runs, so the program can't follow from it",
    "keep the tensor: index, compare and select with torch operations (torch.where, gather)",
)
_TRAINING = (
    "SW012",
    "only serves training",
    "a compiled program only scores",
    "return the scores alone in eval mode; compute losses and gradients outside of forward",
)
_STATE = (
    "SW017",
    "changes the state of the model",
    "a compiled program has no state: calls may run at the same time, in any order",
    "keep such state outside of the model and pass it as an input",
)

_GROUPS: Mapping[tuple[str, str, str, str], tuple[str, ...]] = {
    _RANDOM: (
        "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
        "bernoulli", "multinomial", "normal", "uniform", "exponential", "random", "poisson",
        "native_dropout", "rrelu", "rrelu_with_noise", "geometric", "cauchy", "log_normal",
        "gumbel_softmax", "binomial", "bernoulli_", "normal_", "uniform_", "exponential_",
        "random_", "geometric_", "cauchy_", "log_normal_", "dropout", "dropout_",
        "alpha_dropout", "feature_dropout", "normal_functional",
    ),
    _DATA_SIZE: (
        "nonzero", "nonzero_numpy", "unique_dim", "_unique", "_unique2", "unique_consecutive",
        "unique_dim_consecutive", "masked_select", "argwhere", "bincount", "histc",
        "repeat_interleave",
    ),
    _HOST: ("item", "_local_scalar_dense", "is_nonzero", "equal", "allclose"),
    _TRAINING: (
        "cross_entropy_loss", "nll_loss", "nll_loss_nd", "binary_cross_entropy",
        "binary_cross_entropy_with_logits", "kl_div", "smooth_l1_loss", "huber_loss",
        "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "ctc_loss",
        "embedding_renorm_", "hinge_embedding_loss", "soft_margin_loss", "poisson_nll_loss",
    ),
}  # fmt: skip


_CONTROL_FLOW = ("cond", "while_loop", "scan", "map_impl", "associative_scan")


def refused_by_name(key: str) -> Unsupported | None:
    """The refusal of an op that is known to have no place in a compiled program."""
    name = key.split(".")[1] if key.startswith("aten.") else key
    for (id, what, why, fix), names in _GROUPS.items():
        if name in names:
            return Unsupported(id, f"`{key}` {what}", why, fix)
    return None


def missing_rule(key: str) -> Unsupported:
    """The refusal of an op that has no rule."""
    if key.rsplit(".", 1)[-1] in _CONTROL_FLOW:
        return branch_on_data()
    return refused_by_name(key) or Unsupported(
        "SW004",
        f"`{key}` is not supported",
        "Swath compiles a closed set of operations and has no rule for this one",
        "write this step with supported operations, or move it out of the model",
    )


def branch_on_data() -> Unsupported:
    """Python decides by the value of a tensor."""
    return Unsupported(
        "SW005",
        "Python branches on the value of a tensor",
        "the program is traced once, for all inputs: it can't hold an `if`, `while` or `assert` "
        "whose outcome differs from row to row",
        "compute both sides and choose with torch.where(condition, a, b); drop asserts on data",
    )


def host_number(name: str) -> Unsupported:
    """Python takes a number out of a tensor."""
    id, _, why, fix = _HOST
    return Unsupported(id, f"`.{name}()` turns a tensor into a Python number", why, fix)


def numpy_in_forward() -> Unsupported:
    """NumPy computes within forward."""
    return Unsupported(
        "SW007",
        "NumPy computes in forward",
        "tracing sees torch operations only: what NumPy computes would be frozen as a constant",
        "use torch's function of the same name (np.tile -> torch.tile, np.arange -> torch.arange)",
    )


def packed_sequence() -> Unsupported:
    """A recurrent layer runs over a packed sequence."""
    return Unsupported(
        "SW008",
        "a packed sequence is used",
        "packing sorts and regroups the rows by their lengths, which depend on the data",
        "run the recurrent layer on the padded batch and take the state at each row's length: "
        "out.gather(1, (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, out.shape[2]))",
    )


def forward_fails(error: BaseException) -> Unsupported:
    """The model itself raises on the example."""
    return Unsupported(
        "SW018",
        f"the model fails on the example inputs: {type(error).__name__}: {first_line(error)}",
        "the example must be a call that the model can answer",
        "call model(*example_inputs) and correct what it reports",
    )


def misfit_shapes(error: BaseException) -> Unsupported:
    """The dynamic shapes don't fit the example."""
    return Unsupported(
        "SW002",
        f"dynamic_shapes don't fit the example inputs: {first_line(error)}",
        "they have the structure of the arguments, with the free axes of each tensor",
        "leave dynamic_shapes out if the leading axis of every tensor is the batch",
    )


def export_fails(error: BaseException) -> Unsupported:
    """Tracing fails in a way that we know no more of."""
    return Unsupported(
        "SW003",
        f"torch.export can't trace the model: {type(error).__name__}: {first_line(error)}",
        "Swath compiles what torch.export traces",
        "make torch.export.export(model, example_inputs) work, or leave this step out of forward",
    )


def first_line(error: BaseException) -> str:
    """The first line of an exception's text."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def state_changed(what: str) -> Unsupported:
    """A parameter or buffer is written."""
    id, text, why, fix = _STATE
    return Unsupported(id, f"`{what}` {text}", why, fix)


def no_half_arithmetic(key: str, dtype: str) -> Unsupported:
    """Arithmetic in half precision."""
    return Unsupported(
        "SW014",
        f"`{key}` computes in {dtype.removeprefix('torch.')}",
        "half precision is only supported for stored tables that are widened before they are used",
        "call model.float() before compiling, and remove autocast and .half() from forward",
    )


def rule_defect(key: str, made: TensorType, stated: TensorType, origin: Origin) -> InternalError:
    """A rule gave another type than torch states."""
    return InternalError(
        Problem(
            "SW921",
            f"the rule of `{key}` gave {made} where torch states {stated}",
            "element type and shape of every imported value must be those of the model",
            "rule developer: correct the rule in frontends/rules",
            where(origin),
        )
    )
