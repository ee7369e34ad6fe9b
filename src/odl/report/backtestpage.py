"""HTML page of `odl backtest`: tables of settings, periods and changed headlines.

The page has no scripts.
"""

from odl.alerts import difference, views
from odl.report import page
from odl.report.newparts import isolate_html


def render_page(watch, before, alternatives):
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
        views=views,
        changes=[
            [[*map(isolate_html, change.cells.values())] for change in alternative.changes]
            for alternative in alternatives
        ],
        periods=_periods(before, alternatives),
    )


def _periods(before, alternatives):
    """Return (day, number of documents, names of headlines) of each period with headlines.

    The names are a list of HTML texts: for the stored headlines, and for each alternative.
    """
    lists = [before, *(alternative.periods for alternative in alternatives)]
    rows = []
    for versions in zip(*lists, strict=True):
        if any(period.headlines for period in versions):
            names = [
                "; ".join(views.name_of(headline, period) for headline in period.headlines)
                for period in versions
            ]
            day = views.day_of(versions[0])
            rows.append((day, versions[0].documents, [*map(isolate_html, names)]))
    return rows
