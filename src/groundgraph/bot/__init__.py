"""The query bot."""
