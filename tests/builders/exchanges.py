"""Worlds in which two reservations exchange servers."""

from hypothesis import strategies as st

from libs.domain.spare import SPARES_MAX
from tests.builders.moving_world import World, left_of


@st.composite
def exchanges_with_spares(draw: st.DrawFn) -> World:
    """Two reservations that exchange servers, and survive the loss of an MSB, and maybe of a block, with just what they
    have; each MSB and block has free servers for both.
    """
    msbs, blocks = draw(st.integers(2, 4)), draw(st.sampled_from([0, 2, 3]))
    servers = list(range(1, draw(st.integers(msbs, 16)) + 1))
    current = {s: draw(st.integers(1, 2)) for s in servers}
    target = dict(zip(servers, draw(st.permutations(list(current.values()))), strict=True))
    free = dict.fromkeys(range(100, 100 + 2 * SPARES_MAX * msbs * max(blocks, 1)), 0)
    world = World(
        current=current | free,
        target=target | free,
        in_use=set(),
        msbs=msbs,
        survives=True,
        profile={},
        blocks=blocks,
        survives_block=draw(st.booleans()),
    )
    for r in (1, 2):
        world.promised[r] = min(left_of(world, [s for s in servers if one[s] == r]) for one in (current, target))
    return world
