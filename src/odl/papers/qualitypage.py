"""Tables of the page about quality, from the tables of one stream or of several."""

import os
import re

import numpy as np

from odl.files import tables
from odl.report import page

TABLES = ("table", "pairs", "memory", "ablation", "alerts", "drift", "cost", "rivals", "sizes")


def read_tables(folders):
    """Return the rows of every table that finished runs wrote, those of several folders together."""
    rows_of = {name: [] for name in TABLES}
    for folder in folders:
        for name, rows in rows_of.items():
            path = os.path.join(folder, f"{name}.tsv")
            if os.path.exists(path):
                rows += tables.read_table(path, delete=folder)
    return rows_of


def by(rows, *keys):
    """Group rows by these columns, in the order in which the values appear."""
    grouped = {}
    for row in rows:
        grouped.setdefault(tuple(row[key] for key in keys), []).append(row)
    return grouped


def spread(rows, column):
    """Return mean and standard deviation over the rows that have a value; nan where there are none."""
    values = np.array([row[column] for row in rows if row[column] == row[column]], dtype=float)
    mean = float(values.mean()) if len(values) else float("nan")
    return mean, float(values.std(ddof=1)) if len(values) > 1 else float("nan")


CONTEXT = re.compile("-(levels|adaptive)-context$")


def named(run):
    """Say in words what a run is."""
    text, context = CONTEXT.sub("", run), CONTEXT.search(run)
    words = described(text)
    for start, kind in (("nearest5-", "5 nearest documents, "), ("nearest-", "nearest document, ")):
        if text.startswith(start) and words == text:
            words = kind + text.removeprefix(start).replace("tfidf", "tf-idf").replace("logtf", "log tf-idf")
    return f"{words}, in context as {context[1]}" if context else words


def pairing(tables_of):
    """Runs against the best method of the same kind, over all seeds of each stream."""
    lines = []
    for (name,), rows in by(tables_of["pairs"], "stream").items():
        if len(by(tables_of["pairs"], "stream")) > 1:
            lines.append(name)
        for (run,), runs in by(rows, "run").items():
            cells = [run, page.number(runs[0]["average"])]
            for row in runs:
                low, high = (page.number(row[column], "+.3f") for column in ("low", "high"))
                difference = page.number(row["difference"], "+.3f")
                cells += [f"{named(row['best'])}: {page.number(row['other'])}", f"{difference} ({low} to {high})"]
            lines.append(cells)
    if not lines:
        return []
    caption = (
        "Average AUC, mean over seeds, against the method of the same kind that has the highest mean after looking: of "
        "the four cosines to the whole past, and of all methods measured; plain runs against plain ones, runs that "
        "look at the batch against methods in such a context. In brackets the 95 % interval of the mean difference, "
        "documents drawn again within each timestep of each seed; seeds of a stream share documents, which it does "
        "not know of, so it is rather too narrow."
    )
    return [page.table(["", "average AUC", "best cosine", "difference", "best method", "difference"], lines, caption)]


def comparison(tables_of):
    """Average AUC of runs and cosines, and differences to the best cosine, of each stream."""
    if not tables_of["table"]:
        return []
    lines = []
    for (name,), rows in by(tables_of["table"], "stream").items():
        if len(by(tables_of["table"], "stream")) > 1:
            lines.append(name)
        for (run,), runs in by(rows, "run").items():
            above = sum(row["low"] > 0 for row in runs)
            below = sum(row["high"] < 0 for row in runs)
            cells = [page.mean_sd(*spread(runs, "average")), page.number(spread(runs, "difference")[0], "+.3f")]
            low, high = (page.number(spread(runs, column)[0], "+.3f") for column in ("low", "high"))
            lines.append([named(run), *cells, f"{low} to {high}", f"{above} / {below} / {len(runs)}"])
    caption = (
        "Average AUC, mean ± sd over seeds of order and start. Differences to the best of the four cosines over the "
        "whole past, which is taken for each seed after looking: mean difference, mean limits of the paired bootstrap "
        "interval (95 %), and the number of seeds above 0 / below 0 beyond the interval / in all. In context: a "
        "document is judged together with the most similar documents of its batch, which a method for one document at "
        "a time cannot do; so nearest documents are also shown with the same context."
    )
    header = ["", "average AUC", "difference", "interval", "above / below / seeds"]
    return [page.table(header, lines, caption)]


def averages(rows, caption):
    """Runs by streams: mean and spread of the average AUC."""
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    lines = []
    for (run,), runs in by(rows, "run").items():
        cells = by(runs, "stream")
        lines.append([named(run), *(page.mean_sd(*spread(cells.get((name,), []), "average")) for name in streams)])
    return page.table(["", *streams], lines, caption)


def ablation(tables_of):
    """What each ingredient brings on every stream."""
    if not tables_of["ablation"]:
        return []
    caption = (
        "Average AUC of every variant, mean ± sd over seeds: each has one ingredient less, or another value; what does "
        "not help, or harms, is in the table too."
    )
    return [averages(tables_of["ablation"], caption)]


