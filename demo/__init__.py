"""A first look at Lakebed: `python -m demo`. `__main__` tells the story; the other files ask, compare and print."""
