"""Search methods, one file an algorithm; all pure: what they need of the world they ask by yielding a step (see `optimize.problem`)."""
