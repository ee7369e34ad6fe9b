# Learning: one job a timestep scores the batch with the dictionary of the past, then updates it.
# REQUIRED INPUTS: features/{t}.h5, {run}/k{k}/{t-1}.h5
# A batch of more than shards.documents is scored by several jobs, and learned from their codes.
# OUTPUTS: {run}/k{k}/{t}.h5 (checkpoint), scores/{t}.h5, timings/{t}.tsv; baselines/{t}.h5
SHARD = study.shard_of(config)


def run_of(wildcards):
    """Everything that the chain of a run depends on; nothing that only says where or how fast it runs."""
    return json.dumps(
        {
            "corpus": wildcards.corpus,
            "seed": int(wildcards.seed),
            "run": wildcards.run,
            "atoms": int(wildcards.k),
            "learner": study.learner_of(config, wildcards.run),
            "features": study.features_of(config, wildcards.run),
        }
    )


def last_features(wildcards):
    """The end of the stream, for runs that weigh by the frequencies of the whole corpus."""
    if study.features_of(config, wildcards.run)["idf"] != "corpus":
        return []
    return f"{stream_of(wildcards)}/features/{len(index(wildcards)) - 1}.h5"


def previous_option(option, name):
    return lambda wildcards, input: f"{option} {input[name]}" if input.get(name) else ""


def algorithm(wildcards):
    return config["learners"][wildcards.run]["algorithm"]


def learns_from_all(wildcards):
    """Whether an update reads all the batches so far."""
    return KNOWN["learners"][algorithm(wildcards)]["needs_history"]


def history(wildcards, input):
    """Where the learners that learn from the past again find it: the newest features are those of a chain."""
    if not learns_from_all(wildcards) or wildcards.t == "0":
        return ""
    return f"--history {os.path.dirname(input.features)}"


def learned_from(wildcards):
    """How many timesteps an update reads."""
    return int(wildcards.t) + 1 if learns_from_all(wildcards) else 1


def compared_with(wildcards):
    """In how many timesteps the nearest neighbours are looked for."""
    t, window = int(wildcards.t), config["baselines"]["window"]
    return min(t, window) if window else t


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


# Compiled once before the jobs start in parallel.
rule kernels:
    output:
        touch(ROOT + "/kernels/{algorithm}.done"),
    log:
        ROOT + "/logs/kernels/{algorithm}.log",
    group:
        bundle("kernels")
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(0, base=1000),
        runtime=minutes(0, base=5),
    params:
        code=lambda wildcards: kernels_of(wildcards.algorithm),
    shell:
        "odl compile {wildcards.algorithm} > {log:q} 2>&1"


rule score:
    input:
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        previous=before(RUN + "/{t}.h5"),
        corpus=last_features,
        kernels=lambda wildcards: f"{ROOT}/kernels/{algorithm(wildcards)}.done",
    output:
        temp(RUN + "/shards/{t}-{shard}.h5"),
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/shards/{t}-{shard}.log",
    benchmark:
        RUN + "/benchmarks/shards/{t}-{shard}.tsv"
    wildcard_constraints:
        run=ALONE,
        shard=r"\d+",
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(40),
        runtime=minutes(1),
    params:
        code=lambda wildcards: code("score", f"learners/{algorithm(wildcards)}"),
        run=run_of,
        rows=lambda wildcards: f"{int(wildcards.shard) * SHARD}:{(int(wildcards.shard) + 1) * SHARD}",
        corpus=previous_option("--corpus-features", "corpus"),
    shell:
        "odl score {input.features:q} {output:q} --rows {params.rows} --previous {input.previous:q} {params.corpus}"
        " --run {params.run:q} > {log:q} 2>&1"


rule update:
    input:
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        previous=before(RUN + "/{t}.h5"),
        shards=shards,
        corpus=last_features,
        kernels=lambda wildcards: f"{ROOT}/kernels/{algorithm(wildcards)}.done",
    output:
        state=RUN + "/{t}.h5",
        scores=RUN + "/scores/{t}.h5",
        timings=RUN + "/timings/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/{t}.log",
    benchmark:
        RUN + "/benchmarks/{t}.tsv"
    wildcard_constraints:
        run=ALONE,
    # Not together with the timestep before, whose dictionary the shards wait for.
    group:
        lambda wildcards: None if shards(wildcards) else block("learn")(wildcards)
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(40, times=learned_from),
        runtime=minutes(1, times=learned_from),
    params:
        code=lambda wildcards: code("update", f"learners/{algorithm(wildcards)}"),
        run=run_of,
        previous=previous_option("--previous", "previous"),
        history=history,
        shards=previous_option("--shards", "shards"),
        corpus=previous_option("--corpus-features", "corpus"),
    shell:
        "odl update {input.features:q} --state {output.state:q} --scores {output.scores:q}"
        " --timings {output.timings:q} {params.previous} {params.history} {params.shards} {params.corpus}"
        " --run {params.run:q} > {log:q} 2>&1"


# The features of a timestep are the last of a chain, and change with any before them: naming all of those would
# make the plan of a long stream quadratic.
rule baselines:
    input:
        features=STREAM + "/features/{t}.h5",
    output:
        STREAM + "/baselines/{t}.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/baselines/{t}.log",
    benchmark:
        STREAM + "/baselines/benchmarks/{t}.tsv"
    group:
        bundle("baselines")
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(40),
        runtime=minutes(1, times=compared_with),
    params:
        past=lambda wildcards, input: os.path.dirname(input.features),
        window=compared_with,
        code=code("baselines"),
    shell:
        "odl baselines {output:q} {input.features:q} --past {params.past:q} --window {params.window} > {log:q} 2>&1"
