"""Tables of any other database that SQLAlchemy has a dialect for. Importing this package does not load SQLAlchemy."""
