"""Made watches for lists and pages of what is new, of any size, without a file."""

from dataclasses import asdict, replace

import numpy as np

from odl.alerts.model import (
    Document,
    Event,
    Headline,
    Near,
    OwnWord,
    Period,
    Reason,
    Rest,
    StreamAlerts,
)
from odl.config.sections import Alerts

DAY = 86_400_000
START = 1_699_833_600_000  # 2023-11-13, a Monday
WORDS = [
    "orbit", "shuttle", "launch", "wheat", "tonnes", "yen", "dollar", "tanker", "crude", "clipper", "chip", "key",
    "goalie", "season", "bike", "dod", "render", "jpeg", "driver", "scsi", "doctor", "msg", "moral", "atheism",
]  # fmt: skip
EVIL = "</noscript></script><script>alert(\"x\")</script><b onclick='x'>&amp;"


def event(number, birth, last):
    """An event that is born, goes on for four periods, and ends."""
    words = tuple(WORDS[(3 * number + at) % len(WORDS)] for at in range(3))
    sizes = {t: 12 - 2 * (t - birth) for t in range(birth, min(birth + 4, last + 1))}
    history = [
        (t, state)
        for t, state in ((birth, "new"), (birth + 1, "ongoing"), (birth + 5, "ended"))
        if t <= last
    ]
    own = tuple(OwnWord(word, 0.9 - 0.2 * at, 0.01) for at, word in enumerate(words))
    return Event(number, words, own, 3.0, birth, START + 7 * DAY * birth, sizes, 0, history,
                 ((f"posts.jsonl:{1000 * birth}", f"Story {birth}-0"),))  # fmt: skip


def document(t, row, words, number=0, **changes):
    """A document of a headline with these words, or of none."""
    name = f"posts.jsonl:{1000 * t + row}"
    shares = [0.4, 0.2, 0.1][: len(words)]
    values = {
        "t": t, "row": row, "rank": row + 1, "id": name, "members": (name, f"{name}-copy") if row % 5 == 1 else (name,),
        "title": f"Story {t}-{row} on {words[0]}", "time": START + 7 * DAY * t + row, "source": "posts.jsonl",
        "url": f"https://example.org/{t}/{row}" if row % 2 else "", "score": 1.0,
        "tail": (row + 1) / 2000, "event": number, "led": len(words), "own": 0.1,
        "reasons": (*map(Reason, words, shares), Reason("qzx", 0.1)), "rest": Rest(4, 0.05, 0, 0.0),
        "context": 0.0, "nearest": (Near(3, ("market", "price"), 0.31, "posts.jsonl:7"),), "opening": tuple(words[:2]),
    }  # fmt: skip
    return Document(**{**values, **changes})


def headline(words, rows, **changes):
    """A headline that speaks."""
    values = {"name": tuple(words), "words": tuple(words), "t": 8.0, "t_all": 8.0, "t_recent": 8.0, "rows": tuple(rows),
              "usual": 0.4, "p": 0.002, "gate": "words", "examples": tuple(rows[:5])}  # fmt: skip
    return Headline(**{**values, **changes})


def until(watch, n):
    """Return a watch as it was after its first n periods."""
    past = {
        number: [change for change in one.history if change[0] < n]
        for number, one in watch.events.items()
    }
    sizes = {
        number: {t: size for t, size in one.sizes.items() if t < n}
        for number, one in watch.events.items()
    }
    events = {
        number: replace(watch.events[number], history=history, sizes=sizes[number])
        for number, history in past.items()
        if history
    }
    return replace(watch, periods=watch.periods[:n], events=events)


def watch(n_periods=12, documents=50, unproven=2, labelled=False, settings=None, **first):
    """A watch with a new event in every second period, a quiet one between; ``first`` changes its last document."""
    events, periods = {}, []
    births = [*range(n_periods - 1, unproven - 1, -2)][::-1]
    for number, t in enumerate(births, start=1):
        events[number] = event(number, t, n_periods - 1)
    number_of = {one.birth: number for number, one in events.items()}
    for t in range(n_periods):
        number, last = number_of.get(t, 0), t == n_periods - 1
        words = events[number].name if number else ("bread", "butter")
        rows = tuple(range(12 if number else 3))
        docs = {
            row: document(t, row, words, number, **(first if last and row == 0 else {}))
            for row in range(5)
        }
        one = headline(words, rows, event=number, state="new" if number else "", t=5.0 + t / 10,
                       p=0.002 if number else 0.2, gate="words" if number else "")  # fmt: skip
        scores, none = np.linspace(0.1, 1, documents), np.zeros(documents)
        withheld = {("", "empty"): 2, ("event:3", "muted"): 1} if last else {}
        periods.append(Period(
            t, {}, {}, START + 7 * DAY * t, START + 7 * DAY * (t + 1) - 1, 1.0 if t == 0 else 0.05, False, t < unproven,
            2 * last, 0, one.p if t >= unproven else 1.0, 38.0, scores,
            np.ones(documents) if t < unproven else 1 - scores, none, np.arange(documents), none.astype(int),
            np.full((documents, 2), -1), np.zeros((documents, 2)),
            novel=(0, 1, 2, 3, 4), documents_of=docs, headlines=(one,) if number else (),
            below=() if number else (one,), gates={"words": one.p}, budget=20, withheld=withheld,
        ))  # fmt: skip
    settings = {**asdict(Alerts()), "gates": True, "warm_up": 50, **(settings or {})}
    return StreamAlerts("posts", "adaptive", 40, 0, settings, tuple(periods), events, (), labelled)
