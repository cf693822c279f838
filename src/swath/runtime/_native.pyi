from collections.abc import Callable, Sequence
from typing import Any, Self

ABI_VERSION: int

class NativeProgram:
    closed: bool
    threads: int
    scratch_bytes: int

    def __new__(
        cls,
        signature: tuple[Any, ...],
        library: str,
        weights: tuple[str, int, int],
        tables: tuple[tuple[str, int, int], ...],
        schedule: tuple[int, int, int],
        explain: Callable[[str, int, Any, int, int], BaseException],
        adapt: Callable[[object], object],
        /,
    ) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run_into(self, inputs: Sequence[Any], outputs: Sequence[Any], /) -> None: ...
    def _close(self) -> None: ...

def share_vectorcall(type: type[NativeProgram], /) -> None: ...
def cpu_features() -> list[str]: ...
def cpu_count() -> int: ...
def helper_threads() -> int: ...
