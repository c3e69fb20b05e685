"""What a settings field says about its option: default, range, help text and flag, all in one place.

To add an option, add a field to a class in settings.py:

    leaf_rows: int = whole(2000, "Rows per leaf of the local variant.", METHOD, at_least=20)

Every command that takes the class then has `--leaf-rows`, with its help, completion, range check and line in
docs/commands.md (`python docs/make_commands.py`). `flags=` names another flag, `only=("fit",)` limits it to commands.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol, get_type_hints

from enrelm_cli.errors import UsageError
from enrelm_cli.sizes import parse_size

PANELS = DATA, METHOD, KERNEL, RUNNING, OUTPUT = "Data", "Method", "Kernel", "Running", "Output"

REQUIRED: Any = dataclasses.MISSING  # as a default: there is none
# Above any count that makes sense, below what numpy's integers hold.
MAX_WHOLE = 10**12
MAX_THREADS = 4096


class Kind(Protocol):
    """What can be typed, and which values are allowed. Both methods raise ValueError with the rest of a sentence."""

    @property
    def metavar(self) -> str: ...

    def parse(self, text: str) -> Any: ...

    def check(self, value: Any) -> None: ...


@dataclass(frozen=True)
class Bounds:
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None

    def check(self, value: float) -> None:
        low = (self.at_least is None or value >= self.at_least) and (self.above is None or value > self.above)
        high = (self.at_most is None or value <= self.at_most) and (self.below is None or value < self.below)
        if not (low and high and math.isfinite(value)):
            raise ValueError(f"must be {self._described(value)}")

    def _described(self, value: float) -> str:
        at_most = None if self.at_most == MAX_WHOLE and value < MAX_WHOLE else self.at_most
        if self.at_least is not None and at_most is not None:
            return f"between {self.at_least:,} and {at_most:,}"
        limits = (("at least", self.at_least), ("above", self.above), ("at most", at_most), ("below", self.below))
        return " and ".join(f"{name} {limit:g}" for name, limit in limits if limit is not None) or "finite"


@dataclass(frozen=True)
class Whole:
    """An integer, or a word that stands for one. ASCII digits only: int() also takes ² and ٣."""

    bounds: Bounds
    words: Mapping[str, int | None]
    metavar: str = "N"

    def parse(self, text: str) -> int | None:
        if text in self.words:
            return self.words[text]
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            raise ValueError(f"is not {', '.join([*self.words, ''])}a whole number".replace(", a whole", " or a whole"))
        return int(text)

    def check(self, value: int) -> None:
        if value not in self.words.values():
            self.bounds.check(value)


@dataclass(frozen=True)
class Real:
    bounds: Bounds
    metavar: str = "NUMBER"

    def parse(self, text: str) -> float:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE):
            raise ValueError("is not a number")
        return float(text)

    def check(self, value: float) -> None:
        self.bounds.check(value)


@dataclass(frozen=True)
class Choice:
    names: tuple[str, ...]
    metavar: str = "NAME"

    def parse(self, text: str) -> str:
        return text

    def check(self, value: str) -> None:
        if value not in self.names:
            raise ValueError(f"is not one of {', '.join(self.names)}")


@dataclass(frozen=True)
class Size:
    """Bytes, typed as 500M, 2G or 2GiB."""

    metavar: str = "SIZE"

    def parse(self, text: str) -> int:
        return parse_size(text)

    def check(self, value: int) -> None:
        Bounds(at_least=1).check(value)


@dataclass(frozen=True)
class Text:
    metavar: str = "TEXT"

    def parse(self, text: str) -> str:
        return text

    def check(self, value: Any) -> None:
        """Any text will do."""


@dataclass(frozen=True)
class Flag(Text):
    """On or off; nothing follows it on the line."""


@dataclass(frozen=True)
class Option:
    """A field on the command line."""

    kind: Kind
    default: Any  # or REQUIRED
    help: str
    panel: str | None  # None: an argument, not an option
    flags: tuple[str, ...]  # of an argument: its name
    hint: str | None
    only: tuple[str, ...]  # the commands that have it; none named: every command that takes the settings
    repeatable: bool
    completion: str | None

    @property
    def flag(self) -> str:
        return next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])

    @property
    def name(self) -> str:
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def default_text(self) -> str | None:
        """The default as one would type it; None where there is nothing to type."""
        if self.repeatable or self.default is REQUIRED:
            return None
        if isinstance(self.kind, Whole):
            return next((word for word, value in self.kind.words.items() if value == self.default), _text(self.default))
        return _text(self.default)

    def value(self, typed: Any) -> Any:
        """What the field becomes: of the text on the line, or of its texts."""
        if isinstance(self.kind, Flag):
            return typed
        if self.repeatable:
            return tuple(self._parsed(text) for text in typed)
        return self._parsed(typed)

    def check(self, value: Any) -> None:
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if one is not None:
                self._tell(self.kind.check, one)

    def _parsed(self, text: str) -> Any:
        return self._tell(self.kind.parse, text)

    def _tell(self, step: Any, value: Any) -> Any:
        try:
            return step(value)
        except ValueError as problem:
            shown = repr(value) if isinstance(value, str) else value
            name = self.flag if self.panel else self.kind.metavar
            raise UsageError(f"{name} {shown} {problem}", self._hint(value)) from None

    def _hint(self, value: Any) -> str | None:
        close = get_close_matches(str(value), self.kind.names, n=1) if isinstance(self.kind, Choice) else []
        if close:
            return f"did you mean {self.flag} {close[0]}?"
        if self.hint is not None or self.default is REQUIRED:
            return self.hint
        return f"the default is {self.flag} {self.default_text}" if self.default_text else "leave it out"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def check(good: bool, problem: str, hint: str | None = None) -> None:
    if not good:
        raise UsageError(problem, hint)


class Settings:
    """Base of the settings: frozen dataclasses whose fields check themselves when they are made."""

    def __post_init__(self) -> None:
        for name, option in options(type(self)).items():
            option.check(getattr(self, name))


def options(settings: type[Settings]) -> dict[str, Option]:
    """The options of a class's own fields, by field."""
    made = {}
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        option = field.metadata.get("option")
        if option is not None:
            made[field.name] = option if option.flags else dataclasses.replace(option, flags=(_flag(field.name),))
    return made


