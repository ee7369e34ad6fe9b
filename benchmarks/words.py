"""Words of every script beside those of the pattern: average AUC on English streams, characters a second by script.

    ODL_MIRROR=... python benchmarks/words.py [--streams newsgroups subjects] [--seeds 0 1] [--output words.tsv]
    ODL_MIRROR=... python benchmarks/words.py --shares [--streams ...] [--seeds ...] [--output shares.tsv]
    ODL_MIRROR=... python benchmarks/words.py --alerts [--seeds 0 1 2] [--output alerts.tsv]
    ODL_MIRROR=... python benchmarks/words.py --segments [--output segments.tsv]
    ODL_MIRROR=... python benchmarks/words.py --stems [--streams ...] [--seeds ...] [--output stems.tsv]
    ODL_MIRROR=... python benchmarks/words.py --ranks --streams subjects titles [--seeds ...] [--output ranks.tsv]
    ODL_MIRROR=... python benchmarks/words.py --languages
    ODL_MIRROR=... python benchmarks/words.py --speed
    ODL_MIRROR=... python benchmarks/words.py --memory
    ODL_MIRROR=... python benchmarks/words.py --stability
    python benchmarks/words.py --messages /usr/share/locale
    python benchmarks/words.py --translated /usr/share/locale [--output translated.tsv]
    python benchmarks/words.py --sentences

Streams, orders and timesteps are those of config/quality.yaml; abstracts are those of every tenth paper. AUC is of
`levels` with 500 atoms, by both tokenisers in the same orders; with `--shares` of all words without a list of stop
words, with and without `features.max_share` and `features.languages`, beside those of the list. Speed is of counting,
the best of 25, both in turn. `--segments` compares words of segmenters (the extras `jieba`, `janome`, `pythainlp`)
with pairs and triples of characters, on the streams and draws of config/languages.yaml. It has the weight that the
rule of pieces asks for. `--stems` takes stems of Snowball (`snowballstemmer`) as pieces of words: in each of these
languages that it knows, beside words with the weight of the rule and in their place, then on the English streams with
the weight .5. There pieces of words have three weights. `--ranks` has `levels` as `odl init` writes it, by several
weights of pieces, and by the mean of the ranks that a document has in its batch by words and by pieces. `--languages`
prints which languages the sentences of SIB-200 are told to be of, each by itself. `--messages` does so for messages
of installed programs, of eight words or more, in each locale that has a hundred. `--sentences` prints the table of
docs/guides/documents.md: what a sentence of each script becomes.
`--translated` has such messages as documents and their programs as topics, with the batches of config/languages.yaml,
read as `odl init` does; languages of a group in `MESSAGES` have the same messages. `--memory` prints the peak of the
memory of counting whole abstracts and sentences twenty times over, read as they come. `--stability` prints how many
words come to be stop words (`features.max_share` .5) and cease to be, and scores by those before and now.
"""

import argparse
import gzip
import os
import re
import resource
import struct
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from unittest import mock
from zlib import crc32

import newsposts
import numpy as np
import whatsnew
import yaml
from scipy import sparse
from scipy.stats import rankdata

from odl import corpora, learners, novelty
from odl.cli import preparation
from odl.config import chains
from odl.corpora import arxiv_cs, checks, download
from odl.errors import DataError
from odl.files import tables
from odl.files.documents import NO_TIME
from odl.papers.experiments import languages, quality
from odl.stream import pieces
from odl.stream.weighting import COMMON, Weighting, drop_columns, weigh
from odl.text.stopwords import StopWords
from odl.text.tokens import Tally, analyser, count_words

HERE = Path(__file__).resolve().parent.parent
STREAMS = ("newsgroups", "scipydocs", "abstracts", "subjects", "titles")
TOKENISERS = ("pattern", "words")
FEATURES = "features: {languages: true, max_share: 0.5}"
WAYS = {  # with one list of stop words, or each document's own language; without these settings of `odl init`
    "pattern, list": ("tokens: {tokeniser: words, stop_words: null}, ", FEATURES),
    "words, list": (", stop_words: null", FEATURES),
    "words, told": (),
}
SEGMENTERS = {"chinese": "jieba", "japanese": "janome", "thai": "pythainlp"}
ALONE = 0.999999  # weight of stems that leaves none to words, as it has to be below 1
SHARES = (  # list of stop words, largest share of a word that is weighed, whether each document's language is told
    ("english", 1.0, False), (None, 1.0, False), (None, 0.5, False), (None, 1.0, True), (None, 0.5, True),
)  # fmt: skip

