"""Centralities and communities compared with networkx."""

import networkx
import numpy as np
import pytest

from bisimulator.core import graphs
from bisimulator.envs._contact_network import adjacency_matrix, karate_club

CLUB = adjacency_matrix(karate_club())
NETWORKS = {
    "karate club": networkx.Graph(karate_club()),
    "path": networkx.path_graph(7),
    "two components": networkx.disjoint_union(networkx.cycle_graph(4), networkx.star_graph(3)),
    "random": networkx.gnp_random_graph(25, 0.15, seed=3),
}


def matrix(network):
    return networkx.to_numpy_array(network, nodelist=sorted(network), weight=None) > 0


@pytest.mark.parametrize("name", NETWORKS)
def test_betweenness(name):
    network = NETWORKS[name]
    of_person, of_edge = graphs.betweenness(matrix(network))
    expected = networkx.betweenness_centrality(network, normalized=False)
    np.testing.assert_allclose(of_person, [expected[i] for i in sorted(network)], atol=1e-9)
    for (a, b), value in networkx.edge_betweenness_centrality(network, normalized=False).items():
        assert of_edge[a, b] == of_edge[b, a] == pytest.approx(value)


def test_degree_and_eigenvector_centrality():
    network = NETWORKS["karate club"]
    np.testing.assert_array_equal(graphs.degree(CLUB), [network.degree[i] for i in range(34)])
    expected = networkx.eigenvector_centrality_numpy(network)
    np.testing.assert_allclose(
        graphs.eigenvector_centrality(CLUB), [expected[i] for i in range(34)], atol=1e-6
    )


def test_the_first_split_of_the_karate_club():
    first = {0, 1, 3, 4, 5, 6, 7, 10, 11, 12, 13, 16, 17, 19, 21}
    labels = graphs.communities(CLUB, 2)
    assert set(np.flatnonzero(labels == 0).tolist()) == first
    assert (labels == 1).sum() == 19


def test_communities_are_those_of_girvan_and_newman():
    splits = networkx.community.girvan_newman(NETWORKS["karate club"])
    for number, expected in zip((2, 3, 4), splits, strict=False):
        labels = graphs.communities(CLUB, number)
        found = {frozenset(np.flatnonzero(labels == k).tolist()) for k in range(number)}
        assert found == {frozenset(community) for community in expected}


def test_one_community_and_as_many_as_people():
    assert graphs.communities(CLUB, 1).tolist() == [0] * 34
    path = matrix(NETWORKS["path"])
    assert sorted(graphs.communities(path, 7).tolist()) == list(range(7))
    with pytest.raises(ValueError, match="groups must be at most 7"):
        graphs.communities(path, 8)
