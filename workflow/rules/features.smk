# Features: vocabulary, counts, document frequencies and near-duplicates, one chain per corpus and
# seed.
# REQUIRED INPUTS: batches/{t}.h5, features/{t-1}.h5; earlier batches, if near-duplicates are
# grouped
# OUTPUTS: features/{t}.h5, features/benchmarks/{t}.tsv


rule features:
    input:
        batch=STREAM + "/batches/{t}.h5",
        previous=file_before(STREAM + "/features/{t}.h5"),
    output:
        features=STREAM + "/features/{t}.h5",
        costs=STREAM + "/features/benchmarks/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/features/{t}.log",
    group:
        block("stream")
    resources:
        mem_mb=memory(40),
        runtime=minutes(0.1),
    params:
        code=code("features"),
        most=config["features"].get("max_terms", 0),
        optional=options(previous="--previous"),
    shell:
        "odl step features --code {params.code:q} {output.features:q} {input.batch:q} {params.optional:q} --max-terms {params.most:q} --costs {output.costs:q} > {log:q} 2>&1"
