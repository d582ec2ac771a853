"""What differs between two states of a lake, and which commits made it so: rows, blame, bisect."""
