"""The reader ``sib200``: the same 1,004 sentences in many languages, each with one of seven topics.

Source: Adelani et al., SIB-200, https://github.com/dadelani/sib-200; sentences of FLORES-200.
"""

import os

from odl.corpora.checks import check_content, documents_of, opening, packing, table, unpacked_text
from odl.files.documents import NO_TIME
from odl.text.tokens import TOKENS_SCHEMA

READER = "sib200"
SIB200_LANGUAGES = (
    "arb_Arab", "ben_Beng", "deu_Latn", "ell_Grek", "eng_Latn", "fin_Latn",
    "fra_Latn", "heb_Hebr", "hin_Deva", "jpn_Jpan", "kor_Hang", "rus_Cyrl",
    "spa_Latn", "tam_Taml", "tha_Thai", "tur_Latn", "vie_Latn", "zho_Hans",
)  # fmt: skip
FILES = tuple(f"{language}.tsv.gz" for language in SIB200_LANGUAGES)
OPTIONS = {"language": {"type": "string", "enum": [*SIB200_LANGUAGES]}, "tokens": TOKENS_SCHEMA}

N_SENTENCES = 1004
TABLE_COLUMNS = ["index_id", "category", "text"]


def read(sources, options):
    """Read the sentences of one language.

    Parameters
    ----------
    sources : list of path-like
        Files of all languages, in the order of `FILES`.
    options : dict
        ``language`` (one of `SIB200_LANGUAGES`, default ``"eng_Latn"``), ``tokens`` (see
        `odl.text.tokens`).

    Returns
    -------
    Documents
        1004 sentences without times, in the order of their numbers. A sentence has the same number
        in all languages.

    Raises
    ------
    DataError
        If the file is damaged, incomplete, or has other columns.
    """
    path = dict(zip(SIB200_LANGUAGES, sources, strict=True))[options.get("language", "eng_Latn")]
    documents = documents_of(
        ((name, NO_TIME, (topic,), text, text) for name, topic, text in rows(path)), options
    )
    check_content(
        path, {"number of documents": len(documents)}, {"number of documents": N_SENTENCES}
    )
    return documents


def rows(path):
    """Yield (number, topic, text) for each sentence in the file of a language."""
    with opening(path, "a table packed with gzip"), unpacked_text(path, "gz", newline="\n") as file:
        yield from table(file, path, TABLE_COLUMNS)


def sentences(paths, output):
    """Write the sentences of one language from its three parts (train, dev, test), by number.

    Parameters
    ----------
    paths : list of path-like
        Tables of the three parts.
    output : path-like
        The table to write, compressed by gzip.

    Raises
    ------
    DataError
        If a part is damaged, or the number of sentences is wrong.
    """
    fetched = []
    for path in paths:
        with (
            opening(path, "a table of sentences"),
            open(path, encoding="utf-8", newline="\n") as file,
        ):
            fetched += table(file, path, TABLE_COLUMNS)
    check_content(
        os.fspath(output),
        {"number of sentences": len(fetched)},
        {"number of sentences": N_SENTENCES},
    )
    fetched.sort(key=lambda fields: int(fields[0]))
    text = "".join("\t".join(fields) + "\n" for fields in [TABLE_COLUMNS, *fetched])
    with packing(output) as file:
        file.write(text.encode())


ORIGINALS = dict.fromkeys(FILES, sentences)
