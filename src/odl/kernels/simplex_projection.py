"""Compiled projection of columns on {a >= 0, sum(a) <= 1} (see `odl.prox.projections`): Proj of NIPS 2012, Algorithm 3.

Nothing is allocated, so that `odl.jobs.compile` can make a library of it that needs no numba.
"""

from odl.kernels.compiled import called, kernel


@called("l[] d[] d[] d")
@kernel
def project_columns(start, values, distance, epsilon):
    """Project each column values[start[j]:start[j + 1]] on {a >= 0, sum(a) <= 1}, in place (`odl.prox.projections`).

    `distance` is work space as long as the longest column.
    """
    for j in range(len(start) - 1):
        column = values[start[j] : start[j + 1]]
        total, largest = 0.0, 0.0
        for i in range(len(column)):
            if not column[i] > 0.0:
                column[i] = 0.0
            total += column[i]
            largest = max(largest, column[i])
        count = 0
        for i in range(len(column)):
            count += column[i] > 0.0
        if total > 1.0 + count * epsilon:
            _project_on_simplex(column, distance, largest, epsilon)


@kernel
def _sink(heap, place, length):
    """Let the value at `place` sink to where it belongs in a heap with the smallest value on top."""
    value = heap[place]
    while 2 * place + 1 < length:
        child = 2 * place + 1
        if child + 1 < length and heap[child + 1] < heap[child]:
            child += 1
        if not heap[child] < value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value


@kernel
def _project_on_simplex(column, distance, largest, epsilon):
    """Subtract theta and clip, where theta makes the sum one; values are taken from the largest, against rounding."""
    length = 0
    for i in range(len(column)):
        if column[i] > largest - 1.0:
            distance[length] = largest - column[i]
            length += 1
    for place in range(length // 2 - 1, -1, -1):
        _sink(distance, place, length)
    total, theta, count = 0.0, 0.0, 0
    while length > 0:
        total += distance[0]
        count += 1
        candidate = (1.0 + total) / count
        length -= 1
        distance[0] = distance[length]
        _sink(distance, 0, length)
        if length == 0 or distance[0] >= candidate:
            theta = candidate
            break
    for i in range(len(column)):
        column[i] = max(theta - (largest - column[i]), 0.0)
    while True:
        total, count, top = 0.0, 0, 0
        for i in range(len(column)):
            total += column[i]
            count += column[i] > 0.0
            if column[i] > column[top]:
                top = i
        if total <= 1.0 + count * epsilon:
            return
        column[top] -= max(total - 1.0, epsilon)
