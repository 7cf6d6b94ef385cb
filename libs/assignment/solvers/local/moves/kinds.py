"""Number all kinds of changes."""

from __future__ import annotations

from libs.assignment.incremental.tables import State, Tables
from libs.assignment.kernels.jit import part
from libs.assignment.language.arrays import Floats, Ints
from libs.assignment.solvers.local.moves.best_of_sample import SAMPLE, ask_best_of_sample
from libs.assignment.solvers.local.moves.chain import ask_chain
from libs.assignment.solvers.local.moves.chain_of_three import ask_chain_of_three
from libs.assignment.solvers.local.moves.proposal import ask_proposal
from libs.assignment.solvers.local.moves.return_home import ask_home
from libs.assignment.solvers.local.moves.sample_of_class import ask_some_of_class
from libs.assignment.solvers.local.moves.single import ask_single
from libs.assignment.solvers.local.moves.swap import ask_swap
from libs.assignment.solvers.local.moves.swap_similar import ask_swap_alike
from libs.assignment.solvers.local.random_draws import random_share

NAMES = (
    "single",
    "home",
    "swap",
    "swap of alike",
    "chain",
    "chain of three",
    "best of a sample",
    "some of a class",
    "proposal",
)
SINGLE, HOME, SWAP, SWAP_ALIKE, CHAIN, CHAIN_OF_THREE, BEST_OF_SAMPLE, SOME_OF_CLASS, PROPOSAL = range(len(NAMES))


@part
def draw_kind(g: Tables, s: State, mix: Floats) -> int:
    """Draw a kind with the probabilities `mix`, which add up to 1."""
    left, kind = random_share(g, s), 0
    while kind < len(mix) - 1 and left >= mix[kind]:
        left -= mix[kind]
        kind += 1
    return kind


@part
def ask_kind(g: Tables, s: State, kind: int, level: int, proposals: Ints) -> int:
    """Put a change of a kind. Return the number of moved objects; 0: no change is possible."""
    if kind == SINGLE:
        return ask_single(g, s)
    if kind == HOME:
        return ask_home(g, s)
    if kind == SWAP:
        return ask_swap(g, s)
    if kind == SWAP_ALIKE:
        return ask_swap_alike(g, s)
    if kind == CHAIN:
        return ask_chain(g, s)
    if kind == CHAIN_OF_THREE:
        return ask_chain_of_three(g, s)
    if kind == BEST_OF_SAMPLE:
        return ask_best_of_sample(g, s, level)
    if kind == SOME_OF_CLASS:
        return ask_some_of_class(g, s)
    return ask_proposal(g, s, proposals)


@part
def tries_of(kind: int) -> int:
    """Return the number of evaluations for one change of a kind."""
    return SAMPLE + 1 if kind == BEST_OF_SAMPLE else 1
