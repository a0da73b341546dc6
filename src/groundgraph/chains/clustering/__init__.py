"""Results that say similar things, grouped (P5)."""
