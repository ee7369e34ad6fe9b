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


def window(wildcards):
    """Features of the timesteps that the nearest neighbours are looked for in."""
    t, length = int(wildcards.t), config["baselines"]["window"]
    first = max(0, t - length) if length else 0
    return [
        f"{ROOT}/{wildcards.corpus}/seed{wildcards.seed}/features/{earlier}.h5"
        for earlier in range(first, t)
    ]


def algorithm(wildcards):
    return config["learners"][wildcards.run]["algorithm"]


def history(wildcards):
    """Features of all the timesteps before, for the learners that learn from them again."""
    before = range(int(wildcards.t) if algorithm(wildcards) in HISTORY else 0)
    return [f"{stream_of(wildcards)}/features/{earlier}.h5" for earlier in before]


def shards(wildcards):
    """Shards of a batch that is scored in several jobs; none of the first batch, which starts the dictionary."""
    if not (SHARD and int(wildcards.t)):
        return []
    seed = study.order_seed(config, wildcards.corpus, wildcards.seed)
    documents = int(row("documents")(SimpleNamespace(**{**wildcards, "seed": seed})))
    numbers = range(-(-documents // SHARD)) if documents > SHARD else []
    return [f"{RUN}/shards/{{t}}-{number}.h5".format(**wildcards) for number in numbers]


# Compiled once before the jobs start in parallel. Its sources are some of those of the updates, which must not
# call the stamp ancient: Snakemake does not look at what else changed for jobs behind one that has to run.
rule kernels:
    input:
        lambda wildcards: [
            f"{PACKAGE}/{name}.py"
            for name in {**LEARNERS, "topics": FITTED, "ranks": SOURCES["ranks"]}[
                wildcards.algorithm
            ]
        ],
    output:
        touch(ROOT + "/kernels/{algorithm}.done"),
    log:
        ROOT + "/logs/kernels/{algorithm}.log",
    group:
        "kernels"
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(0, base=1000),
        runtime=minutes(0, base=5),
    shell:
        "odl compile {wildcards.algorithm} > {log:q} 2>&1"


rule score:
    input:
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        previous=before(RUN + "/{t}.h5"),
        corpus=last_features,
        kernels=lambda wildcards: f"{ROOT}/kernels/{algorithm(wildcards)}.done",
        code=lambda wildcards: sources("score", *LEARNERS[algorithm(wildcards)]),
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
    params:
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
        history=history,
        shards=shards,
        corpus=last_features,
        kernels=lambda wildcards: f"{ROOT}/kernels/{algorithm(wildcards)}.done",
        code=lambda wildcards: sources("update", *LEARNERS[algorithm(wildcards)]),
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
        mem_mb=memory(40),
        runtime=minutes(1),
    params:
        run=run_of,
        previous=previous_option("--previous", "previous"),
        history=previous_option("--history", "history"),
        shards=previous_option("--shards", "shards"),
        corpus=previous_option("--corpus-features", "corpus"),
    shell:
        "odl update {input.features:q} --state {output.state:q} --scores {output.scores:q}"
        " --timings {output.timings:q} {params.previous} {params.history} {params.shards} {params.corpus}"
        " --run {params.run:q} > {log:q} 2>&1"


rule baselines:
    input:
        features=STREAM + "/features/{t}.h5",
        past=window,
        code=sources("baselines"),
    output:
        STREAM + "/baselines/{t}.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/baselines/{t}.log",
    benchmark:
        STREAM + "/baselines/benchmarks/{t}.tsv"
    group:
        "baselines"
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(40),
        runtime=minutes(1),
    shell:
        "odl baselines {output:q} {input.features:q} --past {input.past:q} > {log:q} 2>&1"
