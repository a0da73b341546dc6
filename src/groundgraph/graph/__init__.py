"""Topology and wiring: the state, the graphs, the live objects behind them."""
