"""The figures: one module for each, with the name of its measurement on the command line in `FIGURE`."""
