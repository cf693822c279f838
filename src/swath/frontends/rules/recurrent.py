"""Recurrent layers, written out step by step.

What the inputs contribute to the gates is one product over all steps; each step then adds what the
state contributes. A layer has for each direction weights of the input and of the state, and maybe a
bias of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swath.frontends.context import Context
from swath.frontends.refusals import missing_rule
from swath.frontends.rules.base import Rule, aliases
from swath.frontends.unsupported import unsupported_form
from swath.graph.ir import Value
from swath.graph.ops import Linear

State = tuple[Value, ...]
# From the gates' part of the input, that of the state, and the state: the next state, of which the
# first value is the output.
Step = Callable[[Context, Value, Value, State], State]


@dataclass(frozen=True, slots=True)
class Weights:
    """The parameters of one direction of one layer."""

    of_input: Value
    of_state: Value
    input_bias: Value | None
    state_bias: Value | None


def gates(context: Context, value: Value, count: int) -> list[Value]:
    """The last axis in equal parts."""
    axis = value.type.rank - 1
    size = value.type.shape[axis]
    assert isinstance(size, int)
    width = size // count
    return [context.slice(value, axis, i * width, (i + 1) * width) for i in range(count)]


def gru_step(context: Context, x: Value, h: Value, state: State) -> State:
    """reset, update, new."""
    reset_x, update_x, new_x = gates(context, x, 3)
    reset_h, update_h, new_h = gates(context, h, 3)
    reset = context.unary("sigmoid", context.binary("add", reset_x, reset_h))
    update = context.unary("sigmoid", context.binary("add", update_x, update_h))
    new = context.binary("add", new_x, context.binary("mul", reset, new_h))
    new = context.unary("tanh", new)
    change = context.binary("mul", update, context.binary("sub", state[0], new))
    return (context.binary("add", new, change),)


def lstm_step(context: Context, x: Value, h: Value, state: State) -> State:
    """input, forget, cell, output."""
    parts = gates(context, context.binary("add", x, h), 4)
    enter, forget, output = (context.unary("sigmoid", parts[i]) for i in (0, 1, 3))
    cell = context.unary("tanh", parts[2])
    kept = context.binary("mul", forget, state[1])
    cell = context.binary("add", kept, context.binary("mul", enter, cell))
    return context.binary("mul", output, context.unary("tanh", cell)), cell


def plain_step(function: str) -> Step:
    """One gate, of tanh or relu."""

    def step(context: Context, x: Value, h: Value, state: State) -> State:
        del state
        return (context.unary(function, context.binary("add", x, h)),)

    return step


def linear(context: Context, x: Value, weight: Value, bias: Value | None) -> Value:
    """x @ weight.T + bias."""
    return context.add(Linear(), *(v for v in (x, weight, bias) if v is not None))


def run_direction(
    context: Context,
    x: Value,
    weights: Weights,
    state: State,
    step: Step,
    time: int,
    backward: bool,
) -> tuple[Value, State]:
    """The outputs of all steps along the axis `time`, and the last state."""
    length = x.type.shape[time]
    if not isinstance(length, int):
        raise unsupported_form(context.op, "a number of steps that varies")
    inputs = linear(context, x, weights.of_input, weights.input_bias)
    outputs: list[Value] = []
    for position in range(length - 1, -1, -1) if backward else range(length):
        part = context.select(inputs, time, position)
        recurrent = linear(context, state[0], weights.of_state, weights.state_bias)
        state = step(context, part, recurrent, state)
        outputs.append(context.unsqueeze(state[0], time))
    if backward:
        outputs.reverse()
    return context.concat(outputs, time), state


def recurrent(step: Step, states: int) -> Rule:
    """gru, lstm, rnn_tanh, rnn_relu: layers upon layers, in one or two directions."""

    def rule(
        context: Context,
        input: Value,
        hx: Any,
        params: Sequence[Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if train and dropout > 0:
            raise missing_rule("aten.dropout.default")
        if input.type.rank != 3:
            raise unsupported_form(context.op, "an input without a batch axis")
        initial: list[Value] = list(hx) if states > 1 else [hx]
        directions = 2 if bidirectional else 1
        weights = _split(params, has_biases)
        time = 1 if batch_first else 0
        value = input
        last: list[State] = []
        for layer in range(num_layers):
            outputs: list[Value] = []
            for direction in range(directions):
                index = layer * directions + direction
                state = tuple(context.select(item, 0, index) for item in initial)
                output, state = run_direction(
                    context, value, weights[index], state, step, time, direction == 1
                )
                outputs.append(output)
                last.append(state)
            value = context.concat(outputs, 2)
        return value, *(_stacked(context, [state[i] for state in last]) for i in range(states))

    return rule


def _split(params: Sequence[Value], has_biases: bool) -> list[Weights]:
    if has_biases:
        return [Weights(*params[i : i + 4]) for i in range(0, len(params), 4)]
    return [Weights(params[i], params[i + 1], None, None) for i in range(0, len(params), 2)]


def _stacked(context: Context, values: list[Value]) -> Value:
    return context.concat([context.unsqueeze(value, 0) for value in values], 0)


def cell(step: Step, states: int) -> Rule:
    """gru_cell, lstm_cell, rnn_tanh_cell, rnn_relu_cell: one step."""

    def rule(
        context: Context,
        input: Value,
        hx: Any,
        w_ih: Value,
        w_hh: Value,
        b_ih: Value | None = None,
        b_hh: Value | None = None,
    ) -> Any:
        state: State = tuple(hx) if states > 1 else (hx,)
        of_input = linear(context, input, w_ih, b_ih)
        of_state = linear(context, state[0], w_hh, b_hh)
        result = step(context, of_input, of_state, state)
        return result if states > 1 else result[0]

    return rule


RULES: Mapping[str, Rule] = {
    **aliases(recurrent(gru_step, 1), "gru.input"),
    **aliases(recurrent(lstm_step, 2), "lstm.input"),
    **aliases(recurrent(plain_step("tanh"), 1), "rnn_tanh.input"),
    **aliases(recurrent(plain_step("relu"), 1), "rnn_relu.input"),
    **aliases(cell(gru_step, 1), "gru_cell.default"),
    **aliases(cell(lstm_step, 2), "lstm_cell.default"),
    **aliases(cell(plain_step("tanh"), 1), "rnn_tanh_cell.default"),
    **aliases(cell(plain_step("relu"), 1), "rnn_relu_cell.default"),
}
