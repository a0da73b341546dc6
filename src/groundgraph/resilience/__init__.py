"""Bounds of time, tries and load: knows nothing of turns."""
