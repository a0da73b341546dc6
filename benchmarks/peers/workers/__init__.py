"""What runs inside the environments: one file a peer, without groundgraph unless it is groundgraph."""
