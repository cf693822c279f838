"""From what the native call refused to an error in the user's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swath.artifact.manifest import InputSpec, LookupSpec, Manifest, OutputSpec
from swath.errors import InvalidInput, Problem, ProgramClosed, SwathError, Where

_CPU_DEVICES = (1, 3)  # DLPack's numbers of memory of the CPU, plain and pinned


class Explainer:
    """Makes the exceptions of one program; `native/call.hpp` names the codes.

    Every method gets the index of what was refused (an input, parameter, output or lookup, by its
    code), the object that was given, and two numbers.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.makers: dict[str, Callable[[int, Any, int, int], SwathError]] = {
            "closed": self.closed,
            "missing": self.missing,
            "extra_positional": self.extra_positional,
            "unknown_keyword": self.unknown_keyword,
            "given_twice": self.given_twice,
            "not_a_sequence": self.not_a_sequence,
            "sequence_length": self.sequence_length,
            "missing_key": self.missing_key,
            "missing_field": self.missing_key,
            "extra_key": self.extra_key,
            "constant": self.constant,
            "flat_inputs": self.flat_count,
            "flat_outputs": self.flat_count,
            "not_an_array": self.not_an_array,
            "not_readable": self.not_readable,
            "device": self.device,
            "dtype": self.dtype,
            "rank": self.shape,
            "shape": self.shape,
            "batch": self.batch,
            "ragged_length": self.ragged_length,
            "offsets_first": self.offsets_first,
            "offsets_decrease": self.offsets_decrease,
            "offsets_overrun": self.offsets_overrun,
            "no_bfloat16": self.no_bfloat16,
            "output_not_an_array": self.output_misfit,
            "output_misfit": self.output_misfit,
            "fault_id": self.fault_id,
            "fault_offsets": self.fault_offsets,
            "fault_index": self.fault_index,
            "fault_unknown": self.fault_unknown,
        }

    def explain(self, code: str, index: int, subject: Any, a: int, b: int) -> SwathError:
        """The exception for a refusal."""
        return self.makers[code](index, subject, a, b)

    # Arguments

    def closed(self, *_: Any) -> SwathError:
        return ProgramClosed(closed_problem(self.manifest.name))

    def missing(self, _index: int, name: str, *_: Any) -> SwathError:
        return _invalid(
            "SW101",
            f"the input `{name}` is missing",
            f"the model takes {self.parameter_list()}",
            f"pass it by position or as {name}=...",
        )

    def extra_positional(self, given: int, _subject: Any, taken: int, *_: Any) -> SwathError:
        return _invalid(
            "SW102",
            f"{given} inputs were given by position",
            f"the model takes {taken} by position: {self.parameter_list()}",
            "leave out the extra inputs",
        )

    def unknown_keyword(self, _index: int, name: str, *_: Any) -> SwathError:
        return _invalid(
            "SW102",
            f"there is no input `{name}`",
            f"the model takes {self.parameter_list()}",
            "use one of these names",
        )

    def given_twice(self, _index: int, name: str, *_: Any) -> SwathError:
        return _invalid(
            "SW102",
            f"the input `{name}` was given twice",
            "it came by position and again by name",
            "give it once",
        )

    def flat_count(self, given: int, _subject: Any, taken: int, *_: Any) -> SwathError:
        return _invalid(
            "SW102",
            f"run_into() was given {given} arrays in a list that takes {taken}",
            "the lists hold one array for each of `program.inputs` and `program.outputs`",
            "give the arrays in that order, without nesting",
        )

    # Nesting

    def not_a_sequence(self, index: int, value: Any, *_: Any) -> SwathError:
        return self.nesting(index, f"holds a {type(value).__name__} where a list or tuple belongs")

    def sequence_length(self, index: int, _value: Any, given: int, taken: int) -> SwathError:
        return self.nesting(index, f"holds a sequence of {given} instead of {taken}")

    def missing_key(self, index: int, key: str, *_: Any) -> SwathError:
        return self.nesting(index, f"lacks the key {key!r}")

    def extra_key(self, index: int, value: Any, *_: Any) -> SwathError:
        return self.nesting(
            index, f"holds a dict with more keys than the model takes: {list(value)}"
        )

    def nesting(self, index: int, what: str) -> SwathError:
        name = self.manifest.parameters[index].name
        return _invalid(
            "SW103",
            f"the input `{name}` {what}",
            "inputs nest as the example inputs did when the model was compiled",
            "give the same lists, tuples and keys",
            name,
        )

    def constant(self, index: int, value: Any, *_: Any) -> SwathError:
        name = self.manifest.parameters[index].name
        return _invalid(
            "SW104",
            f"the input `{name}` has another value than it was compiled for",
            f"numbers, strings and None are fixed when a model is compiled; here to {value!r}",
            f"leave `{name}` out or pass {value!r}, or compile a second program for another value",
            name,
        )

    # Arrays

    def not_an_array(self, index: int, value: Any, *_: Any) -> SwathError:
        if _is_elsewhere(value):
            return self.device(index, value)
        spec = self.manifest.inputs[index]
        return _invalid(
            "SW105",
            f"the input `{spec.name}` is a {_type_name(value)}",
            "inputs are NumPy arrays or torch tensors; converting anything else would hide a copy",
            f"np.asarray({spec.name}, dtype=np.{_numpy_name(spec.dtype)})",
            spec.name,
        )

    def not_readable(self, index: int, value: Any, *_: Any) -> SwathError:
        spec = self.manifest.inputs[index]
        return _invalid(
            "SW105",
            f"the input `{spec.name}` is a {_type_name(value)} whose memory can't be read",
            "it is sparse, a subclass without memory of its own, or lazily conjugated or negated",
            f"make a plain dense tensor of it first, such as {spec.name}.to_dense()",
            spec.name,
        )

    def device(self, index: int, value: Any, *_: Any) -> SwathError:
        spec = self.manifest.inputs[index]
        return _invalid(
            "SW110",
            f"the input `{spec.name}` lies on {getattr(value, 'device', 'another device')}",
            "this program runs on the CPU",
            f"{spec.name}.cpu()",
            spec.name,
        )

    def dtype(self, index: int, value: Any, *_: Any) -> SwathError:
        spec = self.manifest.inputs[index]
        numpy = type(value).__module__ == "numpy"
        if numpy:
            fix = f"{spec.name}.astype(np.{_numpy_name(spec.dtype)})"
        else:
            fix = f"{spec.name}.to(torch.{spec.dtype})"
        return _invalid(
            "SW106",
            f"the input `{spec.name}` has dtype {_dtype_name(value)} instead of {spec.dtype}",
            "dtypes are fixed when a model is compiled, and no conversion is made unasked",
            f"{fix}, best where the array is made",
            spec.name,
        )

    def shape(self, index: int, value: Any, *_: Any) -> SwathError:
        spec = self.manifest.inputs[index]
        given, taken = tuple(value.shape), shape_text(spec)
        wrong_rank = len(given) != len(spec.row_shape)
        return _invalid(
            "SW107" if wrong_rank else "SW108",
            f"the input `{spec.name}` has shape {list(given)} instead of {taken}",
            f"it has {len(given)} axes, and the model takes {len(spec.row_shape)}"
            if wrong_rank
            else "only the batch axis B may differ from the model",
            f"reshape or slice `{spec.name}` to {taken}; a single row still has a batch axis, of 1",
            spec.name,
        )

    def batch(self, index: int, value: Any, other: int, rows: int) -> SwathError:
        spec, first = self.manifest.inputs[index], self.manifest.inputs[other]
        return _invalid(
            "SW109",
            f"the input `{spec.name}` has another number of rows than `{first.name}`",
            f"`{spec.name}` has shape {list(value.shape)} where it takes {shape_text(spec)},"
            f" and `{first.name}` has {rows} rows",
            "give all inputs the same rows; an input for all rows must be repeated for each",
            spec.name,
        )

    def ragged_length(self, index: int, value: Any, other: int, length: int) -> SwathError:
        spec, first = self.manifest.inputs[index], self.manifest.inputs[other]
        return _invalid(
            "SW112",
            f"the input `{spec.name}` has {value.shape[0]} values, and `{first.name}` has {length}",
            f"both are cut into bags by the offsets `{spec.offsets}`",
            "give both the same number of values",
            spec.name,
        )

    # Offsets: the index is that of the offsets, the object is the array of values

    def offsets_first(self, index: int, _values: Any, _row: int, offset: int) -> SwathError:
        return self.offsets(index, f"begin with {offset}", "the first bag begins at value 0")

    def offsets_decrease(self, index: int, _values: Any, row: int, offset: int) -> SwathError:
        return self.offsets(
            index, f"decrease to {offset} at {row}", "a bag can't end before it begins"
        )

    def offsets_overrun(self, index: int, values: Any, row: int, offset: int) -> SwathError:
        why = f"there are {values.shape[0]} values to cut"
        return self.offsets(index, f"hold {offset} at {row}", why)

    def offsets(self, index: int, what: str, why: str) -> SwathError:
        name = self.manifest.inputs[index].name
        return _invalid(
            "SW111",
            f"the offsets `{name}` {what}",
            why,
            "offsets start at 0, never decrease, and end within the values:"
            " np.concatenate([[0], np.cumsum(lengths)])",
            name,
        )

    # Outputs

    def no_bfloat16(self, index: int, *_: Any) -> SwathError:
        return _invalid(
            "SW116",
            f"the output `{self.manifest.outputs[index].name}` is bfloat16, which NumPy lacks",
            "outputs are of the kind of arrays that came in",
            "call with torch tensors, or convert the output to float32 in the model",
        )

    def output_misfit(self, index: int, value: Any, *_: Any) -> SwathError:
        spec = self.manifest.outputs[index]
        return _invalid(
            "SW115",
            f"the array for output `{spec.name}` can't take it",
            f"it is a {_type_name(value)} of {_dtype_name(value)}"
            f" {list(getattr(value, 'shape', ()))};"
            f" the output is {spec.dtype} {shape_text(spec)}",
            "give a writable, C-contiguous array of that dtype and shape",
            spec.name,
        )

    # Faults that the generated code found

    def fault_id(self, index: int, leaves: tuple[Any, ...], row: int, value: int) -> SwathError:
        lookup = self.manifest.lookups[index]
        column = "" if lookup.column is None else f" column {lookup.column},"
        given = self.given_id(lookup, leaves, row)
        return _invalid(
            "SW113",
            f"the id {value if given is None else given} is outside of the table `{lookup.table}`",
            f"the table has {lookup.rows} rows, so that its ids run from 0 to {lookup.rows - 1};"
            f" the id came from the input `{lookup.input}`,{column} row {row}",
            "map unknown ids to a row of the table before the call, or compile with"
            f' inputs={{"{lookup.input}": swath.Input(ids="default_row")}} or ids="modulo"',
            lookup.input,
        )

    def given_id(self, lookup: LookupSpec, leaves: tuple[Any, ...], row: int) -> Any:
        """The id as it was given, where that is a float (NaN has no integer), else None."""
        index = [spec.name for spec in self.manifest.inputs].index(lookup.input)
        spec = self.manifest.inputs[index]
        plain = spec.kind == "rows" and spec.batch_axis == 0 and spec.rows_multiple == 1
        if "float" not in spec.dtype or lookup.column is None or not plain:
            return None
        return float(leaves[index][row].reshape(-1)[lookup.column])

    def fault_index(self, size: int, _leaves: Any, row: int, value: int) -> SwathError:
        return _invalid(
            "SW121",
            f"the position {value} is outside of an axis of {size} elements",
            f"the model computed it from row {row}, to index, gather or scatter with it",
            f"see that what the model indexes with lies between {-size} and {size - 1}",
        )

    def fault_offsets(self, index: int, _leaves: Any, row: int, value: int) -> SwathError:
        name = self.manifest.lookups[index].input
        return _invalid(
            "SW111",
            f"the offsets of `{name}` are wrong at row {row}: {value}",
            "offsets start at 0, never decrease, and end within the values",
            "np.concatenate([[0], np.cumsum(lengths)])",
            name,
        )

    def fault_unknown(self, *_: Any) -> SwathError:
        return SwathError(
            Problem(
                "SW910",
                "the compiled code failed without saying why",
                "this is a defect of swath",
                "report it with the artefact and the inputs",
            )
        )

    def parameter_list(self) -> str:
        return ", ".join(f"`{parameter.name}`" for parameter in self.manifest.parameters)


