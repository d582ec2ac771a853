"""Damaged bytes end in one of Lakebed's errors or in the right rows: in no crash, and in no error of another library.

Children read them, so that one that dies is counted. `python -m tests.support.damage.fuzz all 0 10000` runs more.
"""

import pytest

from tests.support.damage.fuzz import fuzz
from tests.support.damage.targets import ALL, SEALED, TARGETS

FEW, MANY = 300, 10_000


def check(target: str, seeds: range) -> None:
    report = fuzz(target, seeds)
    assert not report.crashes, f"{target}: these seeds ended the process"
    assert not report.untyped, f"{target}: these seeds raised an error of another library"
    assert not (report.others and target in SEALED), f"{target}: these seeds gave other rows"
    assert report.outcomes["corrupt"] + report.outcomes["invalid"] > len(seeds) / 4


def test_a_bad_byte_in_a_footer_no_longer_ends_the_process() -> None:
    check(ALL, range(FEW))


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
def test_damaged_bytes_are_typed_errors_or_change_no_row(target: str) -> None:
    check(target, range(MANY))
