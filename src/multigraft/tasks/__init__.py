"""Where prompts come from: files of JSONL, CSV or Parquet (`files`), what a row may hold (`prompts`), and how a prompt is told from others (`identity`)."""
