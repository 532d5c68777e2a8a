"""Scorers of responses behind one method, `score`, one file a scorer; how several become one value is in `combine`."""
