"""The words of the command line, a module for each group; docs/guide/command-line.md shows them."""
