"""The loop around any search method, pure: which graphs get more questions, which is the best, and what is said of it.

`search` is the loop; `archive` what it knows; `selection` who goes on and who wins, by `paired` comparisons and an objective of `objectives`; `pareto` fronts;
`report`, `explanation` and `report_text` what a person reads; `simulate` answers a search on the spot.
"""
