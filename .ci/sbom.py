"""Every package that enrelm needs at run time, with version and licence: `python .ci/sbom.py FOLDER`, or `make sbom`.

Writes FOLDER/sbom.json (CycloneDX 1.5) and FOLDER/licences.csv from what is installed beside this interpreter.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

NAME = re.compile(r"[A-Za-z0-9._-]+")


def closure(root: str) -> dict[str, metadata.Distribution]:
    """The distribution and all that it requires without extras, by normalised name."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [root]
    while waiting:
        name = _normal(waiting.pop())
        if name in found:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another platform or Python
        for requirement in found[name].requires or []:
            match = NAME.match(requirement)
            if match and "extra ==" not in requirement:
                waiting.append(match[0])
    return dict(sorted(found.items()))


def licence(one: metadata.Distribution) -> str:
    """What the package says of itself: the SPDX expression, else its classifiers, else the old field."""
    about: Any = one.metadata
    if about.get("License-Expression"):
        return str(about["License-Expression"])
    classified = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or [] if line.startswith("License ::")]
    return "; ".join(classified) or (about.get("License") or "not stated").strip().splitlines()[0][:80]


def bill(packages: dict[str, metadata.Distribution]) -> dict[str, Any]:
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "enrelm", "version": packages["enrelm"].version}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": one.version,
                "purl": f"pkg:pypi/{name}@{one.version}",
                "licenses": [{"license": {"name": licence(one)}}],
            }
            for name, one in packages.items()
            if name != "enrelm"
        ],
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(folder: Path) -> None:
    packages = closure("enrelm")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sbom.json").write_text(json.dumps(bill(packages), indent=1) + "\n", encoding="utf-8")
    with (folder / "licences.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[name, one.version, licence(one)] for name, one in packages.items()]
        csv.writer(file, lineterminator="\n").writerows([["package", "version", "licence"], *rows])
    print(f"{len(packages)} packages: {folder / 'sbom.json'}, {folder / 'licences.csv'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
