"""What a merge does where two sides changed the same thing differently."""

import enum


class Settle(enum.Enum):
    """Who wins a conflict: nobody, the branch that is merged into, or the one that is merged."""

    FAIL = "fail"
    OURS = "ours"
    THEIRS = "theirs"
