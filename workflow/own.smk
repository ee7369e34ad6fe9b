# Written by `odl init --snakemake`: run it by `snakemake --cores 8` in this folder.
from odl.config import project


configfile: "odl.yaml"


module odl:
    snakefile:
        project.SNAKEFILE
    config:
        project.checked(config)


use rule * from odl
