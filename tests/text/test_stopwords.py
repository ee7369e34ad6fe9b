"""Language of each document: stop words by it, and the mix of a period."""

import numpy as np
import pytest
from scipy import sparse

from odl.stream.weighting import weigh
from odl.text import stopwords
from odl.text.tokens import count_words

TEXTS = {
    "english": "The tanker left the harbour and it was on its way to the refinery",
    "german": "Der Tanker hat den Hafen verlassen und ist auf dem Weg zu der Raffinerie",
    "french": "Le pétrolier a quitté le port et il est en route pour la raffinerie",
    "spanish": "El petrolero ha salido del puerto y está de camino a la refinería",
    "italian": "La petroliera ha lasciato il porto ed è sulla via per la raffineria",
    "portuguese": "O petroleiro deixou o porto e está a caminho da refinaria com os seus tripulantes",
    "dutch": "De tanker heeft de haven verlaten en is op weg naar de raffinaderij",
    "swedish": "Tankern har lämnat hamnen och är på väg till raffinaderiet som det var",
    "Cyrillic": "Танкер вышел из порта и идёт к заводу",
    "Han or kana": "タンカーは港を出て製油所に向かっている",
}


def counted(texts):
    return count_words(texts, {"tokeniser": "words", "stop_words": None})


def test_each_document_loses_the_stop_words_of_its_own_language():
    counts, words = counted(TEXTS.values())
    stop_words = stopwords.StopWords(words)
    assert stop_words.told(counts) == [name if name in stopwords.LISTS else "" for name in TEXTS]
    P = weigh(counts, np.ones(len(words)), 10, stop_words=stop_words)
    left = [{words[term] for term in P[[row]].indices.tolist()} for row in range(len(TEXTS))]
    assert left[0] == {"tanker", "left", "harbour", "way", "refinery"}
    assert left[1] == {"tanker", "hafen", "verlassen", "raffinerie"}
    assert all(own.isdisjoint(stopwords.LISTS[name]) for own, name in zip(left, stopwords.LISTS, strict=False))
    assert (P[[8]] != weigh(counts, np.ones(len(words)), 10)[[8]]).nnz == 0


def test_a_document_of_nothing_else_keeps_them():
    counts, words = counted(["to be or not to be", "the tanker is there"])
    P = weigh(counts, np.ones(len(words)), 2, stop_words=stopwords.StopWords(words))
    assert np.diff(P.indptr).tolist() == [4, 1]


def test_the_mix_of_a_period():
    counts, words = counted(TEXTS.values())
    assert stopwords.mix(counts, words) == dict.fromkeys(TEXTS, 1)
    counts, words = counted([TEXTS["german"]] * 29 + [TEXTS["Cyrillic"]])  # too few
    assert stopwords.mix(counts, words) == {"german": 29}
    assert stopwords.mix(*counted([TEXTS["Cyrillic"]] * 3)) == {}
    assert stopwords.mix(*counted([TEXTS["Cyrillic"], "word"])) == {"Cyrillic": 1, "": 1}
    assert stopwords.mix(sparse.csr_array((2, 0), dtype=np.int32), []) == {}


def test_what_the_list_of_the_stream_took_out_is_no_other_language():
    texts = [f"She left the harbour of town{number}, and the sea was calm" for number in range(40)]
    texts[7] = "She left Los Angeles for La Jolla, and the sea was calm"
    assert stopwords.mix(*count_words(texts, {"tokeniser": "words"})) == {}


@pytest.mark.parametrize("order", [1, -1])
def test_a_language_does_not_depend_on_the_order_of_the_words(order):
    counts, words = counted(TEXTS.values())
    turned = stopwords.StopWords(words[::order]).told(sparse.csr_array(counts[:, ::order]))
    assert turned == stopwords.StopWords(words).told(counts)
