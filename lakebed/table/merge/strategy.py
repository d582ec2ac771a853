"""What a merge does if both sides changed the same thing differently."""

import enum


class Settle(enum.Enum):
    """The winner of a conflict: none, the target branch, or the source branch."""

    FAIL = "fail"
    OURS = "ours"
    THEIRS = "theirs"
