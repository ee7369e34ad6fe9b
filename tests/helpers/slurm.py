"""A real Slurm on loopback: munge, slurmctld, and two or more slurmd as nodes, in one temporary folder.

By hand, from the folder of the Snakefile: ``python tests/helpers/slurm.py -- snakemake --profile
profiles/slurm``. Needs root and the Debian packages slurm-wlm and munge; no systemd, control
groups, accounting, nothing below /etc.
"""

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "srun",
    "squeue",
    "scancel",
    "scontrol",
    "sinfo",
)
CLIENTS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo", "sacct", "sacctmgr")
SEARCHED = os.pathsep.join(
    [os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
)
PATIENCE = 60  # seconds until the nodes have to be there
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/%n.log
# Neither control groups nor a database: what a cluster without accounting looks like to Snakemake.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
# Without control groups the nodes look once a second at what each job takes, and kill one that takes too much.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/none
MailProg=/bin/true
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_min_interval=100000,sched_interval=2,bf_interval=2,batch_sched_delay=0,defer_batch
EnforcePartLimits=ALL
ReturnToService=2
MinJobAge=86400
KillWait=3
# Nodes may have more CPUs than the machine, and start under any name.
SlurmdParameters=config_overrides
{nodes}
PartitionName=short Nodes={names} Default=YES MaxTime=720 DefMemPerCPU=200 OverTimeLimit=0 State=UP
PartitionName=long Nodes={names} MaxTime=INFINITE DefMemPerCPU=200 OverTimeLimit=0 State=UP
"""
# In name spaces of its own a daemon, with all its jobs, has another host name, and a file of where
# the names are.
OWN = [
    "unshare",
    "--uts",
    "--mount",
    "sh",
    "-c",
    'hostname "$0" && mount --bind "$1" /etc/hosts && shift && exec "$@"',
]
NODE = (
    "NodeName={name} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} "
    "CPUs={cpus} RealMemory={memory} State=UNKNOWN"
)

# Snakemake's plugin looks at its jobs ever more rarely; let its look last until one has ended since
# the look before.
LOOK = """\
case " $* " in *" --name "*) ;; *) exec {found} "$@" ;; esac
for run; do :; done
touch {folder}/ended.$run
for turn in $(seq 60); do
    jobs=$({found} "$@") || exit
    echo "$jobs" | grep -E '[|](COMPLETED|FAILED|TIMEOUT|CANCELLED|OUT_OF_MEMORY|NODE_FAIL)' > {folder}/look.$run
    grep -qvxFf {folder}/ended.$run {folder}/look.$run && break
    sleep 0.3
