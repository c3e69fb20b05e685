"""Writes docs/commands.md and the man pages of docs/man from what `enrelm --help` is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from enrelm_cli import __version__
from enrelm_cli.cli.app import EXIT_CODES, PANELS, app

PAGE = Path(__file__).parent / "commands.md"
MAN = Path(__file__).parent / "man"
VARIABLES = Path(__file__).parent / "howto" / "run-files.md"

OF_ANY_OPTION = (
    "Every option can be set by a variable (ENRELM_LOG_FORMAT=json is `--log-format json`) and in a run file, which"
    " --config or ENRELM_CONFIG names."
)
ORDER = (
    "The command line wins over variables, these over the command's table of the run file, that over the top of the"
    " file, and that over the default."
)


@dataclass(frozen=True)
class Parameter:
    flags: tuple[str, ...]  # as they are typed, with what follows them
    help: str
    default: str

    @property
    def is_argument(self) -> bool:
        return not self.flags[0].startswith("-")


@dataclass(frozen=True)
class Command:
    """What is said of a command, before it is said in Markdown or in troff."""

    name: str
    summary: str
    examples: str
    panels: tuple[tuple[str, tuple[Parameter, ...]], ...]


def commands() -> tuple[Command, ...]:
    """The program itself, then its commands."""
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="enrelm", **group.context_settings)
    inner: dict[str, Any] = group.commands  # type: ignore[attr-defined]
    told = [_command(name, one, typer.Context(one, info_name=name, parent=context)) for name, one in inner.items()]
    return (_command("", group, context), *told)


def _command(name: str, command: Any, context: Any) -> Command:
    text = re.sub(r"\[/?[a-z ]*\]", "", inspect.cleandoc(command.help))
    summary, _, examples = text.partition("\n\n")
    parameters = command.get_params(context)
    panels = [
        (panel or "Argument", tuple(map(_parameter, shown)))
        for panel in (None, *PANELS)
        if (shown := [one for one in parameters if getattr(one, "rich_help_panel", None) == panel])
    ]
    return Command(name, summary.replace("\n", " "), examples, tuple(panels))


def _parameter(parameter: Any) -> Parameter:
    metavar = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
    # Typer keeps the names of --help in a set: their order is another one every time.
    opts = sorted(parameter.opts, key=lambda name: not name.startswith("--"))
    # As in --help: the --no-quiet of a flag that is off anyway is not listed.
    names = [*opts, *(parameter.secondary_opts if parameter.default else ())] if opts[0].startswith("-") else [""]
    return Parameter(tuple(f"{name}{metavar}".strip() for name in names), parameter.help or "", _default(parameter))


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = getattr(parameter.default, "value", parameter.default)
    if isinstance(value, bool):
        return f"`{parameter.opts[0]}`" if value else ""
    return "" if value is None else f"`{value}`"


# ----------------------------------------------------------------------------------------------------- docs/commands.md


def page() -> str:
    program, *others = commands()
    parts = [
        "# Commands",
        "Made by `python docs/make_commands.py` from the text of `enrelm --help`: a test holds the two together.",
        program.summary,
        f"```sh\n{program.examples}\n```",
        "| exit code | meaning |\n| --- | --- |\n" + "\n".join(f"| {code} | {text} |" for code, text in EXIT_CODES),
    ]
    for one in others:
        parts += [f"## enrelm {one.name}", one.summary, f"```sh\n{one.examples}\n```", *_tables(one)]
    return "\n\n".join(parts) + "\n"


def _tables(command: Command) -> Iterator[str]:
    for panel, parameters in command.panels:
        yield "\n".join([f"| {panel} | | default |", "| --- | --- | --- |", *map(_row, parameters)])


def _row(parameter: Parameter) -> str:
    flags = ", ".join(f"`{flag}`" for flag in parameter.flags)
    return f"| {flags} | {parameter.help} | {parameter.default} |".replace("|  |", "| |")


# ------------------------------------------------------------------------------------------------------------ man pages


def man_pages() -> dict[str, str]:
    """File name -> text."""
    program, *others = commands()
    pages = {"enrelm.1": _program_page(program, others)}
    return pages | {f"enrelm-{one.name}.1": _command_page(one, others) for one in others}


def _program_page(program: Command, others: list[Command]) -> str:
    listed = [line for one in others for line in (".TP", f".BR enrelm\\-{one.name} (1)", _troff(one.summary))]
    options = [line for _, parameters in program.panels for one in parameters for line in _option(one)]
    return _joined(
        _head("enrelm"),
        [".SH NAME", f"enrelm \\- {_troff(_first(program.summary))}"],
        [".SH SYNOPSIS", ".B enrelm", ".I COMMAND", "[\\fIARGUMENTS\\fR]"],
        [".SH DESCRIPTION", _troff(program.summary)],
        ["The result goes to stdout, everything else to stderr;", ".B \\-", "is stdin or stdout."],
        [".SH COMMANDS", *listed],
        [".SH OPTIONS", *options],
        _exit_status(),
        _environment(),
        [".SH EXAMPLES", *_example(program)],
        [".SH SEE ALSO", _see_also([one.name for one in others])],
    )


def _command_page(command: Command, others: list[Command]) -> str:
    arguments = [one for _, parameters in command.panels for one in parameters if one.is_argument]
    panels = [
        [f".SS {panel}" if panel != "Argument" else ".SS Arguments", *(line for one in shown for line in _option(one))]
        for panel, shown in command.panels
    ]
    typed = " ".join(f"\\fI{_troff(one.flags[0])}\\fR" for one in arguments)
    return _joined(
        _head(f"enrelm-{command.name}"),
        [".SH NAME", f"enrelm\\-{command.name} \\- {_troff(_first(command.summary))}"],
        [".SH SYNOPSIS", f".B enrelm {command.name}", f"{typed} [\\fIOPTIONS\\fR]".strip()],
        [".SH DESCRIPTION", _troff(command.summary)],
        [".SH OPTIONS"],
        *panels,
        _exit_status(),
        [".SH ENVIRONMENT", _troff(OF_ANY_OPTION), "See", ".BR enrelm (1)."],
        [".SH EXAMPLES", *_example(command)],
        [".SH SEE ALSO", _see_also(["", *(one.name for one in others if one.name != command.name)])],
    )


def _joined(*sections: list[str]) -> str:
    return "\n".join(line for section in sections for line in section) + "\n"


def _head(name: str) -> list[str]:
    return [
        '.\\" Made by docs/make_commands.py from the text of `enrelm --help`.',
        f'.TH {name.upper()} 1 "" "enrelm {__version__}" "enrelm manual"',
        ".nh",
        ".ad l",
    ]


def _option(parameter: Parameter) -> list[str]:
    shown = ", ".join("\\fB{}\\fR{}".format(*_typed(flag)) for flag in parameter.flags)
    if parameter.is_argument:
        shown = f"\\fI{_troff(parameter.flags[0])}\\fR"
    default = parameter.default.strip("`")
    said = f"{parameter.help} [default: {default}]" if default and default != "required" else parameter.help
    return [".TP", shown, _troff(said)]


def _typed(flag: str) -> tuple[str, str]:
    name, _, metavar = flag.partition(" ")
    return _troff(name), f" \\fI{_troff(metavar)}\\fR" if metavar else ""


def _exit_status() -> list[str]:
    return [".SH EXIT STATUS", *(line for code, text in EXIT_CODES for line in (".TP", f".B {code}", _troff(text)))]


def _environment() -> list[str]:
    """The table of docs/howto/run-files.md, without its links."""
    rows = re.findall(r"^\| (`.*`.*) \| (.*) \|$", VARIABLES.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [(names, re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", text)) for names, text in rows]
    lines = [line for names, text in listed for line in (".TP", f"\\fB{_troff(names)}\\fR", _troff(text))]
    return [".SH ENVIRONMENT", _troff(OF_ANY_OPTION), _troff(ORDER), *lines]


def _example(command: Command) -> list[str]:
    lines = [
        line if not line.startswith("#") else f"\\fR{line}\\fB" for line in map(_troff, command.examples.splitlines())
    ]
    return [".nf", *(f"\\fB{line}\\fR" for line in lines), ".fi"]


def _see_also(names: list[str]) -> str:
    return "\n".join(
        f".BR enrelm{name and chr(92) + '-' + name} (1){',' if k < len(names) - 1 else ''}"
        for k, name in enumerate(names)
    )


def _first(summary: str) -> str:
    """Up to the first colon or semicolon: what `man -k` lists."""
    return re.split(r"[:;.]( |$)", summary)[0]


def _troff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").replace("'", "\\(aq")
    text = re.sub(r"[^\x00-\x7f]", lambda letter: f"\\[u{ord(letter[0]):04X}]", text)  # whatever encoding man assumes
    return f"\\&{text}" if text.startswith(".") else text


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    MAN.mkdir(exist_ok=True)
    pages = man_pages()
    for stale in {path.name for path in MAN.glob("*.1")} - pages.keys():
        (MAN / stale).unlink()
    for name, text in pages.items():
        (MAN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
