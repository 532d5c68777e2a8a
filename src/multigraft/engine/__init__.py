"""Where strategy, model, reward, budget and record meet: one call (`step`), one prompt (`run`), many (`campaign`), a resumed one (`replay`)."""
