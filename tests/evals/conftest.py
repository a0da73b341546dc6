"""Servers for the live tests of evaluations."""

from postgres_fixture import postgres, vector_server  # noqa: F401 - fixtures
