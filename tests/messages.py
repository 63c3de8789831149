"""Errors by what their messages say."""

from contextlib import contextmanager

import pytest


@contextmanager
def refused(parts):
    """What is inside raises a ValueError whose message has all the parts."""
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - every part of the message is checked below
        yield
    for part in parts:
        assert part in str(raised.value)
