"""SIB-200: the same 1,004 sentences in many languages, each with one of seven topics.

Source: Adelani et al., SIB-200, https://github.com/dadelani/sib-200; sentences of FLORES-200.
"""

import os

from odl.corpora.checks import check_content, documents_of, opening, packing, table, unpacked_text
from odl.files.documents import NO_TIME
from odl.text.tokens import TOKENS_SCHEMA

READER = "sib200"
LANGUAGES = (
    "arb_Arab", "ben_Beng", "deu_Latn", "ell_Grek", "eng_Latn", "fin_Latn", "fra_Latn", "heb_Hebr", "hin_Deva",
    "jpn_Jpan", "kor_Hang", "rus_Cyrl", "spa_Latn", "tam_Taml", "tha_Thai", "tur_Latn", "vie_Latn", "zho_Hans",
)  # fmt: skip
FILES = tuple(f"{language}.tsv.gz" for language in LANGUAGES)
OPTIONS = {"language": {"type": "string", "enum": [*LANGUAGES]}, "tokens": TOKENS_SCHEMA}

N_SENTENCES = 1004
COLUMNS = ["index_id", "category", "text"]


def read(sources, options):
    """Read the sentences of one language.

    Parameters
    ----------
    sources : list of path-like
        Files of all languages, as `FILES`.
    options : dict
        ``language`` (one of `LANGUAGES`, default ``"eng_Latn"``), ``tokens`` (see `odl.text.tokens`).

    Returns
    -------
    Documents
        1004 sentences by number, which is that of the same sentence in any language; no times.

    Raises
    ------
    DataError
        If the file is damaged, incomplete, or has other columns.
    """
    path = dict(zip(LANGUAGES, sources, strict=True))[options.get("language", "eng_Latn")]
    documents = documents_of(((name, NO_TIME, (topic,), text, text) for name, topic, text in rows(path)), options)
    check_content(path, {"number of documents": len(documents)}, {"number of documents": N_SENTENCES})
    return documents


def rows(path):
    """Yield number, topic and text of each sentence."""
    with opening(path, "a table packed with gzip"), unpacked_text(path, "gz", newline="\n") as file:
        yield from table(file, path, COLUMNS)


def sentences(paths, output):
    """Write the sentences of one language from its three parts (train, dev, test), by number.

    Parameters
    ----------
    paths : list of path-like
    output : path-like
        Packed by gzip, without a name or a time.

    Raises
    ------
    DataError
        If a part is damaged, or the sentences are not as many as there are.
    """
    fetched = []
    for path in paths:
        with opening(path, "a table of sentences"), open(path, encoding="utf-8", newline="\n") as file:
            fetched += table(file, path, COLUMNS)
    check_content(os.fspath(output), {"number of sentences": len(fetched)}, {"number of sentences": N_SENTENCES})
    fetched.sort(key=lambda fields: int(fields[0]))
    text = "".join("\t".join(fields) + "\n" for fields in [COLUMNS, *fetched])
    with packing(output) as file:
        file.write(text.encode())


ORIGINALS = dict.fromkeys(FILES, sentences)
