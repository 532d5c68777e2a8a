"""Several language models on one tree, and a compute budget spent where it pays.

prompts -> strategy.ask -> prompting -> model -> reward -> strategy.tell -> records -> datasets
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
