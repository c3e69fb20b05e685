"""The Typer program: what makes a command of a function, help texts, and usage errors in our own words."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from enrelm_cli import __version__
from enrelm_cli.cli import startup
from enrelm_cli.cli.guard import EXIT_CODES, guard, is_of_stdout, tell_of_stdout
from enrelm_cli.cli.options import CommandLine, ScreenSettings, parameters
from enrelm_cli.errors import Exit, UsageError
from enrelm_cli.fields import OUTPUT, Settings, build
from enrelm_cli.settings import DataSettings, ReadOptions
from enrelm_cli.show.screen import Screen, error

# Click's UsageError: Typer has a copy of Click within, and shows only this child of it.
_PARSER_ERROR: Any = typer.BadParameter.__base__


class Program(TyperGroup):
    """Says what is wrong with a line as every other error is said: the problem, then what to type."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except _PARSER_ERROR as problem:
            _tell(problem, self._path(sys.argv[1:] if args is None else args))
            code = int(Exit.USAGE)
        except OSError as problem:  # of --help and --version: commands are guarded
            if not is_of_stdout(problem):
                raise
            tell_of_stdout(problem, Screen.of(sys.stdout, sys.stderr))
            code = int(Exit.USAGE)
        sys.exit(code if isinstance(code, int) else int(Exit.OK))

    def _path(self, args: Sequence[str]) -> str:
        """The command that a line is about; the parser does not always say."""
        return " ".join(["enrelm", *(word for word in args[:1] if word in self.commands)])


def _tell(problem: Any, path: str) -> None:
    """A usage error of the parser."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        problem.show()
        return
    hint = f"see `{path} --help`"
    text = problem.message.rstrip(".") or problem.format_message().rstrip(".")
    text, _, suggestion = text.partition(". Did you mean ")
    close = list(getattr(problem, "possibilities", None) or ()) or [suggestion.rstrip("?")]
    if close != [""]:
        hint = f"did you mean {' or '.join(sorted(close))}?"
    error(Screen.of(sys.stdout, sys.stderr), UsageError(text[:1].lower() + text[1:], hint))


app = typer.Typer(
    name="enrelm",
    cls=Program,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes\n\n" + "\n".join(f"{code:>5}  {meaning}" for code, meaning in EXIT_CODES),
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"enrelm {__version__}")
        raise typer.Exit


def _help(text: str | None) -> str:
    """A docstring as Typer's help, where all but the first paragraph is dim: lines to type are not."""
    lines = inspect.cleandoc(text or "").splitlines()
    return "\n".join(f"[not dim]{line}[/]" if line.startswith("enrelm ") else line for line in lines)


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Non-linear regression from the shell: one deterministic fit gives networks of every size.

    # make a model, then use it; `enrelm COMMAND -h` has more
    enrelm fit sample_data/friedman.csv --target y -o model.joblib
    enrelm predict model.joblib sample_data/friedman_new.csv
    """


app.callback(help=_help(_root.__doc__))(_root)


class _Command(TyperCommand):
    """Its --help stands with the other options of the last panel, not in a panel of its own before all others."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel = OUTPUT
        return option


# Every command's function, in the order of `enrelm --help`.
COMMANDS: dict[str, Callable[..., None]] = {}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function is a command once it is registered."""
    COMMANDS[function.__name__] = function
    return function


def register(name: str) -> None:
    """Builds the options of a command.

    A parameter that is annotated with settings becomes their options, and is handed in built and checked; so are the
    `Screen` to write on and the `CommandLine` as it was typed.
    """
    function = COMMANDS[name]
    wanted = {one.name: one.annotation for one in inspect.signature(function, eval_str=True).parameters.values()}
    settings = {one: kind for one, kind in wanted.items() if issubclass(kind, Settings)}

    @functools.wraps(function)
    def run(ctx: typer.Context, **typed: Any) -> None:
        how = build(ScreenSettings, typed)
        screen = Screen.of(sys.stdout, sys.stderr, how.quiet, how.verbose)
        with guard(screen, how.debug):
            given: dict[str, Any] = {one: build(kind, typed) for one, kind in settings.items()}
            if any(issubclass(kind, (DataSettings, ReadOptions)) for kind in settings.values()):
                startup.import_pyarrow()
            others = {Screen: screen, CommandLine: CommandLine.of(ctx)}
            function(**given, **{one: others[kind] for one, kind in wanted.items() if kind in others})

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    shown = [context, *parameters(settings.values(), name)]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    app.command(name, cls=_Command, help=_help(function.__doc__))(run)
