# What the jobs of a corpus and of a chain read and depend on, as functions of their wildcards.


def reader_file(wildcards):
    return KNOWN["readers"][config["corpora"][wildcards.corpus]["reader"]]


def reading(wildcards):
    """What the documents of a corpus follow from beside files of this package."""
    options = config["corpora"][wildcards.corpus]["options"]
    return {"packages": chains.packages_of(options), "more": chains.encoder_of(options)}


@functools.cache
def shared(corpus):
    """The shares that the user's own files are read in: name -> files; none where all are read at once."""
    if not config["corpora"][corpus].get("sources"):
        return {}
    return chains.shares_of(CORPUS_FILES[corpus])


def shares_or_files(wildcards):
    """What a corpus is made of."""
    names = shared(wildcards.corpus)
    if not names:
        return CORPUS_FILES[wildcards.corpus]
    return [f"{ROOT}/{wildcards.corpus}/shares/{name}.h5" for name in names]


def contents(wildcards):
    """What the user's own files hold, of a corpus that is read at once."""
    if not config["corpora"][wildcards.corpus].get("sources"):
        return None  # checked when downloaded
    if shared(wildcards.corpus):
        return None  # each share says it
    return chains.contents_of(CORPUS_FILES[wildcards.corpus])


@functools.cache
def chain_text(corpus, seed, run, k):
    names = {"corpus": corpus, "seed": int(seed), "run": run, "atoms": int(k)}
    return json.dumps(chains.run_of(config, run, **names))


def chain_of(wildcards):
    """Names of a chain and settings of its run: all that it depends on, nothing that only says where it runs."""
    return chain_text(wildcards.corpus, wildcards.seed, wildcards.run, wildcards.k)


def last_features(wildcards):
    """Return the last features of a stream for a run with `features.idf: corpus`; none for other runs."""
    if not has_corpus_idf(wildcards.run):
        return []
    return f"{stream_of(wildcards)}/features/{len(index(wildcards)) - 1}.h5"


@functools.cache
def has_corpus_idf(run):
    return chains.run_of(config, run)["features"]["idf"] == "corpus"


def options(**flags):
    """Return a function for the words of options whose values are inputs, by the name of the input.

    Options of an input that the job lacks are left out.
    """

    def words(wildcards, input):
        found = []
        for name, flag in flags.items():
            files = input.get(name)
            if files:
                found += [flag, files] if isinstance(files, str) else [flag, *files]
        return found

    return words


def algorithm(wildcards):
    return config["learners"][wildcards.run]["algorithm"]


def batches_of_update(wildcards):
    """Return how many batches an update reads: its own, or all so far for learners that need them."""
    reads_all = KNOWN["learners"][algorithm(wildcards)]["needs_history"]
    return int(wildcards.t) + 1 if reads_all else 1


def earlier_batches(wildcards):
    """Return how many earlier batches the baselines of a timestep are compared with at most."""
    t, window = int(wildcards.t), config["baselines"]["window"]
    return min(t, window) if window else t


def alerts_before(wildcards):
    """Return the alerts of the timestep before if checkpoints are deleted and these alerts need one; else none."""
    chain = wildcards.run, int(wildcards.k), int(wildcards.seed)
    if not config["checkpoints"]["keep"] or chains.alerts_of(config) != chain:
        return []
    return before(RUN + "/alerts/{t}.h5")(wildcards)
