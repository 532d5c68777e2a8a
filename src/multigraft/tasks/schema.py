"""The schema of a task file. Every field one may hold is here, once, with its default and its meaning; nothing else reads a task file."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from multigraft.errors import InputError
from multigraft.prompting.library import FAMILIES, load_templates
from multigraft.prompting.places import places
from multigraft.tasks.readers import NAMES as READERS

Scalar: TypeAlias = str | int
Text = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """A table of a task file: unknown fields are refused, nothing is converted behind the writer's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ValueTable(Table):
    """Where a value comes from, when it is more than the name of a column."""

    column: Text | None = None
    """Column of the row; dots lead into objects, such as `question.text`."""
    option: Text | None = None
    """Option of the task."""
    read: str | None = None
    """How the value is read: a name of `readers.NAMES`; default: as it is."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> "ValueTable":
        if (self.column is None) is (self.option is None):
            message = "needs either a column or an option"
            raise ValueError(message)
        if self.read is not None and self.read not in READERS:
            message = f"unknown way to read a value '{self.read}'; known: {', '.join(sorted(READERS))}"
            raise ValueError(message)
        return self


def _text_or_table(value: object) -> str:
    return "a table" if isinstance(value, Mapping | ValueTable) else "a text"


Value: TypeAlias = Annotated[Annotated[Text, Tag("a text")] | Annotated[ValueTable, Tag("a table")], Discriminator(_text_or_table)]
"""Name of a column, or a table that says more."""


class SourceTable(Table):
    """Where items come from: a dataset, a file, a package, a test set, or a generator."""

    dataset: Text | None = None
    """Dataset of the Hugging Face hub (OWNER/NAME), or a folder (with a slash at its beginning or `./`)."""
    revision: Text | None = None
    """Commit of the dataset; needed of one on the hub, so that items are the same tomorrow."""
    config: Value | None = None
    """Configuration of the dataset."""
    configs: tuple[Text, ...] = ()
    """Several configurations, one after the other."""
    config_option: Text | None = None
    """Option that chooses among `configs`; none chosen: all."""
    split: Text = "test"
    """Split of the dataset."""
    member: Text | None = None
    """Path of one file, inside the dataset or the package; default: what the dataset's own card says."""
    file: Text | None = None
    """JSONL, CSV or Parquet; relative to the task file."""
    package: Text | None = None
    """Name of an installed Python package that holds `member`."""
    test_set: Text | None = None
    """Name of a test set that sacreBLEU knows; its language pair is the option `pair`."""
    generator: Literal["puzzles"] | None = None
    """Items are made up, by seed."""
    when: Mapping[str, tuple[Scalar, ...]] = Field(default_factory=dict)
    """This source is meant when each of these options has one of these values."""

    @model_validator(mode="after")
    def _is_one_source(self) -> "SourceTable":
        origins = [name for name in ("dataset", "file", "package", "test_set", "generator") if getattr(self, name) is not None]
        if len(origins) != 1:
            message = f"needs exactly one of dataset, file, package, test_set and generator, not {' and '.join(origins) or 'none'}"
            raise ValueError(message)
        if self.dataset is not None and not self.is_a_folder and self.revision is None:
            message = "a dataset of the hub needs revision: the commit its items are read from"
            raise ValueError(message)
        if self.package is not None and self.member is None:
            message = "a package needs member: the path of the file inside it"
            raise ValueError(message)
        return self

    @property
    def is_a_folder(self) -> bool:
        """Whether the dataset is a folder of this machine."""
        return self.dataset is not None and self.dataset.startswith(("/", "./", "../"))

    @property
    def needs_the_hub(self) -> bool:
        """Whether items are fetched over the network."""
        return (self.dataset is not None and not self.is_a_folder) or self.test_set is not None

    @property
    def named(self) -> str:
        """Say where items come from, in a few words."""
        if self.dataset is not None:
            return self.dataset if self.is_a_folder else f"hf:{self.dataset}@{str(self.revision)[:12]}"
        if self.package is not None:
            return f"package {self.package}: {self.member}"
        return f"sacreBLEU {self.test_set}" if self.test_set else self.file or "generated by seed"


class OptionTable(Table):
    """One thing a user may choose."""

    meaning: Text
    """One sentence."""
    kind: Literal["text", "integer"] = "text"
    """What its values are."""
    values: tuple[Scalar, ...] = ()
    """The values there are; none named: any."""
    minimum: int | None = None
    """Of an integer."""
    many: bool = False
    """Whether it takes several values, separated by commas or as a list."""
    default: Scalar | None = None
    """Its value when the user gives none; none: it has no effect."""
    field: Text | None = None
    """Only items whose field of this name is among the values are kept."""
    keep: Mapping[str, Mapping[str, tuple[Scalar, ...]]] = Field(default_factory=dict)
    """By value: the fields, and what they hold in the items that are kept."""


class TurnTable(Table):
    """A worked example: one exchange before the question."""

    user: Text
    """What is asked; may hold places of the row."""
    assistant: Text
    """How it is answered; likewise."""


