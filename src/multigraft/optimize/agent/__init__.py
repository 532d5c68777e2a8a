"""Searching with a language model as the optimiser.

Reading order: the agents it works with (`team`); what it is told (`feedback`, `insights`, worded by `prompts` and the text files in `templates`); the form of
its reply (`schemas`); and how its reply, which is hostile until shown otherwise, becomes a graph (`reading`, `validator`, `edge_table`, `picks`). `asking` asks
again where a reply is of no use. `sensible` is an optimiser without a model, which reads the feedback and climbs.
"""
