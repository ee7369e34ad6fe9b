"""Language and stop words of each document, and the languages of a period."""

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
    """Return the detector of stop words after some earlier documents, by default none."""
    counts = sparse.csr_array((0, len(words))) if past is None else counts[past]
    return stopwords.StopWords(words, np.bincount(counts.indices, minlength=len(words)))


def left(counts, words, **of):
    P = weigh(counts, np.ones(len(words)), 10, **of)
    return [{words[term] for term in P[[row]].indices.tolist()} for row in range(counts.shape[0])]


def test_each_document_loses_the_stop_words_of_its_own_language():
    counts, words = counted(TEXTS.values())
    stop_words = of(counts, words)
    assert stop_words.languages(counts) == [
        name if name in stopwords.LISTS else "" for name in TEXTS
    ]
    own, all_words = left(counts, words, stop_words=stop_words), left(counts, words)
    assert own[0] == {"tanker", "left", "harbour", "way", "refinery"}
    assert own[1] == {"tanker", "hafen", "verlassen", "raffinerie"}
    for name, some, every in zip(TEXTS, own, all_words, strict=True):
        assert some == every - stopwords.LISTS.get(name, set()) and (some != every) == (
            name in stopwords.LISTS
        )


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
    "russian": "Танкер уже вышел из порта и идёт к заводу, но это не очень далеко от города",
    "ukrainian": "Танкер вийшов із порту і йде до заводу, але це не дуже далеко від міста",
    "belarusian": "Танкер ужо выйшаў з порта і ідзе да завода, але гэта не вельмі далёка ад горада",
    "bulgarian": "Танкерът вече напусна пристанището и отива към рафинерията, но тя не е много далеч от града",
    "macedonian": "Танкерот веќе го напушти пристаништето и оди кон рафинеријата, но таа не е многу далеку од градот",
    "serbian": "Танкер је већ напустио луку и иде према рафинерији, али није далеко од ње",
    "kazakh": "Танкер порттан шығып, зауытқа қарай бара жатыр, бірақ ол қаладан өте алыс емес",
    "mongolian": "Танк хөлөг боомтоос гарч үйлдвэр рүү явж байна, гэвч энэ нь хотоос тийм ч хол биш",
    "greek": "Το δεξαμενόπλοιο έφυγε από το λιμάνι και πηγαίνει στο διυλιστήριο, αλλά δεν είναι μακριά",
    "armenian": "Տանկերը արդեն դուրս է եկել նավահանգստից, բայց այն շատ հեռու չէ քաղաքից",
    "georgian": "ტანკერი უკვე გავიდა ნავსადგურიდან, მაგრამ ის არ არის ძალიან შორს ქალაქიდან",
    "arabic": "غادرت الناقلة الميناء وهي في طريقها إلى المصفاة، لكنها ليست بعيدة عن المدينة",
    "persian": "این نفتکش بندر را ترک کرده است و به پالایشگاه می‌رود، اما از شهر دور نیست",
    "urdu": "یہ ٹینکر بندرگاہ سے نکل چکا ہے اور ریفائنری کی طرف جا رہا ہے، لیکن شہر سے دور نہیں",
    "pashto": "دا ټانکر له بندر څخه وتلی دی او د تصفیې پر لور روان دی، خو له ښار نه لرې نه دی",
    "hebrew": "המכלית כבר יצאה מן הנמל והיא בדרך אל בית הזיקוק, אבל זה לא רחוק מאוד",
    "amharic": "መርከቡ ከወደቡ ወጥቷል እና ወደ ፋብሪካው እየሄደ ነው ነገር ግን ከከተማው በጣም ሩቅ አይደለም",
    "hindi": "टैंकर बंदरगाह से निकल चुका है और रिफाइनरी की ओर जा रहा है, लेकिन शहर से दूर नहीं है",
    "marathi": "टँकर बंदरातून निघाला आहे आणि कारखान्याकडे जात आहे, पण तो शहरापासून फार दूर नाही",
    "nepali": "यो ट्याङ्कर बन्दरगाहबाट निस्केको छ र कारखानातिर जाँदै छ, तर सहरबाट धेरै टाढा छैन",
    "bengali": "ট্যাংকারটি বন্দর থেকে বের হয়েছে এবং শোধনাগারের দিকে যাচ্ছে, কিন্তু শহর থেকে খুব দূরে নয়",
    "assamese": "টেংকাৰখন বন্দৰৰ পৰা ওলাইছে আৰু শোধনাগাৰলৈ গৈ আছে, কিন্তু চহৰৰ পৰা বেছি দূৰত নহয়",
    "gujarati": "ટેન્કર બંદર પરથી નીકળી ગયું છે અને રિફાઇનરી તરફ જઈ રહ્યું છે, પણ શહેરથી બહુ દૂર નથી",
    "punjabi": "ਟੈਂਕਰ ਬੰਦਰਗਾਹ ਤੋਂ ਨਿਕਲ ਗਿਆ ਹੈ ਅਤੇ ਕਾਰਖਾਨੇ ਵੱਲ ਜਾ ਰਿਹਾ ਹੈ, ਪਰ ਸ਼ਹਿਰ ਤੋਂ ਦੂਰ ਨਹੀਂ",
    "odia": "ଟ୍ୟାଙ୍କର ବନ୍ଦରରୁ ବାହାରି କାରଖାନା ଆଡ଼କୁ ଯାଉଛି କିନ୍ତୁ ଏହା ସହରଠାରୁ ବହୁତ ଦୂର ନୁହେଁ",
    "tamil": "இந்த கப்பல் துறைமுகத்தை விட்டு ஆலையை நோக்கி செல்கிறது, ஆனால் அது நகரத்திலிருந்து மிக தொலைவில் இல்லை",
    "telugu": "ఈ ట్యాంకర్ ఓడరేవు నుండి కర్మాగారం వైపు వెళ్తోంది, కానీ అది నగరానికి చాలా దూరం కాదు",
    "kannada": "ಈ ಹಡಗು ಬಂದರಿನಿಂದ ಕಾರ್ಖಾನೆ ಕಡೆಗೆ ಹೋಗುತ್ತಿದೆ, ಆದರೆ ಅದು ನಗರದಿಂದ ಬಹಳ ದೂರ ಇಲ್ಲ",
    "malayalam": "ഈ കപ്പൽ തുറമുഖത്ത് നിന്ന് ഫാക്ടറിയിലേക്ക് പോകുന്നു, പക്ഷേ അത് നഗരത്തിൽ നിന്ന് വളരെ അകലെ അല്ല",
    "sinhala": "මෙම නැව වරායෙන් පිටත් වී කම්හල වෙත යමින් ඇත, නමුත් එය නගරයට ඉතා දුර නොවේ",
    "": "Танкер порттон чыгып, заводго бара жатат, шаардан алыс",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_languages_are_told_as_what_they_are(name):
    counts, words = counted([OTHERS[name]])
    assert of(counts, words).languages(counts) == [name]


