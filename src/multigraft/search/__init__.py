"""The search tree: nodes (`tree`), where the next response goes (`selection`), visits and rewards on the way up (`backup`), expected gain (`gain`). Pure."""
