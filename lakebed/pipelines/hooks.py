"""Hooks: functions that tell the outside world, after a run was published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.pipelines.inputs import Source


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that is called after publishing, at least once, with what its parameters name."""

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, Source]
    retries: int = 0
    is_always: bool = False
    """Whether it is called after a run that had nothing to publish, too."""