def closed_problem(name: str) -> Problem:
    """For whatever is asked of a program after `close()`."""
    return Problem(
        "SW114",
        f"the program {name!r} is closed",
        "close() gave back its memory and files",
        "load it again, or close it later",
    )


def shape_text(spec: InputSpec | OutputSpec) -> str:
    """The shape that an array must have, with B for the rows: `[B, 39]`."""
    if isinstance(spec, InputSpec) and spec.kind == "ragged":
        return "[number of values]"
    extents = [str(extent) for extent in spec.row_shape]
    if spec.batch_axis is not None:
        multiple = spec.row_shape[spec.batch_axis]
        batch = "B" if multiple == 1 else f"B*{multiple}"
        if isinstance(spec, InputSpec) and spec.include_last_offset:
            batch += "+1"
        extents[spec.batch_axis] = batch
    return f"[{', '.join(extents)}]"


def _invalid(id: str, what: str, why: str, fix: str, name: str | None = None) -> InvalidInput:
    where = Where() if name is None else Where(f"input {name}")
    return InvalidInput(Problem(id, what, why, fix, where))


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _is_elsewhere(value: Any) -> bool:
    """Whether an array object says that it lies on another device than the CPU."""
    if not hasattr(value, "__dlpack_device__"):
        return False
    return value.__dlpack_device__()[0] not in _CPU_DEVICES


def _dtype_name(value: object) -> str:
    return str(getattr(value, "dtype", "none")).removeprefix("torch.")


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype
