"""Options from a run file and from the environment, checked like those on the line: which wins is in `defaults`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from enrelm_cli.errors import UsageError
from enrelm_cli.fields import Flag, Option

PREFIX = "ENRELM_"
# Of a variable for an option that is on or off.
_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
# Options that say where options come from; variables that are no options: limits, and folders of tests and benchmarks.
_NOT_IN_A_FILE = ("config",)
_OF_TESTS = ("TABLES", "PAPER_DATA", "BENCH_CACHE", "SNAPSHOTS", "FUZZ_SEED", "FUZZ_SECONDS", "FUZZ_KEEP")
_OTHER_VARIABLES = ("MODEL_LIMIT", "DOWNLOAD_LIMIT", *_OF_TESTS)

_LARGEST = 1 << 20  # bytes of a run file

Options = Mapping[str, Option]


def defaults(
    command: str, commands: Mapping[str, Options], path: str | None, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the options of a command are unless the line says otherwise: the environment wins over the run file."""
    variables = os.environ if environment is None else environment
    path = variables.get(f"{PREFIX}CONFIG") or None if path is None else path
    file = {} if path is None else of_file(path, command, commands)
    return {**file, **dict(of_environment(commands[command], variables))}


# ------------------------------------------------------------------------------------------------ run files


def of_file(path: str, command: str, commands: Mapping[str, Options]) -> dict[str, Any]:
    """Keys of the top for every command that has them, those of its own table for one; every key is checked."""
    document = _document(path)
    own: dict[str, Any] = {}
    top = {key: value for key, value in document.items() if not isinstance(value, dict)}
    _refuse_two_spellings(top, path)
    for key, value in top.items():
        own |= _shared(path, key, value, command, commands)
    for name, table in document.items():
        if not isinstance(table, dict):
            continue
        if name not in commands:
            raise UsageError(f"{path}: there is no command for [{name}]", _close(name, commands))
        _refuse_two_spellings(table, f"{path}: [{name}]")
        for key, value in table.items():
            option = commands[name].get(_name(key))
            if option is None or option.name in _NOT_IN_A_FILE:
                raise UsageError(f"{path}: [{name}] has no option {key!r}", _close(_name(key), commands[name]))
            typed = _typed(option, value, f"{path}: [{name}] {key}")
            if name == command:
                own[option.name] = typed
    return own


def _refuse_two_spellings(keys: Mapping[str, Any], where: str) -> None:
    """TOML refuses a key that is there twice; max-neurons and max_neurons are one option."""
    for key in keys:
        if "-" in key and _name(key) in keys:
            raise UsageError(f"{where}: {key} and {_name(key)} are one option", "leave one of them out")


def _shared(path: str, key: str, value: Any, command: str, commands: Mapping[str, Options]) -> dict[str, Any]:
    """A key of the top: an option of this command, or at least of another."""
    name = _name(key)
    having = [options[name] for options in commands.values() if name in options and name not in _NOT_IN_A_FILE]
    if not having:
        every = {one: None for options in commands.values() for one in options}
        raise UsageError(f"{path}: no command has an option {key!r}", _close(name, every))
    option = commands[command].get(name)
    typed = _typed(option or having[0], value, f"{path}: {key}")
    return {} if option is None else {name: typed}


def _document(path: str) -> dict[str, Any]:
    toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be read ({why})", "`enrelm config fit > run.toml` writes one") from error
    if len(content) > _LARGEST:
        raise UsageError(f"{path}: a run file has at most {_LARGEST:,} bytes", "options go there, not data")
    try:
        found: dict[str, Any] = toml.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number or a nesting that Python refuses
        raise UsageError(f"{path}: not TOML ({error})", 'write keys like target = "y"') from error
    return found


def _name(key: str) -> str:
    return key.replace("-", "_")


def _close(name: str, names: Mapping[str, Any]) -> str:
    close = get_close_matches(name, [one for one in names if one not in _NOT_IN_A_FILE], n=3)
    return f"did you mean {' or '.join(close)}?" if close else "`enrelm config COMMAND` lists the options of a command"


def _typed(option: Option, value: Any, where: str) -> Any:
    """A value as the line would have it, checked: texts, or true and false."""
    if isinstance(option.kind, Flag):
        if not isinstance(value, bool):
            raise UsageError(f"{where} = {value!r} is neither true nor false")
        return value
    if isinstance(value, list) and not option.repeatable:
        raise UsageError(f"{where} is a list, and the option takes one value")
    texts = [_text(one, where) for one in (value if isinstance(value, list) else [value])]
    return _checked(option, texts if option.repeatable else texts[0], where)


def _text(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        shown = "true" if value is True else "false" if value is False else str(value)
        raise UsageError(f"{where} = {shown} is neither text nor a number", "put texts in double quotes")
    if "\0" in str(value):
        raise UsageError(f"{where} holds a zero byte, which no name, path or text can have")
    return str(value)


def _checked(option: Option, typed: Any, where: str) -> Any:
    try:
        option.check(option.value(typed))
    except UsageError as problem:
        raise UsageError(f"{where}: {problem.problem}", problem.hint) from None
    return typed


# ------------------------------------------------------------------------------------------------ environment


def of_environment(options: Options, variables: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """ENRELM_VARIANT=kernel for --variant kernel; of a repeatable option one value on each line."""
    for name, option in options.items():
        variable = f"{PREFIX}{name.upper()}"
        text = variables.get(variable, "")
        if not text or name in _NOT_IN_A_FILE:
            continue
        if isinstance(option.kind, Flag):
            if text.lower() not in _TRUTH:
                raise UsageError(f"{variable}={text!r} is neither true nor false", f"write {variable}=1 or 0")
            yield name, _TRUTH[text.lower()]
            continue
        lines = [line for line in text.splitlines() if line]
        yield name, _checked(option, lines if option.repeatable else text, variable)


def misspelt(commands: Mapping[str, Options], environment: Mapping[str, str] | None = None) -> list[str]:
    """Notes on variables of ours that are no option."""
    variables = os.environ if environment is None else environment
    known = {f"{PREFIX}{name.upper()}" for options in commands.values() for name in options}
    known |= {PREFIX + name for name in _OTHER_VARIABLES}
    notes = []
    for variable in sorted(one for one in variables if one.startswith(PREFIX) and one not in known):
        close = get_close_matches(variable, sorted(known), n=1, cutoff=0.8)
        notes.append(f"the variable {variable} is no option" + (f"; did you mean {close[0]}?" if close else ""))
    return notes
