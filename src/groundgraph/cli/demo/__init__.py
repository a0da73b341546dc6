"""`groundgraph demo`: what groundgraph does, shown on documents that are everywhere."""
