"""The six kinds of chains by name, open to functions, Runnables and third parties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import Registry, nearest
from groundgraph.models.call_model import ChainModel
from groundgraph.prompts import Prompts
from groundgraph.settings.load_settings import message_of
from groundgraph.settings.section import Section
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


# What the factory of a chain is given, and how it reads its options.

S = TypeVar("S", bound=Section)


class NoOptions(Section):
    """The options of a chain that has none."""


@dataclass(frozen=True)
class ChainOptions:
    """One choice of a chain, as its factory receives it.

    Attributes:
        name: the name under which the chain was asked for.
        options: the keys beside `name`.
        key: where the choice stands in the configuration, for messages.
        settings: all of them.
        prompts: the prompt files.
        chat_model: the model of the chains; None without one.
        judged: for filters: a reranker, or matching texts of another form than the chunk, are configured, so that
            scores have a meaning of their own.
    """

    name: str
    options: Mapping[str, Any]
    key: str
    settings: Settings
    prompts: Prompts
    chat_model: BaseChatModel | None = field(default=None, repr=False)
    judged: bool = False

    @property
    def model(self) -> ChainModel | None:
        """The model within the bounds of the settings; None without one."""
        return ChainModel.of(self.settings, self.prompts, self.chat_model) if self.chat_model else None

    def read(self, kind: type[S]) -> S:
        """The options as a `kind`.

        Raises:
            ConfigurationError: an option is unknown or has a bad value; every problem is listed.
        """
        try:
            return kind(**self.options)
        except ValidationError as error:
            raise ConfigurationError(
                [self._problem(item, list(kind.model_fields)) for item in error.errors()]
            ) from None

    def refuse_options(self) -> None:
        """For a chain that has no options.

        Raises:
            ConfigurationError: one is given.
        """
        self.read(NoOptions)

    def prompt(self, own: str | None, shipped: str) -> str:
        """The name of the prompt to use: `own`, from the option `prompt`, or the one that is `shipped`.

        Raises:
            ConfigurationError: there is no prompt `own`, or it cannot stand in for `shipped`.
        """
        if own is None:
            return shipped
        self.prompts.check_stands_in(own, shipped, key=f"{self.key}.prompt")
        return own

    def _problem(self, item: Any, known: list[str]) -> Problem:
        location = item["loc"]
        key = ".".join(map(str, (self.key, *location)))
        if item["type"] != "extra_forbidden":
            return Problem(key, message_of(item, location))
        offered = f"{nearest(str(location[-1]), known)} Known: {', '.join(known)}." if known else " It has none."
        return Problem(key, f"the chain '{self.name}' has no option '{location[-1]}'.{offered}")


Kind = Literal["chunker", "matching_text", "qualifying_text", "transformer", "reranker", "filter"]
ChainFactory = Callable[[ChainOptions], Any]

REGISTRIES: Mapping[str, Registry[ChainFactory]] = {
    "chunker": Registry("chunker", "groundgraph.chunkers"),
    "matching_text": Registry("matching text", "groundgraph.matching_texts"),
    "qualifying_text": Registry("qualifying text", "groundgraph.qualifying_texts"),
    "transformer": Registry("query transformer", "groundgraph.query_transformers"),
    "reranker": Registry("reranker", "groundgraph.rerankers"),
    "filter": Registry("filter", "groundgraph.filters"),
}
