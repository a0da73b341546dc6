"""Tables of a PostgreSQL server. Importing this package loads neither SQLAlchemy nor psycopg."""