def test_a_document_of_nothing_else_keeps_them():
    counts, words = counted(["to be or not to be", "the tanker is there"])
    assert left(counts, words, stop_words=of(counts, words)) == [
        {"be", "not", "or", "to"},
        {"tanker"},
    ]


def test_a_document_too_short_to_tell_is_in_the_usual_language():
    """Without earlier documents, its language is not detected."""
    short, long = (
        "Haber de la refinería",
        " ".join(f"valve{number}" for number in range(25)) + " the",
    )
    counts, words = counted([*[TEXTS["english"]] * 3, TEXTS["german"], "the tanker", short, long])
    assert of(counts, words).languages(counts)[4:] == ["", "spanish", ""]
    stop_words = of(counts, words, slice(4))
    assert stop_words.languages(counts) == [*["english"] * 3, "german", "english", "spanish", ""]
    assert left(counts, words, stop_words=stop_words)[4] == {"tanker"}
    assert stop_words.for_words(words[::-1]).languages(
        sparse.csr_array(counts[:, ::-1])
    ) == stop_words.languages(counts)


def test_each_script_has_a_usual_language():
    """A short text is in the usual language of its script."""
    russian, arabic, short = (
        OTHERS["russian"],
        OTHERS["arabic"],
        ["the tanker", "завод на реке", "مصفاة في الميناء"],
    )
    counts, words = counted([*[TEXTS["english"]] * 8, russian, *[arabic] * 9, *short])
    assert of(counts, words).languages(counts)[18:] == [""] * 3
    stop_words = of(counts, words, slice(18))
    assert stop_words.languages(counts) == [
        *["english"] * 8,
        "russian",
        *["arabic"] * 9,
        "english",
        "russian",
        "arabic",
    ]
    assert left(counts, words, stop_words=stop_words)[18:] == [
        {"tanker"},
        {"завод", "реке"},
        {"مصفاة", "الميناء"},
    ]


