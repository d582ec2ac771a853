"""The figures of docs/performance.md: `python -m bench`, or with the names of some of them."""
