"""The steps of ingestion."""
