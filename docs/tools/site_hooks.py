"""What mkdocs cannot do by itself: pages from outside docs/, and links that work both on GitHub and on the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# place on the site -> file of the repository
OUTSIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks/tuning.csv": "benchmarks/tuning.csv",
} | {f"examples/{script.name}": f"examples/{script.name}" for script in sorted(ROOT.glob("examples/*.py"))}
_LINK = re.compile(
    r"(\]\()([^)#\s:]+)((?:#[^)]*)?\))"
)  # of a relative path; a colon stands in addresses only


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for place, source in OUTSIDE.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as GitHub resolves them, from where the file is in the repository, to where it is on the site."""
    source = Path(page.file.abs_src_path)
    here = posixpath.dirname(page.file.src_uri)

    def rewrite(link: re.Match[str]) -> str:
        place = place_on_site((source.parent / link[2]).resolve())
        return link[0] if place is None else link[1] + posixpath.relpath(place, here or ".") + link[3]

    return _LINK.sub(rewrite, markdown)


def place_on_site(file: Path) -> str | None:
    """Where a file of the repository is on the site; None where it is not."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS).as_posix()
    outside = {source: place for place, source in OUTSIDE.items()}
    return outside.get(file.relative_to(ROOT).as_posix()) if file.is_relative_to(ROOT) else None
