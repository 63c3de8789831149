"""Tables of people: values survive a round trip, and errors name the row."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bisimulator.people._csv import complete_rows, read_table
from tests.messages import refused

words = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\x85\u2028\u2029"),
    min_size=1,
    max_size=8,
).filter(lambda text: text.strip())
NAMES = ["group", "score", "repaid"]


def write(path, rows, delimiter=",", encoding="utf-8"):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


records = st.lists(
    st.tuples(words, st.floats(0, 1000, allow_nan=False), st.booleans()), min_size=1, max_size=12
)


@given(
    records=records,
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_a_written_table_is_read_back(folder, records, delimiter, encoding):
    rows = [(group, repr(score), int(repaid)) for group, score, repaid in records]
    path = write(
        folder / "people.csv",
        [("id", *NAMES), *((i, *row) for i, row in enumerate(rows))],
        delimiter,
        encoding,
    )
    table = read_table(path, NAMES, encoding=encoding.removesuffix("-sig"))
    assert table.columns["group"] == [group.strip() for group, _, _ in records]
    np.testing.assert_array_equal(table.numbers("score", min=0, hint=""), [score for _, score, _ in records])
    np.testing.assert_array_equal(table.flags("repaid"), [repaid for _, _, repaid in records])
    assert len(table) == len(records)


@given(
    number=st.integers(1, 9),
    bad=st.sampled_from(["abc", "1,5", "12 points", "1_000", "inf", "-3", "1e999"]),
    data=st.data(),
)
def test_an_invalid_score_is_named_with_its_line(folder, number, bad, data):
    place = data.draw(st.integers(0, number - 1))
    cells = ["500"] * number
    cells[place] = bad
    path = write(folder / "people.csv", [NAMES, *(("a", cell, "1") for cell in cells)])
    table = read_table(path, NAMES)
    with pytest.raises(ValueError, match=rf"people\.csv: column 'score' must .* on line {place + 2};"):
        table.numbers("score", min=0, hint="remove it")


@given(answer=words)
def test_an_answer_that_is_neither_yes_nor_no_is_refused(folder, answer):
    known = {"1", "1.0", "true", "t", "yes", "y", "0", "0.0", "false", "f", "no", "n"}
    path = write(folder / "people.csv", [NAMES, ("a", "1", "1"), ("a", "1", answer)])
    table = read_table(path, NAMES)
    if answer.strip().lower() in known:
        assert table.flags("repaid").tolist() == [
            True,
            answer.strip().lower() in {"1", "1.0", "true", "t", "yes", "y"},
        ]
    else:
        with pytest.raises(ValueError, match=r"must be 1 or 0, yes or no, true or false, got .* on line 3"):
            table.flags("repaid")


def test_many_wrong_rows_are_counted_and_the_first_three_are_named(tmp_path):
    table = read_table(write(tmp_path / "p.csv", [NAMES, *[("a", "x", "1")] * 8]), NAMES)
    with pytest.raises(ValueError, match=r"on lines 2, 3, 4 and 5 more"):
        table.numbers("score", hint="")


def test_line_numbers_are_those_of_the_file_despite_line_breaks_in_cells_and_empty_lines(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('group,score,repaid\n"a\nb",1,1\n\n,,\nc,bad,1\n', encoding="utf-8")
    with pytest.raises(ValueError, match="got 'bad' on line 6"):
        read_table(path, NAMES).numbers("score", hint="")


FILES = [
    (b"", ["p.csv is empty", "must name the columns"]),
    (b"\n\n", ["p.csv is empty"]),
    (b"group,score,repaid\n", ["has column names but no rows"]),
    (b"group,score,repaid\n\n\n", ["has column names but no rows"]),
    (
        b"group,scroe,repaid\na,1,1\n",
        ["has no column 'score'", "Did you mean 'scroe'", "Known: group, repaid, scroe"],
    ),
    (b"group,score,score,repaid\na,1,2,1\n", ["has 2 columns 'score'", "rename all but one"]),
    (b"group,score,repaid\na,1\n", ["line 2 has 2 cells where the header has 3"]),
    (b"group,score,repaid\na,1,1\na,1,1,1\n", ["line 3 has 4 cells"]),
    (b'group,score,repaid\na,"1,1\n', ["line 2 is not CSV"]),
    ("group,score,repaid\nmänner,1,1\n".encode("cp1252"), ["is not UTF-8 (line 2)", "'cp1252'"]),
    ("group,score,repaid\na,1,1\n".encode("utf-16"), ["is not UTF-8 (line 1)", "'utf-16'"]),
    (b"PK\x03\x04rest", ["workbook", "export the sheet as CSV"]),
    (b"group,score,repaid\na\0,1,1\n", ["is not a text file"]),
]


@pytest.mark.parametrize(("content", "parts"), FILES)
def test_unreadable_files_raise_an_error_that_says_why(content, parts, tmp_path):
    (tmp_path / "p.csv").write_bytes(content)
    with refused(parts):
        read_table(tmp_path / "p.csv", NAMES)


def test_a_missing_file_a_folder_and_an_unknown_encoding_are_refused(tmp_path):
    write(tmp_path / "people.csv", [NAMES, ("a", 1, 1)])
    for path, parts in (
        (tmp_path / "poeple.csv", "Did you mean 'people.csv'"),
        (tmp_path / "none" / "p.csv", "There is no CSV file in"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(ValueError, match=parts):
            read_table(path, NAMES)
    with pytest.raises(ValueError, match="no encoding 'klingon'"):
        read_table(tmp_path / "people.csv", NAMES, encoding="klingon")


def test_missing_values_raise_an_error_or_are_dropped_with_a_note(tmp_path):
    rows = [NAMES, ("a", "1", "1"), ("", "2", "1"), ("b", "NA", "0"), ("b", "4", "")]
    table = read_table(write(tmp_path / "p.csv", rows), NAMES)
    with pytest.raises(ValueError, match=r"column 'group' is empty on line 3; .* missing='drop'"):
        complete_rows(table, ["group", "repaid"], ["score"], drop=False, add_note=print)
    notes = []
    complete = complete_rows(table, ["group", "repaid"], ["score"], drop=True, add_note=notes.append)
    assert complete.columns["score"] == ["1"]
    assert complete.row_numbers == [2]
    assert "3 of 4 rows were dropped" in notes[0]


def test_anything_but_a_table_is_refused():
    with pytest.raises(TypeError, match="people must be a table, got int"):
        read_table(3, NAMES)
    with pytest.raises(ValueError, match=r"columns must be equally long, got {'group': 1, 'score': 2"):
        read_table({"group": ["a"], "score": [1, 2], "repaid": [1]}, NAMES)


def test_empty_cells_of_frames_are_missing_and_rows_count_from_zero():
    table = read_table(
        {"group": ["a", None, "nan"], "score": [1, 2, float("nan")], "repaid": [1, 0, 1]}, NAMES
    )
    assert table.missing("group").tolist() == [False, True, True]
    assert table.missing("group", number=False).tolist() == [False, True, False]  # a group may be called nan
    assert table.missing("score").tolist() == [False, False, True]
    assert table.at([1]) == "row 1"
