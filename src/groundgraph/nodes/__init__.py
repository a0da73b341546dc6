"""One file per step of a graph: a function from state to a partial update."""
