"""Alerts as a person reads them in a terminal."""

import newpages

from odl.alerts import show


def test_of_one_period_all_items_are_shown_and_of_several_the_first():
    watch = newpages.watch(n_periods=4, per=60, n_topics=1)
    assert {alert.topic for alert in watch.periods[2].alerts} == {0}
    one, two = (show.as_text(watch, watch.periods[first:]) for first in (2, 1))
    of_one = show.as_text(watch, watch.periods[2:3])
    assert of_one.count("\n      id:") == 60 and "--format jsonl" not in of_one
    for text, first in ((one, 2), (two, 1)):
        alone = [alert for period in watch.periods[first:] for alert in period.alerts if not alert.topic]
        part = text[text.index("\nAlone\n") :]
        assert part.count("\n      id:") == show.MOST
        assert f"    and {len(alone) - show.MOST} more (--format jsonl has all)" in part
