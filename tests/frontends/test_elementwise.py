"""Element-wise ops and type promotion agree with eager."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as everybody names it

from tests.frontends.agreement import Cases, One, Two, agree

T: Any = torch  # functions that torch annotates only in part

UNARY: One = {
    name: getattr(torch, name)
    for name in (
        "abs", "neg", "sign", "floor", "ceil", "trunc", "round", "exp", "expm1", "sin", "cos",
        "tan", "tanh", "sinh", "cosh", "atan", "erf", "erfc", "sigmoid", "square", "isnan",
        "isinf", "isfinite", "frac", "exp2", "positive", "relu", "logical_not", "nan_to_num",
        "selu", "reciprocal",
    )
}  # fmt: skip
POSITIVE: One = {
    name: getattr(torch, name) for name in ("log", "log1p", "log2", "log10", "sqrt", "rsqrt")
}
NAMED: One = {
    name: getattr(F, name)
    for name in (
        "silu",
        "gelu",
        "softplus",
        "logsigmoid",
        "elu",
        "celu",
        "hardtanh",
        "relu6",
        "mish",
        "hardsigmoid",
        "hardswish",
        "softsign",
        "tanhshrink",
        "hardshrink",
        "softshrink",
        "glu",
        "leaky_relu",
    )
}
ARGUMENTS: One = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus_beta": lambda x: F.softplus(x, 3.0, 2.0),
    "threshold": lambda x: F.threshold(x, 0.1, -2.0),
    "prelu_one": lambda x: F.prelu(x, torch.tensor([0.3])),
    "prelu_channel": lambda x: F.prelu(x, torch.linspace(0, 1, 6)),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "elu_alpha": lambda x: F.elu(x, 0.7),
}  # fmt: skip


def numbers(batch: int) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 6) * 2,)


def test_unary_functions_agree() -> None:
    agree(Cases(UNARY), numbers)


def test_functions_of_positive_numbers_agree() -> None:
    agree(Cases(POSITIVE), lambda batch: (torch.rand(batch, 6) + 0.01,))


def test_activations_agree() -> None:
    agree(Cases(NAMED | ARGUMENTS), numbers)


def test_special_values_go_through() -> None:
    special = torch.tensor([[math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0]])
    cases = Cases(
        {
            "clamp": lambda x: x.clamp(-1, 1),
            "maximum": lambda x: torch.maximum(x, x.flip(1)),
            "fmax": lambda x: torch.fmax(x, x.flip(1)),
            "fmin": lambda x: torch.fmin(x, x.flip(1)),
            "nan_to_num": lambda x: torch.nan_to_num(x, 1.0, 2.0, -2.0),
            "isnan": torch.isnan,
            "isinf": torch.isinf,
            "isfinite": torch.isfinite,
            "relu": torch.relu,
            "where": lambda x: torch.where(x > 0, x, 0.0),
            "masked_fill": lambda x: x.masked_fill(x.isnan(), 3.0),
        }
    )
    agree(cases, lambda batch: (special.repeat(batch, 1),))


def pairs(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 6), torch.randn(batch, 6)


def test_binary_functions_agree() -> None:
    cases: Two = {
        name: getattr(torch, name)
        for name in (
            "add", "sub", "mul", "div", "maximum", "minimum", "atan2", "remainder", "fmod",
            "floor_divide", "hypot", "logaddexp", "eq", "ne", "lt", "le", "gt", "ge",
            "logical_and", "logical_or", "logical_xor", "rsub", "greater_equal", "less",
        )
    }  # fmt: skip
    cases |= {
        "add_alpha": lambda a, b: torch.add(a, b, alpha=2.5),
        "sub_alpha": lambda a, b: torch.sub(a, b, alpha=3),
        "rsub_scalar": lambda a, _: 1 - a,
        "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
        "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        "lerp": lambda a, b: torch.lerp(a, b, 0.3),
        "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
        "addcdiv": lambda a, b: torch.addcdiv(a, a, b.abs() + 1, value=0.5),
        "where": lambda a, b: torch.where(a > b, a, b),
        "where_scalar": lambda a, b: torch.where(a > b, a, -1),
        "masked_fill": lambda a, b: a.masked_fill(b > 0, -1e9),
        "clamp_tensor": lambda a, b: a.clamp(b, b + 1),
        "cosine": lambda a, b: F.cosine_similarity(a, b),
        "cosine_last": lambda a, b: F.cosine_similarity(a, b, dim=-1, eps=0.5),
        "xlogy": lambda a, b: torch.xlogy(a, b.abs()),
        "min_other": lambda a, b: T.min(a, b),
        "broadcast": lambda a, b: a[:, None, :] * b[:, :, None],
    }
    agree(Cases(cases), pairs)


def test_powers_agree() -> None:
    exponents = (0, 0.5, 1, 1.5, 2, 3, 4, -0.5, -1, -2)
    cases: One = {f"pow_{p}": lambda x, p=p: x**p for p in exponents}
    cases |= {
        "base": lambda x: 2**x,
        "both": lambda x: torch.pow(x, x),
        "ints": lambda x: (x * 9).long() ** 3,
    }
    agree(Cases(cases), lambda batch: (torch.rand(batch, 5) + 0.1,), tolerance=1e-5)


TYPES: One = {
    "f32": lambda x: x,
    "f64": lambda x: x.double(),
    "i64": lambda x: (x * 5).long(),
    "i32": lambda x: (x * 5).int(),
    "i16": lambda x: (x * 5).short(),
    "i8": lambda x: (x * 5).to(torch.int8),
    "u8": lambda x: (x.abs() * 5).to(torch.uint8),
    "bool": lambda x: x > 0,
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_are_promoted_as_in_eager(kind: str) -> None:
    make = TYPES[kind]
    cases: One = {}
    for other, made in TYPES.items():
        cases[f"add_{other}"] = lambda x, made=made: make(x) + made(x)
        cases[f"eq_{other}"] = lambda x, made=made: make(x) == made(x)
        cases[f"mul_0d_{other}"] = lambda x, made=made: make(x) * made(torch.tensor(2.0))
        cases[f"where_{other}"] = lambda x, made=made: torch.where(x > 0, make(x), made(x))
    cases |= {
        "plus_int": lambda x: make(x) + 1,
        "times_float": lambda x: make(x) * 0.5,
        "over_int": lambda x: make(x) / 2,
        "greater": lambda x: make(x) > 0.5,
        "sum": lambda x: make(x).sum(1),
        "exp": lambda x: torch.exp(make(x)),
        "to_bool": lambda x: make(x).bool(),
        "cat": lambda x: torch.cat([make(x), x], 1),
    }
    agree(Cases(cases), lambda batch: (torch.randn(batch, 4),))


def test_integer_arithmetic_agrees() -> None:
    cases: Two = {
        "floor": lambda a, b: a // b,
        "div": lambda a, b: a / b,
        "trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
        "remainder": lambda a, b: a % b,
        "fmod": torch.fmod,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "not": lambda a, _: ~a,
        "left": lambda a, _: a << 3,
        "right": lambda a, _: a >> 2,
        "bools": lambda a, b: ((a > 0) & ~(b > 2)) | (a < b) ^ (a > b),
        "bool_plus": lambda a, b: (a > 0) + (b > 0),
        "bool_times": lambda a, b: (a > 0) * (b > 0),
        "clamp": lambda a, _: a.clamp(-2, 3),
        "floor_of_int": lambda a, _: torch.floor(a),
    }

    def make(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
        divisor = torch.randint(1, 5, (batch, 6)) * (1 - 2 * torch.randint(0, 2, (batch, 6)))
        return torch.randint(-20, 20, (batch, 6)), divisor

    agree(Cases(cases), make)
