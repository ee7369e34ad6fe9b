"""Table of the events of `odl.TextNovelty`: a DataFrame that notebooks show with bars."""

import hashlib

import pandas

SHOWN_EVENTS = 50  # rows of the HTML form, the newest events first
STATE_COLOURS = {"new": "#b3470b", "growing": "#1a7f37", "returning": "#7a3fb8"}  # as on the page
BAR_COLOUR = "#9bb8d3"


class EventTable(pandas.DataFrame):
    """A row for each event, by its number: name, own words, state, first batch, documents so far.

    A selection of its rows is an `EventTable` too.

    Examples
    --------
    >>> from odl.detector.eventtable import EventTable
    >>> row = {"name": "orbit", "words": "orbit", "state": "new", "birth": 3, "documents": 7}
    >>> "1 event" in EventTable([row])._repr_html_()
    True
    """

    @property
    def _constructor(self):
        return EventTable

    def _repr_html_(self) -> str:
        """Return the newest events as an HTML table; without their columns, that of pandas."""
        if not {"state", "documents"} <= {*self.columns} or self.empty:
            return super()._repr_html_()  # type: ignore[operator]
        table = pandas.DataFrame(self.sort_index(ascending=False).iloc[:SHOWN_EVENTS])
        digest = hashlib.sha256(table.to_csv().encode()).hexdigest()[:8]  # equal tables, equal HTML
        count = f"{len(self):,} event{'s' * (len(self) != 1)}"
        caption = f"{count}, the newest {len(table)}" if len(table) < len(self) else count
        style = table.style.set_uuid(digest).set_caption(caption).format(escape="html")
        style = style.format("{:,}", subset=["documents"])
        style = style.map(lambda state: f"color: {STATE_COLOURS.get(state, 'inherit')}", ["state"])
        texts = [name for name in ("name", "words") if name in table]
        style = style.set_properties(texts, **{"text-align": "left", "max-width": "28em"})
        return style.bar(["documents"], color=BAR_COLOUR, vmin=0).to_html()