class AskTable(Table):
    """How an item is asked in each role."""

    system: Text | None = None
    """System message."""
    examples: tuple[TurnTable, ...] = ()
    """Exchanges before the question; an option named `shots` says how many of them are shown."""
    answer: Text | None = None
    """User message, with places such as `{{question}}`; none: the row's own `prompt`, `instruction` or `messages`."""
    family: str = "default"
    """Family of templates that the four below are taken from where they are not given."""
    refine: Text | None = None
    """Wording of a refinement, with the places `{{prompt}}` and `{{response}}`."""
    aggregate: Text | None = None
    """Wording of an aggregation, with the place `{{responses}}`."""
    fuse: Text | None = None
    """Wording of a condensation, with the places `{{prompt}}` and `{{responses}}`."""
    conclude: Text | None = None
    """Wording of the final answer of a graph that ends in a model, with the places `{{prompt}}` and `{{responses}}`."""

    @field_validator("system", "answer", "refine", "aggregate", "fuse", "conclude")
    @classmethod
    def _without_outer_line_ends(cls, text: str | None) -> str | None:
        """Long texts stand between lines of quotes, whose line ends are not meant."""
        return None if text is None else text.strip("\n")

    @model_validator(mode="after")
    def _templates_fit(self) -> "AskTable":
        if self.family not in FAMILIES:
            message = f"unknown family of templates '{self.family}'; known: {', '.join(FAMILIES)}"
            raise ValueError(message)
        try:
            load_templates(self.family, refine=self.refine, aggregate=self.aggregate, fuse=self.fuse, conclude=self.conclude)
        except InputError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def places(self) -> frozenset[str]:
        """Names of the fields that the messages show."""
        texts = [self.system or "", self.answer or "", *(text for turn in self.examples for text in (turn.user, turn.assistant))]
        return frozenset().union(*map(places, texts))


class ReadTable(Table):
    """How an answer is read."""

    form: Literal["text", "number", "math", "letter", "code", "translation", "puzzle"]
    """What kind of answer is expected."""
    meaning: Text
    """For people: where the answer is looked for, and what is done to it."""


class PartTable(BaseModel):
    """One scorer and its settings, exactly as in `[[reward.parts]]` of a run file; checked where it is built."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, object]

    kind: Text
    """A name of the rewards' reference, or of an entry point."""

    def settings(self) -> dict[str, object]:
        """Return the part as it stands in the file."""
        return {"kind": self.kind, **self.__pydantic_extra__}


class SuggestionTable(Table):
    """A scorer that fits the task."""

    part: PartTable
    """As in `[[reward.parts]]`; a `model` named in capitals is the user's to name."""
    why: Text
    """One sentence."""


class SuggestTable(Table):
    """What fits the task beside its own grader."""

    reward: tuple[SuggestionTable, ...] = ()
    """To guide a search; none of these looks at the reference."""
    judge: tuple[SuggestionTable, ...] = ()
    """To judge from outside."""


class SummaryTable(Table):
    """How results are summarised."""

    metrics: tuple[Literal["mean", "accuracy", "majority", "weighted_vote", "oracle", "win_rate", "length_controlled_win_rate"], ...]
    """Mean score, share of right best answers, of majority votes, of votes weighted by reward, of prompts with any right answer, and wins over a baseline,
    also at equal length."""
    by: tuple[Text, ...] = ()
    """Fields that results are grouped by."""


class TaskTable(Table):
    """A whole task file."""

    title: Text
    """A few words."""
    description: Text
    """What is asked, in a sentence or two."""
    licence: Text
    """Of the items."""
    origin: tuple[Text, ...] = ()
    """Papers and repositories that the items and the way of grading come from."""
    errata: tuple[Text, ...] = ()
    """Known mistakes of the items."""
    source: tuple[SourceTable, ...] = ()
    """Where items come from; several: the first whose `when` fits. None: only from the user's file."""
    fields: Mapping[str, tuple[Value, ...]] = Field(default_factory=dict)
    """By name, where each field of an item comes from: the first of these that a row has. All are kept with the prompt; `id`, `reference`,
    `instruction_id_list` and `kwargs` are what they are in any prompt file."""
    needs: tuple[Text, ...] = ()
    """Fields that every item must have, beside those its messages show."""
    options: Mapping[str, OptionTable] = Field(default_factory=dict)
    """What a user may choose, by name."""
    ask: AskTable = AskTable()
    read: ReadTable
    grade: tuple[PartTable, ...] = ()
    """The grader: scorers in the form of `[[reward.parts]]`."""
    suggest: SuggestTable = SuggestTable()
    summary: SummaryTable

    @model_validator(mode="after")
    def _names_are_known(self) -> "TaskTable":
        for name in sorted(self.ask.places | set(self.needs)):
            if self.fields and name not in self.fields:
                message = f"'{name}' is no field of this task; [fields] has {', '.join(self.fields)}"
                raise ValueError(message)
        if self.ask.answer is not None and not self.fields:
            message = "ask.answer shows fields, and [fields] names none"
            raise ValueError(message)
        for name in sorted(self._options_named()):
            if name not in self.options:
                message = f"'{name}' is no option of this task; [options] has {', '.join(self.options) or 'none'}"
                raise ValueError(message)
        return self

    def _options_named(self) -> set[str]:
        values = [value for alternatives in self.fields.values() for value in alternatives] + [source.config for source in self.source]
        named = {value.option for value in values if isinstance(value, ValueTable) and value.option is not None}
        named |= {source.config_option for source in self.source if source.config_option is not None}
        return named | {name for source in self.source for name in source.when}
