"""What the figures measure on: lakes, tables and rows of ours, and tables of the peers."""
