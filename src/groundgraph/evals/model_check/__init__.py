"""An acceptance test of a chat model: cases with known answers over a small corpus, both part of the package."""
