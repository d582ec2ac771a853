"""Objects by their places among the levels of a lake."""
