"""The contracts that everything else is written against, and the helpers that environments share."""

from bisimulator.core.arrays import count_row, evenly, read_row, score_and_group, score_histograms, sum_at
from bisimulator.core.capabilities import (
    Admissions,
    Allocation,
    ContactNetwork,
    GroupDecisions,
    ParallelEpisodes,
    PersonModel,
    Round,
    SingleDecisions,
)
from bisimulator.core.columns import Column, Direction, Metric
from bisimulator.core.environment import Env, make, require_env, set_omega
from bisimulator.core.outcome import COUNTS, SCORE_GRID, TALLY, Outcome, Tallies
from bisimulator.core.person_chain import Moves, PersonChain, Values
from bisimulator.core.random import (
    ANOTHER_BRANCH,
    category_between,
    category_borders,
    draw_category,
    poisson,
    random_index,
    random_words,
    uniform,
)
from bisimulator.core.scenario import Scenario, Vocabulary, accepts_positive
from bisimulator.core.spaces import ActionSpace, Box, Discrete, MultiDiscrete
from bisimulator.core.types import Act, Decisions, Params, Snapshot, State, Step, View, group_step

__all__ = [
    "ANOTHER_BRANCH",
    "COUNTS",
    "SCORE_GRID",
    "TALLY",
    "Act",
    "ActionSpace",
    "Admissions",
    "Allocation",
    "Box",
    "Column",
    "ContactNetwork",
    "Decisions",
    "Direction",
    "Discrete",
    "Env",
    "GroupDecisions",
    "Metric",
    "Moves",
    "MultiDiscrete",
    "Outcome",
    "ParallelEpisodes",
    "Params",
    "PersonChain",
    "PersonModel",
    "Round",
    "Scenario",
    "SingleDecisions",
    "Snapshot",
    "State",
    "Step",
    "Tallies",
    "Values",
    "View",
    "Vocabulary",
    "accepts_positive",
    "category_between",
    "category_borders",
    "count_row",
    "draw_category",
    "evenly",
    "group_step",
    "make",
    "poisson",
    "random_index",
    "random_words",
    "read_row",
    "require_env",
    "score_and_group",
    "score_histograms",
    "set_omega",
    "sum_at",
    "uniform",
]
