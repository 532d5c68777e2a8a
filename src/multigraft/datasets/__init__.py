"""From the record of a run to training data.

A selection (`sft`, `preference`, `everything`) turns the record of a prompt into rows, by the filters of `pick`; `export` writes the rows as JSONL, Parquet
or CSV, all or nothing; `card` describes what was written and how it was made.
"""
