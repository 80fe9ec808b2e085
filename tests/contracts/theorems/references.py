"""Reference counts of older objects."""

from oracle.kernels import uses_by_chunk
from tests.contracts.table import State, theorem


@theorem(example=([1, 2, 2], 1, 2), expected=State.NO_COUNTEREXAMPLE)
def uses_are_the_payloads_that_name_a_chunk(chunks: list[int], current: int, chunk: int) -> None:
    """An older chunk is used as often as it is named."""
    assert len(chunks) <= 3
    assert chunk != current
    uses = uses_by_chunk(chunks, current)
    assert uses[chunk] == sum(named == chunk for named in chunks)


@theorem(example=([1, 2, 2], 1), expected=State.NO_COUNTEREXAMPLE)
def every_payload_counts_once(chunks: list[int], current: int) -> None:
    """All uses together are the payloads that do not name the current chunk, which has none."""
    assert len(chunks) <= 3
    uses = uses_by_chunk(chunks, current)
    assert uses[current] == 0
    assert sum(uses.values()) == sum(named != current for named in chunks)
