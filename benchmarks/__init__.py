"""Scripts that measure; run them from the root of the repository, such as `python -m benchmarks.fault_matrix_endpoints`."""
