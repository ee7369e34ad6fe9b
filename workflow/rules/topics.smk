# Emerging topics: one job per timestep clusters the most novel documents. Tables compare the
# clusters with the topics of documents.
# REQUIRED INPUTS: {run}/k{k}/scores/{t}.h5, features/{t}.h5
# OUTPUTS: {run}/k{k}/emerging/{t}.h5, {run}/k{k}/emerging.tsv, tables/emerging.tsv
EMERGING_TABLE = (
    [ROOT + "/tables/emerging.tsv"] if config["emerging"]["enabled"] else []
)


rule topics:
    input:
        scores=RUN + "/scores/{t}.h5",
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        corpus=last_features,
    output:
        emerging=RUN + "/emerging/{t}.h5",
        costs=RUN + "/benchmarks/emerging/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/emerging/{t}.log",
    group:
        block("learn")
    resources:
        mem_mb=memory(40),
        runtime=minutes(0.5),
    params:
        code=code("topics"),
        settings=json.dumps(sections.SmallDictionary.part(config["emerging"])),
        optional=options(corpus="--corpus-features"),
    shell:
        "odl step topics {input.scores:q} {input.features:q} --output {output.emerging:q} {params.optional:q}"
        " --settings {params.settings:q} --costs {output.costs:q} > {log:q} 2>&1"


rule emerging:
    input:
        scores=evaluated(RUN + "/scores/{t}.h5"),
        files=evaluated(RUN + "/emerging/{t}.h5"),
    output:
        RUN + "/emerging.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/emerging.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0.1),
    params:
        code=code("emerging"),
        topics=config["evaluate"]["topics"],
    shell:
        "odl step emerging {output:q} --topics {params.topics:q} --files {input.files:q} --scores {input.scores:q}"
        " > {log:q} 2>&1"


rule emergings:
    input:
        plan=ROOT + "/plan.json",
        tables=emerging_tables,
    output:
        ROOT + "/tables/emerging.tsv",
    log:
        ROOT + "/logs/emergings.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0),
    params:
        code=code("emergings"),
    shell:
        "odl step emergings {input.plan:q} {output:q} --tables {input.tables:q} > {log:q} 2>&1"
