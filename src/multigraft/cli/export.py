"""`multigraft export`: training data from a run."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported
