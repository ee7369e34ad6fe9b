"""Stop words by language: articles, pronouns, prepositions, auxiliaries; and what language a document is in by them.

Where no list fits, the script of its words is told. English is scikit-learn's list, so that it need not be imported.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from odl.text import scripts
from odl.text.words import fold_case

ENGLISH = """
a about above across after afterwards again against all almost alone along already also although always am among
amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at back be became
because become becomes becoming been before beforehand behind being below beside besides between beyond bill both
bottom but by call can cannot cant co con could couldnt cry de describe detail do done down due during each eg eight
either eleven else elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen fifty
fill find fire first five for former formerly forty found four from front full further get give go had has hasnt have
he hence her here hereafter hereby herein hereupon hers herself him himself his how however hundred i ie if in inc
indeed interest into is it its itself keep last latter latterly least less ltd made many may me meanwhile might mill
mine more moreover most mostly move much must my myself name namely neither never nevertheless next nine no nobody
none noone nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
out over own part per perhaps please put rather re same see seem seemed seeming seems serious several she should show
side since sincere six sixty so some somehow someone something sometime sometimes somewhere still such system take ten
than that the their them themselves then thence there thereafter thereby therefore therein thereupon these they thick
thin third this those though three through throughout thru thus to together too top toward towards twelve twenty two
un under until up upon us very via was we well were what whatever when whence whenever where whereafter whereas
whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why will with within
without would yet you your yours yourself yourselves
"""
GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da dabei dadurch dafür dagegen daher damit danach daneben dann daran darauf daraus darf darin darum
darunter darüber das dass dasselbe davon davor dazu daß dein deine deinem deinen deiner dem demselben den denen denn
dennoch der deren derselbe derselben des deshalb desselben dessen dich die dies diese dieselbe dieselben diesem diesen
dieser dieses dir doch dort du durch dürfen ein eine einem einen einer eines einig einige einigem einigen einiger
einiges einmal er es etwa etwas euch euer eure eurem euren eurer für gar gegen gewesen hab habe haben hat hatte hatten
hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in indem ins ist ja jede jedem jeden jeder
jedes jedoch jene jenem jenen jener jenes jetzt kann kein keine keinem keinen keiner können könnte könnten mal man
manche manchem manchen mancher manches mehr mein meine meinem meinen meiner mich mir mit muss musste müssen nach
nachdem neben nicht nichts noch nun nur ob obwohl oder ohne schon sehr sei seien sein seine seinem seinen seiner
seines seit selbst sich sie sind so sogar solche solchem solchen solcher solches soll sollen sollte sollten sondern
sonst sowie um und uns unser unsere unserem unseren unserer unter viel viele vielen vom von vor war waren warum was
weg wegen weil weiter welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wirst wo
wollen wollte während würde würden worden wurde wurden zu zum zur zwar zwei zwischen über drei
"""
FRENCH = """
afin ai aie ainsi alors après as au aucun aucune auquel aura aurait aussi autre autres aux avaient avait avant avec
avez avoir avons ayant beaucoup bien car ce ceci cela celle celles celui cependant ces cet cette ceux chaque chez ci
comme comment contre dans de depuis des deux devant doit donc dont du durant elle elles en encore entre est et étaient
était étant été être eu eux faire fait faut fois font furent fut ici il ils je jusque la là laquelle le lequel les
lesquelles lesquels leur leurs lors lorsque lui ma mais malgré me même mêmes mes mien moi moins mon ne ni non nos
notre nous on ont ou où par parce parmi pas pendant peu peut peuvent plus plusieurs plutôt pour pourquoi pouvoir puis
puisque qu quand que quel quelle quelles quelque quelques quels qui quoi sa sans se selon sera serait seront ses si
sien soi soient soit son sont sous souvent suis sur ta tandis tant te tel telle telles tels tes toi ton toujours tous
tout toute toutes très trois trop tu un une va vers voir vos votre vous vers
"""
SPANISH = """
ahora al algo alguna algunas alguno algunos ante antes aquel aquella aquellas aquellos aquí así aun aunque aún bajo
bien cada casi como con contra cual cuales cualquier cuando cuanto de del desde donde dos durante el él ella ellas
ellos en entonces entre era eran eres es esa esas ese eso esos esta está estaba estaban estado están estar estas este
esto estos estoy fue fueron ha haber había habían hace hacer hacia han hasta hay he hoy la las le les lo los luego más
me mediante mi mientras mis misma mismas mismo mismos mucha muchas mucho muchos muy nada ni ningún ninguna no nos
nosotros nuestra nuestras nuestro nuestros nunca os otra otras otro otros para parte pero poco por porque primera
primero pues puede pueden que qué quien quién quienes se sea sean según ser será serán si sí sido siempre sin sino
sobre solo sólo son su sus también tampoco tan tanto te tenemos tener tengo tiene tienen toda todas todavía todo todos
tras tres tu tus un una unas uno unos usted ustedes va van varias varios vez vosotros ya yo
"""
ITALIAN = """
abbia abbiamo agli ai al alcuna alcune alcuni all alla alle allo allora altra altre altri altro anche ancora avere
aveva avevano avuto ben che chi ci cioè coi col come con contro cosa così cui da dagli dai dal dall dalla dalle dallo
degli dei del dell della delle dello dentro deve di dopo dove due durante e ecco ed egli ella era erano essa esse
essere essi fa fanno far fare fatto fino fra furono già gli ha hai hanno ho il in infatti invece io la le lei li lo
loro lui ma mai me meno mentre mi mia mie miei mio molta molte molti molto ne nei nel nell nella nelle nello nessuna
nessuno niente noi non nostra nostre nostri nostro nulla ogni oggi oltre ora per perché perciò perfino però più po
poco poi prima proprio può possono qual quale quali qualche quando quanta quante quanti quanto quasi quella quelle
quelli quello questa queste questi questo qui quindi sarà sarebbe se sei sempre senza si sia siamo siano solo sono
sopra sotto sta stata state stati stato stesso su sua sue sugli sui sul sull sulla sulle sullo suo suoi tale tali
tanto te ti tra tre troppo tu tua tuo tutta tutte tutti tutto un una uno va verso vi voi vostra vostro
"""
PORTUGUESE = """
agora ainda algo alguém algum alguma algumas alguns ali ambos antes ao aos apenas aquela aquelas aquele aqueles aquilo
as até através bem cada com como contra cuja cujo da dá das de dela delas dele deles depois desde dessa desse desta
deste deve devem disso disto do dois dos duas durante e é ela elas ele eles em enquanto entre então era eram essa
essas esse esses esta está estão estar estas estava estavam este esteja estes estou eu fazer foi for foram fosse há
isso isto já lá lhe lhes mais mas me mesma mesmas mesmo mesmos meu meus minha minhas muita muitas muito muitos na não
nas nem nenhum nenhuma nessa nesse nesta neste ninguém no nos nós nossa nossas nosso nossos num numa nunca ontem onde
os ou outra outras outro outros para pela pelas pelo pelos pode podem por porque pois pouco qual quais qualquer quando
quanto quase que quem são se seja sejam sem sempre sendo ser será serão seu seus sido só sob sobre sua suas tal também
tanto tão te tem têm tenha ter teve tinha tinham toda todas todo todos três tu tudo um uma umas uns vai vão você vocês
vez
"""
DUTCH = """
aan achter al alle alleen alles als altijd ander andere anders ben bij bijna binnen bent boven buiten daar daarna
daarom dan dat de deze dezelfde die dit doch doen door dus echter een één eens elk elke en er ergens even ge geen
geweest haar had hadden heb hebben hebt heeft heel hem hen het hier hij hoe hun iemand iets ik in is ja je jij jou
jouw jullie kan kon konden kunnen maar maken me meer men met mij mijn misschien moest moet moeten mogen na naar nadat
niet niets nog nu of om omdat onder ons onze ook op opnieuw over per reeds sinds slechts soms steeds te tegen ten ter
terug terwijl tijdens toch toen tot tussen twee u uit uw van vanaf vanuit veel voor voordat vooral waar waarom wanneer
want waren was wat we wel welke werd werden wie wij wil willen word worden wordt zal ze zei zelf zich zij zijn zo
zoals zonder zou zouden zulke
"""
SWEDISH = """
alla allt alltså andra annan annat är att av bara bland blev bli blir blivit både båda de dem den denna deras dess
dessa det detta dig din dina ditt dock du där därför då efter eftersom ej eller en er era ert ett finns flera fler
flest fram från få får för före genom går ha hade han hans har hela henne hennes hit hos hon honom hur här i icke
ifrån in inga ingen inget innan inne inom inte ja jag kan kanske kom kommer kunde kunna man med mellan men mer mest
mig min mina mitt mot mycket många måste ned nej ni nog nu nya när någon något några nästan och också om oss på redan
samma samt sedan sig sin sina sitt sina själv ska skall skulle som så sådan sådana till tills tre två under upp ur ut
utan vad var vara varför varit varje vars vart vem vi vid vilka vilken vilket vill är ännu än år åt över
"""
LANGUAGES = {
    name: frozenset(text.split())
    for name, text in (
        ("german", GERMAN), ("french", FRENCH), ("spanish", SPANISH), ("italian", ITALIAN),
        ("portuguese", PORTUGUESE), ("dutch", DUTCH), ("swedish", SWEDISH),
    )
}  # fmt: skip

LISTS = {
    name: frozenset([*listed, *map(fold_case, listed)])
    for name, listed in {"english": ENGLISH.split(), **LANGUAGES}.items()
}
LISTED = frozenset().union(*LISTS.values())
KNOWN, DISTINCT = 0.12, 2  # share of a text's words that are stop words of its language, and different ones, at least
LEAST = 0.05  # share of the documents from which on a language or a script is told of
CJK = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


class StopWords:
    """Stop words of all lists, left out of each document by its own language.

    Parameters
    ----------
    words : sequence of str
        Word of each term.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from odl.text.stopwords import StopWords
    >>> stop_words = StopWords(["das", "ist", "wetter", "the", "is", "weather", "die"])
    >>> counts = csr_array([[1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    >>> stop_words.told(counts)
    ['german', 'english']
    >>> stop_words.without(counts).toarray()  # to die is no article
    array([[0, 0, 1, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 1, 1]])
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.lists = np.zeros((len(words), len(LISTS)), dtype=bool)
        for column, word in enumerate(words):
            if word in LISTED:
                self.lists[column] = [word in listed for listed in LISTS.values()]

    def _languages(self, counts):
        """Return the number of the list of each document, -1 where none fits."""
        lists = sparse.csr_array(self.lists.astype(np.int32))
        times, different = ((matrix @ lists).toarray() for matrix in (counts, counts.astype(bool).astype(np.int32)))
        best = np.argmax(times, axis=1)
        rows = np.arange(counts.shape[0])
        known = times[rows, best] >= KNOWN * np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
        return np.where(known & (different[rows, best] >= DISTINCT), best, -1)

    def told(self, counts: sparse.csr_array) -> list[str]:
        """Return the language of each document, "" where no list fits."""
        names = [*LISTS, ""]
        return [names[at] for at in self._languages(counts).tolist()]

    def without(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return counts without the stop words of each document's language, but of documents that have no others."""
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        language = self._languages(counts)[rows]
        kept = (language < 0) | ~self.lists[counts.indices, language]
        kept |= (np.bincount(rows, kept, minlength=counts.shape[0]) == 0)[rows]
        shape, ends = counts.shape, np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
        return sparse.csr_array((counts.data[kept], counts.indices[kept], ends), shape=shape)


