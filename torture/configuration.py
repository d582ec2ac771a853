"""The configurations in which lakes are attacked: where rows live, how they are deleted, when checkpoints are due."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Configuration:
    """Properties and the layout of the tables of a lake, and the isolation of its transactions."""

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    isolation: str = "serializable"


_FILES = {"write.inline-bytes": "0"}
_COPIES = {**_FILES, "write.row-changes": "copy-on-write"}
_CHECKPOINTS = {"checkpoint.deltas": "3"}

CONFIGURATIONS = (
    Configuration("inline"),
    Configuration("files", _FILES),
    Configuration("copy-on-write", _COPIES),
    Configuration("checkpoints", {**_FILES, **_CHECKPOINTS}),
    Configuration("inline, checkpoints", _CHECKPOINTS),
    Configuration("few inline bytes", {"write.inline-bytes": "700", **_CHECKPOINTS}),
    Configuration("partitions", {**_FILES, **_CHECKPOINTS}, ("bucket(2, id)",)),
    Configuration("copy-on-write, partitions, checkpoints", {**_COPIES, **_CHECKPOINTS}, ("truncate(1000000, id)",)),
)
"""Files have deletion vectors unless rows are copied on write. `few inline bytes` mixes inline rows and files."""

SNAPSHOT = Configuration("snapshot isolation", isolation="snapshot")
"""For a control: its anomalies must be found."""


def configuration(name: str) -> Configuration:
    """The configuration of a name."""
    return next(one for one in (*CONFIGURATIONS, SNAPSHOT) if one.name == name)
