"""What is kept of an item: its words by share, those that others have first, and what is summed up."""

from types import SimpleNamespace

import numpy as np
from scipy import sparse

from odl.alerts import periods, phrasing, reasons


def test_an_item_with_all_that_is_shown_of_it():
    shares = np.array([[0.1, 0.4, -0.2, 0.05, 0.3, 0.2], [0.5, 0, 0, 0, 0, 0], [0.1, 0.4, 0, 0, 0, 0]])
    record = SimpleNamespace(score=np.full(3, 0.8), item=np.array([0, 1, 0]), near=np.array([[3, -1], [4, 5], [3, 4]]))
    data = SimpleNamespace(
        ids=["a", "b", "c"],
        titles=["A", "B", "C"],
        times=np.array([7, 8, 9]),
        vocabulary=["v", "w", "x", "y", "z", "own"],
        frequencies=np.array([2, 2, 2, 2, 2, 0]),
    )
    texts = phrasing.Texts(["w and a", "B w and b", "w and c"])
    places = reasons.Origins([f"{name}.csv" for name in "abc"], ["", "", ""], [], texts)
    words = sparse.csr_array(shares)
    near = {3: ("oil gas", "a"), 5: ("nasa", "c")}
    (first, second), _ = reasons.items(record, np.array([0, 1]), words, data, near, places, 3)
    assert first == periods.Item(
        row=0, id="a", title="A", time=7, source="a.csv", url="", members=["a", "c"], text="w and a", led=3, own=0.2,
        words=[("w", 0.4), ("z", 0.3), ("v", 0.1)], near=[("oil gas", "a")], rest=[1, 0.05, 1, -0.2],
        phrases=[("w", ["w"]), ("z", ["z"]), ("v", ["v"])],
    )  # fmt: skip
    assert (second.id, second.members, second.near) == ("b", ["b"], [("", ""), ("nasa", "c")])
    assert second.text == "w and b"  # behind its title
    assert (second.words, second.led, second.own, second.rest) == ([("v", 0.5)], 1, 0, [0, 0, 0, 0])
    (told,), _ = reasons.items(record, np.array([0]), words, data, near, places, 3, shown={1})
    assert told.phrases == [] and told.words == first.words
    (most,), _ = reasons.items(record, np.array([0]), words, data, near, places, 6)
    assert [word for word, _ in most.words] == ["w", "z", "v", "y", "own"] and most.led == 4


def test_terms_of_two_items_or_more_are_shared():
    Q = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0]]))
    told = reasons.shared_terms(np.array([0, 1, 0, 2]), Q, np.array([0, 1]))
    assert told.tolist() == [True, True, False, True]
