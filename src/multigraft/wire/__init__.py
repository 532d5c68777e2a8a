"""HTTP to model and reward servers: capped JSON posts, adaptive limits, circuit breakers, endpoints and the choice among them."""
