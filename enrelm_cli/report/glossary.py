"""What every number and label of the reports means, in the words of `enrelm glossary` and docs/numbers.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from enrelm_cli.errors import UsageError


@dataclass(frozen=True)
class Term:
    """A label as the reports print it."""

    name: str
    meaning: str

    def to_json(self) -> dict[str, str]:
        return {"term": self.name, "meaning": self.meaning}


@dataclass(frozen=True)
class Chapter:
    title: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class GlossaryReport:
    """What labels mean."""

    chapters: tuple[Chapter, ...]

    def to_json(self) -> dict[str, Any]:
        return {"terms": [term.to_json() for chapter in self.chapters for term in chapter.terms]}


def _chapter(title: str, **meanings: str) -> Chapter:
    return Chapter(title, tuple(Term(name.replace("_", " "), meaning) for name, meaning in meanings.items()))


_ERRORS = _chapter(
    "Errors",
    errors="Relative errors on the training rows and on the validation rows, and of linear regression on the "
    "latter: root mean square of (target - prediction), divided by that of (target - mean of the training rows). 0 is "
    "perfect, 1 is what predicting the mean gives. With --metric mae: mean absolute values instead of squares.",
    validation_error="The relative error on rows that the network was not trained on, but that were used to choose its "
    "size and its variant. On new rows expect about this, or slightly more.",
    training_error="The relative error on the rows that the network was trained on: always too low.",
    test_error="The relative error on rows that were used neither to train nor to choose anything (compare).",
    linear_regression="Ordinary least squares on the plain inputs, with the same training and validation rows.",
    standard_error="The ± after a number in fit, curve and info: how far the number would typically move with other "
    "rows of the same kind. From leaving out a twentieth of the judged rows at a time (jackknife), whole groups "
    "with --group. After a mean of compare's metrics: from the spread over its splits.",
    normalised_RMSE="The relative error itself: RMSE divided by the root mean square distance from the training mean.",
    RMSE="Root mean squared error, in the unit of the target.",
    MAE="Mean absolute error, in the unit of the target.",
    metrics="RMSE, MAE and R² of the validation rows, rounded to the precision of their standard errors.",
    vs_best="An error divided by the smallest one beside it; over several tables the geometric mean.",
    as_good="Within a standard error of the best: the difference on the same rows or splits is no larger than its own "
    "standard error. One of these is taken (or recommended) and marked with a star.",
    interval="Share of new targets that lie between lower and upper (predict --interval).",
    interval_score="Mean width of the intervals, plus a penalty for each target outside: lower is better.",
)
_R2 = Term(
    "R²",
    "1 - (RMSE / standard deviation of the judged targets)²: the share of their variance that is explained. 1 is "
    "perfect, below 0 is worse than their mean.",
)
_SIZES = _chapter(
    "Sizes and choices",
    neurons="Hidden outputs of the network. 'all': as many as the rows allow; a ridge shrinks those that add "
    "nothing. The refit on all rows then has more of them than the folds had.",
    choice="A size that the error curve offers: best, knee, smallest, or all; a star marks the one that fit takes.",
    best="The size with the smallest validation error.",
    knee="The size at which the curve turns from falling to flat.",
    smallest="The fewest neurons within 1 % of the best error.",
    folds="Parts of the rows that validate in turn while the others train. Their errors are added up over all rows.",
    rows="Rows that trained and validated; with folds, each validates once. 'refitted on all': the saved model.",
    variant="How the output weights are found: approximate, incremental, kernel, local or logistic.",
    variants="What was tried, with the size that each chose; a star marks the one that is saved.",
    choices="The sizes that each variant's curve offers, with their errors.",
    method="What compare sets side by side: our variants, random ELMs (elm), linear regression, other libraries.",
    stopped="Why an iteration ended, or what a variant has instead of sizes.",
    selection="How the size was chosen: best, knee, smallest, all, or given (--neurons).",
    to_best="An error divided by the smallest one of all sizes and variants.",
)
_MODEL = _chapter(
    "The model",
    details="Numbers that the fit of the saved model found.",
    landmarks="Training rows that stand for all of them in the kernel (Nyström); in a small table, every row.",
    alpha="The ridge: how much noise there is for one unit of signal. Larger is smoother.",
    leave_one_out_error="Relative error of training rows, each predicted as if it (and its twins, or its group) had "
    "been left out, with the kernel that they helped to tune: slightly too good.",
    weight_variance="Mean over the inputs of the variance of the hidden weights: larger lets the function bend more.",
    bias_variance="Variance of the hidden biases.",
    depth="Hidden layers of the kernel.",
    tuning_evaluations="Kernel matrices that the tuning factorised.",
    steps="Steps of the incremental variant.",
    leaves="Parts of the rows that the local variant fits exactly, each beside the landmarks.",
    leaf_rows="Rows of a leaf on average.",
    local_rows="Rows that the leaves hold.",
    share="Column importance: the part of the predictions' variance that moving this column alone accounts for. Shares "
    "add up to 100 %.",
    column_importance="Which columns move the predictions, and how much: see share.",
    inputs="Numbers that the network sees; a column can become several.",
    columns="What became of each column; on a small screen, the most important ones.",
    column="Its name in the file.",
    kind="What the cells are: numbers, texts, dates, truth values.",
    squashed="A number on a scale that is straight in the middle and flattens towards its far values.",
    normal_score="The rank of a number among all, on the scale of a normal distribution: outliers do not matter.",
    indicators="An input of 0 and 1 for each level of a text.",
    also_as_categories="Besides its inputs as a number, the column has an indicator for each value.",
    mean_target="The average target of a level, shrunk to that of all rows; in training, without the row's fold.",
    model="The file, or why there is none.",
    target="The column that is predicted.",
    settings="What was asked for, defaults included.",
    versions="Versions of the programs that fitted the model.",
    fitted_on="The rows of the table, and what it is called.",
    data_hash="Equal for equal tables, in whatever order their rows, columns and files are.",
)
_RUN = _chapter(
    "The run",
    read="The table: rows with a known target, columns that are used, inputs made of them.",
    time="Seconds of each phase. In the table of variants: as if each had been alone.",
    fit="Time to fit, including the search for the size.",
    predict="Time to predict the rows whose error is shown.",
    predicted="Rows that were predicted.",
    notes="What was decided about the table without asking.",
    warning="Why the errors may not hold on new rows.",
    mean_rank="The mean place of a method over several tables; 1 is the best on each of them.",
    wins="Tables on which the method is the best.",
    tables="Tables that were compared.",
    missing="Cells without a value.",
    distinct="Different values.",
    range_or_levels="The smallest and the largest number or date, or the most frequent texts.",
    distribution="A small picture of how the values are spread.",
    made_of_it="The inputs that a fit would make of the column.",
)
_CLASSES = _chapter(
    "Classes",
    classes="The values of a target that is text or true and false, with their rows.",
    **{
        "class": "One of them.",
        "p of class": "The probability that the model gave to the row's own class.",
        "error rate": "Share of validation rows whose most probable class is not their own: 1 minus accuracy.",
    },
    accuracy="Share of validation rows whose most probable class is their own.",
    probabilities="How they are made: least squares with a temperature, or logistic regression.",
    temperature="What scores are divided by before they become probabilities: fitted to left-out rows.",
    balanced="Mean over the classes of the share of their rows predicted correctly: all classes count alike.",
    Brier="Mean squared distance between the probabilities and what came true: 0 is perfect.",
    AUC="Of two classes: how often a row of one has a higher probability of it than a row of the other; 0.5: a guess.",
    calibration_error="How far stated probabilities are from how often they come true, on average.",
    confusion="How many rows of each class were predicted as each class.",
    conformal_set="The classes that together cover the row's own as often as asked (predict --set).",
)
_LOG_LOSS = Term(
    "log-loss", "Mean of -log(probability of the row's own class): 0 is perfect; it punishes confident mistakes."
)
_EXPLAIN = _chapter(
    "Explanations and intervals",
    updatable="How many bytes of sums the model file keeps, so that `enrelm update` can add and remove rows.",
    change="What was done to the rows of the model: a fit, an update, a removal, a merge.",
    history="The changes of the model, oldest first, each with the hash of its table.",
    intervals="What the widths of prediction intervals depend on, and how many left-out errors they come from.",
    effects="How the prediction changes along one column, relative to its average.",
    average="The mean prediction, from which effects count.",
    lowest="The smallest effect of the column.",
    highest="The largest effect of the column.",
    at="Where in the column its smallest or largest effect is.",
    shape="A small picture of the effect along the column.",
    columns_that_act_together="Pairs whose joint effect is not the sum of their own.",
    together="Such a pair.",
    strength="How much of the pair's joint effect is not the sum of the two columns' own effects.",
    row="A row of the table, by its number.",
    prediction="What the model says of the row.",
    residual="Target minus prediction.",
    worst="The rows with the largest residuals.",
    targets_inside="Share of known targets inside the interval.",
    quantile="Share of known targets below the quantile (predict --quantile).",
    sets="Share of known classes inside the sets (predict --set).",
    drift="Columns whose population stability index (PSI) is above the limit, and the share of rows far from every "
    "landmark: how unlike the training table the rows are (predict --report).",
    before="Error on the new rows and validation error of the model before the update.",
    more="What is not shown, and how to see it.",
)
CHAPTERS = (
    Chapter(_ERRORS.title, (*_ERRORS.terms, _R2)),
    _SIZES,
    _MODEL,
    Chapter(_CLASSES.title, (*_CLASSES.terms, _LOG_LOSS)),
    _EXPLAIN,
    _RUN,
)
TERMS = {term.name.lower(): term for chapter in CHAPTERS for term in chapter.terms}


def named(label: str) -> Term | None:
    """What a label means, however it is written: R2, `validation_error`."""
    known = label.strip().lower().replace("_", " ").replace("-", " ")
    plain = {name.replace("-", " "): term for name, term in TERMS.items()} | {"r2": _R2}
    return plain.get(known)


def glossary(labels: Sequence[str] = ()) -> GlossaryReport:
    """Of these labels, or of all."""
    if not labels:
        return GlossaryReport(CHAPTERS)
    found = []
    for label in labels:
        term = named(label)
        if term is None:
            close = get_close_matches(label.lower(), TERMS, n=1)
            raise UsageError(
                f"no label is called {label!r}", f"did you mean {close[0]!r}?" if close else "see `enrelm glossary`"
            )
        found.append(term)
    return GlossaryReport((Chapter("", tuple(found)),))
