"""Reads tables of people from CSV files and data frames, as columns of text. Errors name the row.

No data frame library is imported: whatever has `columns` and returns a column by `frame[name]` is a frame.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from bisimulator.core import Values
from bisimulator.errors import did_you_mean, shown

Flags: TypeAlias = NDArray[np.bool_]

_MISSING_NUMBERS = {"", "na", "n/a", "nan", "null", "none", "."}
_EMPTY_IN_FRAMES = {"None", "nan", "NaN", "NaT", "<NA>"}  # how frames print an empty cell
_YES, _NO = {"1", "1.0", "true", "t", "yes", "y"}, {"0", "0.0", "false", "f", "no", "n"}
JOIN = " & "  # between the names of an intersection of groups
_MAX_ROWS_NAMED = 3  # in an error
_DELIMITER = re.compile(r'[^\r\n"]')


@runtime_checkable
class Frame(Protocol):
    """A data frame, such as those of pandas and polars."""

    @property
    def columns(self) -> Iterable[object]: ...
    def __getitem__(self, name: str, /) -> Iterable[object]: ...


Columns: TypeAlias = Mapping[str, Iterable[object]]


@dataclasses.dataclass(frozen=True)
class Table:
    """Columns of stripped text, and the number of each row in its source."""

    origin: str  # its name in errors, such as people.csv
    columns: Mapping[str, Sequence[str]]
    row_numbers: Sequence[int]
    unit: str  # what `row_numbers` counts: a "line" of a file or a "row" of a frame

    def __len__(self) -> int:
        return len(self.row_numbers)

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> str:
        """`line 7`, or `lines 7, 9, 12 and 40 more`."""
        shown = ", ".join(str(self.row_numbers[row]) for row in rows[:_MAX_ROWS_NAMED])
        more = f" and {len(rows) - _MAX_ROWS_NAMED} more" if len(rows) > _MAX_ROWS_NAMED else ""
        return f"{self.unit}{'s' if len(rows) > 1 else ''} {shown}{more}"

    def select(self, rows: Bool[Flags, "N"]) -> Table:
        """The rows that are True."""
        chosen = np.flatnonzero(rows).tolist()
        columns = {name: [cells[row] for row in chosen] for name, cells in self.columns.items()}
        return dataclasses.replace(
            self, columns=columns, row_numbers=[self.row_numbers[row] for row in chosen]
        )

    def join(self, names: Sequence[str]) -> tuple[Table, str]:
        """The table with a column of the combinations of several, such as `black & female`, and its name."""
        if len(names) == 1:
            return self, names[0]
        joined, cells = JOIN.join(names), zip(*(self.columns[name] for name in names), strict=True)
        columns = {**self.columns, joined: [JOIN.join(row) for row in cells]}
        return dataclasses.replace(self, columns=columns), joined

    def missing(self, name: str, *, number: bool = True) -> Bool[Flags, "N"]:
        """Which cells are empty. In a column of numbers NA, NaN, null and a single point are empty, too."""
        return np.array(
            [cell == "" or (number and cell.lower() in _MISSING_NUMBERS) for cell in self.columns[name]]
        )

    def numbers(
        self, name: str, *, min: float = -math.inf, max: float = math.inf, hint: str
    ) -> Float[Values, "N"]:
        """The column as finite numbers within [min, max]."""
        cells = self.columns[name]
        values = np.array([_number(cell) for cell in cells], np.float64)
        self._check_none(
            name, ~np.isfinite(values), "must be numbers", "use a decimal point and no units, such as 612.5"
        )
        self._check_none(name, (values < min) | (values > max), f"must lie in [{min:g}, {max:g}]", hint)
        return values

    def feature(self, name: str) -> Float[Values, "N"] | NDArray[np.object_]:
        """A column without missing cells: as numbers if it has numbers, otherwise as text."""
        if self.has_numbers(name):
            return self.numbers(name, hint="")
        return np.array(self.columns[name], object)

    def has_numbers(self, name: str) -> bool:
        """Whether all cells of a column are numbers or empty, and not all are empty."""
        known = [cell for cell in self.columns[name] if cell.lower() not in _MISSING_NUMBERS]
        return bool(known) and all(math.isfinite(_number(cell)) for cell in known)

    def flags(self, name: str) -> Bool[Flags, "N"]:
        """The column as True (1, true, yes) and False (0, false, no)."""
        cells = [cell.lower() for cell in self.columns[name]]
        neither = np.array([cell not in _YES and cell not in _NO for cell in cells])
        self._check_none(name, neither, "must be 1 or 0, yes or no, true or false", "correct or remove them")
        return np.array([cell in _YES for cell in cells])

    def _check_none(self, name: str, wrong: Bool[Flags, "N"], expected: str, hint: str) -> None:
        """Raise an error that names the rows unless all entries of `wrong` are False."""
        rows = np.flatnonzero(wrong)
        if rows.size:
            got = self.columns[name][rows[0]]
            raise ValueError(
                f"{self.origin}: column {name!r} {expected}, got {got!r} on {self.at(rows)}; {hint}"
            )


def _number(cell: str) -> float:
    try:
        return float(cell) if "_" not in cell else math.nan  # float() accepts 1_000, which no table means
    except ValueError:
        return math.nan


def read_table(
    source: str | Path | Frame | Columns,
    names: Sequence[str],
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
) -> Table:
    """The columns `names` of a CSV file, a data frame or a mapping from names to columns."""
    if not isinstance(encoding, str):
        raise TypeError(f"encoding must be a name, got {shown(encoding)}; try 'utf-8' or 'cp1252'")
    if delimiter is not None and not (isinstance(delimiter, str) and _DELIMITER.fullmatch(delimiter)):
        raise ValueError(f"delimiter must be one character, got {shown(delimiter)}; try ',' or ';'")
    if isinstance(source, str | Path):
        return _read_file(Path(source), names, encoding, delimiter)
    if not isinstance(source, Mapping | Frame):
        raise TypeError(
            f"people must be a table, got {type(source).__name__}; pass the path of a CSV file, "
            "a pandas or polars frame, or a mapping from column names to columns"
        )
    origin = f"the {type(source).__name__}"
    available = source.keys() if isinstance(source, Mapping) else source.columns
    _check_columns(origin, [str(name) for name in available], names)
    columns = {name: [_cell_text(value) for value in source[name]] for name in names}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{origin}: columns must be equally long, got {lengths}")
    return _check_not_empty(Table(origin, columns, range(next(iter(lengths.values()))), "row"))


def _cell_text(value: object) -> str:
    text = str(value).strip()
    return "" if text in _EMPTY_IN_FRAMES and not isinstance(value, str) else text


def _read_file(path: Path, names: Sequence[str], encoding: str, delimiter: str | None) -> Table:
    text = _decode(path, encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or _delimiter(text), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_columns(path.name, header, names)
        chosen = [header.index(name) for name in names]
        rows, row_numbers = [], []
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue  # an empty line
            if len(cells) != len(header):
                raise ValueError(
                    f"{path.name}: line {reader.line_num} has {len(cells)} cells where the header has "
                    f"{len(header)}; put text that contains the delimiter in double quotes"
                )
            rows.append([cells[i].strip() for i in chosen])
            row_numbers.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"{path.name}: line {reader.line_num} is not CSV: {error}") from None
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return _check_not_empty(Table(path.name, columns, row_numbers, "line"))


def _decode(path: Path, encoding: str) -> str:
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a CSV file in it")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        others = sorted(p.name for p in path.parent.glob("*.csv")) if path.parent.is_dir() else []
        hint = did_you_mean(path.name, others) if others else f" There is no CSV file in {path.parent}."
        raise ValueError(f"{path} does not exist.{hint}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
    except ValueError:  # a character that no name of a file has
        raise ValueError(f"{str(path)!r} cannot be the name of a file; name a CSV file") from None
    if content.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path.name} is a workbook or an archive, not text; export the sheet as CSV")
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        text = content.decode(encoding)
    except LookupError:
        raise ValueError(
            f"there is no encoding {shown(encoding)}; try 'utf-8', 'cp1252' or 'utf-16'"
        ) from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = content[:start].count(b"\n") + 1
        guess = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
        raise ValueError(
            f"{path.name} is not {encoding.removesuffix('-sig').upper()} (line {line}); "
            f"save it as UTF-8, or pass its encoding, such as {guess!r}"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path.name} is not a text file in {shown(encoding)}; save it as CSV in UTF-8")
    return text


def _delimiter(text: str) -> str:
    header = text.partition("\n")[0]
    return max(",;\t|", key=header.count)  # a comma if none occurs


def _check_columns(origin: str, available: Sequence[str], names: Sequence[str]) -> None:
    if not available or available == [""]:
        raise ValueError(
            f"{origin} is empty; its first line must name the columns, such as group,score,repaid"
        )
    for name in names:
        if name not in available:
            raise ValueError(f"{origin} has no column {name!r}.{did_you_mean(name, available)}")
        if available.count(name) > 1:
            raise ValueError(f"{origin} has {available.count(name)} columns {name!r}; rename all but one")


def _check_not_empty(table: Table) -> Table:
    if len(table) == 0:
        raise ValueError(f"{table.origin} has column names but no rows; there must be at least one person")
    return table


def complete_rows(
    table: Table, text: Sequence[str], numbers: Sequence[str], *, drop: bool, add_note: Callable[[str], None]
) -> Table:
    """The rows without missing values; unless `drop`, a missing value is an error."""
    incomplete = np.zeros(len(table), bool)
    for name in (*text, *numbers):
        missing = table.missing(name, number=name in numbers)
        if missing.any() and not drop:
            rows = np.flatnonzero(missing)
            raise ValueError(
                f"{table.origin}: column {name!r} is empty on {table.at(rows)}; fill it in, remove the "
                f"row{'s' if len(rows) > 1 else ''}, or pass missing='drop' (--missing drop)"
            )
        incomplete |= missing
    if incomplete.any():
        add_note(
            f"{incomplete.sum():,} of {len(table):,} rows were dropped because a value is missing; "
            "if that happens more often in one group, its figures are biased."
        )
        table = _check_not_empty(table.select(~incomplete))
    return table
