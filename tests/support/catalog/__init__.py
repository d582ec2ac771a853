"""What tests of catalogs do at random, and the models that say what must come of it."""
