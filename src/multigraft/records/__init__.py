"""The record of a run, its one truth: what is written (`rows`), the append-only log (`log`), and how it is read back (`reader`)."""
