"""The schema of a run file. Every field a user may set is here, once, with its default and its meaning; nothing else reads a run file.

Keys are never in a run file: `key_env` names the environment variable that holds one.
"""

from multigraft.config.base import checked_table, read_run_file
from multigraft.config.models import EndpointTable, ModelTable, PypiSource, SamplingTable
from multigraft.config.optimize import CapsTable, OptimizeTable, PilotTable
from multigraft.config.run_file import (
    ConcurrencyTable,
    JudgeTable,
    LimitsTable,
    RewardPartTable,
    RewardTable,
    RunFile,
    ScorerTable,
    TaskTable,
    TemplatesTable,
    checked,
)

__all__ = [
    "CapsTable",
    "ConcurrencyTable",
    "EndpointTable",
    "JudgeTable",
    "LimitsTable",
    "ModelTable",
    "OptimizeTable",
    "PilotTable",
    "PypiSource",
    "RewardPartTable",
    "RewardTable",
    "RunFile",
    "SamplingTable",
    "ScorerTable",
    "TaskTable",
    "TemplatesTable",
    "checked",
    "checked_table",
    "read_run_file",
]
