"""How many examples a test tries: few in `make test`, many in a run with the long tests."""

from hypothesis import settings


def examples(few: int, many: int) -> int:
    """By the profile of Hypothesis that tests/conftest.py loads."""
    return many if settings.get_current_profile_name() == "long" else few
