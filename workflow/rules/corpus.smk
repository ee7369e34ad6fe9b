# Corpus: downloads -> documents -> order of the stream -> batches.
# REQUIRED INPUTS: data/corpora.csv, or the user's own files
# OUTPUTS: data/{folder}/{file}, {corpus}/documents.h5, {corpus}/seed{seed}/index.tsv, .../batches/{t}.h5
import hashlib
import importlib.metadata

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


def contents(wildcards):
    """What the user's own files hold: one may have changed and be older than what was made of it (a clock that was
    set back, a copy that kept its time), which Snakemake does not see. Of large files the size alone.
    """
    if not config["corpora"][wildcards.corpus].get("sources"):
        return None  # checked when downloaded
    digest = hashlib.sha256()
    for path in map(Path, CORPUS_FILES[wildcards.corpus]):
        size = path.stat().st_size if path.exists() else -1
        digest.update(f"{path}:{size};".encode())
        if 0 <= size <= HASHED:
            digest.update(path.read_bytes())
    return digest.hexdigest()


# Fetched where Snakemake runs: compute nodes often have no way out. It retries by itself.
localrules:
    download,


rule download:
    input:
        registry=ancient("data/corpora.csv"),
    output:
        "data/{folder}/{file}",
    log:
        "results/logs/download/{folder}/{file}.log",
    wildcard_constraints:
        folder=r"[a-z0-9_]+",
        file=r"[^/]+",
    retries: 0
    conda:
        "../envs/odl.yaml"
    shell:
        "odl download {wildcards.folder}/{wildcards.file} {output:q} --registry {input.registry:q} 2> >(tee {log:q} >&2)"


rule read:
    input:
        sources=lambda wildcards: CORPUS_FILES[wildcards.corpus],
    output:
        ROOT + "/{corpus}/documents.h5",
    log:
        ROOT + "/logs/{corpus}/read.log",
    benchmark:
        ROOT + "/benchmarks/{corpus}/read.tsv"
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(20, base=1500),
        runtime=minutes(1, base=10),
    params:
        code=lambda wildcards: code("read", reader_file(wildcards)),
        reader=lambda wildcards: config["corpora"][wildcards.corpus]["reader"],
        options=lambda wildcards: json.dumps(
            config["corpora"][wildcards.corpus]["options"]
        ),
        versions=versions,
        contents=contents,
        # A folder is passed as such: thousands of its files would not fit on a command line.
        sources=lambda wildcards, input: config["corpora"][wildcards.corpus].get(
            "sources"
        )
        or input.sources,
    shell:
        "odl read {params.reader} {output:q} --source {params.sources:q} --options {params.options:q} > {log:q} 2>&1"


checkpoint index:
    input:
        documents=ROOT + "/{corpus}/documents.h5",
    output:
        table=STREAM + "/index.tsv",
        order=STREAM + "/order.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/index.log",
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.2),
    params:
        code=code("index"),
        stream=lambda wildcards: json.dumps(
            {
                key: config["corpora"][wildcards.corpus][key]
                for key in ("batches", "protocol", "topic_entry", "ties")
            }
        ),
    shell:
        "odl index {input.documents:q} {output.table:q} {output.order:q} --seed {wildcards.seed}"
        " --stream {params.stream:q} --made $(dirname {output.table:q})/batches 2> >(tee {log:q} >&2)"


# ancient: a batch is made again only when the sha256 of its own documents changes.
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
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.02),
    params:
        code=code("batch"),
        sha256=row("sha256"),
    shell:
        "odl batch {input.documents:q} {input.order:q} {output:q} --t {wildcards.t} > {log:q} 2>&1"
