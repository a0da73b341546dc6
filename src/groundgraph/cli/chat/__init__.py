"""`groundgraph chat`: a conversation from pipes or at a terminal."""
