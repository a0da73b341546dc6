"""What a configuration may say: its sections, where they are read from, and what is wrong with them."""
