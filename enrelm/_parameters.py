"""Parameters of the estimators: the options of `enrelm fit`, with their names, defaults, ranges and help texts.

They come from the settings' own fields (enrelm_cli/settings.py): a new option is a new parameter, and nothing is
declared twice. Type checkers read `_typed.pyi`, which `docs/make_python.py` writes from the same fields.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

from enrelm_cli.errors import UsageError
from enrelm_cli.fields import (
    METHOD,
    RUNNING,
    Choice,
    Flag,
    Option,
    Real,
    Settings,
    Whole,
    choice,
    flag,
    nested,
    options,
)
from enrelm_cli.settings import DataSettings, ElmSettings, EngineSettings, MethodSettings, SplitSettings
from enrelm_cli.variants import VARIANTS

S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class FitParameters(Settings):
    """What the command line has in options of its own."""

    variant: str = choice("auto", ("auto", *VARIANTS), f"{', '.join(VARIANTS)}, or auto: the best of them.", METHOD)
    updatable: bool = flag(False, "Keep what `partial_fit` and `update` need of the rows.", METHOD)
    progress: bool = flag(False, "Show the passes over the data on stderr.", RUNNING)


FITTING: tuple[type[Settings], ...] = (FitParameters, MethodSettings, SplitSettings, DataSettings, EngineSettings)
# Of files, and of the cluster that reads them: the functions know these, an estimator has its table in memory.
OF_FILES = (
    "data",
    "target",
    "task",
    "validation",
    "test",
    "delimiter",
    "encoding",
    "anonymous",
    "engine",
    "scheduler",
    "memory",
)


def _options(kinds: tuple[type[Settings], ...], command: str) -> Iterator[tuple[Option, Any]]:
    """Every option of the settings and of those within them, with the type of its field."""
    for kind in kinds:
        yield from _options(tuple(nested(kind).values()), command)
        hints = get_type_hints(kind)
        for name, option in options(kind).items():
            if command in (option.only or (command,)):
                yield option, hints[name]


def named_options(command: str, *kinds: type[Settings]) -> dict[str, tuple[Option, Any]]:
    """By the name of the parameter."""
    return {_name(option): (option, hint) for option, hint in _options(kinds, command)}


def _name(option: Option) -> str:
    """The option's own; but scikit-learn takes whatever has a `transform` for a transformer."""
    return "target_transform" if option.name == "transform" else option.name


PARAMETERS = {name: pair for name, pair in named_options("fit", *FITTING).items() if name not in OF_FILES}
DEFAULTS = {name: option.default for name, (option, _) in PARAMETERS.items()}
RANDOM_ELM = tuple(named_options("curve", ElmSettings))


class Parameters:
    """Keeps its parameters as they were given: they are checked by `fit`, as scikit-learn has it."""

    def __init__(self, **parameters: Any) -> None:
        refuse_unknown(parameters, DEFAULTS, type(self).__name__)
        for name, default in DEFAULTS.items():
            setattr(self, name, parameters.get(name, default))


Parameters.__init__.__signature__ = Signature(  # type: ignore[attr-defined]
    [Parameter("self", Parameter.POSITIONAL_ONLY)]
    + [Parameter(name, Parameter.KEYWORD_ONLY, default=default) for name, default in DEFAULTS.items()]
)


def refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any], whose: str) -> None:
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{whose} has no parameter {name!r}{hint}")


# ------------------------------------------------------------------------------------------------ values


def settings_of(kind: type[S], given: Mapping[str, Any], **more: Any) -> S:
    """The settings with these values; None and what is not given keep their default."""
    values: dict[str, Any] = {name: settings_of(inner, given) for name, inner in nested(kind).items()}
    for name, option in options(kind).items():
        if given.get(_name(option)) is not None:
            values[name] = _value(option, given[_name(option)])
    return kind(**{**values, **more})


def _value(option: Option, given: Any) -> Any:
    """What a field becomes of a Python value; texts are read as on the command line."""
    if option.repeatable and isinstance(given, Mapping):
        return tuple(f"{name}={value}" for name, value in given.items())
    if option.repeatable:
        return tuple(str(one) for one in ([given] if isinstance(given, str) else given))
    if isinstance(option.kind, Flag):
        return bool(given)
    if isinstance(given, str):
        return option.value(given)
    if isinstance(option.kind, Choice) or not isinstance(given, numbers.Real):
        raise UsageError(f"{option.flag} cannot be {given!r}", option.help)
    if isinstance(option.kind, Real):
        return float(given)
    number = float(given)
    if not number.is_integer():
        raise UsageError(f"{option.flag} {given} is not a whole number", option.help)
    return int(number)


# ------------------------------------------------------------------------------------------------ documentation


def documented() -> str:
    """The parameters as a section of a numpydoc docstring."""
    return "\n".join(f"{name} : {type_text(name)}\n    {option.help}" for name, (option, _) in PARAMETERS.items())


def type_text(name: str) -> str:
    option, hint = PARAMETERS[name]
    kind = "str or sequence of str" if option.repeatable else _words(option, hint)
    return f"{kind}, default={option.default!r}"


def _words(option: Option, hint: Any) -> str:
    if isinstance(option.kind, Choice):
        names = ", ".join(repr(name) for name in option.kind.names)
        return f"{{{names}}}" + (" or None" if option.default is None else "")
    text = str(getattr(hint, "__name__", hint)).replace(" | ", " or ")
    words = option.kind.words if isinstance(option.kind, Whole) else {}
    return " or ".join([text, *(repr(word) for word in words)])
