"""The parts of `scripts/golden.py`: what is recorded, and how two recordings are compared."""
