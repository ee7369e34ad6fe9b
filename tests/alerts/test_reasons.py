"""What is kept of an item: its words by share, those that others have first, and what is summed up."""

from types import SimpleNamespace

import newpages
import numpy as np
from scipy import sparse

from odl.alerts import phrasing, reasons
from odl.alerts.model import Document, Near, Reason, Rest


def test_an_item_with_all_that_is_shown_of_it():
    shares = np.array(
        [[0.1, 0.4, -0.2, 0.05, 0.3, 0.2], [0.5, 0, 0, 0, 0, 0], [0.1, 0.4, 0, 0, 0, 0]]
    )
    period = newpages.watch(1, 3).periods[0]
    period.score, period.item, period.near = (
        np.full(3, 0.8),
        np.array([0, 1, 0]),
        np.array([[3, -1], [4, 5], [3, 4]]),
    )
    period.likeness = np.array([[0.5, 0.0], [0.4, 0.3], [0.2, 0.1]])
    data = SimpleNamespace(
        ids=["a", "b", "c"],
        titles=["A", "B", "C"],
        times=np.array([7, 8, 9]),
        vocabulary=["v", "w", "x", "y", "z", "own"],
        frequencies=np.array([2, 2, 2, 2, 2, 0]),
    )
    texts = phrasing.Texts(["w and a", "B w and b", "w and c"])
    places = reasons.Origins([f"{name}.csv" for name in "abc"], [""] * 3, [""] * 3, [], texts)
    words = sparse.csr_array(shares)
    near = {3: ("oil gas", "a"), 5: ("nasa", "c")}
    (first, second), _ = reasons.items(period, np.array([0, 1]), words, data, near, places, 3)
    assert first == Document(
        t=0, row=0, rank=0, id="a", title="A", time=7, source="a.csv", url="", members=("a", "c"), text="w and a",
        score=0.8, tail=1.0, event=0, context=0.0, led=3, own=0.2, rest=Rest(1, 0.05, 1, -0.2),
        reasons=(Reason("w", 0.4), Reason("z", 0.3), Reason("v", 0.1)), nearest=(Near(3, ("oil", "gas"), 0.5, "a"),),
        phrases=(("w", ["w"]), ("z", ["z"]), ("v", ["v"])),
    )  # fmt: skip
    assert (second.id, second.members) == ("b", ("b",))
    assert second.nearest == (Near(4, (), 0.4, ""), Near(5, ("nasa",), 0.3, "c"))
    assert second.text == "w and b"  # behind its title
    assert (second.reasons, second.led, second.own, second.rest) == (
        (Reason("v", 0.5),),
        1,
        0,
        Rest(0, 0, 0, 0),
    )
    (most,), _ = reasons.items(period, np.array([0]), words, data, near, places, 6)
    assert [word for word, _ in most.reasons] == ["w", "z", "v", "y", "own"] and most.led == 4


def test_terms_of_two_items_or_more_are_shared():
    Q = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0]]))
    told = reasons.shared_terms(np.array([0, 1, 0, 2]), Q, np.array([0, 1]))
    assert told.tolist() == [True, True, False, True]
