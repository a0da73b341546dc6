"""From a message to what is searched for, and from evidence to a checked answer."""
