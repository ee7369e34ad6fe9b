"""
One stream in three scripts
===========================

Chinese without spaces, Arabic with and without its points, Hindi with its signs: what a
word is needs no setting. Eight batches are of wheat and oil. In the ninth a third of the
posts is of a satellite. Their words are told as words that no document had before, and they
are the reasons of the alerts. In Chinese these are pairs of characters, such as 射月 of 发射月球;
`odl new` joins them to words.
"""

import random

from matplotlib import pyplot as plt

from odl import TextNovelty

# %% Of each script words of wheat, of oil and of a satellite, and what stands between words. Every
# second Arabic post has its points: the words are the same.

SCRIPTS = {
    "Chinese": (
        "小麦 收成 农民 谷物 玉米",
        "原油 炼油厂 管道 油轮 钻井",
        "卫星 火箭 轨道 发射 月球",
        "",
    ),
    "Arabic": (
        "القَمْح الحَصَاد الحُبُوب الذُّرَة",
        "النِّفْط المِصْفَاة الوَقُود السِّعْر",
        "القَمَر الصَّارُوخ المَدَار المِسْبَار",
        " ",
    ),
    "Hindi": (
        "गेहूँ फसल किसान अनाज मक्का",
        "कच्चा तेल रिफाइनरी टैंकर ईंधन",
        "उपग्रह रॉकेट कक्षा प्रक्षेपण चंद्रमा",
        " ",
    ),
}
POINTS = dict.fromkeys(range(0x064B, 0x0653))


def posts(script, batch):
    """Return the posts of a batch; every third one of the ninth is of the satellite."""
    *topics, between = SCRIPTS[script]
    draw = random.Random(f"{script} {batch}")
    texts = [
        between.join(draw.choices(topics[n % (3 if batch == 8 else 2)].split(), k=8))
        for n in range(60)
    ]
    return [text.translate(POINTS) if n % 2 else text for n, text in enumerate(texts)]


# %%
# Scores of the last batch: the posts of the satellite stand apart in each script.

fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for script, ax in zip(SCRIPTS, axes, strict=True):
    stream = TextNovelty(n_atoms=20, warm_up=100)
    for batch in range(9):
        found = stream.update(posts(script, batch))
    entering = found.index % 3 == 2
    first = found[found.alert].iloc[0]
    print(
        f"{script}: {found.alert[entering].sum()} of {found.alert.sum()} alerts "
        f"are of the satellite: {first.reasons}"
    )
    ax.hist(
        [found.score[~entering], found.score[entering]], bins=15, label=["wheat, oil", "satellite"]
    )
    ax.set(title=script, xlabel="score")
axes[0].set_ylabel("posts")
axes[0].legend()
fig.tight_layout()
