"""What a run says of its data, its settings and itself, in a report and in a model file."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from enrelm_cli import __version__
from enrelm_cli.commands.steps import (
    Fitted,
)
from enrelm_cli.inputs.dataset import Dataset, Encoded
from enrelm_cli.inputs.training import Training
from enrelm_cli.phase_one.phase_one import PhaseOne
from enrelm_cli.report.reports import DataFacts, FitReport
from enrelm_cli.settings import DataSettings, EngineSettings, MethodSettings, SplitSettings

if TYPE_CHECKING:
    from enrelm_cli.phase_one.tuning import Tuning


def data_facts(dataset: Dataset, encoded: Encoded, data: Training) -> DataFacts:
    return DataFacts(
        name=dataset.table.label,
        rows=encoded.rows.total,
        columns=len(encoded.encoding.columns),
        inputs=data.view.input_map.names(encoded.encoding.columns),
        target=encoded.encoding.target or "",
        hash=dataset.survey.content_hash,
        notes=encoded.notes,
    )


def settings_facts(
    data: DataSettings, split: SplitSettings, method: MethodSettings, where: EngineSettings
) -> dict[str, Any]:
    """What was asked for, for the report and the model file."""
    kernel = vars(method.kernel)
    chosen = {key: value for key, value in vars(method).items() if key != "kernel"}
    return {
        "split": dict(vars(split)),
        "method": chosen,
        "kernel": dict(kernel),
        "missing": data.missing,
        "predict_options": _predict_options(data),
    }


def _predict_options(data: DataSettings) -> list[str]:
    """What `predict` must be told about files like these."""
    given = {"--decimal": data.read.decimal, "--encoding": data.read.encoding}
    usual = {"--decimal": ".", "--encoding": "utf-8"}
    return [word for option, value in given.items() if value != usual[option] for word in (option, value)]


def versions() -> dict[str, str]:
    return {
        "enrelm": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def about(report: FitReport) -> dict[str, Any]:
    """What a model file says about itself. No clock and no timing: the same command gives the same bytes."""
    left_out = ("inputs", "rows", "candidates", "timings", "model")
    kept = {key: value for key, value in report.to_json().items() if key not in left_out}
    return {**kept, "versions": versions()}


def kernel_facts(phase_one: PhaseOne, variant: str, tuning: Tuning | None) -> dict[str, float]:
    """Of the model that is saved, not of the one that chose its size."""
    facts: dict[str, float] = {"landmarks": len(phase_one.landmarks_of(variant).Z)}
    if tuning is not None:
        kernel = tuning.kernel
        facts["weight_variance"] = float(np.mean(kernel.weight_variance))
        facts["bias_variance"] = float(kernel.bias_variance)
        facts["depth"] = kernel.depth
        facts["tuning_evaluations"] = tuning.evaluations
    return facts


def constant_note(data: Training) -> tuple[str, ...]:
    left_out = data.view.input_map.constant(data.rows.columns)
    if not left_out:
        return ()
    shown = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
    return (f"constant on the training rows, left out: {shown}",)


def tuning_note(tuning: Tuning | None) -> tuple[str, ...]:
    return () if tuning is None else (f"tuning: {tuning.reason.value}",)


def activation_note(method: MethodSettings, tuning: Tuning | None) -> tuple[str, ...]:
    name = method.kernel.activation
    if tuning is None or name == "erf":
        return ()
    return (f"the kernel was tuned for erf; its variances and depth are used for {name}",)


def cap_note(method: MethodSettings, fitted: Fitted) -> tuple[str, ...]:
    if method.neurons is None or method.neurons <= fitted.chosen.neurons:
        return ()
    return (f"--neurons {method.neurons}: only {fitted.chosen.neurons} neurons were found",)
