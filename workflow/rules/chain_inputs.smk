# Inputs and params of the jobs of a corpus and of a chain, as functions of their wildcards.


def reader_file(wildcards):
    return KNOWN["readers"][config["corpora"][wildcards.corpus]["reader"]]


def reading(wildcards):
    """Return versions of packages and digests of models that the documents depend on, as arguments of `code`."""
    options = config["corpora"][wildcards.corpus]["options"]
    return {"packages": chains.packages_of(options), "more": chains.encoder_of(options)}


@functools.cache
def shared(corpus):
    """Return the shares of the user's files: name -> files; empty if one job reads all files."""
    if not config["corpora"][corpus].get("sources"):
        return {}
    return chains.shares_of(CORPUS_FILES[corpus])


def shares_or_files(wildcards):
    """Return the inputs of a corpus: its shares, or its files."""
    names = shared(wildcards.corpus)
    if not names:
        return CORPUS_FILES[wildcards.corpus]
    return [f"{ROOT}/{wildcards.corpus}/shares/{name}.h5" for name in names]


def contents(wildcards):
    """Return a digest of the user's files for a corpus that one job reads; None for others."""
    if not config["corpora"][wildcards.corpus].get("sources"):
        return None  # their digests are checked by `download`
    if shared(wildcards.corpus):
        return None  # each share has its own
    return chains.contents_of(CORPUS_FILES[wildcards.corpus])


@functools.cache
def chain_text(corpus, seed, run, k):
    names = {"corpus": corpus, "seed": int(seed), "run": run, "atoms": int(k)}
    return json.dumps(chains.run_of(config, run, **names))


def chain_of(wildcards):
    """Return the settings of a chain with its corpus, seed, run and atoms, as JSON."""
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
