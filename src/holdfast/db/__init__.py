"""The way to PostgreSQL: the embedded server, the connection pool and the migrations."""
