"""What `swath.Input` and `swath.Options` declare: policies of ids, and what can't be declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import swath
from swath.errors import InvalidInput
from tests.end_to_end.eager import BATCHES, Function, compare

ROWS = 50
OPTIONS = swath.Options(targets=("x86-64-v3",))
MODULO = swath.Input(ids="modulo")
FOURTH = swath.Input(ids="default_row", default_row=3)
OUTSIDE = (-1, ROWS, 2**40, -(2**63), 2**63 - 1)
LAYOUTS: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "one by one": lambda m, a, b: m.t(a) * 2 + m.t(b),
    "side by side": lambda m, a, b: m.t(torch.stack([a, b], 1)).flatten(1),
    "packed": lambda m, a, b: torch.cat([m.t(a), m.t(b), m.t(a + 0), m.t(b), m.t(a), m.t(b)], 1),
    "several lists": lambda m, a, b: torch.cat(
        [m.t(torch.stack([a, b, a], 1)).sum(1), m.t(torch.stack([b, b, a], 1)).sum(1)], 1
    ),
}


def shared_table(layout: Callable[[Any, Tensor, Tensor], Tensor]) -> nn.Module:
    return Function(layout, t=nn.Embedding(ROWS, 4)).eval()


def build(model: nn.Module, declared: Mapping[str, swath.Input] | None = None) -> swath.Program:
    ids = torch.arange(3)
    return swath.compile(
        model, (ids, ids), inputs={f"inputs_{n}": d for n, d in (declared or {}).items()},
        options=OPTIONS,
    )  # fmt: skip


def settled(ids: Tensor, declared: swath.Input) -> Tensor:
    if declared.ids == "modulo":
        return ids % ROWS
    return torch.where((ids < 0) | (ids >= ROWS), declared.default_row, ids)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_input_has_its_policy(layout: str) -> None:
    model = shared_table(LAYOUTS[layout])
    inside = torch.arange(len(OUTSIDE))
    outside = torch.tensor(OUTSIDE)
    program = build(model, {"0": MODULO, "1": FOURTH})
    with torch.no_grad():
        wanted = model(settled(outside, MODULO), settled(outside, FOURTH))
    torch.testing.assert_close(program(outside, outside), wanted)
    for declared, arguments in (("0", (inside, outside)), ("1", (outside, inside))):
        program = build(model, {declared: MODULO})
        with pytest.raises(InvalidInput, match="SW113"):
            program(*arguments)


@pytest.mark.parametrize("outside", OUTSIDE)
def test_without_a_policy_an_id_outside_fails(outside: int) -> None:
    program = build(shared_table(LAYOUTS["side by side"]))
    with pytest.raises(InvalidInput, match=rf"SW113.*{outside}"):
        program(torch.tensor([1, 2]), torch.tensor([3, outside]))


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"1": swath.Input(ids="default_row", default_row=ROWS)}, "the table has 50 rows"),
        ({"2": MODULO}, "has no input 'inputs_2'"),
        ({"0": "modulo"}, "is a str"),
    ],
)
def test_declarations_fit_the_model(declared: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"(?s)SW119.*{said}"):
        build(shared_table(LAYOUTS["one by one"]), declared)


def test_a_policy_is_for_ids() -> None:
    model = shared_table(lambda m, a, b: m.t(a * 2 + b))
    with pytest.raises(InvalidInput, match=r"SW119.*no lookup takes its ids"):
        build(model, {"0": MODULO})


def test_declarations_have_a_meaning() -> None:
    wrong: Any = "mod"
    with pytest.raises(InvalidInput, match=r"SW119.*ids='mod'"):
        swath.Input(ids=wrong)
    with pytest.raises(InvalidInput, match=r"SW119.*default_row=-1"):
        swath.Input(default_row=-1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"targets": ()},
        {"targets": "x86-64-v3"},
        {"threads": -1},
        {"rows_per_swath": -5},
        {"tolerance": (1,)},
        {"tolerance": (-1, 0)},
        {"disabled_passes": "simplify"},
    ],
)
def test_options_have_a_meaning(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="SW120"):
        swath.Options(**wrong)


def test_options_are_options() -> None:
    wrong: Any = {"threads": 1}
    with pytest.raises(InvalidInput, match="SW120"):
        swath.compile(nn.Linear(2, 1).eval(), (torch.rand(3, 2),), options=wrong)


def once(m: Any, x: Tensor, shared: Tensor) -> list[Tensor]:
    return [
        x + shared,
        shared * 2,
        shared,
        shared.sum(),
        m.item(shared.long().abs() % ROWS).sum(1),
        shared.expand(x.shape[0], -1),
        nn.functional.linear(x, shared.t() @ shared),
    ]


def test_inputs_without_a_batch() -> None:
    """Outputs that follow from them alone are there in a call without rows too."""
    model = Function(once, item=nn.Embedding(ROWS, 4)).eval()
    batch = torch.export.Dim("batch")
    program = swath.compile(
        model,
        (torch.randn(3, 5), torch.randn(1, 5)),
        dynamic_shapes={"inputs": ({0: batch}, None)},
        options=OPTIONS,
    )
    for rows in BATCHES:
        compare(model, program, (torch.randn(rows, 5), torch.randn(1, 5)), f"batch {rows}")
