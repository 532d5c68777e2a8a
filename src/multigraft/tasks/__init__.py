"""Where prompts come from and how they are read."""
