"""The servers over which the page is looked at; the same tests run on a LangGraph Server in `live/`."""

from page_servers import address, folder, guarded, start, written  # noqa: F401 - fixtures
