"""Measuring retrieval and refusal on a folder of passages, questions and judgements."""
