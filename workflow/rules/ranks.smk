# Learning over MPI: the update of the runs under `ranks`, with agents on several ranks.
# REQUIRED INPUTS: features/{t}.h5, {run}/k{k}/{t-1}.h5 with {t-1}.agents/
# OUTPUTS: {run}/k{k}/{t}.h5 (scores, summary of dual variables, digests), {t}.agents/ (a file for
# each agent), scores/{t}.h5, timings/{t}.tsv

if config["ranks"]:

    rule update_over_ranks:
        input:
            features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
            previous=file_before(RUN + "/{t}.h5"),
            agents=file_before(RUN + "/{t}.agents"),
            corpus=last_features,
        output:
            state=RUN + "/{t}.h5",
            agents=directory(RUN + "/{t}.agents"),
            scores=RUN + "/scores/{t}.h5",
            timings=RUN + "/timings/{t}.tsv",
        log:
            ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/{t}.log",
        benchmark:
            RUN + "/benchmarks/{t}.tsv"
        wildcard_constraints:
            run=RUNS_OVER_RANKS,
        group:
            block("ranks")
        resources:
            mem_mb=memory(40),
            runtime=minutes(5),
            # Launcher and number of ranks change no result, so they are no params. A profile may
            # set another launcher.
            mpi="mpiexec",
            tasks=lambda wildcards: config["ranks"][wildcards.run],
        params:
            code=code("rank"),
            run=chain_of,
            optional=options(previous="--previous", corpus="--corpus-features"),
        # On a cluster, Snakemake puts a launcher of several words in quotes; the shell removes
        # them.
        shell:
            "launcher={resources.mpi:q}; ${{launcher//\\'/}} -n {resources.tasks:q} odl step rank {resources.tasks:q}"
            " {input.features:q} --state {output.state:q} --timings {output.timings:q} {params.optional:q}"
            " --run {params.run:q} < /dev/null > {log:q} 2>&1"
            " && odl step collect {input.features:q} --state {output.state:q}"
            " --scores {output.scores:q} {params.optional:q} --run {params.run:q} >> {log:q} 2>&1"
