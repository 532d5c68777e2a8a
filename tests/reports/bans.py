"""What no file of the package may do, read off its syntax: run what it reads, unpickle, open weights that hold code, or make a template of a model's text."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

MODULES = {
    "pickle": "unpickling runs code",
    "_pickle": "unpickling runs code",
    "dill": "unpickling runs code",
    "cloudpickle": "unpickling runs code",
    "joblib": "it unpickles",
    "diskcache": "it unpickles",
    "shelve": "it unpickles",
    "marshal": "it makes code of bytes",
    "multiprocessing": "its queues and pools unpickle",
}
CALLS = {"eval", "exec", "compile", "__import__", "execfile"}
SHELLS = {"system", "popen", "create_subprocess_shell", "getoutput", "getstatusoutput"}
UNPICKLING = {"read_pickle", "unsafe_load", "full_load", "load_module", "load_from_checkpoint", "ProcessPoolExecutor"}
SAFE_LOADERS = {"SafeLoader", "CSafeLoader"}

RUN_IN_THE_BOX = {"sandbox/inside/judge.py", "sandbox/inside/program.py", "sandbox/inside/submission.py"}
"""They run generated code, behind the walls and nowhere else."""
TEMPLATES_OF_MODELS = {"rewards/hf/template_child.py"}
"""Chat templates of reward models, in a process of their own."""
FORMATS_OWN_TEXT = {"puzzles/lambda_function.py"}
"""What it fills comes from a table in the file itself."""


def violations(source: str, path: str) -> list[str]:
    """Say what a file does that none may.

    Args:
        source: of the file.
        path: inside the package, with slashes.
    """
    return [f"{path}:{line} {what}" for line, what in sorted(_violations(ast.parse(source), PurePosixPath(path).as_posix()))]


def _violations(tree: ast.Module, path: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _of_import(node, path)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _of_call(node, path))
        elif isinstance(node, ast.keyword) and (what := _of_keyword(node)):
            yield node.value.lineno, what
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_defaults(node)


def _of_import(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[tuple[int, str]]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    for name in names:
        top = name.split(".")[0]
        if top in MODULES:
            yield node.lineno, f"imports {top}: {MODULES[top]}"
        if top == "jinja2" and path not in TEMPLATES_OF_MODELS:
            yield node.lineno, "imports jinja2: templates are filled in one pass, and only those of models are programs"
    if isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if (node.module, alias.name) in {("torch", "load"), ("yaml", "load"), ("os", "system"), ("os", "popen")} or alias.name in UNPICKLING:
                yield node.lineno, f"takes {alias.name} out of {node.module}, where its calls are not seen"


def _of_call(node: ast.Call, path: str) -> Iterator[str]:
    function = node.func
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if isinstance(function, ast.Name) and function.id in CALLS and path not in RUN_IN_THE_BOX:
        yield f"calls {function.id}"
    if not isinstance(function, ast.Attribute):
        return
    owner, name = ast.unparse(function.value), function.attr
    if owner == "builtins" and name in CALLS:
        yield f"calls {name}"
    if name in SHELLS:
        yield f"calls {name}: no command goes through a shell"
    if name in UNPICKLING:
        yield f"calls {name}"
    if owner == "torch" and name == "load" and not _is(given.get("weights_only"), value=True):
        yield "calls torch.load without weights_only=True"
    if owner == "yaml" and name in {"load", "load_all"} and not _is_safe(node, given.get("Loader")):
        yield "calls yaml.load without SafeLoader"
    if name in {"format", "format_map"} and not _is_written_here(function.value) and path not in FORMATS_OWN_TEXT:
        yield f"calls {name}: a template with a text of somebody else's reaches attributes"


def _of_keyword(node: ast.keyword) -> str | None:
    if node.arg == "shell":
        return "no command goes through a shell"
    if node.arg in {"trust_remote_code", "allow_pickle"} and _is(node.value, value=True):
        return f"{node.arg}=True: only the run file may say so, of one model"
    if node.arg in {"use_safetensors", "weights_only"} and _is(node.value, value=False):
        return f"{node.arg}=False: such weights may hold code"
    return None


def _of_defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    for argument, default in pairs:
        if argument.arg == "trust_remote_code" and _is(default, value=True):
            yield node.lineno, "trusts remote code by default"


def _is_written_here(node: ast.expr) -> bool:
    """Whether a template is a text in the file: a literal, or a constant by its name. What is filled in does no harm, what it is filled into may."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _is(node: ast.expr | None, *, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _is_safe(node: ast.Call, loader: ast.expr | None) -> bool:
    found = loader or (node.args[1] if len(node.args) > 1 else None)
    return found is not None and ast.unparse(found).split(".")[-1] in SAFE_LOADERS
