"""Reward models in this process: classifiers, process rewards and verdicts of causal models, through transformers and torch (extra `[hf]`).

`weights` finds a model and refuses pickles, `recipes` says how a known one is asked, `templates` renders its chat template in a limited process, `tokens`
makes token ids of it, `loading`, `reading`, `network` and `heads` run it, and `work` batches whatever waits. Those that run it import torch, and only once a
scorer starts.
"""
