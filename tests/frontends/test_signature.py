"""How a model is called, and which of its axes is the batch."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

from swath.artifact.manifest import Constant, DictNode, Leaf, ListNode, Parameter, TupleNode
from swath.errors import UnsupportedModel
from swath.frontends.torch_export import import_program
from swath.graph.interpreter import interpret
from tests.frontends.agreement import agree, compare

T: Any = torch  # functions that torch annotates only in part


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Nested(nn.Module):
    def forward(
        self, x: dict[str, torch.Tensor], others: list[torch.Tensor], pair: Pair,
        scale: float = 2.0, *, shift: torch.Tensor | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        total = x["user_id"] + others[0] * scale + pair.second
        return {
            "scores": (total, [pair.first * 1]),
            "input": x["user_id"],
            "fixed": torch.arange(3),
            "count": 3,
            "none": shift,
            "pair": Pair(total * 2, total * 3),
        }


def nested(batch: int) -> tuple[Any, ...]:
    def vector() -> torch.Tensor:
        return torch.randn(batch, 2)

    return {"user_id": vector(), "age": vector()}, [vector()], Pair(vector(), vector())


def test_structure_of_inputs_and_outputs_is_kept() -> None:
    imported = agree(Nested(), nested)
    signature = imported.signature
    assert [leaf.name for leaf in signature.inputs] == [
        "x.user_id", "x.age", "others[0]", "pair.first", "pair.second",
    ]  # fmt: skip
    assert signature.parameters == (
        Parameter(name="x", structure=DictNode(("user_id", "age"), (Leaf(0), Leaf(1)))),
        Parameter(name="others", structure=ListNode((Leaf(2),))),
        Parameter(name="pair", structure=DictNode(("first", "second"), (Leaf(3), Leaf(4)))),
        Parameter(name="scale", structure=Constant(2.0), required=False),
        Parameter(name="shift", structure=Constant(None), required=False, keyword_only=True),
    )
    assert signature.result == DictNode(
        ("scores", "input", "fixed", "count", "none", "pair"),
        (
            TupleNode((Leaf(0), ListNode((Leaf(1),)))), Leaf(2), Leaf(3), Constant(3),
            Constant(None), DictNode(("first", "second"), (Leaf(4), Leaf(5))),
        ),
    )  # fmt: skip
    assert [leaf.name for leaf in signature.outputs] == [
        "scores[0]", "scores[1][0]", "input", "fixed", "pair.first", "pair.second",
    ]  # fmt: skip
    assert [leaf.dtype for leaf in signature.outputs][3] == "int64"
    assert imported.graph.outputs[2] is imported.graph.inputs[0]


def test_arguments_by_keyword_keep_the_order_of_forward() -> None:
    x, others, pair = nested(3)
    imported = import_program(Nested().eval(), {"pair": pair, "x": x, "others": others})
    assert [parameter.name for parameter in imported.signature.parameters][:3] == [
        "x",
        "others",
        "pair",
    ]
    both = import_program(Nested().eval(), ((x, others), {"pair": pair}))
    assert [parameter.name for parameter in both.signature.parameters][:3] == [
        "x",
        "others",
        "pair",
    ]


def test_arguments_by_keyword_give_the_same_numbers() -> None:
    x, others, pair = nested(3)
    imported = import_program(Nested().eval(), {"pair": pair, "x": x, "others": others})
    names = [leaf.name for leaf in imported.signature.inputs]
    tensors = {
        "x.user_id": x["user_id"], "x.age": x["age"], "others[0]": others[0],
        "pair.first": pair.first, "pair.second": pair.second,
    }  # fmt: skip
    given = [tensors[name].numpy() for name in names]
    (total, *_) = interpret(imported.graph, given, 3)
    expected = x["user_id"] + others[0] * 2 + pair.second
    np.testing.assert_allclose(total, expected.numpy(), rtol=1e-6)


class Variadic(nn.Module):
    def forward(self, *parts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(part * 2 for part in parts)


def test_variable_arguments_have_names() -> None:
    imported = agree(Variadic(), lambda batch: (torch.randn(batch, 2), torch.randn(batch, 3)))
    assert [parameter.name for parameter in imported.signature.parameters] == ["parts_0", "parts_1"]


@pytest.mark.parametrize("batch", [0, 1, 2, 5, 13, 64])
def test_the_batch_is_free_whatever_the_example_has(batch: int) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    imported = import_program(model, (torch.randn(batch, 4),))
    assert str(imported.graph.inputs[0].type) == "f32[B,4]"
    assert str(imported.graph.outputs[0].type) == "f32[B,3]"
    x = torch.randn(7, 4)
    compare(imported, (x,), model(x), 7)


class TwoTowers(nn.Module):
    def forward(self, user: torch.Tensor, item: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return user * 2, item.reshape(-1, 2)


@pytest.mark.parametrize(
    "shapes",
    [
        ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),
        {"user": {0: Dim.AUTO}, "item": {0: Dim.AUTO}},
        ((Dim("rows"), None), (Dim("rows"), None)),
    ],
)
@pytest.mark.parametrize("batch", [1, 6])
def test_symbols_that_never_meet_are_one_batch(shapes: Any, batch: int) -> None:
    imported = import_program(
        TwoTowers().eval(), (torch.randn(batch, 3), torch.randn(batch, 4)), dynamic_shapes=shapes
    )
    assert [str(value.type) for value in imported.graph.inputs] == ["f32[B,3]", "f32[B,4]"]
    assert [str(value.type) for value in imported.graph.outputs] == ["f32[B,3]", "f32[2B,2]"]


class Transposed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(0)


def test_the_batch_may_be_on_another_axis() -> None:
    imported = import_program(
        Transposed().eval(), (torch.randn(3, 5),), dynamic_shapes=({1: Dim.DYNAMIC},)
    )
    assert str(imported.graph.inputs[0].type) == "f32[3,B]"


def test_a_fixed_input_has_no_batch() -> None:
    imported = import_program(
        TwoTowers().eval(),
        (torch.randn(5, 3), torch.randn(4, 4)),
        dynamic_shapes=({0: Dim.DYNAMIC}, None),
    )
    assert [leaf.kind for leaf in imported.signature.inputs] == ["rows", "once"]


def test_a_second_dynamic_size_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="vary independently") as caught:
        import_program(
            Transposed().eval(),
            (torch.randn(4, 5),),
            dynamic_shapes=({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},),
        )
    assert caught.value.problem.id == "SW015"


class Compared(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.shape[0] > 4 else x


class Sized(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, torch.tensor([[1.0]] * x.shape[0])], 1)


@pytest.mark.parametrize("model", [Compared, Sized])
@pytest.mark.parametrize("size", [Dim.AUTO, Dim.DYNAMIC])
def test_a_pinned_batch_is_told_with_its_line(model: type[nn.Module], size: Any) -> None:
    with pytest.raises(UnsupportedModel) as caught:
        import_program(model().eval(), (torch.randn(6, 5),), dynamic_shapes=({0: size},))
    assert caught.value.problem.id == "SW009"
    assert "x.shape[0]" in (caught.value.problem.where.source or "")


def test_a_program_and_its_file_import_like_the_model(tmp_path: Path) -> None:
    model = TwoTowers().eval()
    shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    example = (torch.randn(6, 3), torch.randn(6, 4))
    program = torch.export.export(model, example, dynamic_shapes=shapes)
    path = tmp_path / "model.pt2"
    torch.export.save(program, path)
    for source in (program, path, str(path)):
        imported = import_program(source)
        assert [str(value.type) for value in imported.graph.outputs] == ["f32[B,3]", "f32[2B,2]"]
        assert [parameter.name for parameter in imported.signature.parameters] == ["user", "item"]
        compare(imported, example, model(*example), 6)


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    for content in (None, b"", b"not a program"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UnsupportedModel) as caught:
            import_program(path)
        assert caught.value.problem.id == "SW022"


def test_a_program_with_a_fixed_batch_is_refused() -> None:
    program = torch.export.export(nn.Linear(4, 2).eval(), (torch.randn(6, 4),))
    with pytest.raises(UnsupportedModel, match="no input has a batch axis") as caught:
        import_program(program)
    assert caught.value.problem.id == "SW019"


def test_examples_that_do_not_fit_are_refused() -> None:
    model = TwoTowers().eval()
    for example in ((torch.randn(2, 3),), {"users": torch.randn(2, 3)}, 3):
        with pytest.raises(UnsupportedModel) as caught:
            import_program(model, example)
        assert caught.value.problem.id == "SW002"


def test_arrays_are_taken_as_examples() -> None:
    x = np.zeros((3, 4), np.float32)
    imported = import_program(nn.Linear(4, 2).eval(), (x,))
    assert str(imported.graph.inputs[0].type) == "f32[B,4]"


def test_dynamic_shapes_that_do_not_fit_are_refused() -> None:
    shapes = {"other": {0: Dim.DYNAMIC}}
    with pytest.raises(UnsupportedModel, match="dynamic_shapes don't fit") as caught:
        import_program(nn.Linear(4, 2).eval(), (torch.randn(3, 4),), dynamic_shapes=shapes)
    assert caught.value.problem.id == "SW002"


@pytest.mark.filterwarnings("ignore")
def test_what_is_no_model_is_refused() -> None:
    example = (torch.randn(3, 4),)
    not_models: list[Any] = [
        T.jit.trace(nn.Linear(4, 2), example), torch.relu, {"weight": example},
    ]  # fmt: skip
    for model in not_models:
        with pytest.raises(UnsupportedModel) as caught:
            import_program(model, example)
        assert caught.value.problem.id == "SW024"


def test_leading_axes_that_disagree_are_refused() -> None:
    with pytest.raises(UnsupportedModel) as caught:
        import_program(TwoTowers().eval(), (torch.randn(5, 3), torch.randn(9, 4)))
    assert caught.value.problem.id == "SW015"


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 4)
        self.out = nn.Linear(4, 50, bias=False)
        self.out.weight = self.table.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(self.table(ids))


def test_weights_share_memory_with_the_model_and_among_each_other() -> None:
    model = Tied()
    imported = agree(model, lambda batch: (torch.randint(0, 50, (batch,)),))
    (value,) = imported.graph.constant_values
    assert value.name in ("table.weight", "out.weight")
    array = imported.graph.constants[value.name]
    assert np.shares_memory(array, model.table.weight.detach().numpy())


class HalfTable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4).half()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids).float() * 2


class HalfModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 2).half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.half()).float()


def test_tables_in_half_precision_are_widened() -> None:
    agree(HalfTable(), lambda batch: (torch.randint(0, 9, (batch, 2)),))


def test_arithmetic_in_half_precision_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="computes in float16") as caught:
        import_program(HalfModel().eval(), (torch.randn(3, 4),))
    assert {problem.id for problem in caught.value.problems} == {"SW014"}


@dataclasses.dataclass
class Scores:
    click: torch.Tensor
    buy: torch.Tensor


class GivesDataclass(nn.Module):
    def forward(self, x: torch.Tensor) -> Scores:
        return Scores(x * 2, x * 3)


def test_data_classes_are_given_back_as_dicts() -> None:
    torch.export.register_dataclass(Scores)
    imported = import_program(GivesDataclass().eval(), (torch.randn(3, 2),))
    assert imported.signature.result == DictNode(("click", "buy"), (Leaf(0), Leaf(1)))


@dataclasses.dataclass
class Unregistered:
    click: torch.Tensor
    more: list[torch.Tensor]


class GivesUnregistered(nn.Module):
    def forward(self, x: torch.Tensor) -> Unregistered:
        return Unregistered(x * 2, [x * 3])


def test_data_classes_need_no_registration() -> None:
    model = GivesUnregistered().eval()
    imported = import_program(model, (torch.randn(3, 2),))
    assert imported.signature.result == DictNode(("click", "more"), (Leaf(0), ListNode((Leaf(1),))))
    assert isinstance(model(torch.randn(1, 2)), Unregistered)


class Keywords(nn.Module):
    def forward(self, x: torch.Tensor, **features: torch.Tensor) -> torch.Tensor:
        return x + features["age"].data * features["pay"]


def test_free_keywords_are_parameters() -> None:
    vectors = {name: torch.randn(5, 2) for name in ("age", "pay")}
    x = torch.randn(5, 2)
    imported = import_program(Keywords().eval(), ((x,), vectors))
    assert imported.signature.parameters == (
        Parameter(name="x", structure=Leaf(0)),
        Parameter(name="age", structure=Leaf(1), keyword_only=True),
        Parameter(name="pay", structure=Leaf(2), keyword_only=True),
    )
    compare(imported, (x, *vectors.values()), x + vectors["age"] * vectors["pay"], 5)


class Difference(nn.Module):
    def forward(self, x: torch.Tensor, others: dict[str, torch.Tensor]) -> torch.Tensor:
        return x - 2 * others["y"] + 3 * others["z"]


def test_one_tensor_in_several_places_stands_for_several_inputs() -> None:
    x, y, z = torch.randn(3, 5, 2).unbind()
    imported = import_program(Difference().eval(), (x, {"y": x, "z": x}))
    compare(imported, (x, y, z), x - 2 * y + 3 * z, 5)


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dnn = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

    def shifted(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.shifted(self.dnn(x))


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = Tower()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tower(x) * 2


def test_values_know_where_they_come_from() -> None:
    imported = import_program(TwoLayers().eval(), (torch.randn(3, 4),))
    linear, relu, add, mul = imported.graph.nodes
    places = [node.origin for node in (linear, relu, add, mul)]
    assert [place.module for place in places if place] == [
        "model.tower.dnn.0", "model.tower.dnn.1", "model.tower", "model",
    ]  # fmt: skip
    sources = [place.source for place in places if place]
    assert sources == [
        "return self.shifted(self.dnn(x))", "return self.shifted(self.dnn(x))", "return x + 1",
        "return self.tower(x) * 2",
    ]  # fmt: skip
    assert all(place.file == __file__ for place in places if place)
    assert linear.output.name == "tower.dnn.0.linear"
    assert [value.name for value in imported.graph.constant_values][:2] == [
        "tower.dnn.0.weight", "tower.dnn.0.bias",
    ]  # fmt: skip
