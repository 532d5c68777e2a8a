"""The schema of a run file."""
