"""`make demo`: trains DeepFM on MovieLens 100K, compiles it, compares it with eager, benches it."""

import sys
import time

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import swath
from examples.demo import deepfm
from examples.demo.movielens import MovieLens, load
from swath.report.bench import BenchSettings, bench
from swath.report.bench_plot import write_plot
from swath.report.bench_table import bench_table

ARTEFACT = deepfm.FOLDER / "deepfm.swath"
# All peers but the one whose build alone takes minutes; `swath bench` has it.
PEERS = ("swath", "eager", "inductor", "aot_inductor", "onnxruntime", "openvino", "zentorch")

NEXT = """\
Next, a model of your own: write a function that returns (model, example_inputs), then

    .venv/bin/swath check   your_file.py:your_function     # would it compile? every problem at once
    .venv/bin/swath compile your_file.py:your_function -o model.swath
    .venv/bin/swath bench   your_file.py:your_function     # the table above, for your model"""


def step(title: str) -> None:
    """Announces a step."""
    print(f"\n== {title}", flush=True)


def train(data: MovieLens) -> deepfm.DeepFM:
    """Trains the model and keeps its weights for the bench's processes."""
    begin = time.perf_counter()
    model = deepfm.train(data)
    torch.save(model.state_dict(), deepfm.WEIGHTS)
    print(f"trained in {time.perf_counter() - begin:.0f} s")
    return model


def compile_model(model: deepfm.DeepFM, rows: torch.Tensor) -> swath.Program:
    """Compiles the model, saves the artefact and loads it."""
    begin = time.perf_counter()
    program = swath.compile(model, (rows[: deepfm.EXAMPLE_ROWS],))
    program.save(ARTEFACT, overwrite=True)
    print(f"compiled in {time.perf_counter() - begin:.1f} s into {ARTEFACT}")
    return swath.load(ARTEFACT)


def compare(model: deepfm.DeepFM, program: swath.Program, data: MovieLens) -> bool:
    """Scores the held-out rows with both; whether the scores agree."""
    matrix = deepfm.matrix(model, data.held_out)
    with torch.no_grad():
        eager: NDArray[np.float32] = model(torch.as_tensor(matrix)).numpy()
    # NumPy in, NumPy out: the program runs without torch.
    ours: NDArray[np.float32] = program(matrix)
    difference = float(np.abs(ours - eager).max())
    print(f"{len(matrix)} held-out ratings; largest difference from eager {difference:.1e}")
    for name, scores in (("eager", eager), ("swath", ours)):
        print(f"AUC of {name}  {roc_auc_score(data.held_out_clicks, scores):.6f}")
    return difference < 1e-5


def main() -> int:
    """Runs the demo; returns the exit code."""
    begin = time.perf_counter()
    deepfm.FOLDER.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    step("MovieLens 100K: ratings from 4 are clicks, the last fifth in time is held out")
    data = load(deepfm.FOLDER)
    print(f"{len(data.training_clicks)} ratings to train on, {len(data.held_out_clicks)} held out")
    step("Train DeepFM (deepctr-torch)")
    model = train(data)
    step("Compile")
    program = compile_model(model, torch.as_tensor(deepfm.matrix(model, data.held_out)))
    step("Compare with eager")
    agrees = compare(model, program, data)
    step("Bench against the peers (one thread; each is built first, that takes a minute or two)")
    settings = BenchSettings(peers=PEERS, rounds=3)
    report = bench(["examples.demo.deepfm:trained"], settings, say=print)
    report.write(deepfm.FOLDER / "bench.json")
    write_plot(report, deepfm.FOLDER / "bench.svg")
    print(f"\n{bench_table(report)}")
    print(f"\nplot: {deepfm.FOLDER / 'bench.svg'}, numbers: {deepfm.FOLDER / 'bench.json'}")
    print(f"done in {time.perf_counter() - begin:.0f} s\n\n{NEXT}")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
