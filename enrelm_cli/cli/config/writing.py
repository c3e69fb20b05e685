"""enrelm config: a run file from a command as it would be typed, or from a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from enrelm_cli.cli import startup
from enrelm_cli.cli.config.reading import of_file
from enrelm_cli.cli.program import COMMANDS, KnownOptions, command, options_of, parsed
from enrelm_cli.errors import UsageError
from enrelm_cli.fields import OUTPUT, PANELS, REQUIRED, Flag, Option, Real, Settings, Whole, argument, text
from enrelm_cli.files import Output, check_outputs, write_whole
from enrelm_cli.redaction import redacted, without_credentials
from enrelm_cli.show.screen import Screen, note


@dataclass(frozen=True)
class ConfigOptions(Settings):
    words: tuple[str, ...] = argument(
        "line", "A command with its options, as it would be typed; or a saved model.", "COMMAND...", repeatable=True
    )
    output: str = text("-", "Write to this file instead of stdout.", OUTPUT, "FILE", flags=("--output", "-o"))


@command
def config(options: ConfigOptions, screen: Screen) -> None:
    """Write a run file for --config, from a command and its options or from the fit that made a model.

    # what is typed here, and every other option with its default
    enrelm config fit sample_data/friedman.csv --target y > run.toml
    # the fit of a model; give the data on the command line
    enrelm config model.joblib > again.toml
    """
    first, *rest = options.words
    of_model = first not in COMMANDS and _may_be_a_model(first)
    # Options after a model are our own; after a command they are that command's.
    own = parsed("config", rest) if of_model else {}
    if "line" in own:
        raise UsageError(f"`enrelm config {first}` does not take {own['line'][0]!r}", "name one model")
    output = str(own.get("output", options.output))
    check_outputs([], [Output("-o", output, "TOML")])
    name, given = _of_model(first, screen) if of_model else _of_line(first, rest)
    written = run_file(name, options_of(name), given)
    try:
        write_whole(output, written.encode())
    except UnicodeEncodeError as error:
        odd = error.object[error.start : error.end]
        raise UsageError(f"{odd!r} is no UTF-8, and run files are", "give that name on the command line") from None


def _of_line(first: str, rest: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """(command, what was typed for its options), over what the run file has that the line names."""
    if first == "config":
        raise UsageError("`enrelm config` takes no run file of its own", "name another command")
    if first not in COMMANDS:
        close = get_close_matches(first, COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else "name a command such as fit, or a saved model"
        raise UsageError(f"there is no command {first!r}", hint)
    typed = parsed(first, rest)
    path = typed.pop("config", None)
    for name, value in typed.items():
        option = options_of(first)[name]
        option.check(option.value(value))
    given = {**({} if path is None else of_file(path, first, KnownOptions())), **typed}
    for value in given.values():
        _refuse_signatures(value)
    return first, given


def _of_model(path: str, screen: Screen) -> tuple[str, dict[str, Any]]:
    """The fit that made a model. Which files validated is not known there."""
    startup.import_pyarrow()
    from enrelm_cli.commands.recipe import recipe_of
    from enrelm_cli.commands.saved import load_models

    given = dict(recipe_of(load_models(path)))
    if given.pop("validation", None):
        note(screen, "the fit had --validation files, whose names a model does not keep: add them")
    return "fit", given


def _refuse_signatures(value: Any) -> None:
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if not isinstance(one, str) or redacted(one) == one:
            continue
        if without_credentials(one) != one:
            raise UsageError(
                f"{one}: an address with credentials, which stay out of run files", "leave them out of the address"
            )
        raise UsageError(
            f"{one}: an address with a query, which may be a signature, stays out of run files",
            "give it on the command line that uses the file",
        )


def _may_be_a_model(path: str) -> bool:
    import os

    return path.endswith(".joblib") or "://" in path or os.path.isfile(path)


def run_file(name: str, options: Mapping[str, Option], given: Mapping[str, Any]) -> str:
    """The run file: what is given as keys, every other option as a comment with its default."""
    lines = [
        f"# Options of `enrelm {name} --config FILE`; the command line and ENRELM_... variables override them.",
        "# Options after a # are not set: they show the default, or in capitals what the option takes.",
        f"[{name}]",
    ]
    panels = sorted({option.panel for option in options.values()}, key=lambda one: PANELS.index(one) if one else -1)
    for panel in panels:
        lines += ["", f"# --- {panel}"] if panel else []
        for option in options.values():
            if option.panel == panel and option.name != "config":
                lines += _entry(option, given)
    return "\n".join(lines) + "\n"


def _entry(option: Option, given: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {option.help}"
    if option.name in given:
        yield f"{option.name} = {_value(option, given[option.name])}"
        return
    yield f"# {option.name} = {_default(option)}"


def _default(option: Option) -> str:
    if option.default is REQUIRED or option.repeatable:
        return f'["{option.kind.metavar.rstrip(".")}"]' if option.repeatable else f'"{option.kind.metavar}"'
    if option.default is None and option.default_text is None:
        return f'"{option.kind.metavar}"'
    return _value(option, option.default if isinstance(option.kind, Flag) else option.default_text)


def _value(option: Option, typed: Any) -> str:
    """As TOML: numbers plain, texts in quotes, several in a list."""
    if isinstance(option.kind, Flag):
        return "true" if typed else "false"
    if isinstance(typed, (list, tuple)):
        return f"[{', '.join(_scalar(option, one) for one in typed)}]"
    return _scalar(option, typed)


def _scalar(option: Option, typed: str) -> str:
    if isinstance(option.kind, Whole) and typed.lstrip("+-").isdecimal():
        return str(int(typed))
    if isinstance(option.kind, Real):
        return repr(float(typed))
    # A text of JSON is one of TOML but for the last control character of ASCII.
    return json.dumps(typed, ensure_ascii=False).replace("\x7f", "\\u007f")
