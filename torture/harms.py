"""Harms: what disks, copies and people do to a file. Each takes a file and chance, and says what it did."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path


def flip_a_bit(path: Path, chance: random.Random) -> str:
    size = path.stat().st_size
    place, bit = chance.randrange(size), chance.randrange(8)
    _patch(path, place, lambda old: bytes([old[0] ^ (1 << bit)]), 1)
    return f"bit {bit} of byte {place} flipped"


def zero_a_piece(path: Path, chance: random.Random) -> str:
    length = min(chance.choice((16, 512, 4096)), path.stat().st_size)
    place = chance.randrange(max(1, path.stat().st_size - length + 1)) // length * length
    _patch(path, place, lambda old: bytes(len(old)), length)
    return f"{length} bytes zeroed at {place}"


def garble_a_piece(path: Path, chance: random.Random) -> str:
    place = chance.randrange(path.stat().st_size)
    _patch(path, place, lambda old: chance.randbytes(len(old)), 16)
    return f"16 bytes replaced at {place}"


def cut_the_end(path: Path, chance: random.Random) -> str:
    size = chance.randrange(path.stat().st_size)
    os.truncate(path, size)
    return f"truncated to {size} bytes"


def add_to_the_end(path: Path, chance: random.Random) -> str:
    with path.open("ab") as file:
        file.write(chance.randbytes(100))
    return "100 bytes appended"


def empty(path: Path, chance: random.Random) -> str:
    os.truncate(path, 0)
    return "emptied"


def remove(path: Path, chance: random.Random) -> str:
    path.unlink()
    return "removed"


def replace_by_a_sibling(path: Path, chance: random.Random) -> str:
    """As after a copy that mixed files up."""
    others = [one for one in path.parent.rglob(f"*{path.suffix}") if one != path and one.is_file()]
    if not others:
        return flip_a_bit(path, chance)
    other = chance.choice(sorted(others))
    shutil.copyfile(other, path)
    return f"replaced by {other.name}"


def _patch(path: Path, place: int, changed: Callable[[bytes], bytes], length: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        old = file.read(length)
        file.seek(place)
        file.write(changed(old))


DAMAGES = (
    *(flip_a_bit,) * 4,
    *(zero_a_piece, garble_a_piece) * 2,
    *(cut_the_end, add_to_the_end, empty, remove, replace_by_a_sibling),
)
