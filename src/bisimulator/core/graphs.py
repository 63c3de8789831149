"""Graphs as matrices: centralities of their nodes, and communities. Shapes: N nodes."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from bisimulator.core.person_chain import Values
from bisimulator.errors import check_int

Flags: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[np.int64]


def degree(matrix: Bool[Flags, "N N"]) -> Float[Values, "N"]:
    """How many contacts each person has."""
    degrees: Values = matrix.sum(axis=1).astype(np.float64)
    return degrees


def betweenness(matrix: Bool[Flags, "N N"]) -> tuple[Float[Values, "N"], Float[Values, "N N"]]:
    """On how many shortest paths between others each person lies, and each contact (Brandes, 2001)."""
    people = len(matrix)
    friends = [np.flatnonzero(row).tolist() for row in matrix]
    of_person, of_edge = np.zeros(people), np.zeros((people, people))
    for source in range(people):
        order, before, paths = _shortest_paths(friends, source)
        share = np.zeros(people)
        for person in reversed(order):
            for previous in before[person]:
                part = paths[previous] / paths[person] * (1 + share[person])
                of_edge[previous, person] += part
                share[previous] += part
            if person != source:
                of_person[person] += share[person]
    return of_person / 2, (of_edge + of_edge.T) / 2  # every path was found from both ends


def _shortest_paths(friends: list[list[int]], source: int) -> tuple[list[int], list[list[int]], list[float]]:
    """People by distance from the source, who comes before each on shortest paths, and the number of paths."""
    distance, paths = [-1] * len(friends), [0.0] * len(friends)
    before: list[list[int]] = [[] for _ in friends]
    distance[source], paths[source] = 0, 1.0
    order, queue = [], deque([source])
    while queue:
        person = queue.popleft()
        order.append(person)
        for friend in friends[person]:
            if distance[friend] < 0:
                distance[friend] = distance[person] + 1
                queue.append(friend)
            if distance[friend] == distance[person] + 1:
                paths[friend] += paths[person]
                before[friend].append(person)
    return order, before, paths


def eigenvector_centrality(matrix: Bool[Flags, "N N"]) -> Float[Values, "N"]:
    """The entries of the leading eigenvector of the contact matrix."""
    _, vectors = np.linalg.eigh(matrix.astype(np.float64))
    centrality: Values = np.abs(vectors[:, -1])
    return centrality


def components(matrix: Bool[Flags, "N N"]) -> Int[Labels, "N"]:
    """The number of each person's connected component, in the order of their first members."""
    labels = np.full(len(matrix), -1)
    friends = [np.flatnonzero(row).tolist() for row in matrix]
    for start in range(len(matrix)):
        if labels[start] < 0:
            labels[_shortest_paths(friends, start)[0]] = labels.max() + 1
    return labels


def communities(matrix: Bool[Flags, "N N"], number: int) -> Int[Labels, "N"]:
    """Each person's community: contacts between communities are removed until there are `number` of them.

    Girvan and Newman (2002): the contact on the most shortest paths is removed first.
    """
    number = check_int("groups", number, min=1, max=len(matrix))
    left = matrix.copy()
    labels = components(left)
    while labels.max() + 1 < number:
        _, of_edge = betweenness(left)
        one, other = np.unravel_index(of_edge.argmax(), of_edge.shape)
        left[one, other] = left[other, one] = False
        labels = components(left)
    # with more components than that, the last ones are one group
    return np.minimum(labels, number - 1)
