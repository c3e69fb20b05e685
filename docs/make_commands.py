"""Writes docs/commands.md from what `enrelm --help` is made of: `python docs/make_commands.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from enrelm_cli.cli.app import EXIT_CODES, PANELS, app

PAGE = Path(__file__).parent / "commands.md"


def page() -> str:
    group = typer.main.get_command(app)
    context = typer.Context(group, info_name="enrelm", **group.context_settings)
    parts = [
        "# Commands",
        "Made by `python docs/make_commands.py` from the text of `enrelm --help`: a test holds the two together.",
        *_help(group),
        "| exit code | meaning |\n| --- | --- |\n" + "\n".join(f"| {code} | {text} |" for code, text in EXIT_CODES),
    ]
    commands: dict[str, Any] = group.commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        inner = typer.Context(command, info_name=name, parent=context)
        parts += [f"## enrelm {name}", *_help(command), *_parameters(command, inner)]
    return "\n\n".join(parts) + "\n"


def _help(command: Any) -> list[str]:
    """The first paragraph, and the examples."""
    text = re.sub(r"\[/?[a-z ]*\]", "", inspect.cleandoc(command.help))
    summary, _, examples = text.partition("\n\n")
    return [summary.replace("\n", " "), f"```sh\n{examples}\n```"]


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for panel in (None, *PANELS):
        shown = [p for p in command.get_params(context) if getattr(p, "rich_help_panel", None) == panel]
        if shown:
            yield "\n".join([f"| {panel or 'Argument'} | | default |", "| --- | --- | --- |", *map(_row, shown)])


def _row(parameter: Any) -> str:
    metavar = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
    # Typer keeps the names of --help in a set: their order is another one every time.
    opts = sorted(parameter.opts, key=lambda name: not name.startswith("--"))
    names = [*opts, *parameter.secondary_opts] if opts[0].startswith("-") else [""]
    flags = ", ".join(f"`{name}{metavar}`".replace("` ", "`") for name in names)
    return f"| {flags} | {parameter.help} | {_default(parameter)} |".replace("|  |", "| |")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = getattr(parameter.default, "value", parameter.default)
    if isinstance(value, bool):
        return f"`{parameter.opts[0] if value else parameter.secondary_opts[0]}`" if parameter.secondary_opts else ""
    return "" if value is None else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
