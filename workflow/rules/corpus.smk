# Corpus: downloads -> documents -> order of the stream -> batches.
# REQUIRED INPUTS: data/corpora.csv, or the user's own files
# OUTPUTS: data/{folder}/{file}, {corpus}/shares/{share}.h5 for more than a MB of the user's files,
# {corpus}/documents.h5 with benchmarks/{corpus}/read.tsv, {corpus}/set-aside.tsv (documents that
# could not be read), {corpus}/seed{seed}/index.tsv, .../batches/{t}.h5
#
# Downloads run on the host of Snakemake, since compute nodes often have no network. The step
# retries.
localrules:
    download,


rule download:
    input:
        registry=ancient(REGISTRY_FILE),
    output:
        "data/{folder}/{file}",
    log:
        "results/logs/download/{folder}/{file}.log",
    wildcard_constraints:
        folder=r"[a-z0-9_]+",
        file=r"[\w.+-]+",
    retries: 0
    shell:
        "odl step download {wildcards.folder}/{wildcards.file} {output:q} --registry {input.registry:q} 2> >(tee {log:q} >&2)"


rule share:
    input:
        lambda wildcards: shares_by_name(wildcards.corpus)[wildcards.share],
    output:
        ROOT + "/{corpus}/shares/{share}.h5",
    log:
        ROOT + "/logs/{corpus}/shares/{share}.log",
    wildcard_constraints:
        share=r"[0-9a-f]{12}",
    resources:
        mem_mb=memory(20, base=1500),
        runtime=minutes(1, base=10),
    params:
        code=lambda wildcards: code(
            "read", reader_file(wildcards), **reading_dependencies(wildcards)
        ),
        options=lambda wildcards: json.dumps(
            config["corpora"][wildcards.corpus]["options"]
        ),
        contents=lambda wildcards: chains.contents_of(
            shares_by_name(wildcards.corpus)[wildcards.share]
        ),
        sources=lambda wildcards: config["corpora"][wildcards.corpus]["sources"],
        ends=lambda wildcards, input: [input[0], input[-1]],
    shell:
        "odl step read --code {params.code:q} documents {output:q} --source {params.sources:q} --options {params.options:q}"
        " --files {params.ends:q} > {log:q} 2>&1"


rule read:
    input:
        sources=lambda wildcards: shares_or_files(wildcards),
    output:
        documents=ROOT + "/{corpus}/documents.h5",
        costs=ROOT + "/benchmarks/{corpus}/read.tsv",
    log:
        ROOT + "/logs/{corpus}/read.log",
    resources:
        mem_mb=memory(20, base=1500),
        runtime=minutes(1, base=10),
    params:
        code=lambda wildcards: code(
            "read", reader_file(wildcards), **reading_dependencies(wildcards)
        ),
        reader=lambda wildcards: config["corpora"][wildcards.corpus]["reader"],
        options=lambda wildcards: json.dumps(
            config["corpora"][wildcards.corpus]["options"]
        ),
        contents=digest_of_contents,
        # The path of a folder, since thousands of its files would not fit on a command line.
        sources=lambda wildcards, input: config["corpora"][wildcards.corpus].get(
            "sources"
        )
        or input.sources,
        shares=lambda wildcards, input: (
            ["--shares", *input.sources] if shares_by_name(wildcards.corpus) else []
        ),
    shell:
        "odl step read --code {params.code:q} {params.reader:q} {output.documents:q} --source {params.sources:q} --options {params.options:q}"
        " {params.shares:q} --costs {output.costs:q} > {log:q} 2>&1"


rule aside:
    input:
        documents=ROOT + "/{corpus}/documents.h5",
    output:
        table=ROOT + "/{corpus}/set-aside.tsv",
    log:
        ROOT + "/logs/{corpus}/aside.log",
    resources:
        mem_mb=memory(1),
        runtime=minutes(0.05),
    params:
        code=code("aside"),
    shell:
        "odl step aside {input.documents:q} {output.table:q} > {log:q} 2>&1"


checkpoint index:
    input:
        documents=ROOT + "/{corpus}/documents.h5",
    output:
        table=STREAM + "/index.tsv",
        order=STREAM + "/order.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/index.log",
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.2),
    params:
        code=code("index"),
        made=lambda wildcards, output: f"{os.path.dirname(output.table)}/batches",
        stream=lambda wildcards: json.dumps(
            sections.Order.part(config["corpora"][wildcards.corpus])
        ),
    shell:
        "odl step index --code {params.code:q} {input.documents:q} {output.table:q} {output.order:q} --seed {wildcards.seed:q}"
        " --stream {params.stream:q} --made {params.made:q} 2> >(tee {log:q} >&2)"


# ancient: a batch is written again only if the sha256 of its documents changes.
rule batch:
    input:
        documents=ancient(ROOT + "/{corpus}/documents.h5"),
        order=ancient(STREAM + "/order.h5"),
        table=ancient(STREAM + "/index.tsv"),
    output:
        STREAM + "/batches/{t}.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/batches/{t}.log",
    group:
        block("stream")
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.02),
    params:
        code=code("batch"),
        sha256=index_column("sha256"),
    shell:
        "odl step batch --code {params.code:q} {input.documents:q} {input.order:q} {output:q} --t {wildcards.t:q} --sha256 {params.sha256:q} > {log:q} 2>&1"