MESSAGES = (  # groups of languages that have the same messages, English as the reference of each
    ("it", "nl", "sv", "pl", "cs", "da", "uk", "hu", "ro", "pt_BR", "bg", "sr"),
    ("pa",), ("ka",),
)  # fmt: skip
LONG, LEAST, MOST = 40, 40, 150  # characters of a message in English, messages of a program that has enough and at most

SENTENCES = {  # script to text, with the option `hangul` where it matters
    "Latin": "The iPhone of NASA's office in Zürich",
    "Latin, decomposed": "Ko\u0308ln und Mu\u0308nchen",
    "Latin, signs within": "l'été Hawaiʻi col·lecció",
    "Turkish": "İzmir IZMIR ışık",
    "Greek": "ΑΘΗΝΑ, Αθήνα",
    "Cyrillic": "Спутник на орбите",
    "Cyrillic, apostrophes": "п'ять, об’єкт",
    "Hebrew, pointed": "שָׁלוֹם עוֹלָם",
    "Hebrew, gershayim": "צה\"ל, ג'ירפה",
    "Arabic, pointed": "السَّلَامُ عَلَيْكُمْ",
    "Devanagari": "हिन्दी में समाचार",
    "Bengali": "বাংলা সংবাদ",
    "Tamil": "தமிழ் செய்தி",
    "Thai": "ประเทศ",
    "Han": "我爱北京，NASA公司",
    "Han and kana": "東京タワーの高さ",
    "Hangul": "감기약 값이 올랐다",
    "Hangul after Latin": "GPT으로 LG전자",
    "other widths": "ＮＡＳＡ ｶﾞｽ",
    "names with digits": "log4j H5N1 GPT-4 CVE-2021-44228 v2.14.1 0x80070057",
    "names with signs": "B.1.1.7 BA.5 t-SNE 737-MAX C++ C# AT&T I/O node.js .NET",
    "identifiers": "ERR_RESET x86_64 n_samples",
    "numbers, dates, hashes": "12:30 10km 2021-12-10 e25ea8c",
    "tags and addresses": "#flood @joe https://www.example.com/a?b=c joe@mail.org",
    "emoji": "🔥 👍🏽",
}


def documents_of(name, tokeniser, stop_words="english"):
    """Return the setting of a stream, the rule of its evaluation, and its documents by a tokeniser."""
    study = yaml.safe_load((HERE / "config/quality.yaml").read_text(encoding="utf-8"))
    setting = study["corpora"]["titles" if name == "abstracts" else name]
    options = {**setting["options"], "tokens": {"tokeniser": tokeniser, "stop_words": stop_words}}
    if name == "abstracts":
        del options["fields"]
    registry = download.load_registry(HERE / "data/corpora.csv")
    rows = download.files_of(setting["reader"], registry)
    files = [f"{os.environ['ODL_MIRROR']}/{row['folder']}/{row['file']}" for row in rows]
    return setting, study["evaluate"], corpora.read(setting["reader"], files, options)


def auc(stream, recency=0.5, **weighting):
    """Return the average AUC of `levels`."""
    return stream.average(scored(stream, recency, **weighting))


def scored(stream, recency, **weighting):
    """Return the scores of `levels` by timestep."""
    weighting = {"tf": "log", **weighting}
    learner = learners.make("levels", recency=recency)
    state, scores = learner.start(stream.P(0, weighting), 500, novelty.generator(stream.seed, "start")), {}
    for t in range(1, max(stream.listed) + 1):
        P = stream.P(t, weighting)
        if t in stream.listed:
            scores[t] = novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score
        state = learner.learn(state, P, None)
    return scores


def compare(names, seeds, output):
    """Write the AUC of both tokenisers for each stream and seed."""
    rows = []
    for name in names:
        for tokeniser in TOKENISERS:
            setting, rule, documents = documents_of(name, tokeniser)
            for seed in seeds:
                order = chains.order_seed({"corpora": {name: setting}}, name, seed)
                found = auc(quality.Stream(name, documents, setting, rule, order))
                rows.append({"stream": name, "seed": seed, "tokeniser": tokeniser, "auc": found})
                print(f"{name}\t{seed}\t{tokeniser}\t{found:.4f}", flush=True)
    tables.write_table(output, rows)


