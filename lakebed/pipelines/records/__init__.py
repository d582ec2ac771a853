"""What runs note of themselves: tables of the catalog `_runs`, which readers see while a run goes on."""
