"""What a run says of its data, its settings and itself, in a report and in a model file."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import scipy

from enrelm_cli import __version__
from enrelm_cli.commands.steps import Opened
from enrelm_cli.fold.weights import Weights, mean
from enrelm_cli.inputs.classes.rare import rare_note
from enrelm_cli.inputs.inspection.findings import two_values
from enrelm_cli.inputs.target_scale import TargetScale, Transform
from enrelm_cli.inputs.training import Rows, Training
from enrelm_cli.model.card import ModelCard
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis
from enrelm_cli.report.reports import DataFacts, FitReport, metrics_json
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, Roles, SplitSettings
from enrelm_cli.types import Array


def data_facts(opened: Opened, data: Training | None = None) -> DataFacts:
    """`data`: the rows as the chosen variant sees them, where that is not plain."""
    encoding = opened.dataset.encoding
    return DataFacts(
        name=opened.dataset.label,
        rows=opened.dataset.rows.total,
        columns=len(encoding.columns),
        inputs=(data or opened.data).view.input_map.names(encoding.columns),
        target=encoding.target or "",
        hash=opened.dataset.content_hash,
        notes=opened.dataset.notes,
    )


def settings_facts(
    data: DataSettings, roles: Roles, split: SplitSettings, method: MethodSettings, where: EngineSettings
) -> dict[str, Any]:
    """What was asked for, for the report and the model file. `roles`: the data's, of the table's own columns."""
    chosen = dict(vars(method))
    kernel, inputs = chosen.pop("kernel"), chosen.pop("inputs")
    return {
        "split": {**vars(split), **_said_of_rows(data, roles)},
        "method": chosen,
        "kernel": dict(vars(kernel)),
        "inputs": dict(vars(inputs)),
        "missing": data.missing,
        **({"class_weight": list(roles.class_weight)} if roles.class_weight else {}),
    }


def _said_of_rows(data: DataSettings, roles: Roles) -> dict[str, Any]:
    """How the user split the rows, where he did: files by their number, because a model does not say where they lay."""
    said = {"group": sorted({*roles.group}), "time": roles.time}
    own = {"validation_files": len(data.validation), "test_files": len(data.test)}
    return {name: value for name, value in {**said, **own}.items() if value}


def versions() -> dict[str, str]:
    return {
        "enrelm": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def card_of(report: FitReport) -> ModelCard:
    return ModelCard(
        variant=report.variant,
        neurons=report.neurons,
        chosen_neurons=report.chosen_neurons,
        train_error=report.train_error,
        validation_error=report.validation_error,
        linear_error=report.linear_error,
        selection=report.selection,
        choices=report.choices.to_json(),
        training_rows=report.training_rows,
        validation_rows=report.validation_rows,
        refit=report.refit,
        stop=report.stop,
        facts=report.facts,
        relevance=report.relevance,
        # The content is what the model is of, wherever the table lay: a file, a pipe or a data frame.
        data={name: value for name, value in report.data.to_json().items() if name != "name"},
        settings=report.settings,
        notes=(*report.data.notes, *report.notes),
        versions=versions(),
        classes=None if report.classes is None else report.classes.to_json(),
        metrics=metrics_json(report.metrics),
        linear_metrics=metrics_json(report.linear_metrics),
        folds=report.folds,
        warnings=report.warnings,
    )


def network_facts(network: Network, basis: Basis, left_out: Array, weight: Array | None = None) -> dict[str, float]:
    """Of the model that is saved, not of the one that chose its size."""
    facts: dict[str, float] = {"landmarks": len(basis.landmarks.Z), **(network.facts or {})}
    tuning = basis.tuned.tuning
    if tuning is not None:
        facts["weight_variance"] = float(np.mean(tuning.kernel.weight_variance))
        facts["bias_variance"] = float(tuning.kernel.bias_variance)
        facts["depth"] = tuning.kernel.depth
        facts["tuning_evaluations"] = tuning.evaluations
    if len(left_out):
        facts["leave_one_out_error"] = float(np.sqrt(mean(left_out**2, weight)))
    return facts


def fit_notes(basis: Basis, method: MethodSettings, neurons: int) -> tuple[str, ...]:
    tuning, activation = basis.tuned.tuning, method.kernel.activation
    notes = [*constant_note(basis.data), *_scale_note(basis.data)]
    if method.neurons is not None and method.neurons > neurons:
        notes.append(f"--neurons {method.neurons}: only {neurons} neurons were found")
    if tuning is not None:
        notes.append(f"tuning: {tuning.reason.value}")
    if tuning is not None and activation != "erf":
        notes.append(f"the kernel was tuned for erf; its variances and depth are used for {activation}")
    return tuple(notes)


_SCALES: dict[Transform, str] = {"log": "its logarithm", "yeo-johnson": "a power of it (Yeo-Johnson)"}


def _scale_note(data: Training) -> tuple[str, ...]:
    scale = data.view.target_scale
    if not isinstance(scale, TargetScale) or scale.transform == "none":
        return ()
    return (f"target: fitted on {_SCALES[scale.transform]}; predictions and errors are of the target itself",)


def two_values_note(rows: Rows) -> tuple[str, ...]:
    return (two_values().line,) if len(np.unique(rows.sample.y)) == 2 else ()


def class_notes(opened: Opened) -> tuple[str, ...]:
    return rare_note(opened.dataset.rows.classes or (), opened.split)


def constant_note(data: Training) -> tuple[str, ...]:
    left_out = data.view.input_map.constant(data.rows.columns)
    if not left_out:
        return ()
    shown = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
    return (f"constant on the training rows, left out: {shown}",)


def own_errors(data: Training, errors: Array) -> tuple[Array, Weights]:
    """Left-out errors of z (q,) as errors of y, in units of its spread, and the weights of their rows."""
    scale, weight = data.view.target_scale, data.sample_weights() if len(errors) else None
    known = ~np.isnan(errors if errors.ndim == 1 else errors[:, 0])
    weight = None if weight is None else weight[known]
    if scale.is_linear or not isinstance(scale, TargetScale) or not len(errors):
        return errors[known], weight
    z = data.sample().y[known]
    return scale.units(z) - scale.predicted(z - errors[known]), weight
