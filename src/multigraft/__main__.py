"""`python -m multigraft`."""

from multigraft.cli.main import main

main()
