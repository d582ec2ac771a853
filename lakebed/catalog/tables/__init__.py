"""Tables and views as objects: their state, ids, evolution and typed properties."""
