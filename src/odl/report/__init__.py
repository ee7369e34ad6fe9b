"""Pages, figures and the house style of plots."""
