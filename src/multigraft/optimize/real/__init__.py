"""Searches answered by real models: every call paid once, whatever happens.

`drive` answers a search; `evaluator` runs graphs on questions, `grading` grades them, `once` buys each output once and `store` keeps it; `splits` deals the
questions, `measure` measures the task beforehand, `held_out` compares at the end.
"""
