"""From the record of a run to training data: best responses, preference pairs, everything; filters, formats and the dataset card."""
