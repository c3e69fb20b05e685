"""What pyproject.toml cannot say: sample_data goes into the wheel, and an index shows README without local links."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


class WithSampleData(build_py):
    """`enrelm sample` finds the tables in enrelm_cli/sample_data; in a checkout they lie beside the package."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "enrelm_cli" / "sample_data"
            target.mkdir(parents=True, exist_ok=True)
            for table in sorted((ROOT / "sample_data").glob("*.csv")):
                shutil.copyfile(table, target / table.name)


def readme() -> str:
    """Links within the checkout as their text, pictures within it left out: an index has neither."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return LINK.sub(lambda link: "" if link[1] else f"{link[2]} (`{link[3]}`)", text)


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": WithSampleData},
        long_description=readme(),
        long_description_content_type="text/markdown",
    )
