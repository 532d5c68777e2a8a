"""Scoring by rule, without a model: instruction-following constraints (`ifeval/`), reference answers, patterns, lengths, and a gate for content."""
