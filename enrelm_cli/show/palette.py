"""A colour for each method, the same in figures, on the page and in the terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paint:
    """One method's colour."""

    name: str  # of its CSS variable
    light: str  # on white
    dark: str  # on a dark page
    terminal: str  # rich's


# On white Okabe and Ito's colours, which colour-blind readers can tell apart (their yellow is too pale for a line), and
# Tol's indigo.
INK = Paint("ink", "#000000", "#e8e8e8", "white")
OTHER = Paint("other", "#56b4e9", "#9ad1f5", "red")
_PAINTS = {
    "kernel": Paint("kernel", "#0072b2", "#56b4e9", "cyan"),
    "local": Paint("local", "#332288", "#a99cf0", "green"),
    "approximate": Paint("approximate", "#e69f00", "#e69f00", "yellow"),
    "incremental": Paint("incremental", "#009e73", "#2bc79a", "magenta"),
    "logistic": Paint("logistic", "#882255", "#d77fa8", "red"),
    "elm": Paint("elm", "#cc79a7", "#e39cc4", "blue"),
    "linear": INK,
    "ink": INK,
    "hist-gradient-boosting": Paint("boosting", "#d55e00", "#f0763b", "red"),
    "ridge": Paint("ridge", "#7f7f7f", "#9f9f9f", "red"),
}


def paint_of(method: str) -> Paint:
    return _PAINTS.get(method, OTHER)


def css_variables(dark: bool) -> str:
    """Of every method but those that are drawn in ink, which a page has a variable for already."""
    paints = [paint for paint in (*_PAINTS.values(), OTHER) if paint is not INK]
    return ";".join(f"--{paint.name}:{paint.dark if dark else paint.light}" for paint in paints)
