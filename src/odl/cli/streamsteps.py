"""Steps that make a stream: files of a corpus, documents, batches, features."""

import os
from dataclasses import asdict

from odl.cli.declare import argument, parse_map, step
from odl.errors import ParameterError


@step(
    "fetch one file of the registry, from ODL_MIRROR first",
    argument("file", help="FOLDER/FILE as in the registry"),
    argument("output"),
    argument("--registry", default="data/corpora.csv"),
)
def download(args):
    from odl.corpora import download

    download.download(args.file, args.output, args.registry, mirror=os.environ.get("ODL_MIRROR"))


@step(
    "read a corpus into the internal form",
    argument("reader"),
    argument("output"),
    argument("--source", nargs="*", default=[], help="files to read"),
    argument("--options", type=parse_map, default={}, help="JSON of the reader's options"),
    argument("--files", nargs=2, metavar=("FIRST", "LAST"), help="of one's own files only these, and those between"),
    argument("--shares", nargs="+", default=[], help="what --files made of all files, in order, to be joined"),
)
def read(args):
    from odl import corpora
    from odl.files import documents, joblog

    joblog.aloud()
    if args.files or args.shares:
        corpus = _read_shares(args)
    else:
        corpus = corpora.read(args.reader, args.source, args.options)
        documents.write(args.output, corpus, reader=args.reader)
    counts = f"odl read: {len(corpus)} documents" + (f", {len(corpus.vocabulary)} terms" if corpus.vocabulary else "")
    print("; ".join(filter(None, [counts, str(corpus.repeats)])))
    for sentence in documents.losses(corpus):
        print(f"odl read: {sentence}")


def _read_shares(args):
    from odl.corpora import collection, portions

    if args.reader != collection.READER or (args.files and args.shares):
        raise ParameterError(f"--files or --shares of {args.reader}", "one of them, of one's own files", "correct it")
    if args.files:
        return portions.write(args.output, args.source, args.options, *args.files)
    corpus = portions.join(args.output, args.shares, args.source, args.options)
    portions.forget(args.shares)
    return corpus


@step(
    "cut the stream into batches",
    argument("documents"),
    argument("table", help="index.tsv to write"),
    argument("order", help="order.h5 to write"),
    argument("--seed", type=int, required=True),
    argument("--stream", type=parse_map, required=True, help="JSON: batches, protocol, topic_entry, ties"),
    argument("--made", help="folder of the batches made before, to warn of late documents"),
)
def index(args):
    from odl.config import sections
    from odl.stream import batching

    stream = asdict(sections.Order.of(args.stream, "--stream"))
    batching.index(args.documents, args.table, args.order, seed=args.seed, made=args.made, **stream)


@step(
    "write the documents of one timestep",
    argument("documents"),
    argument("order"),
    argument("output"),
    argument("--t", type=int, required=True),
    argument("--sha256", default="", help="of its documents, as in the index, for the record"),
)
def batch(args):
    from odl.stream import batchfile

    print("odl batch:", batchfile.cut(args.documents, args.order, args.output, args.t))


@step(
    "continue the chain of vocabulary, frequencies, near-duplicates",
    argument("output"),
    argument("batch", help="those before it lie beside it"),
    argument("previous", nargs="?"),
    argument("--max-terms", type=int, default=0, help="terms known after a batch; others leave (default: 0, all stay)"),
    argument("--hash-terms", type=int, default=0, help="hash words to so many buckets (default: 0, a column a word)"),
)
def features(args):
    from odl.stream import features

    cut = features.advance(args.output, args.batch, args.previous, args.max_terms, args.hash_terms).cut
    made = features.read(args.output)
    if args.max_terms or args.hash_terms:
        print(f"odl features: {made.sentence()}")
    for part in (cut, made.groups):
        if part is not None:
            print(f"odl features: {part.sentence()}")
