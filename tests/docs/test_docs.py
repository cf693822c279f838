"""The docs run: code blocks, the README's output, the pages made from the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.passes.examples import check_example, examples

from swath.graph.ops.base import RowAxis, RowRuleError
from swath.graph.types import BatchSize, DType, Space, TensorType

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_README = re.compile(r"^```python\n(.*?)^```\n\n```\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d+")


def run_blocks(page: str) -> dict[str, Any]:
    """Runs the code blocks of a page, one after the other, as one module."""
    module = ModuleType(f"docs_{page.replace('-', '_')}")
    # Dataclasses look their module up by name.
    sys.modules[module.__name__] = module
    for number, code in enumerate(_BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text())):
        exec(compile(code, f"docs/{page}.md block {number}", "exec"), module.__dict__)
    return module.__dict__


def test_the_readme_prints_what_it_says(tmp_path: Path) -> None:
    found = _README.search((ROOT / "README.md").read_text())
    assert found is not None
    code, output = found.groups()
    seeded = code.replace("from torch import nn\n", "from torch import nn\ntorch.manual_seed(0)\n")
    done = subprocess.run(
        [sys.executable, "-c", seeded], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # The first line ends with the ISA, which the machine decides.
    said, printed = output.splitlines(), done.stdout.splitlines()
    assert printed[0].split()[:-1] == said[0].split()[:-1]
    numbers = [[float(n) for n in _NUMBER.findall("\n".join(t[1:]))] for t in (said, printed)]
    np.testing.assert_allclose(numbers[1], numbers[0], atol=1e-6)


def test_the_pass_of_add_a_pass_does_what_it_says() -> None:
    step = run_blocks("add-a-pass")["double_by_product"]
    (example,) = examples(step)
    check_example(example, step)


def test_the_op_of_add_an_op_has_its_rules() -> None:
    op = run_blocks("add-an-op")["SumOfSquares"](1)
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(op.reference((x,))[0], [5.0, 50.0])
    batched = TensorType(DType.FLOAT32, (BatchSize(), 3), Space.CANDIDATE)
    assert op.infer((batched,))[0].shape == (BatchSize(),)
    assert op.row((batched,), (RowAxis(0),)) == (RowAxis(0),)
    with pytest.raises(RowRuleError, match="sums squares over"):
        op.row((batched,), (RowAxis(1),))


def test_pages_made_from_the_code_are_up_to_date() -> None:
    command = [sys.executable, "-m", "swath.report.reference", str(ROOT / "docs"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
