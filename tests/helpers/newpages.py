"""Made watches for the page about what is new, of any size, without a file."""

from dataclasses import asdict

import numpy as np

from odl.alerts.model import Alert, Near, Period, Reason, Topic, Watch, Withheld
from odl.config.sections import Alerts

DAY = 86_400_000
START = 1_700_000_000_000
WORDS = [
    "orbit", "shuttle", "launch", "wheat", "tonnes", "yen", "dollar", "tanker", "crude", "clipper", "chip", "key",
    "goalie", "season", "bike", "dod", "render", "jpeg", "driver", "scsi", "doctor", "msg", "moral", "atheism",
]  # fmt: skip
EVIL = "</noscript></script><script>alert(\"x\")</script><b onclick='x'>&amp;"


def topic(number, birth, last, rng):
    """A topic that is born, goes on, grows, and may end."""
    name = tuple(WORDS[i] for i in rng.choice(len(WORDS), 5, replace=False))
    sizes = {t: int(rng.integers(3, 9)) for t in range(birth, min(birth + 6, last + 1))}
    history = [(birth, "new"), (birth + 1, "ongoing"), (birth + 2, "growing"), (birth + 8, "ended")]
    history = tuple((t, state) for t, state in history if t <= last)
    return Topic(number, name, birth, sizes, {}, f"posts.jsonl:{number}", f"About {name[0]}", history)


def alert(t, rank, topic, fold, rng, **changes):
    """An item: of the topic, or alone."""
    words = [*(topic.name if topic else ()), *rng.choice(WORDS, 6).tolist()]
    words = list(dict.fromkeys(words))
    shares = np.sort(rng.dirichlet(np.ones(len(words) + 2)))[::-1] * 0.8
    score, name = round(0.95 - 0.4 * rank / 100, 4), f"posts.jsonl:{1000 * t + rank}"
    state = [state for at, state in topic.history if at <= t][-1] if topic else "new"
    values = {
        "t": t, "rank": rank, "id": name, "members": (name, f"{name}-copy") if rank % 5 == 1 else (name,),
        "title": f"Story {t}-{rank} on {words[0]}", "time": START + 7 * DAY * t + rank, "source": "posts.jsonl",
        "line": 1000 * t + rank, "url": f"https://example.org/{t}/{rank}" if rank % 2 else "", "score": score,
        "tail": rank / 2000, "topic": topic.number if topic else 0, "topic_name": topic.name if topic else (),
        "state": state, "folded": fold, "led": len(words), "own": float(shares[-2:].sum() * score),
        "reasons": tuple(Reason(word, float(share * score)) for word, share in
                         zip([*words, "qzx1", "qzx2"], shares, strict=True)),
        "context": 0.2 * score, "nearest": (Near(3, ("market", "price"), 0.31, "posts.jsonl:7"),),
    }  # fmt: skip
    return Alert(**{**values, **changes})


def watch(n_periods=12, per=8, n_topics=14, documents=200, budget=10, seed=0, labelled=False, warm_up=2, **first):
    """A watch; ``first`` changes the most novel alert of the last period."""
    rng, periods = np.random.default_rng(seed), []
    births = [n_periods - 1, *sorted(int(t) for t in rng.integers(warm_up, n_periods, n_topics - 1))]
    topics = {number: topic(number, birth, n_periods - 1, rng) for number, birth in enumerate(births, start=1)}
    for t in range(n_periods):
        live = [topics[number] for number in topics if t in topics[number].sizes]
        alerts, seen = [], {}
        for rank in range(1, per + 1) if t >= warm_up else ():
            held = (*live, None)[(rank - 1) % (len(live) + 1)]
            if held:
                seen[held.number] = seen.get(held.number, 0) + 1
                held.alerts[t] = held.alerts.get(t, 0) + 1
            changes = first if (t, rank) == (n_periods - 1, 1) else {}
            alerts.append(alert(t, rank, held, bool(held) and seen[held.number] > 3, rng, **changes))
        scores = np.clip(rng.normal(0.55, 0.12, documents), 0, 1)
        tails = np.ones(documents) if t < warm_up else 1 - np.argsort(np.argsort(scores)) / (documents + 1)
        withheld = (Withheld("", "empty", 2), Withheld("topic:3", "muted", 4)) if t == n_periods - 1 else ()
        periods.append(Period(t, START + 7 * DAY * t, START + 7 * DAY * (t + 1) - 1, documents, documents, t < warm_up,
                              budget, tuple(alerts), withheld, tuple(held.number for held in live), scores, tails,
                              1.0 if t == 0 else 0.05))  # fmt: skip
    settings = {**asdict(Alerts()), "budget": budget}
    return Watch("posts", "adaptive", 40, 0, settings, tuple(periods), topics, (), labelled)
