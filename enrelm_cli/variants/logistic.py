"""Plain logistic regression of classes on standardised inputs: what linear regression is to numbers.

It is the best of all where few rows of classes that a plane parts (iris, wine, breast_cancer), so `auto` tries it.
"""

from __future__ import annotations

import numpy as np

from enrelm_cli.columns import plain
from enrelm_cli.errors import UsageError
from enrelm_cli.inputs.classes.scale import ClassScale
from enrelm_cli.inputs.training import Training
from enrelm_cli.model.linear_features import LinearFeatures
from enrelm_cli.model.network import Network
from enrelm_cli.phase_one.phase_one import Basis, Start
from enrelm_cli.settings import MethodSettings
from enrelm_cli.variants._logistic import affordable, fit_logistic, problem, rows_for
from enrelm_cli.variants._variant import Variant

_RIDGES = np.geomspace(1e3, 1e-2, 6)
_FEWEST_ROWS = 1000
ONE_SIZE = "plain logistic regression"


def fit(data: Training, before: Network | None = None) -> Network:
    """At the ridge of the lowest left-out log-loss; on the sample of the training rows, of a large table."""
    scale = data.view.target_scale
    if not isinstance(scale, ClassScale):
        raise UsageError(
            f"--variant logistic is for classes, and the target '{data.rows.target}' is a number",
            "add --task classification if its numbers are classes, or use another variant",
        )
    alphas = _RIDGES if before is None else np.array([(before.facts or {})["alpha"]])
    sample = data.sample()
    sample = sample.between(0, max(rows_for(data.d, scale.classes, len(_RIDGES)), _FEWEST_ROWS))
    found = fit_logistic(problem(sample.X, sample, scale), alphas)
    B, left_out = found.gamma.reshape(data.d, *scale.targets), found.left_out.reshape(-1, *scale.targets)
    facts = {"alpha": found.alpha, "logistic_rows": sample.rows, "left_out_log_loss": found.loss}
    beta, intercept = np.ones((1, *scale.targets)), plain(found.intercept.reshape(scale.targets))
    return Network(LinearFeatures(B), beta, intercept, facts=facts, converged=True, left_out=left_out, logits=True)


class Logistic(Variant):
    name = "logistic"
    start = Start.PAPER
    complexity = 5
    regularised = True
    numbers = False

    def fit(self, basis: Basis, method: MethodSettings, n: int) -> Network:
        return fit(basis.data)

    def refit(self, basis: Basis, method: MethodSettings, n: int, before: Network) -> Network:
        return fit(basis.data, before)

    def pays(self, basis: Basis) -> bool:
        """Not where its work grows beyond all others': many inputs times many classes."""
        data = basis.data
        size = (data.d, len(data.rows.classes or ()), len(_RIDGES))
        return self.predicts(data) and affordable(*size, data.T)

    def most_neurons(self, basis: Basis, method: MethodSettings) -> int:
        """One: a linear function has no sizes."""
        return 1

    def only_size(self, network: Network) -> str | None:
        return ONE_SIZE


VARIANT = Logistic()
