"""Which model to call next, on which earlier responses: one file an algorithm, the contract in `base`, names in `table`. Pure."""
