"""A model of several targets: one model for each, which share inputs, kernel and landmarks; its document in a file.

What a model has in common with the first stands in the file once: `same` lists the paths of the others' documents whose
values are the first's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from enrelm_cli.errors import ModelFileError, UsageError
from enrelm_cli.inputs.encoding import Encoding
from enrelm_cli.inputs.maps.input_map import InputMap
from enrelm_cli.inputs.target_scale import TargetScale
from enrelm_cli.inputs.targets.scale import SeveralScale
from enrelm_cli.model.features import BLOCK_BYTES, KernelFeatures
from enrelm_cli.model.model import Model, check_history
from enrelm_cli.model.network import Network
from enrelm_cli.model.updating.kept import Kept
from enrelm_cli.types import Array

MOST_TARGETS = 1000


@dataclass(frozen=True)
class TargetModels:
    """One for each target, in the user's order."""

    models: tuple[Model, ...]
    kept: Kept | None = None  # sums of their rows, where they can be added to
    history: tuple[dict[str, Any], ...] = ()  # what was done to their rows since (--updatable)

    @staticmethod
    def sharing(models: Sequence[Model]) -> TargetModels:
        """Neurons in the order of the eigenvalues, where all networks have the same: then their features are one."""
        orders = [one.network.order for one in models]
        known = [np.sort(one) for one in orders if one is not None]
        same = len(known) == len(models) and all(np.array_equal(known[0], one) for one in known[1:])
        return TargetModels(_with_one(tuple(_ordered(one) for one in models)) if same else tuple(models))

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(one.encoding.target for one in self.models)

    @property
    def encoding(self) -> Encoding:
        """Of all targets together."""
        return replace(self.models[0].encoding, also=self.targets[1:])

    @property
    def input_map(self) -> InputMap:
        """Of all targets, which have one where sums are kept."""
        return self.models[0].input_map

    @property
    def target_scale(self) -> SeveralScale:
        scales = [one.target_scale for one in self.models]
        return SeveralScale(tuple(one for one in scales if isinstance(one, TargetScale)))

    def of(self, target: str) -> Model:
        """The model of one target."""
        if target not in self.targets:
            raise UsageError(f"the model has no target {target!r}", f"its targets are {', '.join(self.targets)}")
        return self.models[self.targets.index(target)]

    @cached_property
    def joint(self) -> Network | None:
        """All networks as one, where they have the same features: the kernel of a row is computed once."""
        first = self.models[0].network
        networks = [one.network for one in self.models]
        maps = [one.input_map.to_document() for one in self.models]
        if not all(_alike(maps[0], one) for one in maps[1:]) or not all(_same_features(first, n) for n in networks[1:]):
            return None
        beta = np.column_stack([one.beta for one in networks])
        return Network(first.features, beta, np.array([float(one.intercept) for one in networks]))

    def predict(self, X: Array) -> Array:
        """Raw rows to predictions: (t, columns) -> (t, q)."""
        found = self.predict_with(X, [np.zeros(0)] * len(self.models))
        return np.column_stack([one[:, 0] for one in found])

    def predict_with(self, X: Array, times: Sequence[Array], limit: int = BLOCK_BYTES) -> list[Array]:
        """For each target what its model predicts of raw rows: (t, columns), (k,) each -> (t, 1 + k) each."""
        joint, first = self.joint, self.models[0]
        if joint is None:
            return [one.predict_with(X, at, limit) for one, at in zip(self.models, times, strict=True)]
        parts: list[list[Array]] = [[] for _ in self.models]
        for block in first.blocks(X, limit):
            with np.errstate(over="ignore", invalid="ignore"):
                inputs = first.input_map.inputs(block)
                z = joint.predict(inputs)
            for k, model in enumerate(self.models):
                parts[k].append(model.from_scores(inputs, np.ascontiguousarray(z[:, k]), times[k]))
        found = [np.concatenate(part) for part in parts]
        for model, predicted in zip(self.models, found, strict=True):
            model.check_finite(predicted[:, 0])
        return found

    def require(self) -> None:
        """Complain before any output where predicting needs something that is not installed."""
        for one in self.models:
            one.network.require()

    def to_document(self) -> dict[str, Any]:
        first, *others = (one.to_document() for one in self.models)
        kept = {} if self.kept is None else {"kept": self.kept.to_document(), "history": list(self.history)}
        return {"models": [first, *(_slim(one, first) for one in others)], **kept}

    @staticmethod
    def from_document(document: dict[str, Any]) -> TargetModels:
        """Of a file that is sound as a file but may hold anything: what is no model is a ModelFileError."""
        try:
            first, *others = _documents(document)
            whole = [first, *(_filled(one, first) for one in others)]
            kept = Kept.from_document(document["kept"]) if "kept" in document else None
            history = tuple(document.get("history", ()))
            check_history(history)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
            raise ModelFileError(
                f"the model file is whole, but is no model of this format: {problem}", "fit the model again"
            ) from problem
        models = tuple(Model.from_document(one) for one in whole)
        _check(models, kept)
        return TargetModels(models, kept, history)