def mix(counts: sparse.csr_array, words: Sequence[str]) -> dict[str, int]:
    """Return how many documents are of each language, told by a list, or else of each script other than Latin.

    Parameters
    ----------
    counts : csr_array, shape (n_documents, n_terms)
        Without the stop words of a list that were left out when they were counted, whose language is then told of none.
    words : sequence of str

    Returns
    -------
    dict of str to int
        Those of a twentieth of the documents or more; "" is any other. Empty where it is that alone, or one script.
    """
    terms, places = np.unique(counts.indices, return_inverse=True)
    words = [words[term] for term in terms.tolist()]
    counts = sparse.csr_array((counts.data, places, counts.indptr), shape=(counts.shape[0], len(words)))
    pairs = zip(StopWords(words).told(counts), _scripts(counts, words), strict=True)
    found = [language or script for language, script in pairs]
    names, times = np.unique(found, return_counts=True)
    many = {name: int(n) for name, n in zip(names.tolist(), times.tolist(), strict=True) if n >= LEAST * len(found)}
    return many if len(many) > 1 or many.keys() & LISTS.keys() else {}


def _scripts(counts, words):
    """Return the script of most words of each document, "" where it is Latin or none has more than half."""
    names, script = np.unique([*map(_script_of, words), ""], return_inverse=True)
    one_hot = sparse.csr_array(
        (np.ones(len(words), dtype=np.int64), script[:-1], np.arange(len(words) + 1)), shape=(len(words), len(names))
    )
    times = (counts @ one_hot).toarray()
    best = np.argmax(times, axis=1)
    most = 2 * times.max(axis=1) > times.sum(axis=1)
    return [str(names[at]) if sure else "" for at, sure in zip(best.tolist(), most.tolist(), strict=True)]


def _script_of(word):
    """Return the script of a word's first letter, "" where it is Latin."""
    letter = "" if word.isascii() else next((sign for sign in word if sign.isalpha()), "")
    script = scripts.script_of(letter) if letter else ""
    return "" if script == "LATIN" else "Han or kana" if script in CJK else script.capitalize()
