"""What all tests share."""

import pytest

# The shipped suites assert as tests do, and deserve the same messages when they fail. Before anything imports them.
pytest.register_assert_rewrite("lakebed.testing")
