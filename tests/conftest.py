"""Failed assertions in the helpers show what they compared."""

import pytest

pytest.register_assert_rewrite("tests.passes.examples")