done
mv {folder}/look.$run {folder}/ended.$run
echo "$jobs"
"""


def missing():
    """Return why no Slurm can be started here, or None."""
    absent = [name for name in PROGRAMS if not shutil.which(name, path=SEARCHED)]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: apt-get install --no-install-recommends slurm-wlm munge)"
    return None if os.geteuid() == 0 else "not root"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _own_names():
    """Return whether each node can have a host name of its own, as the machines of a cluster have."""
    tried = [*OWN[:-1], "mount --bind /etc/hosts /etc/hosts && hostname node0"]
    return (
        bool(shutil.which("unshare")) and subprocess.run(tried, capture_output=True).returncode == 0
    )


class Cluster:
    """Slurm in a folder, as a context; its commands come first in the PATH of `environment`.

    Parameters
    ----------
    folder : Path
        Made; for state, spool, logs and the commands.
    nodes, cpus, memory : int
        Number of nodes, and CPUs and MB that each declares, whatever the machine has.
    prompt : bool
        Whether Snakemake hears of a job's end at once; otherwise when it looks next, up to three
        minutes later.
    """

    def __init__(self, folder, nodes=2, cpus=4, memory=8000, prompt=False):
        self.folder, self.processes, self.prompt = Path(folder), {}, prompt
        self.size = {"cpus": cpus, "memory": memory}
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]

    def __enter__(self):
        try:
            self._prepare()
            self._start_munge()
            self._spawn("slurmctld", "slurmctld", "-D", "-c")
            for name in self.nodes:
                daemon = ["slurmd", "-D", "-N", name]
                self._spawn(
                    name,
                    *([*OWN, name, str(self.folder / "hosts"), *daemon] if self.named else daemon),
                )
            self._wait_for("idle nodes", lambda: self._idle() == len(self.nodes))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if "slurmctld" in self.processes:
            self.run("scancel", "--user", "root", check=False)
            end = time.monotonic() + 10
            while time.monotonic() < end and self.jobs("PENDING,RUNNING,COMPLETING"):
                time.sleep(0.2)
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def environment(self):
        """Variables with which programs find this Slurm and no other."""
        path = os.pathsep.join([str(self.folder / "bin"), SEARCHED])
        held = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SLURM_", "SBATCH_", "SRUN_"))
        }
        # UCX refuses a virtual machine's network, whose speed is not known ("invalid bandwidth");
        # libfabric does not.
        return {**held, "PATH": path, "MPIR_CVAR_CH4_NETMOD": "ofi"}

    def run(self, *command, check=True):
        """Run a command of this Slurm; return what it printed."""
        done = subprocess.run(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stdout}")
        return done.stdout

    def jobs(self, states="all"):
        """Return one map a job; its comment is what Snakemake calls it, its folder where it was submitted."""
        names = {
            "id": "%i",
            "state": "%T",
            "comment": "%k",
            "limit": "%l",
            "memory": "%m",
            "cpus": "%C",
            "node": "%N",
        }
        names.update(partition="%P", folder="%Z")
        text = self.run(
            "squeue",
            "--noheader",
            f"--states={states}",
            f"--format={'|'.join(names.values())}",
            check=False,
        )
        lines = [line.split("|") for line in text.splitlines() if line.count("|") == len(names) - 1]
        return sorted(
            (dict(zip(names, line, strict=True)) for line in lines), key=lambda job: int(job["id"])
        )

    def logs(self):
        """Return the ends of the daemons' logs."""
        return "\n".join(
            f"{path.name}:\n{path.read_text()[-1000:]}"
            for path in sorted((self.folder / "log").iterdir())
        )

    def _prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("munge", "state", "spool", "log", "bin"):
            (self.folder / name).mkdir(mode=0o755)
        self.named = _own_names()
        host = socket.gethostname()
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost {host} {' '.join(self.nodes)}\n")
        for name in self.nodes:
            (self.folder / "spool" / name).mkdir()
        nodes = [
            NODE.format(
                name=name, host=name if self.named else host, port=_free_port(), **self.size
            )
            for name in self.nodes
        ]
        text = CONFIGURATION.format(
            host=host,
            folder=self.folder,
            port=_free_port(),
            nodes="\n".join(nodes),
            names=",".join(self.nodes),
        )
        (self.folder / "slurm.conf").write_text(text)
        # Snakemake's plugin drops SLURM_CONF on its way to a job's step, but keeps PATH.
        for name in CLIENTS:
            found = shutil.which(name, path=SEARCHED)
            if found:
                script = self.folder / "bin" / name
                look = self.prompt and name == "squeue"
                call = (
                    LOOK.format(found=found, folder=self.folder) if look else f'exec {found} "$@"\n'
                )
                script.write_text(f"#!/bin/sh\nexport SLURM_CONF={self.folder}/slurm.conf\n{call}")
                script.chmod(0o755)

    def _start_munge(self):
        folder = self.folder / "munge"
        (folder / "key").write_bytes(secrets.token_bytes(1024))
        (folder / "key").chmod(0o600)
        paths = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        options = [f"--{option}={folder / name}" for option, name in paths.items()]
        self._spawn("munged", "munged", "--foreground", "--force", *options)
        self._wait_for("munge", (folder / "socket").exists)

    def _spawn(self, name, *command):
        held = {**self.environment, "PATH": SEARCHED, "SLURM_CONF": str(self.folder / "slurm.conf")}
        with open(self.folder / "log" / f"{name}.out", "w") as log:
            self.processes[name] = subprocess.Popen(
                command, env=held, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _idle(self):
        return (
            self.run(
                "sinfo", "--noheader", "--Node", "--partition=short", "--format=%T", check=False
            )
            .split()
            .count("idle")
        )

    def _wait_for(self, what, ready):
        end = time.monotonic() + PATIENCE
        while not ready():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if dead or time.monotonic() > end:
                raise RuntimeError(
                    f"no {what}: {f'{dead} ended' if dead else f'after {PATIENCE} s'}\n{self.logs()}"
                )
            time.sleep(0.1)


def main():
    """Run a command beside a Slurm on loopback."""
    parser = argparse.ArgumentParser(
        description="Run a command with a Slurm of its own, on this machine."
    )
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=os.cpu_count(), help="that each node declares")
    parser.add_argument("--memory", type=int, default=8000, help="MB that each node declares")
    parser.add_argument(
        "command", nargs="+", help="after --, such as: snakemake --profile profiles/slurm"
    )
    args = parser.parse_args()
    reason = missing()
    if reason:
        sys.exit(f"tests/helpers/slurm.py: no Slurm can be started: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Cluster(folder, args.nodes, args.cpus, args.memory) as cluster:
            print(f"Slurm with {args.nodes} nodes in {folder}", file=sys.stderr)
            # Ctrl-C reaches the command, which ends its jobs; Slurm stays until then.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            restore = {
                "preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
            }
            with subprocess.Popen(args.command, env=cluster.environment, **restore) as process:
                try:
                    status = process.wait()
                finally:
                    process.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