def is_of_targets(document: dict[str, Any]) -> bool:
    return "models" in document


AnyModel = Model | TargetModels


def each_of(model: AnyModel) -> tuple[Model, ...]:
    """The model of each target."""
    return model.models if isinstance(model, TargetModels) else (model,)


def _check(models: Sequence[Model], kept: Kept | None) -> None:
    """They are of the same table, and so are the sums."""
    first, names = models[0].encoding, [one.encoding.target for one in models]
    sound = all(
        one.encoding.columns == first.columns and isinstance(one.target_scale, TargetScale) and one.kept is None
        for one in models
    )
    if kept is not None:
        maps = [one.input_map.to_document() for one in models]
        sound = sound and all(_alike(maps[0], one) for one in maps[1:])
        sound = sound and kept.targets == (len(models),) and kept.classes == 0
        sound = sound and kept.frozen.Z.shape[1] == models[0].input_map.d
        sound = sound and kept.sums.sample.raw.shape[1] == len(first.columns)
    if not sound or len(set(names)) < len(names):
        raise ModelFileError("the model file is whole, but its targets do not belong together", "fit the model again")


# ------------------------------------------------------------------------------------------------ networks


def _ordered(model: Model) -> Model:
    network = model.network
    assert network.order is not None
    order = np.argsort(network.order)
    features, beta = network.features.take(order), network.beta[order]
    return replace(model, network=replace(network, features=features, beta=beta, order=network.order[order]))


def _with_one(models: tuple[Model, ...]) -> tuple[Model, ...]:
    """The features of the first in place of equal ones: what is computed of them is computed once."""
    first = models[0].network
    return tuple(
        replace(one, network=replace(one.network, features=first.features))
        if _same_features(first, one.network)
        else one
        for one in models
    )


def _same_features(first: Network, other: Network) -> bool:
    a, b = first.features, other.features
    if not isinstance(a, KernelFeatures) or not isinstance(b, KernelFeatures):
        return False
    return _alike(a.to_document(), b.to_document())


# ------------------------------------------------------------------------------------------------ documents


def _slim(document: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Without what the first has at the same place."""
    same: list[list[str]] = []
    kept = _without(document, first, (), same)
    return {"own": kept, "same": same}


def _without(document: Any, first: Any, trail: tuple[str, ...], same: list[list[str]]) -> Any:
    kept = {}
    for key, value in document.items():
        other = first.get(key) if isinstance(first, dict) else None
        if key in first and _alike(value, other):
            same.append([*trail, key])
        elif isinstance(value, dict) and isinstance(other, dict):
            kept[key] = _without(value, other, (*trail, key), same)
        else:
            kept[key] = value
    return kept


def _alike(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
    # True is no 1, and 1 no 1.0, in a file.
    return type(a) is type(b) and bool(a == b)


def _documents(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = document["models"]
    if type(found) is not list or not 2 <= len(found) <= MOST_TARGETS or any(type(one) is not dict for one in found):
        raise ValueError("'models' is no list of them")
    return found


def _filled(slim: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """With what the first has."""
    document: dict[str, Any] = _copied(slim["own"])
    for trail in slim["same"]:
        if type(trail) is not list or not trail or any(type(key) is not str for key in trail):
            raise ValueError("'same' is no list of paths")
        *inner, last = trail
        place, source = document, first
        for key in inner:
            place, source = place.setdefault(key, {}), source[key]
        place[last] = source[last]
    return document


def _copied(value: Any) -> Any:
    """Dictionaries anew, what they hold as it is."""
    return {key: _copied(one) for key, one in value.items()} if isinstance(value, dict) else value
