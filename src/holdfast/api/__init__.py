"""The HTTP API: what products call. It holds no SQL and no rules of its own."""
