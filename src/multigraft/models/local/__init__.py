"""Embedded models: where weights come from, and the child processes that serve them on loopback."""