def alerting(tables_of):
    """Alerts within budgets, raw and calibrated."""
    if not tables_of["alerts"]:
        return []
    several = len(by(tables_of["alerts"], "stream")) > 1
    budgets = [key.removeprefix("alerts_") for key in tables_of["alerts"][0] if key.startswith("alerts_")]
    lines = []
    for (name,), rows in by(tables_of["alerts"], "stream").items():
        if several:
            lines.append(name)
        for (run, kind), runs in by(rows, "run", "scores").items():
            cells = [page.number(spread(runs, "cost")[0])]
            for budget in budgets:
                columns = ("precision", "alerts", "false", "missed", "topics_found")
                values = [spread(runs, f"{column}_{budget}")[0] for column in columns]
                cells += [page.number(value) for value in values[:3]]
                cells += [page.number(values[3], ".0f"), page.number(values[4], ".2f")]
            lines.append([f"{named(run)}, {kind}", *cells])
    header = ["", "TDT cost"]
    for budget in budgets:
        share = f"{100 * float(budget):g} %"
        header += [f"precision at {share}", f"alerts at {share}", "on known", "missed", "topics found"]
    caption = (
        "Alerts within a budget, from the second scored batch on, means over seeds. TDT cost: normalised, with the "
        "best threshold. Precision: novel documents among that share of most novel ones. Then alerts given one by one: "
        "raw scores with the threshold that kept to the budget on the first scored batch, calibrated ones where the "
        "tail probability against the scores before is at most the budget: share of documents alerted, share of known "
        "documents alerted (a budget is kept where this is at most the budget), median over new topics of documents "
        "missed before the first alert, share of new topics with an alert."
    )
    return [page.table(header, lines, caption)]


def cost(tables_of):
    """CPU time of a document."""
    if not tables_of["cost"]:
        return []
    lines = []
    for (name, run), entries in by(tables_of["cost"], "stream", "run").items():
        values = [page.number(spread(entries, column)[0]) for column in ("ms", "first_third", "last_third")]
        lines.append([f"{run}, {name}", f"{entries[0]['timesteps']}", *values])
    caption = (
        "CPU milliseconds to score and learn one document, medians over timesteps (the first left out), means over "
        "seeds: of the whole stream, of its first third and of its last third, which are alike where the cost is "
        "constant."
    )
    return [page.table(["", "timesteps", "whole stream", "first third", "last third"], lines, caption)]


def competing(tables_of):
    """Other methods: quality, what they store, and time."""
    lines = []
    for (name,), rows in by(tables_of["rivals"], "stream").items():
        if len(by(tables_of["rivals"], "stream")) > 1:
            lines.append(name)
        runs = by(rows, "run")
        for (run,), plain in runs.items():
            if CONTEXT.search(run):
                continue
            parts = [plain, *(runs.get((f"{run}-{kind}-context",), []) for kind in ("levels", "adaptive"))]
            stored, ms = (spread(plain, column)[0] for column in ("entries", "ms"))
            cells = [page.mean_sd(*spread(part, "average")) for part in parts]
            lines.append([described(run), *cells, f"{stored / 1000:,.0f}", page.number(ms)])
    if not lines:
        return []
    caption = (
        "Other methods, each of which scores a batch before it takes it in: average AUC plain and in the context of "
        "the batch (as each learner has it), mean ± sd over seeds; thousands of numbers stored at the end of the "
        "stream; CPU milliseconds a document. Those that hold the past as it is need more with every document."
    )
    return [
        page.table(
            ["", "average AUC", "in context as levels", "as adaptive", "stored, thousands", "ms"], lines, caption
        )
    ]


def sizes(tables_of):
    """Quality in batches of other sizes."""
    lines, columns = [], sorted({row["size"] for row in tables_of["sizes"]})
    for (name,), rows in by(tables_of["sizes"], "stream").items():
        if len(by(tables_of["sizes"], "stream")) > 1:
            lines.append(name)
        for (run,), entries in by(rows, "run").items():
            cells = by(entries, "size")
            lines.append([named(run), *(page.mean_sd(*spread(cells.get((size,), []), "pooled")) for size in columns)])
        novel = [spread([row for row in rows if row["size"] == size], "novel")[0] for size in columns]
        lines.append(["novel documents", *(page.number(value, ".0f") for value in novel)])
    if not lines:
        return []
    caption = (
        "AUC of all documents after the first batch together, mean ± sd over seeds, by the documents of a batch. "
        "Nearest documents are those of the whole past. Figures of two sizes do not compare: a topic is new in one "
        "batch only, so smaller batches have fewer novel documents and more of the topic is known."
    )
    return [page.table(["", *(f"batches of {size}" for size in columns)], lines, caption)]


RIVALS = {
    "nearest5-logtf-past": "5 nearest documents, whole past",
    "nearest5-logtf-window1000": "5 nearest of the last 1000 documents",
    "temporal-idf": "temporal idf of the document",
    "first-story-lsh": "first-story detection by hashing",
    "lda-perplexity": "perplexity under online LDA",
    "nmf-residual": "residual of an online NMF",
    "nearest5-vectors": "5 nearest documents by vectors, whole past",
    "nearest5-ranks": "5 nearest by words and 5 by vectors, fused by rank",
    "nearest5-joined": "5 nearest by words and vectors, weight from the past",
}


def described(run):
    """Say in words what a rival is."""
    return RIVALS.get(run, run)


MAKERS = (pairing, comparison, competing, sizes, ablation, alerting, cost)
