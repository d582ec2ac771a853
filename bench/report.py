"""The figures as tables: in the terminal, and between two marks in docs/performance.md."""

from pathlib import Path

from bench.figure import Measured, Row, shown

BEGIN, END = "<!-- python -m bench --write begins -->", "<!-- python -m bench --write ends -->"

_WORDS = {True: "met", False: "missed", None: "unclear"}


def text(measured: Measured) -> str:
    """One figure for the terminal."""
    width = max(len(row.what) for row in measured.rows)
    lines = [f"  {row.what:<{width}}  {row.measured:>8}  {_verdict(row):<16}  {row.detail}" for row in measured.rows]
    return "\n".join([f"{measured.figure.title} [{measured.figure.name}; {_syncs(measured)}]", *lines, ""])


def markdown(figures: list[Measured], machine: str) -> str:
    """All figures for the page."""
    lines = [f"Measured on {machine}.", ""]
    for measured in figures:
        lines += [f"### {measured.figure.title}", "", f"`{measured.figure.name}`; {_syncs(measured)}.", ""]
        lines += ["| What | Measured | Goal | In detail |", "| --- | --- | --- | --- |"]
        lines += [f"| {row.what} | {row.measured} | {_verdict(row)} | {row.detail} |" for row in measured.rows]
        lines += [""]
    return "\n".join(lines)


def write(page: Path, content: str) -> None:
    """Replace the text between the page's marks; everything around it stays."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} has no marks for the figures: {BEGIN} and {END}")
    page.write_text(f"{before}{begin}\n{content}\n{end}{after}", encoding="utf-8")


def _syncs(measured: Measured) -> str:
    before, after = measured.syncs
    return f"a sync took {shown(before)} before it and {shown(after)} after it"


def _verdict(row: Row) -> str:
    if row.goal is None:
        return ""
    return f"{row.goal}: {_WORDS[row.met]}"
