# Inputs and params of the jobs of a corpus and of a chain, as functions of their wildcards.


def reader_file(wildcards):
    return FACTS["readers"][config["corpora"][wildcards.corpus]["reader"]]


def reading_dependencies(wildcards):
    """Return arguments of `code`: packages and the model on which the documents depend."""
    options = config["corpora"][wildcards.corpus]["options"]
    return {"packages": chains.packages_of(options), "more": chains.encoder_of(options)}


@functools.cache
def shares_by_name(corpus):
    """Return the shares of the user's files as {name: files}; empty if one job reads all files."""
    if not config["corpora"][corpus].get("sources"):
        return {}
    return chains.shares_of(CORPUS_FILES[corpus])


def shares_or_files(wildcards):
    """Return the inputs of a corpus: its shares, or its files."""
    names = shares_by_name(wildcards.corpus)
    if not names:
        return CORPUS_FILES[wildcards.corpus]
    return [f"{ROOT}/{wildcards.corpus}/shares/{name}.h5" for name in names]


def digest_of_contents(wildcards):
    """Return a digest of the user's files if one job reads the corpus, otherwise None."""
    if not config["corpora"][wildcards.corpus].get("sources"):
        return None  # `download` checks the digests of the files
    if shares_by_name(wildcards.corpus):
        return None  # each share has a digest
    return chains.contents_of(CORPUS_FILES[wildcards.corpus])


@functools.cache
def chain_text(corpus, seed, run, k):
    names = {"corpus": corpus, "seed": int(seed), "run": run, "atoms": int(k)}
    return json.dumps(chains.run_of(config, run, **names))


def chain_of(wildcards):
    """Return the settings of a chain with its corpus, seed, run and atoms, as JSON."""
    return chain_text(wildcards.corpus, wildcards.seed, wildcards.run, wildcards.k)


def last_features(wildcards):
    """Return the last features of a stream if a run has `features.idf: corpus`, otherwise []."""
    if not has_corpus_idf(wildcards.run):
        return []
    return f"{stream_of(wildcards)}/features/{len(index(wildcards)) - 1}.h5"


@functools.cache
def has_corpus_idf(run):
    return chains.run_of(config, run)["features"]["idf"] == "corpus"


def options(**flags):
    """Return a param function: command-line options whose values are inputs.

    `flags` maps names of inputs to options. Options of inputs that a job does not have are omitted.
    """

    def arguments(wildcards, input):
        words = []
        for name, flag in flags.items():
            files = input.get(name)
            if files:
                words += [flag, files] if isinstance(files, str) else [flag, *files]
        return words

    return arguments


def algorithm(wildcards):
    return config["learners"][wildcards.run]["algorithm"]


def batches_of_update(wildcards):
    """Return the number of batches that an update reads: 1, or t + 1 if the learner needs all."""
    reads_all = FACTS["learners"][algorithm(wildcards)]["needs_history"]
    return int(wildcards.t) + 1 if reads_all else 1


def earlier_batches(wildcards):
    """Return the largest number of earlier batches that the baselines of a timestep search."""
    t, window = int(wildcards.t), config["baselines"]["window"]
    return min(t, window) if window else t


def alerts_before(wildcards):
    """Return the alerts that need a checkpoint before this job deletes it, otherwise []."""
    chain = wildcards.run, int(wildcards.k), int(wildcards.seed)
    if not config["checkpoints"]["keep"] or chains.alerts_of(config) != chain:
        return []
    return file_before(RUN + "/alerts/{t}.h5")(wildcards)
