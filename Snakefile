# The workflow as it is run in a clone: a bare `snakemake` in this folder.
include: "workflow/Snakefile"


workflow.default_target = "all"  # not taken over from a file that is included
