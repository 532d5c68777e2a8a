"""The 25 checkable instructions of IFEval (arXiv 2311.07911): one file a family, names and arguments in `kinds`, the three forms in `evaluate`."""
