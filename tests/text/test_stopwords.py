"""Language of each document: stop words by it, and the mix of a period."""

import numpy as np
import pytest
from scipy import sparse

from odl.config.sections import Weighting
from odl.stream.weighting import weigh
from odl.text import stopwords
from odl.text.tokens import analyser, count_words
from odl.text.words import fold_case

TEXTS = {
    "english": "The tanker left the harbour and it was on its way to the refinery",
    "german": "Der Tanker hat den Hafen verlassen und ist auf dem Weg zu der Raffinerie",
    "french": "Le pétrolier a quitté le port et il est en route pour la raffinerie",
    "spanish": "El petrolero ha salido del puerto y está de camino a la refinería",
    "italian": "La petroliera ha lasciato il porto ed è sulla via per la raffineria",
    "portuguese": "O petroleiro deixou o porto e está a caminho da refinaria com os seus tripulantes",
    "dutch": "De tanker heeft de haven verlaten en is op weg naar de raffinaderij",
    "swedish": "Tankern har lämnat hamnen och är på väg till raffinaderiet som det var",
    "danish": "Tankskibet blev lastet og er på vej ud af havnen til raffinaderiet",
    "polish": "Tankowiec opuścił port i jest w drodze do rafinerii, ale nie wiadomo, kiedy tam będzie",
    "turkish": "Tanker limandan ayrıldı ve bu akşam rafineri için yola çıktı, haber böyle",
    "galician": "O petroleiro saíu do porto e está de camiño cara á refinaría, pero non hai présa",
    "Cyrillic": "Танкер вышел из порта и идёт к заводу",
    "Han or kana": "タンカーは港を出て製油所に向かっている",
}


def counted(texts):
    return count_words(texts, {"tokeniser": "words", "stop_words": None})


def of(counts, words, past=None):
    """Return the stop words of a stream with these documents before, of none by default."""
    counts = sparse.csr_array((0, len(words))) if past is None else counts[past]
    return stopwords.StopWords(words, np.bincount(counts.indices, minlength=len(words)))


def left(counts, words, **of):
    P = weigh(counts, np.ones(len(words)), 10, **of)
    return [{words[term] for term in P[[row]].indices.tolist()} for row in range(counts.shape[0])]


def test_each_document_loses_the_stop_words_of_its_own_language():
    counts, words = counted(TEXTS.values())
    stop_words = of(counts, words)
    assert stop_words.told(counts) == [name if name in stopwords.LISTS else "" for name in TEXTS]
    own, all_words = left(counts, words, stop_words=stop_words), left(counts, words)
    assert own[0] == {"tanker", "left", "harbour", "way", "refinery"}
    assert own[1] == {"tanker", "hafen", "verlassen", "raffinerie"}
    for name, some, every in zip(TEXTS, own, all_words, strict=True):
        assert some == every - stopwords.LISTS.get(name, set()) and (some != every) == (name in stopwords.LISTS)


