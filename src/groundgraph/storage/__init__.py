"""Checkpoints, records and evidence: where they are kept, who may write, what is taken out again."""
