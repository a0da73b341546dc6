"""Which models a configuration names, how they are called, and what their replies say."""
