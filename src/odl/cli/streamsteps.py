"""Steps of a stream, from files to the page about what is new: what the loop of `odl run` does, a process each."""

import os
from functools import partial

from odl.cli import CHAIN, SCORES, STATE, TIMINGS, argument, parse_map, subcommand
from odl.config.steps import record_of
from odl.errors import ParameterError


@subcommand(
    "fetch one file of the registry, from ODL_MIRROR first",
    argument("file", help="FOLDER/FILE as in the registry"),
    argument("output"),
    argument("--registry", default="data/corpora.csv"),
)
def download(args):
    from odl.corpora import download

    download.download(args.file, args.output, args.registry, mirror=os.environ.get("ODL_MIRROR"))


def _do(args):
    """Do a step that `odl.config.steps` describes, with the record that the loop of `odl run` writes."""
    from odl.engine import calls, ledger
    from odl.files import provenance, thinning

    name, arguments = args.command, dict(vars(args))
    if name == "read":
        name = "share" if args.files else name
        arguments["sources"] = _files(args)
    if name == "newpage":
        arguments |= _page_inputs(args)
    with provenance.recording(record_of(name, arguments, lambda path: ledger.read(path)[0])):
        said, _ = calls.FUNCTIONS[name](arguments)
    for line in said:
        print(f"odl {args.command}: {line}")
    if name == "update":  # by environment, since it changes no result
        thinning.prune(args.state, int(os.environ.get("ODL_KEEP") or 0))


def _files(args):
    """Return name and path of a person's files that are read; none of another corpus, and of shares that are joined."""
    from odl.corpora import collection, portions
    from odl.files import listing

    if (args.files or args.shares) and (args.reader != collection.READER or (args.files and args.shares)):
        raise ParameterError(f"--files or --shares of {args.reader}", "one of them, of one's own files", "correct it")
    if args.files:
        return portions.members(args.source, args.options, *args.files)
    own = args.reader == collection.READER and not args.shares
    return listing.find_files(args.source, args.options.get("kind")) if own else []


def _page_inputs(args):
    """Return the files that a page is made of."""
    from odl.alerts import feedback, read

    place = read.place_of(args.folder, args.stream)
    said = os.path.join(args.home or place.home, feedback.FILE)
    n = read.first_of(place, 0)
    named = {"documents": place.documents, "features": os.path.join(place.features, f"{n - 1}.h5"), "feedback": said}
    alerts = [os.path.join(place.alerts, f"{t}.h5") for t in range(n)]
    return {"alerts": alerts, **{name: path if os.path.exists(path) else "" for name, path in named.items()}}


def _described(name, help, *arguments):
    """Declare a step of `odl.config.steps`."""
    return subcommand(help, *arguments, name=name)(partial(_do))


read = _described(
    "read",
    "read a corpus into the internal form",
    argument("reader"),
    argument("output"),
    argument("--source", nargs="*", default=[], help="files to read"),
    argument("--options", type=parse_map, default={}, help="JSON of the reader's options"),
    argument("--files", nargs=2, metavar=("FIRST", "LAST"), help="of one's own files only these, and those between"),
    argument("--shares", nargs="+", default=[], help="what --files made of all files, in order, to be joined"),
)
index = _described(
    "index",
    "cut the stream into batches",
    argument("documents"),
    argument("table", help="index.tsv to write"),
    argument("order", help="order.h5 to write"),
    argument("--seed", type=int, required=True),
    argument("--stream", type=parse_map, required=True, help="JSON: batches, protocol, topic_entry, ties"),
    argument("--made", help="folder of the batches made before, to warn of late documents"),
)
batch = _described(
    "batch",
    "write the documents of one timestep",
    argument("documents"),
    argument("order"),
    argument("output"),
    argument("--t", type=int, required=True),
    argument("--sha256", default="", help="of its documents, as in the index, for the record"),
)
features = _described(
    "features",
    "continue the chain of vocabulary, frequencies, near-duplicates",
    argument("output"),
    argument("batch", help="those before it lie beside it"),
    argument("previous", nargs="?"),
    argument("--max-terms", type=int, default=0, help="terms known after a batch; others leave (default: 0, all stay)"),
)
update = _described(
    "update",
    "score one timestep, then learn from it",
    argument("features"),
    STATE,
    SCORES,
    TIMINGS,
    *CHAIN,
    argument("--history", metavar="FOLDER", help="of the features of all timesteps before, for batch learners"),
    argument("--shards", nargs="*", default=[], help="what odl step score wrote of this batch, in order"),
)
alerts = _described(
    "alerts",
    "continue the chain of alerts: items, topics, reasons",
    argument("features"),
    argument("scores"),
    argument("state", help="checkpoint of the timestep"),
    argument("output", help="alerts to write"),
    CHAIN[0],
    argument("--known", help="checkpoint of the timestep before"),
    argument("--previous", help="alerts of the timestep before"),
    argument("--batch", help="batch of the timestep, for the sources of its documents"),
    CHAIN[2],
    argument("--settings", type=parse_map, default={}, help="JSON: budget, level, window, ..."),
)
newpage = _described(
    "newpage",
    "write the page about what is new in a stream",
    argument("output"),
    argument("folder", help="a folder with odl.yaml, results/STUDY, or the folder of alerts"),
    argument("--stream", help="name of the stream, where the folder has several"),
    argument("--home", help="where feedback.csv lies, if not in the folder"),
    argument("--study", help="the study page, linked where documents have topics"),
    argument("--atom", help="Atom feed to write beside it"),
    argument("--feed", help="JSON feed to write beside it"),
)
