"""The same work by groundgraph and by its peers, each in an environment of its own."""
