"""A first look at Lakebed: `python -m demo`. `__main__` has the steps; the other files query, compare and print."""
