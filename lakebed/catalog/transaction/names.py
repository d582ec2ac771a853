"""Names as people write them: dotted text, or a tuple of parts when a part has a dot."""

from collections.abc import Sequence

from lakebed.errors import Invalid
from lakebed.records.names import normal_name

Name = str | tuple[str, ...]


def parse_name(name: Name) -> tuple[str, ...]:
    """The parts of a name, outermost first, each as it is stored; `Invalid` for anything that can't be a name."""
    if isinstance(name, str):
        parts: tuple[str, ...] = tuple(name.split("."))
    elif isinstance(name, tuple) and name:
        parts = name
    else:
        raise Invalid("this is not a name", expected="dotted text or a tuple of parts", found=repr(name))
    if len(parts) > 1 and "" in parts:
        raise Invalid("a part of this name is empty", subject=repr(name), expected="parts such as sales.orders")
    return tuple(normal_name(part) for part in parts)


def shown_name(parts: tuple[str, ...]) -> Name:
    """The name in a form that `parse_name` accepts: text, unless a part has a dot."""
    return parts if any("." in part for part in parts) else ".".join(parts)


def spelled(parts: tuple[str, ...]) -> str:
    """The name as messages and the log spell it."""
    return ".".join(f"`{part}`" if "." in part else part for part in parts)


def first_names(names: Sequence[str]) -> str:
    """At most five names inside a sentence, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
