"""Collaboration graphs: which model answers, refines or fuses, and who reads whom (`graph`). Pure.

Equal graphs (`canonical`), shapes (`blocks`), files (`graph_file`); a distribution over graphs (`distribution`), its most probable graph (`decoding`), what
makes a graph sound again (`repair`) and affordable (`pruning`); what a graph costs (`cost`); how many there are (`counting`); pictures (`drawing`).
"""
