"""Builds of the kernels, made once per session."""

from __future__ import annotations

import pytest

from tests.kernels.built import HERE, Kernels, build, compilers, isas


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Kernels]:
    """Every build that runs here; the first one is g++ for x86-64-v3."""
    return [
        Kernels(
            f"{compiler.command[0]} {isa}",
            build(compiler, isa, HERE / "exports.cpp", tmp_path_factory.mktemp("kernels")),
        )
        for compiler in compilers()
        for isa in isas()
    ]
