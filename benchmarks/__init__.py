"""Timings and sizes of groundgraph against bare LangGraph, measured in one run: `python -m benchmarks`."""
