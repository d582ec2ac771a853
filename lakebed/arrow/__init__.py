"""The local engine: tables read and written with Arrow, in this process. docs/internals/arrow.md has its promises."""
