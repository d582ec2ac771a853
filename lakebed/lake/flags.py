"""Arguments that are True or False."""

from lakebed.errors import Invalid


def check_flag(name: str, value: bool) -> bool:
    """The value, or `Invalid` for what only may be taken for True: a text such as "no", a column's name."""
    if not isinstance(value, bool):
        raise Invalid(f"{name} is True or False", found=repr(value))
    return value
