import jax

from bisimulator.jobs import _memory


def test_programs_are_kept_while_there_is_plenty_of_memory_and_dropped_after(monkeypatch):
    dropped = []
    monkeypatch.setattr(jax, "clear_caches", lambda: dropped.append(True))
    monkeypatch.setattr(_memory, "resident", lambda: _memory.PLENTY - 1)
    _memory.release()
    assert not dropped
    monkeypatch.setattr(_memory, "resident", lambda: _memory.PLENTY)
    _memory.release()
    assert dropped


def test_the_resident_memory_grows_with_what_is_held():
    before = _memory.resident()
    held = bytearray(b"x" * 2**26)
    assert _memory.resident() - before > 2**25
    del held
