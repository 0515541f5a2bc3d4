"""Control flow, the place in the grid, and what a tile program tells the host."""
