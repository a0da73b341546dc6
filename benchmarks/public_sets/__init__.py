"""The public sets: what groundgraph finds, refuses and cites on each: `python -m benchmarks.public_sets DATA`."""
