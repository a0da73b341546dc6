"""The vocabulary of groundgraph: intent, evidence, settings, errors, text. Imports nothing else of ours."""
