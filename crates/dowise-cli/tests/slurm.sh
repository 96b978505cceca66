#!/bin/bash
# A study as an array of jobs on a real Slurm: two nodes on loopback, one of which dies while its jobs run. The failed jobs alone
# are given again, and the parts put together have to be the bytes of one run on one machine.
# Usage: slurm.sh PROGRAM; needs root and Debian's packages slurm-wlm and munge. Nothing outside of a directory of its own is written.
set -euo pipefail
program=$(realpath "$1")
for needed in slurmctld slurmd munged sbatch; do
  command -v "$needed" > /dev/null || { echo "$needed is not installed (Debian: slurm-wlm, munge)" >&2; exit 2; }
done
place=$(mktemp -d)
chmod 755 "$place" # munged wants a socket whose directories are open to all
host=$(hostname -s)
started=()
end() {
  { kill -KILL "${started[@]}" && wait; } 2> /dev/null || true
  rm -rf "$place"
}
trap end EXIT
waiting() { # waiting SECONDS WHAT COMMAND...: until the command succeeds
  local left=$(($1 * 5)) what=$2
  shift 2
  until "$@" > /dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "no $what in time; the logs:" >&2
      tail -n 20 "$place"/*.log >&2
      exit 1
    fi
    sleep 0.2
  done
}

# A Slurm of its own: other ports and sockets than an installed one, the user that runs this, and no accounting.
dd if=/dev/urandom of="$place/key" bs=1024 count=1 status=none
chmod 400 "$place/key"
mkdir "$place/munge" && chmod 755 "$place/munge"
munged --foreground --force --num-threads=2 --key-file="$place/key" --socket="$place/munge/socket" --seed-file="$place/munge/seed" \
  --pid-file="$place/munge/pid" --log-file="$place/munge.log" > "$place/munged.log" 2>&1 &
started+=($!)
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
export SLURM_CONF=$place/slurm.conf
cat > "$SLURM_CONF" << END
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$place/munge/socket
StateSaveLocation=$place/state
SlurmdSpoolDir=$place/spool-%n
SlurmctldPidFile=$place/slurmctld.pid
SlurmdPidFile=$place/slurmd-%n.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdLogFile=$place/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdTimeout=5
KillWait=1
MinJobAge=300
ReturnToService=2
JobRequeue=0
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=1 State=UNKNOWN
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=1 State=UNKNOWN
PartitionName=all Nodes=one,two Default=YES MaxTime=10 State=UP
END
mkdir "$place/state" "$place/spool-one" "$place/spool-two"
waiting 20 "munge socket" test -S "$place/munge/socket"
slurmctld -D > "$place/slurmctld.out.log" 2>&1 &
started+=($!)
declare -A node
start_node() {
  slurmd -D -N "$1" > "$place/slurmd-$1.out.log" 2>&1 &
  started+=($!)
  node[$1]=$!
}
start_node one
start_node two
both_idle() { [ "$(sinfo -h -o %T | sort -u)" = idle ]; }
waiting 60 "idle nodes" both_idle

# The study on one machine, and as jobs.
mkdir "$place/study" && cd "$place/study"
export PATH=$(dirname "$program"):$PATH
cat > nodes.toml << END
name = "Jobs on nodes"
worlds = ["paper:levels=2", "river-swim"]
learners = ["c-psrl", "ucbvi"]
episodes = 8000
repetitions = 6
END
dowise --quiet compare --study nodes.toml --out alone > /dev/null
dowise --quiet slurm nodes.toml --shards 6 --time 00:05:00 > nodes.sbatch
job=$(sbatch --parsable nodes.sbatch)
echo "job $job: six shards on two nodes"
# Each shard with its state and its node.
shards() { scontrol -o show job "$1" | sed -n 's/.*ArrayTaskId=\([0-9]*\) .*JobState=\([A-Z_]*\) .* NodeList=\([a-z]*\) .*/\1 \2 \3/p' | sort -n; }
at_work_on_two() { shards "$job" | grep -q ' RUNNING two' && ls nodes-parts/*/runs/*; }
waiting 60 "job on the second node" at_work_on_two

# The node is gone with all that runs on it: its daemon, the job, and what watches over the job.
lost=("${node[two]}")
for process in $(pgrep -f "dowise compare --study nodes.toml"); do
  grep -qz "^SLURMD_NODENAME=two$" "/proc/$process/environ" || continue
  script=$(ps -o ppid= "$process" | tr -d ' ')
  lost+=("$(ps -o ppid= "$script" | tr -d ' ')" "$script" "$process")
done
kill -KILL "${lost[@]}"
ended() { ! squeue -h -j "$1" -t PENDING,RUNNING,COMPLETING,CONFIGURING -o %i | grep -q .; }
waiting 120 "end of the jobs" ended "$job"
shards "$job"
failed=$(shards "$job" | grep -v ' COMPLETED ' | cut -d' ' -f1 | paste -sd,)
[ -n "$failed" ] || { echo "no shard was lost: the node died too late" >&2; exit 1; }
if dowise merge nodes-parts/* --out results > /dev/null 2> said; then
  echo "shards $failed failed, and their runs were not missed" >&2
  exit 1
fi
cat said

# It comes back, and the shards that failed are given again: alone, by their numbers.
start_node two
waiting 60 "idle nodes" both_idle
again=$(sbatch --parsable --array="$failed" nodes.sbatch)
echo "job $again: shards $failed again"
waiting 120 "end of the jobs" ended "$again"
shards "$again"
dowise --quiet merge nodes-parts/* --out results > /dev/null
for table in study.toml runs.csv curves.csv summary.csv; do
  cmp "alone/$table" "results/$table"
done
echo "same bytes as on one machine"