def nested(settings: type[Settings]) -> dict[str, type[Settings]]:
    """Fields that are settings themselves."""
    hints = get_type_hints(settings)
    return {name: kind for name, kind in hints.items() if isinstance(kind, type) and issubclass(kind, Settings)}


def all_options(settings: type[Settings], command: str) -> Iterator[Option]:
    """What a command offers of the settings and of those within them, in the order of the fields."""
    own, inner = options(settings), nested(settings)
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        if field.name in inner:
            yield from all_options(inner[field.name], command)
        elif field.name in own and command in (own[field.name].only or (command,)):
            yield own[field.name]


def build(settings: type[Settings], typed: Mapping[str, Any]) -> Any:
    """The settings, of what was typed: texts by the options' names. What was not typed keeps its default."""
    values = {name: build(kind, typed) for name, kind in nested(settings).items()}
    for name, option in options(settings).items():
        if typed.get(option.name) is not None:
            values[name] = option.value(typed[option.name])
    return settings(**values)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def whole(
    default: Any,
    help: str,
    panel: str,
    *,
    at_least: int = 0,
    at_most: int = MAX_WHOLE,
    words: Mapping[str, int | None] | None = None,
    metavar: str = "N",
    **more: Any,
) -> Any:
    """A field that holds an integer; `words` are typed for values that are none (auto)."""
    return _field(Whole(Bounds(at_least, None, at_most), words or {}, metavar), default, help, panel, **more)


def real(
    default: Any,
    help: str,
    panel: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    metavar: str = "NUMBER",
    **more: Any,
) -> Any:
    """A field that holds a finite number."""
    return _field(Real(Bounds(at_least, above, at_most, below), metavar), default, help, panel, **more)


def reals(help: str, panel: str, metavar: str, **more: Any) -> Any:
    """A field that holds a tuple of shares between 0 and 1: the option is repeatable."""
    return _field(
        Real(Bounds(above=0.0, below=1.0), metavar),
        (),
        help,
        panel,
        repeatable=True,
        hint="a share: 0.9 is 90 %",
        **more,
    )


def choice(default: Any, names: Sequence[str], help: str, panel: str, *, metavar: str = "NAME", **more: Any) -> Any:
    """A field that holds one of the names."""
    return _field(Choice(tuple(names), metavar), default, help, panel, **more)


def text(default: Any, help: str, panel: str, metavar: str, **more: Any) -> Any:
    return _field(Text(metavar), default, help, panel, **more)


def texts(help: str, panel: str, metavar: str, default: tuple[str, ...] = (), **more: Any) -> Any:
    """A field that holds a tuple: the option is repeatable."""
    return _field(Text(metavar), default, help, panel, repeatable=True, **more)


def columns(help: str, **more: Any) -> Any:
    """A field that holds column names."""
    return texts(help, DATA, "COL", completion="columns", **more)


def size(default: Any, help: str, panel: str, **more: Any) -> Any:
    """A field that holds a number of bytes."""
    return _field(Size(), default, help, panel, **more)


def flag(default: bool, help: str, panel: str, **more: Any) -> Any:
    """A field that is on or off: `--name/--no-name` if it is on by default, else `--name`."""
    return _field(Flag(), default, help, panel, **more)


def argument(
    name: str,
    help: str,
    metavar: str,
    *,
    repeatable: bool = False,
    kind: Kind | None = None,
    default: Any = REQUIRED,
) -> Any:
    """A field that is typed without a flag, and required unless it has a default."""
    kind = kind or Text(metavar)
    return _field(kind, default, help, None, flags=(name,), repeatable=repeatable)


def _field(
    kind: Kind,
    default: Any,
    help: str,
    panel: str | None,
    *,
    flags: tuple[str, ...] = (),
    hint: str | None = None,
    only: tuple[str, ...] = (),
    repeatable: bool = False,
    completion: str | None = None,
) -> Any:
    option = Option(kind, default, help, panel, flags, hint, only, repeatable, completion)
    return dataclasses.field(default=default, metadata={"option": option})
