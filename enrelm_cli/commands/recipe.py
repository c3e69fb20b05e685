"""The fit that made a model, as options: from what its file says. Where the data lay is not known there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from enrelm_cli.commands.saved import content_of, load_models
from enrelm_cli.errors import ModelFileError
from enrelm_cli.fields import Flag, Option, Settings, nested, options
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.model.model import Model
from enrelm_cli.model.targets.models import TargetModels
from enrelm_cli.settings import MethodSettings, SplitSettings
from enrelm_cli.table.kinds import Kind
from enrelm_cli.table.notation import DateNotation
from enrelm_cli.table.options import DEFAULT_NULLS, ReadAs


@dataclass(frozen=True)
class Origin:
    """What it takes to make a model again, and to see that it is the same."""

    words: tuple[str, ...]  # of the line, without the data
    rows: int  # of the table that was fitted
    data_hash: str
    model_hash: str
    versions: dict[str, str]
    later: tuple[dict[str, Any], ...] = ()  # what became of its rows after the fit: lines of the history

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "words": list(self.words), "later": list(self.later)}


def origin(path: str) -> Origin:
    """How a model file came to be, and the hashes of its data and of itself."""
    model = load_models(path)
    words = [word for name, value in recipe_of(model) for word in _words(name, value)]
    card = model.models[0].card if isinstance(model, TargetModels) else model.card
    digest = hashlib.sha256(content_of(path)).hexdigest()
    versions = dict(card.versions)
    if not model.history:
        return Origin(tuple(words), int(card.data["rows"]), str(card.data["hash"]), digest, versions)
    first, *later = model.history
    if first["change"] != "fit":  # fit --like: what it was made of is in the other model
        words = ["--like", "PARENT"]
    return Origin(tuple(words), int(first["rows"]), str(first["hash"]), digest, versions, tuple(later))


def recipe_of(model: Model | TargetModels) -> Iterator[tuple[str, Any]]:
    """(option, what to type) of each option of `fit` that is not at its default."""
    encoding = model.encoding
    card = model.models[0].card if isinstance(model, TargetModels) else model.card
    yield "target", list(encoding.targets) if encoding.also else encoding.target
    yield "task", "regression" if encoding.classes is None else "classification"
    yield from _columns(encoding)
    yield from _reading(encoding.read)
    yield "variant", card.variant
    said = card.settings
    try:
        yield from _settings(SplitSettings, said["split"])
        method = {**said["method"], "kernel": said["kernel"], "inputs": said["inputs"]}
        yield from _settings(MethodSettings, method)
        if said.get("class_weight"):
            yield "class_weight", [str(one) for one in said["class_weight"]]
        if said["missing"] != "fill":
            yield "missing", str(said["missing"])
        yield from _held_out(said["split"])
        if model.kept is not None:
            yield "updatable", True
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError("the model does not say how it was fitted", "fit it again with this version") from error


def _held_out(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for role in ("group", "time"):
        if said.get(role):
            yield role, said[role]
    if said.get("validation_files"):
        yield "validation", ["FILE"] * int(said["validation_files"])


def _columns(encoding: Encoding) -> Iterator[tuple[str, Any]]:
    """Every column that the fit looked at, also those of which it made no input: they count in the data's hash."""
    left_out = [one.name for one in encoding.left_out if one.kind is not Kind.OTHER]
    yield "inputs", sorted([*(column.name for column in encoding.columns), *left_out])
    categorical = sorted(column.name for column in encoding.columns if column.categorical)
    if categorical:
        yield "categorical", categorical
    if encoding.weight is not None:
        yield "weight", encoding.weight


def _reading(read: ReadAs) -> Iterator[tuple[str, Any]]:
    plain = ReadAs()
    for name in ("delimiter", "decimal", "encoding"):
        if getattr(read, name) != getattr(plain, name):
            yield name, getattr(read, name)
    nulls = [text for text in read.nulls if text]
    if read.number_nulls != DEFAULT_NULLS:
        yield "only_null", nulls or [""]
    elif nulls:
        yield "null", nulls
    # A date that was recognised is named, too: whether there was a choice is not known here. A zone has no directive.
    dates = [
        f"{name}={found.notation.pattern}"
        for name, found in read.formats
        if isinstance(found.notation, DateNotation) and not found.notation.zoned
    ]
    if dates:
        yield "date_format", dates


def _settings(kind: type[Settings], said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is not at its default, field by field; a field that the model does not know had its default."""
    for field, option in options(kind).items():
        value = said.get(field, option.default)
        if value != option.default:
            yield option.name, _typed(option, value)
    for field, inner in nested(kind).items():
        yield from _settings(inner, said[field])


def _typed(option: Option, value: Any) -> Any:
    """As one would type it."""
    if isinstance(option.kind, Flag):
        return bool(value)
    if isinstance(value, (list, tuple)):
        return [str(one) for one in value]
    words = getattr(option.kind, "words", {})
    return next((word for word, meant in words.items() if meant == value), str(value))


def _words(name: str, value: Any) -> list[str]:
    """A flag for each of several names: joined by commas they could be the name of another column."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    return [word for one in (value if isinstance(value, list) else [value]) for word in (flag, one)]
