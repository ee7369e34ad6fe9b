"""Documents of the open period of a watch: answers, near-duplicates, and ranks by score."""

import bisect
import json
from collections import Counter
from itertools import islice

from odl.corpora import fields
from odl.files.escaping import visible
from odl.live.inbox import ANSWER_KEY
from odl.live.judge import Arrival, iso
from odl.stream import duplicates

GROUP_SIZE = 512  # largest number of documents that are answered and stored together
# Number of hashes in the sketch of a document, its smallest ones. Documents are compared if their
# sketches share a hash. A document with 80 % of the shingles of another one lacks all eight hashes
# of its sketch with probability .2^8.
SKETCH_SIZE = 8
N_COMPARED = 3  # number of candidates with most common hashes whose shingles are all compared


class OpenPeriod:
    """The period in which documents are accepted.

    Parameters
    ----------
    begin : int or None
        First millisecond of the period, in Unix time; None if no document has come yet.
    before : dict
        Answers of the previous period: id -> JSON. A document that is sent again gets its earlier
        answer.

    Attributes
    ----------
    answers : dict
        Answers of this period, and of later ones whose documents came early: id -> JSON.
    earlier : EarlierDocuments
        Documents with which new ones are compared for near-duplicates.
    candidates : list of float
        Scores of the documents below the tail probability of an alert, negated, ascending.
    n_items : int
        Documents that have a tail probability and are no near-duplicates.
    """

    def __init__(self, begin, before):
        self.begin, self.before, self.answers = begin, before, {}
        self.earlier, self.candidates, self.n_items = EarlierDocuments(), [], 0

    def resume(self, inbox, arrivals, judge):
        """Add the documents of the period that an earlier watch stored in the inbox."""
        label = label_of(self.begin)
        for later in inbox.periods():
            if later > label:
                self.answers |= answers_in(inbox, later)
        stored = inbox.lines(label)
        while group := list(islice(stored, GROUP_SIZE)):
            rows = []
            for columns in group:
                answer = columns[ANSWER_KEY]["answer"]
                rows.append(Arrival(0, columns, answer["id"], self.begin, answer=answer))
                self.answers[answer["id"]] = as_json(answer)
            documents, _ = arrivals.read(rows)
            positions = {name: position for position, name in enumerate(documents.ids)}
            for row in rows:
                self.complete(row, documents, positions.get(row.identity), judge)

    def find(self, identity):
        """Return the answer to a document of this or the previous period, None without one."""
        return self.answers.get(identity, self.before.get(identity))

    def complete(self, row, documents, position, judge):
        """Add near-duplicate, rank and budget within the period to the answer of a document.

        Parameters
        ----------
        row : Arrival
            Its `answer` has the results of the judge, and is completed here.
        documents : odl.files.documents.Documents
        position : int or None
            Position of the document in `documents`; None if it has too few words.
        judge : odl.live.judge.DocumentJudge or None
        """
        all_shingles, alike = documents.shingles, None
        if position is not None and all_shingles is not None:
            first, end = all_shingles.indptr[position : position + 2]
            shingles = all_shingles.indices[first:end]
            alike = self.earlier.find(shingles)
            if not alike:
                self.earlier.add(row.identity, shingles)
        row.answer |= {"alike": alike, "left_out": position is None}
        row.answer |= self._rank(row.answer, judge.settings if judge else None)

    def _rank(self, answer, settings):
        """Count a document, and return its rank by score in the open period.

        Only documents whose tail probability is at most `alerts.tail` have a rank.

        Returns
        -------
        dict
            ``rank`` is None for a document without a rank. ``within_budget`` is whether the rank is
            at most the budget of alerts for the number of documents so far.
        """
        unranked = {"rank": None, "within_budget": False}
        if settings is None or answer["alike"] or answer["tail"] is None:
            return unranked
        self.n_items += 1
        if answer["tail"] > settings.tail:
            return unranked
        rank = bisect.bisect_left(self.candidates, -answer["score"]) + 1
        bisect.insort(self.candidates, -answer["score"])
        return {"rank": rank, "within_budget": rank <= settings.room(self.n_items)}


class EarlierDocuments:
    """Index of the documents in a period, by which near-duplicates of a new document are found.

    Attributes
    ----------
    names : list of str
        Ids of the documents.
    shingles : list of ndarray
        Hashes of each document's shingles, ascending.
    positions : dict
        Hash -> positions in `names` of the documents whose sketch contains it. A sketch is the
        `SKETCH_SIZE` smallest hashes of a document.
    """

    def __init__(self):
        self.names, self.shingles, self.positions = [], [], {}

    def find(self, shingles):
        """Return the id of an earlier document that is a near-duplicate, or None."""
        n_shared = Counter()
        for shingle in shingles[:SKETCH_SIZE].tolist():
            n_shared.update(self.positions.get(shingle, ()))
        for position, _ in n_shared.most_common(N_COMPARED):
            if duplicates.jaccard(self.shingles[position], shingles) >= duplicates.MIN_JACCARD:
                return self.names[position]
        return None

    def add(self, name, shingles):
        """Add a document."""
        for shingle in shingles[:SKETCH_SIZE].tolist():
            self.positions.setdefault(shingle, []).append(len(self.names))
        self.names.append(name)
        self.shingles.append(shingles)


def answers_in(inbox, label):
    """Return the answers of the stored documents of a period: id -> JSON."""
    answers = (columns[ANSWER_KEY]["answer"] for columns in inbox.lines(label))
    return {answer["id"]: as_json(answer) for answer in answers}


def as_json(value):
    """Return a value as JSON in one line that a terminal can show."""
    return visible(json.dumps(value, ensure_ascii=False))


def label_of(begin):
    """Return the name of a period in the inbox, the day on which it begins."""
    return iso(begin)[:10]


def begin_of_label(label):
    """Return the first millisecond of a period from its name in the inbox."""
    return fields.parse_time(label)
