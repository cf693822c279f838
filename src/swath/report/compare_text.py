"""What `swath compare` found, for people."""

from __future__ import annotations

from swath.report.bisect import Bisection
from swath.report.compare import Comparison
from swath.report.table import columns


def comparison_text(found: Comparison) -> str:
    """A line an output, a line for the rows."""
    absolute, relative = found.tolerance
    rows = [
        ["output", "", "absolute", "relative", "ulp", "error", "eager's", "row", "ours", "eager"]
    ]
    for output in found.outputs:
        rows.append(
            [
                output.output,
                "agrees" if output.agrees else "DIFFERS",
                f"{output.absolute:.2e}",
                f"{output.relative:.2e}",
                f"{output.ulp:.0f}",
                "" if output.error is None else f"{output.error:.2e}",
                "" if output.eager_error is None else f"{output.eager_error:.2e}",
                str(output.row),
                f"{output.ours:.8g}",
                f"{output.eager:.8g}",
            ]
        )
    lines = [
        f"{found.model}: {found.rows} rows, tolerance {absolute:g} plus {relative:g} of the value",
        *columns(rows, left=(0, 1)),
    ]
    if found.float64:
        lines.append(f"error against float64: none ({found.float64})")
    checks = [
        f"{check.what} {'yes' if check.identical else 'NO, ' + check.detail}"
        for check in found.row_checks
    ]
    lines.append(f"rows bit-identical in any: {'; '.join(checks)}")
    return "\n".join(lines)


def bisection_text(found: Bisection) -> str:
    """A line a step."""
    rows = [["step", "", "absolute", "relative", "output", "row"]]
    for step in found.steps:
        cells = [f"{step.absolute:.2e}", f"{step.relative:.2e}", step.output, str(step.row)]
        mark = "agrees" if step.agrees else "DIFFERS"
        rows.append([step.step, mark, *(["", "", step.failed, ""] if step.failed else cells)])
    verdict = (
        "no step leaves the tolerance on these rows"
        if found.first_bad is None
        else f"the first step that breaks it: {found.first_bad}"
    )
    return "\n".join(
        [
            f"bisected on rows {', '.join(map(str, found.rows))}, each graph interpreted",
            *columns(rows, left=(0, 1, 4)),
            f"kernels differ from the interpreted graph by {found.kernels_from_graph:.2e}",
            verdict,
        ]
    )