def test_of_lists_that_fit_as_well_the_usual_one_is_told():
    counts, words = counted(["El petrolero para este puerto", TEXTS["spanish"], TEXTS["galician"]])
    assert of(counts, words).languages(counts)[0] == ""
    for row, name in ((1, "spanish"), (2, "galician")):
        assert of(counts, words, slice(row, row + 1)).languages(counts)[0] == name
    assert of(counts, words).languages(counts)[1:] == ["spanish", "galician"]


def mix(counts, words):
    return stopwords.mix(counts, of(counts, words, slice(None)))


def test_the_mix_of_a_period():
    counts, words = counted(TEXTS.values())
    assert mix(counts, words) == dict.fromkeys(TEXTS, 1)
    counts, words = counted([TEXTS["german"]] * 29 + [TEXTS["Cyrillic"]])  # too few
    assert mix(counts, words) == {"german": 29}
    assert mix(*counted([TEXTS["Cyrillic"]] * 3)) == {}
    assert mix(*counted([TEXTS["Cyrillic"], "word"])) == {"Cyrillic": 1, "": 1}
    assert mix(*counted([OTHERS["russian"], "Танкеры", OTHERS["hindi"]])) == {
        "russian": 1,
        "Cyrillic": 1,
        "hindi": 1,
    }
    assert mix(*counted([TEXTS["english"]] * 3 + ["タンカーは港を", "new tanker"])) == {
        "english": 4,
        "Han or kana": 1,
    }
    assert mix(sparse.csr_array((2, 0), dtype=np.int32), []) == {}


def test_what_the_list_of_the_stream_took_out_is_no_other_language():
    texts = [f"She left the harbour of town{number}, and the sea was calm" for number in range(40)]
    texts[7] = "She left Los Angeles for La Jolla, and the sea was calm"
    assert mix(*count_words(texts, {"tokeniser": "words"})) == {}


@pytest.mark.parametrize("order", [1, -1])
def test_a_language_does_not_depend_on_the_order_of_the_words(order):
    counts, words = counted(TEXTS.values())
    turned = of(counts, words[::order]).languages(sparse.csr_array(counts[:, ::order]))
    assert turned == of(counts, words).languages(counts)


def test_lists_have_words_that_a_text_can_have():
    """Each entry is a word of the tokeniser or a single letter; no two lists are equal."""
    for name, listed in stopwords.LANGUAGES.items():
        tokens = analyser({"tokeniser": "words", "stop_words": None})(" ".join(listed))
        assert set(tokens) == {fold_case(word) for word in listed if len(word) > 1}, name
    assert len(set(stopwords.LISTS.values())) == len(stopwords.LISTS) > 30


@pytest.mark.parametrize(("share", "out"), [(0.6, 28), (0.4, 0)])
def test_a_word_in_most_documents_is_out_from_period_to_period(share, out):
    """Thirty periods of forty documents."""
    generator = np.random.default_rng(0)
    held = generator.random((30, 40)) < share
    before = np.cumsum(held.sum(axis=1))[:-1]
    told = [_weight(int(n), 40 * t) == 0 for t, n in enumerate(before, start=1)]
    assert sum(told) >= out and told == sorted(told)


def test_a_word_that_crosses_the_share_back_and_forth_moves_a_document_by_little():
    """A word at the threshold has the smallest weight in its document."""
    held = np.tile([1, 0], 15) * 40
    before = np.cumsum(held)[:-1]
    weights = [_weight(int(n), 40 * t) for t, n in enumerate(before, start=1)]
    assert [weight == 0 for weight in weights] == [t % 2 == 1 for t in range(1, 30)]
    assert max(weights[3:]) < 0.12  # of a unit vector of ten words: the cosine of both is above .99


def _weight(frequency, n_documents):
    """Return the weight of a word of this frequency among nine words that two documents have."""
    frequencies = np.array([frequency, *[2] * 9])
    counts = sparse.csr_array(np.ones((1, 10), dtype=np.int32))
    return weigh(counts, frequencies, n_documents, Weighting(max_share=0.5), "l2").toarray()[0, 0]


def test_the_languages_of_the_same_counts_are_found_once(monkeypatch):
    counts = sparse.csr_array(np.ones((1, 3), dtype=np.int64))
    found, calls = stopwords.StopWords(["das", "ist", "wetter"], np.ones(3)), []
    find = found._find_languages
    monkeypatch.setattr(
        found, "_find_languages", lambda counts: calls.append(counts) or find(counts)
    )
    assert found.languages(counts) == ["german"] and not found.is_content(counts)[0]
    assert len(calls) == 1 and found.languages(counts.copy()) == ["german"] and len(calls) == 2
    assert found.for_words(["the", "and", "of"]).latest is None
