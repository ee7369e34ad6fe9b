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


@functools.cache
def weighs_by_all(run):
    """Whether a run weighs by the frequencies of the whole corpus."""
    return chains.run_of(config, run)["features"]["idf"] == "corpus"


# Whether a run, also one that is not of the study but may be asked for, weighs so.
ANY_BY_ALL = any(map(weighs_by_all, config["learners"]))


def last_features(wildcards):
    """The end of the stream, for runs that weigh by the frequencies of the whole corpus."""
    if not weighs_by_all(wildcards.run):
        return []
    return f"{stream_of(wildcards)}/features/{len(index(wildcards)) - 1}.h5"


def options(**flags):
    """Options, each with the input of its name as its values; those whose input there is not are left out."""

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


def learns_from_all(wildcards):
    """Whether an update reads all the batches so far."""
    return KNOWN["learners"][algorithm(wildcards)]["needs_history"]


def history(wildcards, input):
    """Where the learners that learn from the past again find it: the newest features are those of a chain."""
    if not learns_from_all(wildcards) or wildcards.t == "0":
        return []
    return ["--history", os.path.dirname(input.features)]


def learned_from(wildcards):
    """How many timesteps an update reads."""
    return int(wildcards.t) + 1 if learns_from_all(wildcards) else 1


def compared_with(wildcards):
    """In how many timesteps the nearest neighbours are looked for."""
    t, window = int(wildcards.t), config["baselines"]["window"]
    return min(t, window) if window else t


def window(wildcards):
    """The same as an option; none where the baselines choose by the length of the past."""
    if config["baselines"]["window"] is None:
        return []
    return ["--window", str(compared_with(wildcards))]


# Old checkpoints are deleted, and somebody needs them until then.
DROPPED = config["checkpoints"]["keep"] and chains.alerts_of(config)


def alerts_before(wildcards):
    """Where old checkpoints are deleted: the alerts that need the one which an update deletes."""
    chain = wildcards.run, int(wildcards.k), int(wildcards.seed)
    if not int(wildcards.t) or not config["checkpoints"]["keep"]:
        return []
    if chains.alerts_of(config) != chain:
        return []
    return before(RUN + "/alerts/{t}.h5")(wildcards)
