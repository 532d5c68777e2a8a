"""Rows of a task's items, wherever they come from: a dataset of the hub or a folder, a file, a package, a test set of sacreBLEU, a generator.

A dataset never runs code of its own: those that would need it are read by the name of one of their files.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path, PurePosixPath

from multigraft.errors import InputError, MultigraftError
from multigraft.tasks.files import Row, plain, read_rows
from multigraft.tasks.options import Chosen
from multigraft.tasks.puzzle_items import puzzle_rows
from multigraft.tasks.readers import read
from multigraft.tasks.schema import SourceTable, ValueTable
from multigraft.types import Json

_BUILDERS: Mapping[str, str] = {".json": "json", ".jsonl": "json", ".parquet": "parquet", ".csv": "csv"}
_REMEDY = "or give the items as a file of the same fields"


def rows_of(source: SourceTable, options: Chosen, folder: Path, cache: Path | None = None) -> Iterator[Row]:
    """Walk over the rows of a source, each with its place.

    Args:
        source: one source of a task.
        options: in force.
        folder: of the task file, which paths are relative to.
        cache: where `datasets` keeps what it reads; None: its own place.

    Raises:
        InputError: the source cannot be read; says how items can be given instead.
    """
    if source.generator is not None:
        return puzzle_rows(options)
    if source.file is not None:
        return read_rows(folder / source.file)
    if source.package is not None:
        return _package_rows(source.package, source.member or "")
    return _test_set_rows(source.test_set, options) if source.test_set is not None else _dataset_rows(source, options, folder, cache)


def _package_rows(package: str, member: str) -> Iterator[Row]:
    try:
        resource = files(package).joinpath(member)
    except ModuleNotFoundError:
        message = f"the package '{package}' is not installed; install it, {_REMEDY}"
        raise InputError(message, field="source.package") from None
    with as_file(resource) as path:
        yield from read_rows(path)


def _dataset_rows(source: SourceTable, options: Chosen, folder: Path, cache: Path | None) -> Iterator[Row]:
    for config in _configs(source, options):
        name = f"{source.named}{f' ({config})' if config else ''}"
        with _from_the_hub(name):
            # Datasets of a folder are data as well, and keep their cache apart.
            dataset = _loaded(source, config, folder, cache)
        for number, values in enumerate(dataset, start=1):
            yield Row(name, number, {"config": config} | _plain(values, name, number))


def _configs(source: SourceTable, options: Chosen) -> tuple[str | None, ...]:
    if source.configs:
        wanted = options.values.get(source.config_option or "", ())
        return tuple(config for config in source.configs if not wanted or config in wanted)
    if isinstance(source.config, ValueTable):
        values = options.values.get(source.config.option or "", ())
        if not values:
            message = "this dataset needs it"
            raise InputError(message, field=source.config.option)
        return (str(values[0] if source.config.read is None else read(source.config.read, values[0], options.values)),)
    return (source.config,)


def _loaded(source: SourceTable, config: str | None, folder: Path, cache: Path | None) -> Iterator[Mapping[str, object]]:
    try:
        import datasets  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        message = f"reading datasets needs an extra: pip install 'multigraft[tasks]', {_REMEDY}"
        raise InputError(message) from None
    where = str((folder / str(source.dataset)).resolve()) if source.is_a_folder else str(source.dataset)
    kept = {"split": source.split, "cache_dir": None if cache is None else str(cache)}
    if source.member is None:
        return iter(datasets.load_dataset(where, config, revision=source.revision, **kept))
    suffix = PurePosixPath(source.member).suffix
    if suffix not in _BUILDERS:
        message = f"a file of a dataset ends in {', '.join(_BUILDERS)}; '{source.member}' does not"
        raise InputError(message, field="source.member")
    address = f"{where}/{source.member}" if source.is_a_folder else f"hf://datasets/{where}@{source.revision}/{source.member}"
    return iter(datasets.load_dataset(_BUILDERS[suffix], data_files={source.split: address}, **kept))


@contextmanager
def _from_the_hub(name: str) -> Iterator[None]:
    """Name what is wrong with a dataset in one line, and what to do."""
    try:
        yield
    except MultigraftError:
        raise
    # What `datasets` and sacreBLEU stand on raises errors of many libraries that have no base in common; sacreBLEU also exits when a checksum differs.
    except (Exception, SystemExit) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        message = f"cannot read {name}: {lines[0][:300]}; make it reachable, {_REMEDY}"
        raise InputError(message) from error


def _plain(values: Mapping[str, object], name: str, number: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for column, value in values.items():
        try:
            found[column] = plain(value)
        except TypeError as error:
            raise InputError(str(error), file=name, line=number, field=column) from None
    return found


def _test_set_rows(test_set: str, options: Chosen) -> Iterator[Row]:
    """Read a WMT test set, which sacreBLEU fetches once and verifies by its checksum."""
    try:
        from sacrebleu.dataset import DATASETS  # noqa: PLC0415 - an extra
    except ImportError:
        message = f"test sets come with sacreBLEU: pip install 'multigraft[checkers]', {_REMEDY}"
        raise InputError(message) from None
    (pair,) = options.values["pair"] or ("",)
    known = DATASETS[test_set].langpairs if test_set in DATASETS else {}
    if pair not in known:
        message = f"sacreBLEU's '{test_set}' has {', '.join(sorted(known)) or 'no pair'}; not '{pair}'"
        raise InputError(message, field="pair")
    known_set = DATASETS[test_set]
    with _from_the_hub(f"sacreBLEU {test_set} {pair}"):
        paths: tuple[str, str] = (
            known_set.get_source_file(pair),  # type: ignore[no-untyped-call]  # sacreBLEU has no types
            known_set.get_reference_files(pair)[0],  # type: ignore[no-untyped-call]  # as above
        )
        # Its own readers leave files open.
        sources, references = (Path(path).read_bytes().decode().removesuffix("\n").split("\n") for path in paths)
    if len(sources) != len(references):
        message = f"{len(sources)} sources and {len(references)} references; delete {Path(paths[0]).parent}, and it is fetched anew"
        raise InputError(message)
    for number, (text, reference) in enumerate(zip(sources, references, strict=True), start=1):
        yield Row(f"{test_set} {pair}", number, {"id": f"{test_set}/{pair}/{number}", "source": text, "reference": reference})
