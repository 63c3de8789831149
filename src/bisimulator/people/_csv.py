"""Tables of people as columns of text: from CSV files and data frames, with errors that name the row.

No data frame library is imported: whatever has `columns` and gives a column by `frame[name]` is a frame.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bisimulator.errors import did_you_mean

Array = NDArray[np.float64]

_NO_NUMBER = {"", "na", "n/a", "nan", "null", "none", "."}
_NOTHING = {"None", "nan", "NaN", "NaT", "<NA>"}  # how frames write an empty cell
_YES, _NO = {"1", "1.0", "true", "t", "yes", "y"}, {"0", "0.0", "false", "f", "no", "n"}
_SHOWN = 3  # rows that an error names


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of stripped text, with where each row stands in its source."""

    origin: str  # how errors call it, such as people.csv
    columns: Mapping[str, Sequence[str]]
    places: Sequence[int]  # the number of each row ...
    place: str  # ... as a "line" of a file or a "row" of a frame

    def __len__(self) -> int:
        return len(self.places)

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> str:
        """`line 7`, or `lines 7, 9, 12 and 40 more`."""
        shown = ", ".join(str(self.places[row]) for row in rows[:_SHOWN])
        more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
        return f"{self.place}{'s' if len(rows) > 1 else ''} {shown}{more}"

    def keep(self, rows: NDArray[np.bool_]) -> Table:
        which = np.flatnonzero(rows).tolist()
        columns = {name: [cells[row] for row in which] for name, cells in self.columns.items()}
        return dataclasses.replace(self, columns=columns, places=[self.places[row] for row in which])

    def missing(self, name: str, *, number: bool = True) -> NDArray[np.bool_]:
        """Which cells are empty; of numbers also NA, NaN, null and a lone point."""
        return np.array(
            [cell == "" or (number and cell.lower() in _NO_NUMBER) for cell in self.columns[name]]
        )

    def numbers(self, name: str, *, min: float = -math.inf, max: float = math.inf, hint: str) -> Array:
        """The column as finite numbers within [min, max]."""
        cells = self.columns[name]
        values = np.array([_number(cell) for cell in cells], np.float64)
        self._refuse(name, ~np.isfinite(values), "must be numbers", "use a point for decimals, no units")
        self._refuse(name, (values < min) | (values > max), f"must lie in [{min:g}, {max:g}]", hint)
        return values

    def flags(self, name: str) -> NDArray[np.bool_]:
        """The column as yes (1, true, yes) and no (0, false, no)."""
        cells = [cell.lower() for cell in self.columns[name]]
        neither = np.array([cell not in _YES and cell not in _NO for cell in cells])
        self._refuse(name, neither, "must be 1 or 0, yes or no, true or false", "correct or remove them")
        return np.array([cell in _YES for cell in cells])

    def _refuse(self, name: str, wrong: NDArray[np.bool_], expected: str, hint: str) -> None:
        rows = np.flatnonzero(wrong)
        if rows.size:
            got = self.columns[name][rows[0]]
            raise ValueError(
                f"{self.origin}: column {name!r} {expected}, got {got!r} on {self.at(rows)}; {hint}"
            )


def _number(cell: str) -> float:
    try:
        return float(cell) if "_" not in cell else math.nan  # float() takes 1_000, a table does not mean it
    except ValueError:
        return math.nan


def read_table(
    source: Any, wanted: Sequence[str], *, encoding: str = "utf-8", delimiter: str | None = None
) -> Table:
    """The wanted columns of a CSV file, a data frame or a mapping from names to columns."""
    if isinstance(source, str | Path):
        return _from_file(Path(source), wanted, encoding, delimiter)
    names = source.keys() if isinstance(source, Mapping) else getattr(source, "columns", None)
    if names is None or not hasattr(source, "__getitem__"):
        raise TypeError(
            f"got {type(source).__name__} where people were wanted; pass the path of a CSV file, "
            "a pandas or polars frame, or a mapping from column names to columns"
        )
    origin = f"the {type(source).__name__}"
    _check_columns(origin, [str(name) for name in names], wanted)
    columns = {name: [_cell(value) for value in source[name]] for name in wanted}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{origin}: columns must be equally long, got {lengths}")
    return _checked(Table(origin, columns, range(next(iter(lengths.values()))), "row"))


def _cell(value: Any) -> str:
    text = str(value).strip()
    return "" if text in _NOTHING and not isinstance(value, str) else text


def _from_file(path: Path, wanted: Sequence[str], encoding: str, delimiter: str | None) -> Table:
    text = _decoded(path, encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_columns(path.name, header, wanted)
        which = [header.index(name) for name in wanted]
        rows, places = [], []
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue  # an empty line
            if len(cells) != len(header):
                raise ValueError(
                    f"{path.name}: line {reader.line_num} has {len(cells)} cells where the header has "
                    f"{len(header)}; put text that contains the delimiter in double quotes"
                )
            rows.append([cells[i].strip() for i in which])
            places.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{path.name}: line {reader.line_num} is not CSV: {error}") from None
    columns = {name: [row[i] for row in rows] for i, name in enumerate(wanted)}
    return _checked(Table(path.name, columns, places, "line"))


def _decoded(path: Path, encoding: str) -> str:
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a CSV file in it")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        beside = sorted(p.name for p in path.parent.glob("*.csv")) if path.parent.is_dir() else []
        hint = did_you_mean(path.name, beside) if beside else f" There is no CSV file in {path.parent}."
        raise ValueError(f"{path} does not exist.{hint}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
    if content.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path.name} is a workbook or an archive, not text; export the sheet as CSV")
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        text = content.decode(encoding)
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}; try 'utf-8', 'cp1252' or 'utf-16'") from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = content[:start].count(b"\n") + 1
        guess = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        raise ValueError(
            f"{path.name} is not {encoding.removesuffix('-sig').upper()} (line {line}); "
            f"save it as UTF-8, or pass its encoding, such as {guess!r}"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path.name} is not a text file in {encoding!r}; save it as CSV in UTF-8")
    return text


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return max(",;\t|", key=header.count)  # the first of equals: a comma


def _check_columns(origin: str, names: Sequence[str], wanted: Sequence[str]) -> None:
    if not names or names == [""]:
        raise ValueError(
            f"{origin} is empty; its first line must name the columns, such as group,score,repaid"
        )
    for name in wanted:
        if name not in names:
            raise ValueError(f"{origin} has no column {name!r}.{did_you_mean(name, names)}")
        if list(names).count(name) > 1:
            raise ValueError(f"{origin} has {list(names).count(name)} columns {name!r}; rename all but one")


def _checked(table: Table) -> Table:
    if len(table) == 0:
        raise ValueError(f"{table.origin} has column names but no rows; there must be at least one person")
    return table


def without_missing(
    table: Table, text: Sequence[str], numbers: Sequence[str], *, drop: bool, say: Callable[[str], None]
) -> Table:
    """The rows in which nothing is missing; unless `drop`, a missing cell is an error."""
    lost = np.zeros(len(table), bool)
    for name in (*text, *numbers):
        gone = table.missing(name, number=name in numbers)
        if gone.any() and not drop:
            rows = np.flatnonzero(gone)
            raise ValueError(
                f"{table.origin}: column {name!r} is empty on {table.at(rows)}; fill it in, remove the "
                f"row{'s' if len(rows) > 1 else ''}, or pass missing='drop'"
            )
        lost |= gone
    if lost.any():
        say(
            f"{lost.sum()} of {len(table)} rows were left out because a value is missing; "
            "if that happens more often to one group, the figures below are biased."
        )
        table = _checked(table.keep(~lost))
    return table
