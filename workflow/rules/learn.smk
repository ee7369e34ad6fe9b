# Learning: one job per timestep scores its batch with the dictionary of the timestep before, then
# updates the dictionary.
# REQUIRED INPUTS: features/{t}.h5, {run}/k{k}/{t-1}.h5
# OUTPUTS: {run}/k{k}/{t}.h5 (checkpoint), scores/{t}.h5, timings/{t}.tsv; baselines/{t}.h5
#
# STREAM is {results}/{study}/{corpus}/seed{seed}; RUN is STREAM/{run}/k{k}, with a name under
# `learners` and a number of its `atoms` (common.smk). Timesteps {t} count from 0. Functions of
# wildcards are in chain_inputs.smk, those of memory and minutes in resources.smk.


rule update:
    input:
        # Documents of the timestep. Seeds share those of seed 0 if the stream has no random order.
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        # The dictionary; none for timestep 0, which starts one.
        previous=file_before(RUN + "/{t}.h5"),
        # Document frequencies of the complete stream, for runs with `features.idf: corpus`.
        corpus=last_features,
        # With `checkpoints.keep` this job deletes a checkpoint, which alerts have to read first.
        alerts=ancient(alerts_before),
    output:
        state=RUN + "/{t}.h5",
        scores=RUN + "/scores/{t}.h5",
        timings=RUN + "/timings/{t}.tsv",  # CPU seconds of scoring and of learning
        costs=RUN + "/benchmarks/{t}.tsv",  # seconds and memory of the job
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/{t}.log",
    wildcard_constraints:
        run=RUNS_IN_ONE_PROCESS,  # runs listed under `ranks` are in ranks.smk
    group:
        block("learn")
    resources:
        mem_mb=memory(40, times=batches_of_update),
        runtime=minutes(1, times=batches_of_update),
    params:
        # A change of this code runs the job again.
        code=lambda wildcards: code("update", f"learners/{algorithm(wildcards)}"),
        # `learners.{run}` and `features` of the configuration, with corpus, seed and atoms, as
        # JSON.
        run=chain_of,
        # All features up to t, for learners that learn from every batch again.
        history=lambda wildcards, input: (
            ["--history", os.path.dirname(input.features)]
            if batches_of_update(wildcards) > 1
            else []
        ),
        optional=options(previous="--previous", corpus="--corpus-features"),
    shell:
        "odl step update {input.features:q} --code {params.code:q} --run {params.run:q}"
        " {params.optional:q} {params.history:q}"
        " --state {output.state:q} --scores {output.scores:q} --timings {output.timings:q}"
        " --costs {output.costs:q} > {log:q} 2>&1"


# Other methods to compare with: nearest neighbours, unknown words, length. The job also reads the
# features of earlier timesteps, from the folder of its input. As inputs they would make planning
# quadratic in the number of timesteps; they exist, since each is an input of the next.
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
        runtime=minutes(1, times=earlier_batches),
    params:
        code=code("baselines"),
        past=lambda wildcards, input: os.path.dirname(input.features),
        # `baselines.window`: number of earlier timesteps to search. Without it the step chooses the
        # number by their documents.
        window=lambda wildcards: (
            ["--window", str(earlier_batches(wildcards))]
            if config["baselines"]["window"] is not None
            else []
        ),
    shell:
        "odl step baselines {output.baselines:q} {input.features:q} --past {params.past:q} {params.window:q}"
        " --costs {output.costs:q} > {log:q} 2>&1"
