"""The blocks of a Slack message: within its limits, hostile text as text."""

import json

import newpages

from odl.alerts import show, slack


def test_a_block_a_topic_and_one_a_lone_alert():
    watch = newpages.watch()
    message = json.loads(slack.as_slack(watch, watch.periods[-1:]))
    texts = [block["text"]["text"] for block in message["blocks"][:-1]]
    last = watch.periods[-1]
    topics = {alert.topic for alert in last.alerts if alert.topic}
    assert len(texts) == 1 + len(topics) + sum(not alert.topic for alert in last.alerts)
    assert all(any(f"Topic {number} " in text for text in texts) for number in topics)
    assert message["text"] == show.heading(watch, watch.periods[-1:])
    assert "alerts of 200 items" in message["blocks"][-1]["elements"][0]["text"]


def test_its_limits():
    watch = newpages.watch(n_periods=30, per=30, n_topics=3, budget=40)
    message = json.loads(slack.as_slack(watch, watch.periods))
    assert len(message["blocks"]) <= 50 and "more: odl new" in message["blocks"][-2]["text"]["text"]
    assert all(len(block["text"]["text"]) <= 3000 for block in message["blocks"][:-1])


def test_hostile_text_stays_text():
    watch = newpages.watch(title="<!channel> *bold* <https://evil|x> & `code`", url="javascript:x")
    text = slack.as_slack(watch, watch.periods[-1:])
    assert "<!channel>" not in text and "<https://evil" not in text and "javascript" not in text
    assert "&lt;!channel&gt; *\u200bbold*\u200b" in text


def test_nothing():
    assert slack.as_slack(newpages.watch(), ()) == ""
