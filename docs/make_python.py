"""Writes the reference of docs/python.md from docstrings, and enrelm/_typed.pyi from the settings' fields."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import enrelm
from enrelm._parameters import PARAMETERS

HERE = Path(__file__).parent
PAGE, TYPED = HERE / "python.md", HERE.parent / "enrelm" / "_typed.pyi"
BEGIN, END = "<!-- made by docs/make_python.py: begin -->", "<!-- made by docs/make_python.py: end -->"
METHODS = ("fit", "partial_fit", "predict", "explain", "contributions", "with_neurons", "save", "load")
OF_CLASSES = ("fit", "partial_fit", "predict", "predict_proba")  # the other methods are the regressor's


def page(text: str) -> str:
    """The page with its reference made again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{_reference()}\n\n{END}{after}"


def _reference() -> str:
    functions = [
        _entry(f"enrelm.{name}", getattr(enrelm, name)) for name in ("fit", "update", "curve", "compare", "load")
    ]
    estimators = [*_estimator(enrelm.EnrelmRegressor, METHODS), *_estimator(enrelm.EnrelmClassifier, OF_CLASSES)]
    return "\n\n".join([*estimators, *functions, _entry("enrelm.EnrelmError", enrelm.EnrelmError, call=False)])


def _estimator(one: type, methods: tuple[str, ...]) -> list[str]:
    name = one.__name__
    whole = f"### `enrelm.{name}`\n\n```text\n{inspect.getdoc(one)}\n```"
    return [whole, *(_entry(f"{name}.{method}", getattr(one, method)) for method in methods)]


def _entry(name: str, thing: Any, call: bool = True) -> str:
    shown = f"{name}{_signature(thing)}" if call else name
    return f"### `{name}`\n\n```text\n{shown}\n\n{inspect.getdoc(thing)}\n```"


def _signature(thing: Any) -> str:
    signature = inspect.signature(thing)
    bare = [one.replace(annotation=one.empty) for name, one in signature.parameters.items() if name != "self"]
    return str(inspect.Signature(bare))


def typed() -> str:
    """The parameters as type checkers see them."""
    lines = [f"        {name}: {_type(name)} = ...," for name in PARAMETERS]
    fields = [f"    {name}: {_type(name)}" for name in PARAMETERS]
    head = "# Made by docs/make_python.py from the settings' fields.\nfrom collections.abc import Sequence\n"
    init = "\n".join(["    def __init__(", "        self,", "        *,", *lines, "    ) -> None: ..."])
    return f"{head}\nclass Parameters:\n" + "\n".join(fields) + f"\n{init}\n"


def _type(name: str) -> str:
    option, hint = PARAMETERS[name]
    if option.repeatable:
        return "str | Sequence[str]"
    text = str(getattr(hint, "__name__", hint)) if hint in (int, float, str, bool) else str(hint)
    return text.replace("int", "int | str", 1) if getattr(option.kind, "words", None) else text


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    TYPED.write_text(typed(), encoding="utf-8")


if __name__ == "__main__":
    main()
