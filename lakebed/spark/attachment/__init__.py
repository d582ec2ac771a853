"""Sessions that know the names of a lake."""
