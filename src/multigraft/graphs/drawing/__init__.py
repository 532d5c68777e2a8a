"""Pictures of graphs: `svg` for pages, `terminal` for consoles. Pure text in both; names of models are data, never markup."""
