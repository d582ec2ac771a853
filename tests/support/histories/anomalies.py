"""The ways in which a history can fail to be serializable, by their names in the literature.

G0 to G2 are those of Adya, Liskov and O'Neil, "Generalized Isolation Level Definitions", ICDE 2000; G-single is of
Adya's thesis (1999).
"""

from dataclasses import dataclass
from enum import Enum


class Anomaly(Enum):
    """What went wrong. Of the cycles (G0, G1c, G-single, G2, process, real time) the first that fits is named."""

    G0 = "G0, dirty write: each wrote before the other"
    G1A = "G1a, aborted read: somebody saw what was never committed"
    G1B = "G1b, intermediate read: somebody saw a part of what a transaction wrote"
    G1C = "G1c, circular flow: each saw or overwrote the other"
    LOST_UPDATE = "lost update: two read the same and both wrote it"
    G_SINGLE = "G-single, read skew: somebody saw one part of a commit and missed another"
    G2 = "G2, write skew or phantom: each missed what the other wrote"
    PROCESS = "process order: a process missed what it had seen or done itself"
    REAL_TIME = "real time: somebody missed what was over before it began"
    INTERNAL = "internal: a transaction does not agree with itself"
    FORKED = "forked order: the same writes were seen in two orders"
    REPEATED = "repeated: one write was seen twice"
    UNWRITTEN = "unwritten: somebody saw what nobody wrote"
    VERSIONS = "versions: the order of versions is not the order in which things happened"


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly, the names of the transactions in it, and how it came about, a line for each step."""

    anomaly: Anomaly
    transactions: tuple[str, ...]
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "\n  ".join((self.anomaly.value, *self.steps))
