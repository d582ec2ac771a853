"""`lakebed`, the command line: words, options, answers. docs/internals/cli.md."""
