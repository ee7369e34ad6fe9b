"""
What is new in a stream of posts
================================

Posts come week by week, and nobody has labelled them. :class:`odl.TextNovelty` scores each post by
how badly the weeks before explain it, then learns it. In week 6 a topic begins: its posts stand out
in that week, and no longer in those after it.
"""

import random

import matplotlib.pyplot as plt
import pandas as pd

from odl import TextNovelty

# %%
# Posts are drawn from word lists, 40 a week: eight words of a topic, four that all topics have.
# The topic is kept to colour the picture; `TextNovelty` never sees it.

topics = {
    "grain": "wheat grain harvest farmer crop maize export silo tonnes acre",
    "oil": "oil crude barrel tanker refinery opec pipeline cargo port gulf",
    "space": "satellite rocket orbit launch payload mission crew engine pad fuel",
}
common = "today people report week city group plan year state work"
draw = random.Random(0)
posts = []
for week in range(1, 11):
    for _ in range(40):
        topic = draw.choice(list(topics) if week >= 6 else ["grain", "oil"])
        words = draw.choices(topics[topic].split(), k=8) + draw.choices(common.split(), k=4)
        posts.append({"week": week, "topic": topic, "text": " ".join(words)})
posts = pd.DataFrame(posts)
posts["time"] = pd.Timestamp("2026-01-05") + pd.to_timedelta(7 * (posts["week"] - 1), unit="D")

# %% A week has alerts where words of several posts, or a post by itself, are rarer than the weeks
# before explain; most have none. The first week starts the dictionary, and nothing is flagged
# before 80 posts have scores.

stream = TextNovelty(period="week", initial=40, warm_up=80, budget=10, level=0.05)
found = stream.update(posts)
print(found.loc[found["alert"], ["time", "score", "reasons"]].head())

# %%
# One dot a post, its place within the week by its position; rings are alerts.

fig, ax = plt.subplots(figsize=(8, 4))
place = posts["week"] + posts.groupby("week").cumcount() / 50
for topic in topics:
    rows = posts["topic"] == topic
    ax.scatter(place[rows], found["score"][rows], s=12, label=topic)
flagged = found["alert"]
ax.scatter(
    place[flagged],
    found["score"][flagged],
    s=70,
    facecolors="none",
    edgecolors="black",
    label="alert",
)
ax.set(xlabel="week", ylabel="novelty score", title="A topic that begins in week 6")
ax.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
fig.tight_layout()
