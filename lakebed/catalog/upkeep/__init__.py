"""Looking after a lake: which files it refers to, whether they are whole, what they take, and a copy of it all."""