def compare_shares(names, seeds, output):
    """Write the AUC of all words with and without stop words of the stream, and that of a list, by stream and seed."""
    rows = []
    for name in names:
        for stop_words, max_share, told in SHARES:
            setting, rule, documents = documents_of(name, "words", stop_words)
            for seed in seeds:
                order = chains.order_seed({"corpora": {name: setting}}, name, seed)
                stream = quality.Stream(name, documents, setting, rule, order)
                row = {"stream": name, "seed": seed, "stop_words": stop_words or ("told" if told else "none")}
                value = auc(stream, max_share=max_share, languages=told)
                rows.append(row | {"max_share": max_share, "auc": value})
                print(*rows[-1].values(), sep="\t", flush=True)
    tables.write_table(output, rows)


def draws(study, name, documents, **forms):
    """Return the AUC of each draw, way of reading and method, and print the means; forms are weights of pieces."""
    runs, rows = {"levels": {"features": study["features"], "learner": study["learners"]["levels"]}}, []
    for seed in study["seeds"]:
        stream = quality.Stream(name, documents, study["corpora"][name], study["evaluate"], seed)
        for way, share in forms.items():
            measured = languages.rows_of(stream, runs, share)
            rows += [{"stream": name, "by": way, "seed": seed, **row} for row in measured]
    for kind in dict.fromkeys((row["by"], row["run"], row["pieces"]) for row in rows):
        aucs = [row["auc"] for row in rows if (row["by"], row["run"], row["pieces"]) == kind]
        error = np.std(aucs, ddof=1) / len(aucs) ** 0.5
        print(name, *kind, f"{np.mean(aucs):.4f}", f"standard error {error:.4f}", sep="\t", flush=True)
    return rows


def sib200():
    """Return the study of config/languages.yaml and the files of its corpus."""
    rows = download.files_of("sib200", download.load_registry(HERE / "data/corpora.csv"))
    study = yaml.safe_load((HERE / "config/languages.yaml").read_text(encoding="utf-8"))
    return study, [f"{os.environ['ODL_MIRROR']}/{row['folder']}/{row['file']}" for row in rows]


def translations(path):
    """Yield the messages of a file of gettext and their translations after the header, of plurals the singular."""
    data = path.read_bytes()
    count, *places = struct.unpack_from("<3I", data, 8)
    for at in range(1, count):
        spans = (struct.unpack_from("<2I", data, place + 8 * at) for place in places)
        yield tuple(data[start : start + length].split(b"\0")[0] for length, start in spans)


def catalogue(path):
    """Return the messages of a file of gettext in UTF-8, without their context, and their translations."""
    texts = {}
    for source, text in translations(path):
        with suppress(UnicodeDecodeError):  # of another encoding
            texts[source.decode().rpartition("\x04")[2]] = text.decode()
    return texts


