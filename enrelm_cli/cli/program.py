"""The Typer program: what makes a command of a function, help texts, and usage errors in our own words."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Annotated, Any

import typer
from typer.completion import install_callback, show_callback
from typer.core import TyperCommand, TyperGroup

from enrelm_cli import __version__
from enrelm_cli.cli import startup
from enrelm_cli.cli.config.log_format import on_line, wanted_format
from enrelm_cli.cli.config.reading import defaults, misspelt, of_environment
from enrelm_cli.cli.guard import EXIT_CODES, guard, is_of_stdout, tell_of_stdout
from enrelm_cli.cli.options import CommandLine, ScreenSettings, ordered, parameters
from enrelm_cli.errors import Exit, UsageError, UserError
from enrelm_cli.fields import OUTPUT, Option, Settings, all_options, build
from enrelm_cli.show.screen import Screen, error, note

# Click's UsageError: Typer has a copy of Click within, and shows only this child of it.
_PARSER_ERROR: Any = typer.BadParameter.__base__
_COMPLETIONS: dict[str, Any] = {"--install-completion": install_callback, "--show-completion": show_callback}
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


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
        typed = [*(sys.argv[1:] if args is None else args)]
        args = _asked_for_help(typed)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
            sys.stdout.flush()
        except _PARSER_ERROR as problem:
            _tell(problem, self._path(args), _early_screen(typed))
            code = int(Exit.USAGE)
        except UserError as problem:  # of a run file or a variable
            error(_early_screen(typed), problem)
            code = int(problem.exit_code)
        except OSError as problem:  # of --help and --version: commands are guarded
            if not is_of_stdout(problem):
                raise
            tell_of_stdout(problem, _early_screen(typed))
            code = int(Exit.USAGE)
        sys.exit(code if isinstance(code, int) else int(Exit.OK))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--install-completion zsh` is for zsh in whatever shell it is typed: Typer would not look at the word."""
        if len(args) > 1 and args[0] in _COMPLETIONS and not ctx.resilient_parsing:
            if args[1] not in _SHELLS:
                raise UsageError(f"there is no completion for {args[1]!r}", f"type one of {', '.join(_SHELLS)}")
            _COMPLETIONS[args[0]](ctx, self.params[0], args[1])  # and exits
        return super().parse_args(ctx, args)

    def _path(self, args: Sequence[str]) -> str:
        """The command that a line is about; the parser does not always say."""
        return " ".join(["enrelm", *(word for word in args[:1] if word in self.commands)])


def _asked_for_help(words: Sequence[str]) -> list[str]:
    """`enrelm help fit` is `enrelm fit --help`."""
    return [*words[1:2], "--help"] if words[:1] == ["help"] else [*words]


def _early_screen(words: Sequence[str]) -> Screen:
    """The screen for what goes wrong before options are known."""
    return Screen.of(sys.stdout, sys.stderr, json=wanted_format(words) == "json")


def _tell(problem: Any, path: str, screen: Screen) -> None:
    """A usage error of the parser."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        if screen.json:
            error(screen, UsageError("there is no command on the line", "see `enrelm --help`"))
        else:
            problem.show()
    else:
        error(screen, _in_our_words(problem, path))


def _in_our_words(problem: Any, path: str) -> UsageError:
    example = _example(path) if type(problem).__name__ == "MissingParameter" else ""
    hint = f"{example}see `{path} --help`"
    text = problem.message.rstrip(".") or problem.format_message().rstrip(".")
    text, _, suggestion = text.partition(". Did you mean ")
    close = list(getattr(problem, "possibilities", None) or ()) or [suggestion.rstrip("?")]
    if close != [""]:
        asked = getattr(problem, "option_name", None)
        hint = f"did you mean {' or '.join(_closest(asked, close) if asked else close)}?"
    return UsageError(text[:1].lower() + text[1:], hint)


def _example(path: str) -> str:
    """The first line to type of a command's own help."""
    function = COMMANDS.get(path.removeprefix("enrelm "))
    lines = inspect.cleandoc((function and function.__doc__) or "").splitlines()
    return next((f"such as `{line}`; " for line in lines if line.startswith("enrelm ")), "")


