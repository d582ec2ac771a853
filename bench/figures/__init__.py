"""One module for each figure; its `FIGURE` has the name for the command line."""
