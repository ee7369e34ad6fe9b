# Learning: one job a timestep scores the batch with the dictionary of the past, then updates it.
# REQUIRED INPUTS: features/{t}.h5, {run}/k{k}/{t-1}.h5
# OUTPUTS: {run}/k{k}/{t}.h5 (checkpoint), scores/{t}.h5, timings/{t}.tsv; baselines/{t}.h5


rule update:
    input:
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        previous=before(RUN + "/{t}.h5"),
        corpus=where(ANY_BY_ALL, last_features),
        alerts=where(DROPPED, ancient(alerts_before)),
    output:
        state=RUN + "/{t}.h5",
        scores=RUN + "/scores/{t}.h5",
        timings=RUN + "/timings/{t}.tsv",
        costs=RUN + "/benchmarks/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/{t}.log",
    wildcard_constraints:
        run=ALONE,
    group:
        block("learn")
    resources:
        mem_mb=memory(40, times=learned_from),
        runtime=minutes(1, times=learned_from),
    params:
        code=lambda wildcards: code("update", f"learners/{algorithm(wildcards)}"),
        run=chain_of,
        history=history,
        optional=options(previous="--previous", corpus="--corpus-features"),
    shell:
        "odl step update --code {params.code:q} {input.features:q} --state {output.state:q} --scores {output.scores:q}"
        " --timings {output.timings:q} {params.history:q} {params.optional:q}"
        " --run {params.run:q} --costs {output.costs:q} > {log:q} 2>&1"


# The features of a timestep are the last of a chain, and change with any before them: naming all of those would
# make the plan of a long stream quadratic.
rule baselines:
    input:
        features=STREAM + "/features/{t}.h5",
    output:
        baselines=STREAM + "/baselines/{t}.h5",
        costs=STREAM + "/baselines/benchmarks/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/baselines/{t}.log",
    resources:
        mem_mb=memory(40),
        runtime=minutes(1, times=compared_with),
    params:
        past=lambda wildcards, input: os.path.dirname(input.features),
        window=window,
        code=code("baselines"),
    shell:
        "odl step baselines {output.baselines:q} {input.features:q} --past {params.past:q} {params.window:q}"
        " --costs {output.costs:q} > {log:q} 2>&1"
