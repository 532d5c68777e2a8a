"""The libraries of the extra `[hf]`, imported when a scorer starts."""

import importlib
from types import ModuleType

from multigraft.errors import InputError


def required(name: str) -> ModuleType:
    """Import a library of the extra.

    Args:
        name: of the module.

    Raises:
        InputError: it is not installed; names the line that installs it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"reward models in this process need {name.partition('.')[0]}, which is not there ({error}): pip install 'multigraft[hf]'"
        raise InputError(message) from error
