"""The page of `odl backtest`: tables of settings, of periods and of changes, in one file without a script."""

from odl.alerts import difference, show
from odl.report import page
from odl.report.newparts import isolating


def text(watch, before, alternatives):
    """Return the page as HTML.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    before : sequence of odl.alerts.model.Period
        Periods with the stored headlines.
    alternatives : sequence of odl.alerts.difference.Alternative

    Returns
    -------
    str
    """
    return page.render(
        "backtestpage.jinja",
        title=f"Other settings for {watch.corpus}",
        watch=watch,
        before=before,
        alternatives=alternatives,
        difference=difference,
        show=show,
        changes=[
            [[*map(isolating, change.cells)] for change in one.changes] for one in alternatives
        ],
        periods=_periods(before, alternatives),
    )


def _periods(before, alternatives):
    """Return (day, documents, names of the headlines of each list) of each period with a headline in any list."""
    rows = []
    for each in zip(before, *(one.periods for one in alternatives), strict=True):
        if any(period.headlines for period in each):
            names = [
                isolating("; ".join(show.name_of(one, period) for one in period.headlines))
                for period in each
            ]
            rows.append((show.day_of(each[0]), each[0].documents, names))
    return rows