def messages(folder, codes):
    """Return language to program and translation of messages that all have; one in two programs is the last's."""
    shared = {}
    programs = set.intersection(
        *({path.stem for path in Path(folder).glob(f"{code}/LC_MESSAGES/*.mo")} for code in codes)
    )
    for program in sorted(programs):
        found = {code: catalogue(Path(folder, code) / "LC_MESSAGES" / f"{program}.mo") for code in codes}
        for text in set.intersection(*map(set, found.values())):
            if len(text) >= LONG:
                shared[text] = program, {"en": text} | {code: own[text] for code, own in found.items()}
    rows = {code: [] for code in ("en", *codes)}
    for program in sorted(programs):
        own = sorted(text for text, (of, _) in shared.items() if of == program)
        for at in range(0, len(own), -(-len(own) // MOST)) if len(own) >= LEAST else ():
            for code, text in shared[own[at]][1].items():
                rows[code].append((program, text))
    return rows


def changes(stream, learner, weighting):
    """Yield a period's stop words, those that came, those that ceased, and its scores by the earlier and by these."""
    state, earlier = learner.start(stream.P(0, weighting), 500, novelty.generator(stream.seed, "start")), None
    for t, batch in enumerate(stream.batches[1:], start=1):
        common = batch.frequencies > np.maximum(preparation.MAX_SHARE * batch.n_before, COMMON - 1)
        earlier = common if earlier is None else np.append(earlier, np.zeros(len(common) - len(earlier), dtype=bool))
        form, scores = (batch.frequencies, batch.n_before, Weighting(tf="log"), "l2"), []
        for stop_words in (earlier, common):
            P = weigh(drop_columns(batch.counts[:], ~stop_words), *form)
            scores.append(novelty.score(learner, learner.fit_terms(state, P.shape[1]), P).score)
        yield np.sum(common), np.sum(common & ~earlier), np.sum(earlier & ~common), *scores
        state, earlier = learner.learn(state, stream.P(t, weighting), None), common


def stability():
    """Print how many words come to be stop words of a stream, and cease to be, and what that does to scores."""
    study, files = sib200()
    settings = [(name, *documents_of(name, "words", None)) for name in STREAMS if name != "subjects"]
    for name, setting in study["corpora"].items():
        settings.append((name, setting, study["evaluate"], corpora.read("sib200", files, setting["options"])))
    for name, setting, rule, documents in settings:
        seed = chains.order_seed({"corpora": {name: setting}}, name, 0) if name in STREAMS else study["seeds"][0]
        stream = quality.Stream(name, documents, setting, rule, seed)
        periods = list(changes(stream, learners.make("levels"), {"tf": "log", "max_share": preparation.MAX_SHARE}))
        print(name, f"{len(periods)} periods", *np.sum([period[:3] for period in periods], axis=0), sep="\t")
        for t, (_, came, went, before, now) in enumerate(periods, start=1):
            if came or went:
                told = f"mean score {before.mean():.4f}, then {now.mean():.4f}, deviation {before.std():.4f}"
                print(
                    name, t, came, went, told, f"each moves by {np.abs(now - before).mean():.4f}", sep="\t", flush=True
                )


def evaluated(setting, rule, documents):
    """Return the draws below 10 in which there is something to evaluate."""
    for seed in range(10):
        with suppress(DataError):
            quality.Stream("", documents, setting, rule, seed)
            yield seed


def compare_messages(folder, output):
    """Write the AUC on translated messages, read as `odl init` does: by the pattern, by words and with their pieces."""
    study, rows = yaml.safe_load((HERE / "config/languages.yaml").read_text(encoding="utf-8")), []
    setting = study["corpora"]["english"]
    for codes in MESSAGES:
        group, seeds = messages(folder, codes), []
        print(codes, *Counter(program for program, _ in group["en"]).items())
        for code, found in group.items():
            name, texts = code if code in codes else f"en, as {codes[-1]}", [text for _, text in found]
            stop_words, features, _ = preparation.stop_words_of(texts)
            tokens = preparation.tokens_of(texts, stop_words)
            weight = preparation.pieces_of(texts, tokens, (), len(texts))[0].get("pieces", 0.0)
            for options, forms in (
                ({"stop_words": stop_words}, {"pattern": 0.0}),
                (tokens, {"words": 0.0, "pieces by the rule": weight, "pieces at .5": 0.5}),
            ):
                records = ((str(at), NO_TIME, (program,), "", text) for at, (program, text) in enumerate(found))
                documents = checks.documents_of(records, {"tokens": options})
                seeds = seeds or list(evaluated(setting, study["evaluate"], documents))  # those of all in the group
                own = {"features": {"tf": "log", **features}, "corpora": {name: setting}, "seeds": seeds}
                rows += draws(study | own, name, documents, **forms)
            print(name, len(texts), "messages", len(seeds), "draws", tokens, features, weight, sep="\t", flush=True)
    tables.write_table(output, rows)


def compare_segments(output):
    """Write the AUC of pairs of characters and of segments, by language, draw, method and weight of pieces."""
    (study, files), rows = sib200(), []
    for name, package in SEGMENTERS.items():
        for segment in (None, package):
            began, options = time.process_time(), study["corpora"][name]["options"]
            options = options | {"tokens": options["tokens"] | {"segment": segment}}
            documents = corpora.read("sib200", files, options)
            cpu, weight = time.process_time() - began, pieces.weight(documents.counts, documents.vocabulary)
            print(f"{name}: {segment or 'pairs'}, {len(documents.vocabulary)} words, read in {cpu:.1f} CPU s")
            way = segment or "pairs"
            rows += draws(study, name, documents, **({way: 0.0, f"{way}, pieces": weight} if weight else {way: 0.0}))
    tables.write_table(output, rows)


def stems_as_pieces(stemmer):
    """Return the context in which a word has one piece, its stem, in the place of `odl.stream.pieces.table`."""

    def table(words):
        columns = np.array([crc32(stem.encode()) % pieces.BUCKETS for stem in stemmer.stemWords(words)])
        entries = np.ones(len(words), dtype=np.int32), columns, np.arange(len(words) + 1)
        return sparse.csr_array(entries, shape=(len(words), pieces.BUCKETS))

    return mock.patch.object(pieces, "table", table)


def compare_stems(names, seeds, output):
    """Write the AUC of words, their pieces and their stems, in languages and on English streams."""
    import snowballstemmer

    (study, files), rows = sib200(), []
    for name in sorted(study["corpora"].keys() & {*snowballstemmer.algorithms()}):
        documents = corpora.read("sib200", files, study["corpora"][name]["options"])
        weight = pieces.weight(documents.counts, documents.vocabulary)
        rows += draws(study, name, documents, words=0.0, pieces=weight)
        with stems_as_pieces(snowballstemmer.stemmer(name)):
            rows += draws(study, name, documents, **{"stems beside words": weight, "stems alone": ALONE})
    for name in names:
        setting, rule, documents = documents_of(name, "words")
        for seed in seeds:
            stream = quality.Stream(
                name, documents, setting, rule, chains.order_seed({"corpora": {name: setting}}, name, seed)
            )
            measured = [("pieces", share, auc(stream, 0.0, pieces=share)) for share in (0.25, 0.5, 0.75)]
            stream.weighed.clear()  # by pieces, of the same weight
            with stems_as_pieces(snowballstemmer.stemmer("english")):
                ways = ("words", 0.0), ("stems beside words", 0.5), ("stems alone", ALONE)
                measured += [(way, share, auc(stream, 0.0, pieces=share)) for way, share in ways]
            for way, share, value in measured:
                rows.append({"stream": name, "by": way, "seed": seed, "run": "levels", "pieces": share, "auc": value})
                print(*rows[-1].values(), sep="\t", flush=True)
    tables.write_table(output, rows)


def compare_ranks(names, seeds, output):
    """Write the AUC by weight of pieces, and by the mean of the ranks that words and pieces alone give in a batch."""
    rows = []
    for name in names:
        setting, rule, documents = documents_of(name, "words")
        for seed in seeds:
            order = chains.order_seed({"corpora": {name: setting}}, name, seed)
            stream = quality.Stream(name, documents, setting, rule, order)
            scores = {share: scored(stream, 0.5, pieces=share) for share in (0.0, 0.3, 0.5, 0.65, ALONE)}
            scores["ranks"] = {t: rankdata(scores[0.0][t]) + rankdata(scores[ALONE][t]) for t in stream.listed}
            for way, values in scores.items():
                rows.append({"stream": name, "seed": seed, "by": way, "auc": stream.average(values)})
                print(*rows[-1].values(), sep="\t", flush=True)
    tables.write_table(output, rows)


def compare_alerts(seeds, output):
    """Write the precision of the alerts on raw posts by way of reading, seed and timestep, of the same documents."""
    posts, rows = newsposts.read(Path(os.environ["ODL_MIRROR"])), []
    for seed in seeds:
        for way, without in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                told = whatsnew.watched(Path(folder, "it"), posts, seed, False, (*without, "min_words: 5, "))
            for at, t in enumerate(told["timesteps"]):
                precision = told["precision"]["product"][at]
                rows.append({"seed": seed, "t": t, "way": way, "precision": precision})
                print(*rows[-1].values(), sep="\t", flush=True)
    tables.write_table(output, rows)


def sentences():
    """Print what a sentence of each script becomes, by words and by the pattern, as a table."""
    print("| script | text | words | by the older pattern |\n| --- | --- | --- | --- |")
    for script, text in SENTENCES.items():
        found = [", ".join(analyser({"tokeniser": each, "stop_words": None})(text)) for each in reversed(TOKENISERS)]
        if script == "Hangul":
            in_pairs = analyser({"tokeniser": "words", "stop_words": None, "hangul": "pairs"})(text)
            found[0] += f"; with `hangul: pairs` {', '.join(in_pairs)}"
        print(f"| {script} | {text} | {found[0] or 'nothing'} | {found[1] or 'nothing'} |")


def seconds(texts, counted):
    """Return the CPU seconds of counting texts."""
    began = time.process_time()
    for text in texts:
        counted.add(*counted.count(text))
    return time.process_time() - began


def sentences_by_language():
    """Yield each language of SIB-200 with its sentences."""
    for path in sorted(Path(os.environ["ODL_MIRROR"], "sib200").glob("*.tsv.gz")):
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()[1:]
        yield path.name[:8], [line.split("\t")[2] for line in lines]


def messages_by_language(folder):
    """Yield each locale of a folder with messages of its programs of eight words or more, every so many of them."""
    for locale in sorted(Path(folder).iterdir()):
        texts = set()
        for path in sorted(locale.glob("LC_MESSAGES/*.mo")):
            for source, text in translations(path):
                with suppress(UnicodeDecodeError):  # of another encoding
                    texts |= {text.decode()} if text != source else set()
        plain = sorted({" ".join(re.sub(r"%[-+ #0-9.*$lhzjq]*[a-zA-Z]|<[^>]+>", " ", text).split()) for text in texts})
        long = [text for text in plain if len(re.findall(r"[^\W\d_]{2,}", text)) >= 8]
        if len(long) >= 100:
            yield locale.name, long[:: max(1, len(long) // 600)]


def told_languages(texts_by_language):
    """Print how many texts of each language are told to be of which, each by itself."""
    for language, texts in texts_by_language:
        counts, vocabulary = count_words(texts, {"tokeniser": "words", "stop_words": None})
        told = Counter(StopWords(vocabulary, np.zeros(len(vocabulary))).told(counts)).most_common()
        print(language, *(f"{name or 'none'} {n}" for name, n in told), sep="\t")


def speed():
    """Print characters a second by both tokenisers, for each language of SIB-200, its sentences three times.

    The last figure is of words that were met before, in documents of ten sentences.
    """
    for language, texts in sentences_by_language():
        texts, known = texts * 3, Tally({"tokeniser": "words"})
        documents = [" ".join(texts[first : first + 10]) for first in range(0, len(texts), 10)]
        seconds(documents, known)
        kinds = [{"tokeniser": tokeniser} for tokeniser in TOKENISERS]
        each = [[*(seconds(texts, Tally(kind)) for kind in kinds), seconds(documents, known)] for _ in range(25)]
        old, new, again = (sum(map(len, texts)) / 1e6 / min(times) for times in zip(*each, strict=True))
        print(f"{language}\t{old:.2f}\t{new:.2f} million characters a second\t{new / old:.2f}\t{again:.0f}", flush=True)


def read_of(name):
    """Yield texts that are not kept: whole abstracts, or sentences of a language of SIB-200, twenty times over."""
    if name == "abstracts":
        rows = download.files_of("arxiv-cs", download.load_registry(HERE / "data/corpora.csv"))
        for path in (Path(os.environ["ODL_MIRROR"], row["folder"], row["file"]) for row in rows):
            yield from (row[-1] for row in arxiv_cs.rows(path))
    else:
        yield from dict(sentences_by_language())[name] * 20


def peak(name, tokeniser):
    """Return the peak of the memory in use, in MB: before texts are counted, and after."""
    before, _ = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, count_words(read_of(name), {"tokeniser": tokeniser})
    return before / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory():
    """Print the peak of the memory of counting by both tokenisers, each in a process of its own."""
    for name in ("abstracts", "jpn_Jpan", "eng_Latn"):
        for tokeniser in TOKENISERS:
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                before, after = process.submit(peak, name, tokeniser).result()
            print(f"{name}\t{tokeniser}\t{before:.0f} MB before\t{after:.0f} MB at most", flush=True)


def main():
    """Compare AUC, or measure speed."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--streams", nargs="+", default=list(STREAMS), choices=STREAMS)
    words.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    words.add_argument("--output", default="words.tsv")
    words.add_argument("--shares", action="store_true")
    words.add_argument("--alerts", action="store_true")
    words.add_argument("--segments", action="store_true")
    words.add_argument("--stems", action="store_true")
    words.add_argument("--ranks", action="store_true")
    words.add_argument("--languages", action="store_true")
    words.add_argument("--messages", metavar="FOLDER")
    words.add_argument("--translated", metavar="FOLDER")
    words.add_argument("--stability", action="store_true")
    words.add_argument("--memory", action="store_true")
    words.add_argument("--speed", action="store_true")
    words.add_argument("--sentences", action="store_true")
    told = words.parse_args()
    if told.sentences:
        sentences()
    elif told.speed:
        speed()
    elif told.languages:
        told_languages(sentences_by_language())
    elif told.memory:
        memory()
    elif told.stability:
        stability()
    elif told.translated:
        compare_messages(told.translated, told.output)
    elif told.messages:
        told_languages(messages_by_language(told.messages))
    elif told.segments:
        compare_segments(told.output)
    elif told.stems:
        compare_stems(told.streams, told.seeds, told.output)
    elif told.ranks:
        compare_ranks(told.streams, told.seeds, told.output)
    elif told.alerts:
        compare_alerts(told.seeds, told.output)
    else:
        (compare_shares if told.shares else compare)(told.streams, told.seeds, told.output)


if __name__ == "__main__":
    main()
