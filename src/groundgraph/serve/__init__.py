"""Conversations for a browser, for chat clients and for editors: one port, and what speaks over it."""
