"""A largest matching of a graph by Edmonds' blossom algorithm: as many disjoint pairs of neighbours as can be."""

from collections import deque
from collections.abc import Sequence


def largest_matching(neighbours: Sequence[Sequence[int]]) -> list[int]:
    """The partner of each vertex, -1 for none, in a matching with as many pairs as possible."""
    partner = [-1] * len(neighbours)
    for vertex, near in enumerate(neighbours):  # a greedy start leaves few vertices to the search
        if partner[vertex] < 0 and (free := next((other for other in near if partner[other] < 0), -1)) >= 0:
            partner[vertex], partner[free] = free, vertex
    for vertex in range(len(neighbours)):
        if partner[vertex] < 0:
            Search(neighbours, partner, vertex).augment()
    return partner


class Search:
    """A breadth-first search for an augmenting path from a free vertex. An odd cycle (a blossom) becomes one vertex."""

    def __init__(self, neighbours: Sequence[Sequence[int]], partner: list[int], root: int) -> None:
        size = len(neighbours)
        self._neighbours, self._partner, self._root = neighbours, partner, root
        self._parent = [-1] * size  # of the vertices at odd distance from the root
        self._base = list(range(size))  # the first vertex of the blossom that a vertex belongs to
        self._is_even = [False] * size  # even distance from the root
        self._queue = deque([root])

    def augment(self) -> None:
        """Match the root, if there is an augmenting path: along it, matched and unmatched edges change places."""
        self._is_even[self._root] = True
        while self._queue:
            here = self._queue.popleft()
            for there in self._neighbours[here]:
                if self._base[here] == self._base[there] or self._partner[here] == there:
                    continue
                beyond = self._partner[there]
                if there == self._root or (beyond >= 0 and self._parent[beyond] >= 0):
                    self._contract(here, there)
                elif self._parent[there] < 0:
                    self._parent[there] = here
                    if beyond < 0:
                        self._flip(there)
                        return
                    self._is_even[beyond] = True
                    self._queue.append(beyond)

    def _flip(self, end: int) -> None:
        """Match along the path that ends here."""
        while end >= 0:
            before = self._parent[end]
            following = self._partner[before]
            self._partner[end], self._partner[before] = before, end
            end = following

    def _contract(self, one: int, other: int) -> None:
        """Make one vertex of the blossom that the edge between two even vertices closes."""
        base = self._common_base(one, other)
        inside: set[int] = set()
        self._mark(one, base, other, inside)
        self._mark(other, base, one, inside)
        for vertex in range(len(self._base)):
            if self._base[vertex] in inside:
                self._base[vertex] = base
                if not self._is_even[vertex]:
                    self._is_even[vertex] = True
                    self._queue.append(vertex)

    def _mark(self, vertex: int, base: int, child: int, inside: set[int]) -> None:
        """Collect the blossom's vertices from here to its base, with parents that lead round the other way."""
        while self._base[vertex] != base:
            mate = self._partner[vertex]
            inside |= {self._base[vertex], self._base[mate]}
            self._parent[vertex] = child
            child, vertex = mate, self._parent[mate]

    def _common_base(self, one: int, other: int) -> int:
        """Where the ways of two even vertices to the root meet."""
        seen = set()
        while True:
            one = self._base[one]
            seen.add(one)
            if self._partner[one] < 0:
                break
            one = self._parent[self._partner[one]]
        while self._base[other] not in seen:
            other = self._parent[self._partner[self._base[other]]]
        return self._base[other]
