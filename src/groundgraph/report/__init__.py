"""How a turn is shown to a person who was not there: as one HTML page, or as text, both from its provenance record."""