OTHERS = {  # of sentences that share words with lists of other languages
    "catalan": "El petrolier ha sortit del port i va cap a la refineria amb els seus mariners",
    "romanian": "Petrolierul a plecat din port și se îndreaptă către rafinărie, dar nu este departe de ea",
    "norwegian": "Tankskipet ble lastet og er på vei ut av havna til raffineriet",
    "czech": "Tanker opustil přístav a je na cestě do rafinerie, ale není to daleko od ní",
    "croatian": "Tanker je napustio luku i ide prema rafineriji, ali nije daleko od nje",
    "hungarian": "A tartályhajó elhagyta a kikötőt és már úton van a finomító felé, de nem siet",
    "finnish": "Säiliöalus on lähtenyt satamasta ja se on matkalla jalostamolle, mutta ei ole kiirettä",
    "indonesian": "Kapal tanker itu telah meninggalkan pelabuhan dan sedang menuju ke kilang",
    "vietnamese": "Tàu chở dầu đã rời cảng và đang trên đường đến nhà máy lọc dầu của họ",
    "": "Танкер вийшов із порту і йде до заводу, але це не дуже далеко від міста",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_languages_are_told_as_what_they_are(name):
    counts, words = counted([OTHERS[name]])
    assert of(counts, words).told(counts) == [name]


def test_a_document_of_nothing_else_keeps_them():
    counts, words = counted(["to be or not to be", "the tanker is there"])
    assert left(counts, words, stop_words=of(counts, words)) == [{"be", "not", "or", "to"}, {"tanker"}]


def test_a_document_too_short_to_tell_is_in_the_usual_language():
    """Without a past it is in none; a long one without words of a list stays in none."""
    short, long = "Haber de la refinería", " ".join(f"valve{number}" for number in range(25)) + " the"
    counts, words = counted([*[TEXTS["english"]] * 3, TEXTS["german"], "the tanker", short, long])
    assert of(counts, words).told(counts)[4:] == ["", "spanish", ""]
    stop_words = of(counts, words, slice(4))
    assert stop_words.told(counts) == [*["english"] * 3, "german", "english", "spanish", ""]
    assert left(counts, words, stop_words=stop_words)[4] == {"tanker"}
    assert stop_words.of(words[::-1]).told(sparse.csr_array(counts[:, ::-1])) == stop_words.told(counts)


def test_of_lists_that_fit_as_well_the_usual_one_is_told():
    counts, words = counted(["El petrolero para este puerto", TEXTS["spanish"], TEXTS["galician"]])
    assert of(counts, words).told(counts)[0] == ""
    for row, name in ((1, "spanish"), (2, "galician")):
        assert of(counts, words, slice(row, row + 1)).told(counts)[0] == name
    assert of(counts, words).told(counts)[1:] == ["spanish", "galician"]


def mix(counts, words):
    return stopwords.mix(counts, words, of(counts, words, slice(None)))


def test_the_mix_of_a_period():
    counts, words = counted(TEXTS.values())
    assert mix(counts, words) == dict.fromkeys(TEXTS, 1)
    counts, words = counted([TEXTS["german"]] * 29 + [TEXTS["Cyrillic"]])  # too few
    assert mix(counts, words) == {"german": 29}
    assert mix(*counted([TEXTS["Cyrillic"]] * 3)) == {}
    assert mix(*counted([TEXTS["Cyrillic"], "word"])) == {"Cyrillic": 1, "": 1}
    assert mix(*counted([TEXTS["english"]] * 3 + ["タンカーは港を", "new tanker"])) == {"english": 4, "Han or kana": 1}
    assert mix(sparse.csr_array((2, 0), dtype=np.int32), []) == {}


def test_what_the_list_of_the_stream_took_out_is_no_other_language():
    texts = [f"She left the harbour of town{number}, and the sea was calm" for number in range(40)]
    texts[7] = "She left Los Angeles for La Jolla, and the sea was calm"
    assert mix(*count_words(texts, {"tokeniser": "words"})) == {}


@pytest.mark.parametrize("order", [1, -1])
def test_a_language_does_not_depend_on_the_order_of_the_words(order):
    counts, words = counted(TEXTS.values())
    turned = of(counts, words[::order]).told(sparse.csr_array(counts[:, ::order]))
    assert turned == of(counts, words).told(counts)


def test_lists_have_words_that_a_text_can_have():
    """Each is a word, or a letter alone, which is none; no two languages have the same list."""
    for name, listed in stopwords.LANGUAGES.items():
        tokens = analyser({"tokeniser": "words", "stop_words": None})(" ".join(listed))
        assert set(tokens) == {fold_case(word) for word in listed if len(word) > 1}, name
    assert len(set(stopwords.LISTS.values())) == len(stopwords.LISTS) > 30


@pytest.mark.parametrize(("share", "out"), [(0.6, 28), (0.4, 0)])
def test_a_word_in_most_documents_is_out_from_period_to_period(share, out):
    """Of thirty periods of forty documents, from the first on: once it is out it stays out."""
    generator = np.random.default_rng(0)
    held = generator.random((30, 40)) < share
    before = np.cumsum(held.sum(axis=1))[:-1]
    told = [_weight(int(n), 40 * t) == 0 for t, n in enumerate(before, start=1)]
    assert sum(told) >= out and told == sorted(told)


def test_a_word_that_crosses_the_share_back_and_forth_moves_a_document_by_little():
    """It comes and goes where a word is in half of the documents; it is then the lightest of the document."""
    held = np.tile([1, 0], 15) * 40
    before = np.cumsum(held)[:-1]
    weights = [_weight(int(n), 40 * t) for t, n in enumerate(before, start=1)]
    assert [weight == 0 for weight in weights] == [t % 2 == 1 for t in range(1, 30)]
    assert max(weights[3:]) < 0.12  # of a unit vector of ten words: the cosine of both is above .99


def _weight(frequency, n_documents):
    """Return the weight of a word of this frequency in a document with nine words that two documents have."""
    frequencies = np.array([frequency, *[2] * 9])
    counts = sparse.csr_array(np.ones((1, 10), dtype=np.int32))
    return weigh(counts, frequencies, n_documents, Weighting(max_share=0.5), "l2").toarray()[0, 0]
