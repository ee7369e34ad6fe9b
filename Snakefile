# The workflow as it is run in a clone: a bare `snakemake` in this folder.
include: "workflow/Snakefile"


# The default target of a file that is included is not taken over.
rule default:
    default_target: True
    input:
        rules.all.input,
