# Features: one chain of vocabulary, counts and document frequencies per corpus and seed.
# REQUIRED INPUTS: batches/{t}.h5, features/{t-1}.h5
# OUTPUTS: features/{t}.h5, features/benchmarks/{t}.tsv


rule features:
    input:
        batch=STREAM + "/batches/{t}.h5",
        previous=before(STREAM + "/features/{t}.h5"),
    output:
        STREAM + "/features/{t}.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/features/{t}.log",
    benchmark:
        STREAM + "/features/benchmarks/{t}.tsv"
    group:
        block("stream")
    resources:
        mem_mb=memory(40),
        runtime=minutes(0.1),
    params:
        code=code("features"),
    shell:
        "odl features {output:q} {input.batch:q} {input.previous:q} > {log:q} 2>&1"
