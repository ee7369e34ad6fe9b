"""Figures of the papers, as `odl.report.figures` describes them."""
