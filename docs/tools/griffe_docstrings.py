"""A griffe extension: how the API reference reads docstrings and comments."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import griffe

_EXAMPLE = re.compile(r"^Example:$", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Renders examples as code, and describes fields by their comments, as tyro does for its help texts."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:  # griffe renders `Example:` as text, `Examples:` as code
            obj.docstring.value = _EXAMPLE.sub("Examples:", obj.docstring.value)

    def on_attribute_instance(
        self, *, node: ast.AST | griffe.ObjectNode, attr: griffe.Attribute, **_: object
    ) -> None:
        if attr.docstring is None and isinstance(node, ast.stmt) and isinstance(attr.filepath, Path):
            lines = attr.lines_collection[attr.filepath]
            text = _beside(lines, node) or _above(lines, node)
            if text:
                attr.docstring = griffe.Docstring(text, lineno=node.lineno, parent=attr)


def _beside(lines: list[str], node: ast.stmt) -> str:
    """The comment after the statement, on its last line."""
    rest = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode() if node.end_lineno else ""
    return _sentence([rest]) if rest.lstrip().startswith("#") else ""


def _above(lines: list[str], node: ast.stmt) -> str:
    """The comment lines right above the statement."""
    first = node.lineno - 1
    while first > 0 and lines[first - 1].startswith(f"{' ' * node.col_offset}# "):
        first -= 1
    return _sentence(lines[first : node.lineno - 1])


def _sentence(comments: list[str]) -> str:
    text = " ".join(comment.strip().lstrip("#").strip() for comment in comments)
    return "" if text.startswith(("noqa", "type:")) else text[:1].upper() + text[1:]
