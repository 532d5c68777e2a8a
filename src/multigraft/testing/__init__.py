"""Conformance suites for strategies, models and rewards of your own: subclass one and run pytest."""