def _closest(asked: str, close: Sequence[str]) -> list[str]:
    """The best guess first, and no guess that is much worse."""
    alike = {other: SequenceMatcher(None, asked, other).ratio() for other in close}
    return sorted((one for one in close if alike[one] > max(alike.values()) - 0.1), key=lambda one: (-alike[one], one))


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
    """Non-linear regression and classification from the shell: one deterministic fit gives networks of every size.

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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is not on the line comes from the environment, and then from the run file."""
        name = self.name or ""
        if not ctx.resilient_parsing and name in COMMANDS:
            typed, _, _ = self.make_parser(ctx).parse_args(args=[*args])
            if not typed.get("help"):
                ctx.default_map = self._defaults(name, typed.get("config"))
        return super().parse_args(ctx, args)

    def _defaults(self, name: str, path: str | None) -> dict[str, Any]:
        if name in _OF_OTHERS:  # what is said elsewhere is of the commands that run; how it is said, of all
            return dict(of_environment({one.name: one for one in all_options(ScreenSettings, name)}, os.environ))
        return defaults(name, KnownOptions(), path)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Without the --no-quiet of flags that are off anyway."""
        off = {one: one.secondary_opts for one in self.params if getattr(one, "is_flag", False) and not one.default}
        for option in off:
            option.secondary_opts = []
        super().format_help(ctx, formatter)
        for option, names in off.items():
            option.secondary_opts = names


# Every command's function, in the order of `enrelm --help`.
COMMANDS: dict[str, Callable[..., None]] = {}


# Commands whose words after the first (`line`) are another command's: options in them are not their own, but what is
# wrong is said as those words want it.
_OF_OTHERS = ("config",)
# Commands that mostly need no pyarrow, and say so themselves when they do.
_MOSTLY_WITHOUT_ARROW = ("config", "sample")


class KnownOptions(Mapping[str, Mapping[str, Option]]):
    """The options of every command by name; each command's are looked up when they are asked for."""

    def __getitem__(self, name: str) -> Mapping[str, Option]:
        return options_of(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@functools.cache
def options_of(name: str) -> dict[str, Option]:
    """A command's options by name."""
    return ordered(_settings_of(name).values(), name)


def _settings_of(name: str) -> dict[str, type[Settings]]:
    return {one: kind for one, kind in _parameters_of(name).items() if issubclass(kind, Settings)}


def _parameters_of(name: str) -> dict[str, Any]:
    return {one.name: one.annotation for one in inspect.signature(COMMANDS[name], eval_str=True).parameters.values()}


def parsed(name: str, words: Sequence[str]) -> dict[str, Any]:
    """What a line says of a command's options: texts, lists of them, true or false. What it lacks is no error here."""
    if name not in {one.name for one in app.registered_commands}:
        register(name)
    made: Any = typer.main.get_command(app)
    found = made.commands[name]
    context = found.context_class(found, info_name=name)
    try:
        given, rest, _ = found.make_parser(context).parse_args(args=[*words])
    except _PARSER_ERROR as problem:
        raise _in_our_words(problem, f"enrelm {name}") from None
    if rest:
        raise UsageError(f"`enrelm {name}` does not take {rest[0]!r}", f"see `enrelm {name} --help`")
    return {one: value for one, value in given.items() if value not in (None, (), []) and one in options_of(name)}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function is a command once it is registered."""
    COMMANDS[function.__name__] = function
    return function


def announce(name: str) -> None:
    """Lists a command without its options."""
    app.command(name, help=_help(COMMANDS[name].__doc__))(lambda: None)


def register(name: str) -> None:
    """Builds the options of a command.

    A parameter that is annotated with settings becomes their options, and is handed in built and checked; so are the
    `Screen` to write on and the `CommandLine` as it was typed.
    """
    function, wanted, settings = COMMANDS[name], _parameters_of(name), _settings_of(name)

    @functools.wraps(function)
    def run(ctx: typer.Context, **typed: Any) -> None:
        how = build(ScreenSettings, typed)
        form = on_line(typed["line"], "--log-format") if name in _OF_OTHERS else None
        as_json = (form or how.log_format) == "json"
        screen = Screen.of(sys.stdout, sys.stderr, how.quiet, how.verbose, json=as_json)
        with guard(screen, how.debug):
            for line in misspelt(KnownOptions()) if _has_variables() else ():
                note(screen, line)
            given: dict[str, Any] = {one: build(kind, typed) for one, kind in settings.items()}
            if name not in _MOSTLY_WITHOUT_ARROW:
                startup.import_pyarrow()
            others = {Screen: screen, CommandLine: CommandLine.of(ctx)}
            function(**given, **{one: others[kind] for one, kind in wanted.items() if kind in others})

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    shown = [context, *parameters(settings.values(), name)]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    raw = {"allow_interspersed_args": False} if name in _OF_OTHERS else None
    app.command(name, cls=_Command, help=_help(function.__doc__), context_settings=raw)(run)


def _has_variables() -> bool:
    return any(variable.startswith("ENRELM_") for variable in os.environ)
