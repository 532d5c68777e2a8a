"""What multigraft serves over HTTP: local rewards, batched over the requests of many workers."""
