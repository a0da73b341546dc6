"""Replaceable strategies: chunking, merging, quoting, checking citations."""
