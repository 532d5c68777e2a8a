"""The search tree: flat nodes (`tree`), choice rules (`selection`), how rewards are backed up (`backup`). Pure."""
