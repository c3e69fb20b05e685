"""Fields of settings -> options of Typer. Text reaches the settings as it was typed: their fields know how to read it.

How to add an option: add a field to settings.py (see fields.py). Nothing here or in commands.py changes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from enrelm_cli.cli.completion import columns, data_files
from enrelm_cli.fields import (
    OUTPUT,
    PANELS,
    REQUIRED,
    RUNNING,
    Choice,
    Flag,
    Option,
    Settings,
    all_options,
    choice,
    flag,
    text,
)


@dataclass(frozen=True)
class ScreenSettings(Settings):
    """How much is said; every command has these."""

    quiet: bool = flag(False, "Print only results and errors.", OUTPUT, flags=("--quiet", "-q"))
    verbose: bool = flag(False, "Show the full report and log every pass.", OUTPUT, flags=("--verbose", "-v"))
    debug: bool = flag(False, "Show a traceback on failure.", OUTPUT)
    log_format: str = choice(
        "text", ("text", "json"), "Messages on stderr as text or as JSON lines.", OUTPUT, metavar="FORMAT"
    )
    config: str | None = text(
        None, "Take options from this TOML file (see `enrelm config`); the command line wins.", RUNNING, "FILE"
    )


@dataclass(frozen=True)
class CommandLine:
    """What was said on the line, in a run file or in the environment.

    By option: {"target": ("--target", "y"), "tune": ("--no-tune",)}.
    """

    words: dict[str, tuple[str, ...]]
    command: str = ""

    @classmethod
    def of(cls, context: typer.Context) -> CommandLine:
        typed = {}
        for parameter in context.command.params:
            source = context.get_parameter_source(parameter.name or "")
            if source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP") and parameter.name != "config":
                typed[parameter.name or ""] = tuple(_words(parameter, context.params[parameter.name or ""]))
        return cls(typed, context.info_name or "")

    @property
    def whole(self) -> list[str]:
        """A line that says the same without a run file or a variable."""
        return ["enrelm", self.command, *(word for words in self.words.values() for word in words)]

    def of_settings(self, settings: Iterable[type[Settings]], command: str) -> list[str]:
        """The words for those options of the settings (not arguments) that the command has too."""
        names = [option.name for kind in settings for option in all_options(kind, command) if option.panel]
        return [word for name in names for word in self.words.get(name, ())]


def _words(parameter: Any, value: Any) -> list[str]:
    option = next((name for name in parameter.opts if name.startswith("--")), None)
    if isinstance(value, bool):
        return [option] if value and option else parameter.secondary_opts[:1]
    values = value if isinstance(value, (list, tuple)) else [value]
    # A file called -x.csv is no option.
    return [word for one in values for word in ((option, one) if option else (re.sub("^-(?=.)", "./-", one),))]


def ordered(settings: Iterable[type[Settings]], command: str) -> dict[str, Option]:
    """A command's options by name, panel after panel."""
    found = {option.name: option for kind in (*settings, ScreenSettings) for option in all_options(kind, command)}
    by_panel = sorted(found.values(), key=lambda option: PANELS.index(option.panel) if option.panel else -1)
    return {option.name: option for option in by_panel}


def parameters(settings: Iterable[type[Settings]], command: str) -> list[inspect.Parameter]:
    """What Typer makes a command's options of. It shows panels in the order in which it meets them."""
    return [_parameter(option) for option in ordered(settings, command).values()]


def _parameter(option: Option) -> inspect.Parameter:
    made: Any
    if option.panel is None:
        made = typer.Argument(metavar=option.kind.metavar, help=option.help)
    else:
        made = typer.Option(
            *_declared(option),
            help=option.help,
            metavar=None if isinstance(option.kind, Flag) else option.kind.metavar,
            rich_help_panel=option.panel,
            autocompletion=_completion(option),
        )
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=_default(option), annotation=Annotated[_type(option), made]
    )


def _declared(option: Option) -> Sequence[str]:
    """Every flag can be turned off again: a run file or a variable may have set it."""
    if not isinstance(option.kind, Flag):
        return option.flags
    first, *short = option.flags
    return (f"{first}/--no-{first.removeprefix('--')}", *short)


def _default(option: Option) -> Any:
    if option.default is REQUIRED:
        return inspect.Parameter.empty
    return option.default if isinstance(option.kind, Flag) else option.default_text


def _type(option: Option) -> Any:
    if isinstance(option.kind, Flag):
        return bool
    kind: Any = list[str] if option.repeatable else str
    return kind if option.default is REQUIRED else kind | None


def _completion(option: Option) -> Callable[..., list[str]] | None:
    if isinstance(option.kind, Choice):
        names = option.kind.names
        return lambda incomplete: [name for name in names if name.startswith(incomplete)]
    return _COMPLETIONS.get(option.completion or "")


def _column_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Column names of the data files that stand on the line already."""
    return columns(data_files(ctx.params, ctx.args), incomplete)


def _method_names(incomplete: str) -> list[str]:
    from enrelm_cli.commands.compare import default_methods

    return [name for name in default_methods() if name.startswith(incomplete)]


_COMPLETIONS: dict[str, Callable[..., list[str]]] = {"columns": _column_names, "methods": _method_names}
