"""A bench as a picture: rows per second over the batch size, one line a peer, one panel a case."""

import importlib
import math
from pathlib import Path
from typing import Any

from swath.report.bench_result import OURS, BenchReport, CaseResult
from swath.report.bench_table import short_name, title_of

PANELS_ACROSS = 4
COLOURS = {
    "swath": "#c1121f",
    "eager": "#8d99ae",
    "inductor": "#f4a261",
    "inductor_max": "#e76f51",
    "aot_inductor": "#bc6c25",
    "onnxruntime": "#2a9d8f",
    "openvino": "#457b9d",
    "zentorch": "#6a4c93",
}


def write_plot(report: BenchReport, path: Path) -> None:
    """Writes the picture to `path` (SVG, or whatever its suffix says). Needs matplotlib.

    The band around a line goes from the 25th to the 75th percentile.
    """
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    # The same report gives the same bytes: element ids aren't drawn at random.
    matplotlib.rcParams["svg.hashsalt"] = "swath"
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    across = min(PANELS_ACROSS, len(report.cases))
    down = math.ceil(len(report.cases) / across)
    width, height = 1.0 + 4.6 * across, 0.9 + 3.4 * down
    figure, axes = pyplot.subplots(down, across, figsize=(width, height), squeeze=False)
    panels = list(axes.flat)
    for panel, case in zip(panels, report.cases, strict=False):
        _draw_case(panel, case)
    for panel in panels[len(report.cases) :]:
        panel.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    columns = min(4 * across, len(labels))
    figure.legend(handles, labels, loc="lower center", ncols=columns, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.6 / height, 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _draw_case(panel: Any, case: CaseResult) -> None:
    for result in case.peers:
        if not result.timings:
            continue
        batches = [timing.batch for timing in result.timings]
        rates = [_rate(timing.batch, timing.median) for timing in result.timings]
        lows = [_rate(timing.batch, timing.high) for timing in result.timings]
        highs = [_rate(timing.batch, timing.low) for timing in result.timings]
        colour = COLOURS.get(result.peer, "#333333")
        width = 2.4 if result.peer == OURS else 1.2
        panel.plot(
            batches, rates, "o-", color=colour, linewidth=width, markersize=3,
            label=title_of(result.peer),
        )  # fmt: skip
        panel.fill_between(batches, lows, highs, color=colour, alpha=0.15, linewidth=0)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    batches = sorted({timing.batch for result in case.peers for timing in result.timings})
    panel.set_xticks(batches, [str(batch) for batch in batches])
    threads = "1 thread" if case.threads == 1 else f"{case.threads} threads"
    panel.set_title(f"{short_name(case.case)}, {threads}", fontsize=10)
    panel.set_xlabel("batch", fontsize=8)
    panel.set_ylabel("rows per second", fontsize=8)
    panel.grid(True, which="major", alpha=0.25)


def _rate(batch: int, microseconds: float) -> float:
    return batch / microseconds * 1e6
