# What the jobs of each stage read and depend on, as functions of their wildcards.
import hashlib
import importlib.metadata

SHARE = "corpora/shares"  # what reads a share
HASHED = 100_000_000  # bytes of a file up to which its content is looked at when Snakemake starts


def reader_file(wildcards):
    return KNOWN["readers"][config["corpora"][wildcards.corpus]["reader"]]


def versions(wildcards):
    """Versions of the packages whose documentation is read; other corpora do not depend on them."""
    options = config["corpora"][wildcards.corpus]["options"]
    found = {}
    for package in options.get("packages", []):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found


@functools.cache
def shared(corpus):
    """The shares that the user's own files are read in: name -> files; none where all are read at once."""
    if not config["corpora"][corpus].get("sources"):
        return {}
    return study.shares_of(CORPUS_FILES[corpus])


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
    return contents_of(CORPUS_FILES[wildcards.corpus])


def contents_of(paths):
    """What files hold: one may have changed and be older than what was made of it (a clock that was set back, a copy
    that kept its time), which Snakemake does not see. Of large files the size alone.
    """
    digest = hashlib.sha256()
    for path in map(Path, paths):
        size = path.stat().st_size if path.exists() else -1
        digest.update(f"{path}:{size};".encode())
        if 0 <= size <= HASHED:
            digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def chain_text(corpus, seed, run, k):
    names = {"corpus": corpus, "seed": int(seed), "run": run, "atoms": int(k)}
    return json.dumps(study.run_of(config, run, **names))


def chain_of(wildcards):
    """Names of a chain and settings of its run: all that it depends on, nothing that only says where it runs."""
    return chain_text(wildcards.corpus, wildcards.seed, wildcards.run, wildcards.k)


@functools.cache
def weighs_by_all(run):
    """Whether a run weighs by the frequencies of the whole corpus."""
    return study.run_of(config, run)["features"]["idf"] == "corpus"


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


