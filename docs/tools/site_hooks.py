"""What mkdocs cannot do by itself: pages from outside docs/, links for GitHub and the site, an API check."""

from __future__ import annotations

import ast
import functools
import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src"
# page of the site -> file of the repository
OUTSIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks/tuning.csv": "benchmarks/tuning.csv",
} | {f"examples/{script.name}": f"examples/{script.name}" for script in sorted(ROOT.glob("examples/*.py"))}
# notebooks become pages
OUTSIDE |= {
    f"notebooks/{notebook.stem}.md": f"examples/notebooks/{notebook.name}"
    for notebook in sorted(ROOT.glob("examples/notebooks/*.ipynb"))
}
# a link to a relative path; a colon occurs in addresses only
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)]*)?\))")
# `::: name` and the options below it
_DIRECTIVE = re.compile(r"^::: ([\w.]+)$((?:\n[ ].*)*)", re.MULTILINE)

# Every name in `__all__` of these has an entry in the API reference, ...
PUBLIC_PACKAGES = (
    "bisimulator",
    "bisimulator.core",
    "bisimulator.policies",
    "bisimulator.simulation",
    "bisimulator.evaluation",
    "bisimulator.metrics",
    "bisimulator.exact",
    "bisimulator.goals",
    "bisimulator.adapters",
    "bisimulator.adapters.sb3",
)
# ... and so has every public module of these.
PACKAGES_OF_MODULES = ("bisimulator.bisim", "bisimulator.people", "bisimulator.solvers")
PUBLIC_MODULES = ("bisimulator.methods.hooks",)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    missing = missing_api_entries()
    if missing:
        raise PluginError(f"public names without an entry in docs/api: {', '.join(missing)}")
    for place, source in OUTSIDE.items():
        if source.endswith(".ipynb"):
            files.append(File.generated(config, place, content=notebook_page(ROOT / source)))
        else:
            files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links as GitHub resolves them, relative to the file in the repository, become relative to the page."""
    source = Path(page.file.abs_src_path or "")
    here = posixpath.dirname(page.file.src_uri)

    def rewrite(link: re.Match[str]) -> str:
        place = place_on_site((source.parent / link[2]).resolve())
        return link[0] if place is None else link[1] + posixpath.relpath(place, here or ".") + link[3]

    return _LINK.sub(rewrite, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """An entry that a directive announces is also rendered."""
    from mkdocs.exceptions import PluginError

    pages = "".join(page.read_text(encoding="utf-8") for page in Path(config.site_dir, "api").glob("*.html"))
    anchors = set(re.findall(r'id="([\w.]+)"', pages))
    lost = sorted(api_entries() - anchors)
    if lost:
        raise PluginError(f"public names that the API reference does not show: {', '.join(lost)}")


def notebook_page(path: Path) -> str:
    """A notebook as Markdown: its text, and its code in Python blocks."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    return "\n\n".join(f"```python\n{text}\n```" if code else text for text, code in texts) + "\n"


def place_on_site(file: Path) -> str | None:
    """Where a file of the repository is on the site; None if it is not there."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS).as_posix()
    outside = {source: place for place, source in OUTSIDE.items()}
    return outside.get(file.relative_to(ROOT).as_posix()) if file.is_relative_to(ROOT) else None


def missing_api_entries(pages: Path = DOCS / "api") -> list[str]:
    """Public names and modules without a directive in `pages`. It reads the source and imports nothing."""
    entries = api_entries(pages)
    origins = {origin(entry) for entry in entries}
    names = [f"{package}.{name}" for package in PUBLIC_PACKAGES for name in exported(package)]
    missing = [name for name in names if not _is_module(name) and origin(name) not in origins]
    return missing + sorted(public_modules() - entries)


def api_entries(pages: Path = DOCS / "api") -> set[str]:
    """The names that the pages' directives render. A directive for a public package renders its `__all__`."""
    entries = set()
    for page in sorted(pages.glob("*.md")):
        for name, options in _DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            members = re.findall(r"members: \[(.*)\]", options)
            if members:
                entries |= {f"{name}.{member}" for member in members[0].split(", ")}
            elif name in PUBLIC_PACKAGES:
                names = (f"{name}.{member}" for member in exported(name))
                entries |= {member for member in names if not _is_module(member)}
            else:
                entries.add(name)
    return entries


def exported(module: str) -> list[str]:
    """`__all__` of a module."""
    for statement in _parse(module).body:
        if isinstance(statement, ast.Assign) and _is_name(statement.targets[0], "__all__"):
            return sorted(ast.literal_eval(statement.value))
    raise LookupError(f"{module} has no __all__")


def origin(name: str) -> str:
    """Where a public name is defined, so that a name which two packages export needs one entry."""
    module, _, attribute = name.rpartition(".")
    if not _file(module):  # a member of a class
        return name
    for statement in ast.walk(_parse(module)):  # also below `if TYPE_CHECKING`
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                target = f"{statement.module}.{alias.name}"
                if (alias.asname or alias.name) == attribute and target != name:
                    return origin(target)
    return name


def public_modules() -> set[str]:
    """The modules whose members the API reference shows in full."""
    found = set(PUBLIC_MODULES)
    for package in PACKAGES_OF_MODULES:
        folder = SOURCE.joinpath(*package.split("."))
        found |= {f"{package}.{file.stem}" for file in folder.glob("*.py") if not file.stem.startswith("_")}
    return found


def _is_module(name: str) -> bool:
    """Whether a name in `__all__` is a module, such as `bisimulator.exact`, which has its own page."""
    return origin(name) == name and _file(name) is not None


def _file(module: str) -> Path | None:
    path = SOURCE.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.exists()), None)


@functools.cache
def _parse(module: str) -> ast.Module:
    file = _file(module)
    if file is None:
        raise LookupError(f"there is no module {module} in {SOURCE}")
    return ast.parse(file.read_text(encoding="utf-8"))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
