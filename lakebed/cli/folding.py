"""Long lines on a terminal, which are broken between words; the terminal would break them anywhere."""

import re
import shutil
from textwrap import wrap
from typing import TextIO

NO_BREAK = "\N{NO-BREAK SPACE}"
_COMMAND = re.compile(r"`[^`\n]*`")


def folded_for(stream: TextIO, text: str) -> str:
    """The text as it goes to a stream: as it is, unless that is a terminal."""
    return folded(text, shutil.get_terminal_size().columns) if stream.isatty() else text


def folded(text: str, width: int) -> str:
    """The text in lines that fit where that is possible; what is in backticks can be copied, so it stays whole."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" ")))
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", NO_BREAK), line.strip(" "))
    parts = wrap(
        whole,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace(NO_BREAK, " ") for part in parts]
