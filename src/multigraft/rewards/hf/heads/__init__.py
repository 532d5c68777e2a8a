"""Heads of reward models whose classes live with their weights, written over the backbones of transformers, so that no code of a repository has to run."""