def shards(wildcards):
    """Shards of a batch that is scored in several jobs; none of the first batch, which starts the dictionary."""
    if not (SHARD and int(wildcards.t)):
        return []
    seed = study.order_seed(config, wildcards.corpus, wildcards.seed)
    documents = int(row("documents")(SimpleNamespace(**{**wildcards, "seed": seed})))
    numbers = range(-(-documents // SHARD)) if documents > SHARD else []
    return [f"{RUN}/shards/{{t}}-{number}.h5".format(**wildcards) for number in numbers]


def kernels_of(name):
    """Digest of what is compiled for an algorithm, or for a stage that has kernels of its own."""
    if name in KNOWN["learners"]:
        return sources.digest(f"learners/{name}")
    return code(name)


def evaluated(pattern):
    """A file of every timestep after the initialisation."""
    return lambda wildcards: [
        pattern.format(**{**wildcards, "t": t}) for t in timesteps(wildcards) if t
    ]


def with_topics(wildcards):
    """The entries of the plan whose emerging topics are looked for."""
    return [
        entry
        for entry in entries(wildcards)
        if entry["run"] in config["runs"]
        and entry["k"] in study.emerging_of(config, entry["run"])
    ]


def emerging_tables(wildcards):
    return [f"{entry['folder']}/emerging.tsv" for entry in with_topics(wildcards)]


def emerging_files(wildcards):
    """The files of emerging topics that the page may show: those of the report's seed."""
    return [
        f"{entry['folder']}/emerging/{t}.h5"
        for entry in with_topics(wildcards)
        if entry["seed"] == config["report"]["seed"]
        for t in entry["timesteps"]
        if t
    ]


def alerts_of_stream(corpus):
    """The alerts of every timestep of a stream; none where no run is named for them."""
    followed = study.alerts_of(config)
    if not followed:
        return []
    run, k, seed = followed
    return [
        f"{ROOT}/{corpus}/seed{seed}/{run}/k{k}/alerts/{t}.h5"
        for t in timesteps(SimpleNamespace(corpus=corpus, seed=seed))
    ]


def other_seeds(corpus):
    """Last score files of the run whose alerts are followed, under the other seeds."""
    run, k, followed = study.alerts_of(config)
    return [
        f"{ROOT}/{corpus}/seed{seed}/{run}/k{k}/scores/{max(timesteps(SimpleNamespace(corpus=corpus, seed=seed)))}.h5"
        for seed in config["seeds"]
        if seed != followed and run in config["runs"]
    ]


def alert_files(wildcards):
    """The alerts of every timestep of the streams."""
    return [path for corpus in config["streams"] for path in alerts_of_stream(corpus)]


ANY_DUPLICATES = any(
    entry.get("options", {}).get("duplicates") for entry in config["corpora"].values()
)


def duplicates_of(wildcards):
    """The near-duplicates of a timestep, of corpora that are read for them."""
    if not config["corpora"][wildcards.corpus]["options"].get("duplicates"):
        return []
    return f"{stream_of(wildcards)}/duplicates/{wildcards.t}.h5"


# Old checkpoints are deleted, and somebody needs them until then.
DROPPED = config["checkpoints"]["keep"] and study.alerts_of(config)


@quick
def alerts_before(wildcards):
    """Where old checkpoints are deleted: the alerts that need the one which an update deletes."""
    chain = wildcards.run, int(wildcards.k), int(wildcards.seed)
    if not int(wildcards.t) or not config["checkpoints"]["keep"]:
        return []
    if study.alerts_of(config) != chain:
        return []
    return before(RUN + "/alerts/{t}.h5")(wildcards)


def evaluation(wildcards):
    return json.dumps(
        {
            **config["evaluate"],
            "timesteps": config["corpora"][wildcards.corpus]["timesteps"],
        }
    )


def scored(wildcards):
    """Score files of a run after the initialisation, which is not evaluated."""
    return [
        f"{RUN}/scores/{t}.h5".format(**wildcards) for t in timesteps(wildcards) if t
    ]


def compared(wildcards):
    return [
        f"{STREAM}/baselines/{t}.h5".format(**wildcards)
        for t in timesteps(wildcards)
        if t
    ]


def streams():
    """Every corpus with the seeds that order it."""
    return [
        (corpus, seed)
        for corpus in config["streams"]
        for seed in sorted(
            {study.order_seed(config, corpus, seed) for seed in config["seeds"]}
        )
    ]


def entries(wildcards):
    """The plan of the study, once the indices say how many timesteps there are."""
    lengths = {}
    for corpus, seed in streams():
        lengths[corpus, seed] = len(index(SimpleNamespace(corpus=corpus, seed=seed)))
    return study.plan(config, lengths)


def results_of(*names):
    return lambda wildcards: [
        f"{entry['folder']}/{name}" for entry in entries(wildcards) for name in names
    ]


def clocks(wildcards):
    """What the timing table is made from: every job's own clock and Snakemake's."""
    return [
        f"{entry['folder']}/{kind}/{t}.tsv"
        for entry in entries(wildcards)
        for kind in (
            ["benchmarks"]
            if entry["algorithm"] == "baseline"
            else ["timings", "benchmarks"]
        )
        for t in entry["timesteps"]
        if t or entry["algorithm"] != "baseline"
    ]


def kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


def known(wildcards):
    """What the experiment's module says of it."""
    return KNOWN["experiments"][kind(wildcards)]


def used(wildcards):
    """What an experiment works on, in the order in which it gets them."""
    entry = config["experiments"][wildcards.experiment]
    return [
        *[f"data/{file}" for file in entry.get("files", [])],
        *[f"{ROOT}/{stream}/documents.h5" for stream in entry.get("streams", [])],
        *[f"{ROOT}/experiments/{name}" for name in entry.get("experiments", [])],
    ]


def kernels(wildcards):
    return [
        f"{ROOT}/kernels/{algorithm}.done"
        for algorithm in known(wildcards)["algorithms"]
    ]


def parts(wildcards):
    """What is measured before, a file for each value of a setting; nothing where there are no parts."""
    if "part" not in known(wildcards):
        return []
    values = whole(wildcards)[known(wildcards)["part"]["setting"]]
    return [f"{ROOT}/parts/{wildcards.experiment}/{value}.json" for value in values]


def whole(wildcards):
    """Settings with the defaults of those left out."""
    return study.whole_experiment_of(config, wildcards.experiment, SCHEMA)


def part_settings(wildcards):
    """Settings of every part: without the list that it has one value of, and without those of pictures."""
    part, settings = known(wildcards)["part"], whole(wildcards)
    left_out = [part["setting"], *part["unmeasured"]]
    return json.dumps({key: settings[key] for key in settings if key not in left_out})


def shown():
    """Report settings under the names that the figures use."""
    settings = config["report"]
    return json.dumps(
        {
            "runs": settings["runs"],
            "run": settings["run"],
            "k": settings["atoms"],
            "seed": settings["seed"],
            "topics": config["evaluate"]["topics"],
        }
    )


def near_duplicates(wildcards):
    """The ends of the chains of the streams that ask for them."""
    return [
        f"{stream_of(chain)}/duplicates/{len(index(chain)) - 1}.h5"
        for name in config["streams"]
        if config["corpora"][name]["options"].get("duplicates")
        for chain in (
            SimpleNamespace(corpus=name, seed=seed) for seed in config["seeds"]
        )
    ]
