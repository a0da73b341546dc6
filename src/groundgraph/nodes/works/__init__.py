"""The works of `process_results`, a file each: from a ranking to a ranking."""
