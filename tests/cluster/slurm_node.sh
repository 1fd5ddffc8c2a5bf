# A Slurm of one machine, for tests: `start_slurm FOLDER PARTITION` and `stop_slurm`. To be sourced, as root.
#
# munge, the controller and the node daemon run on the loopback interface with all of their files in FOLDER, and are
# stopped by their process ids. Nothing of a Slurm that the machine may have is touched.

slurm_pids=()

# Debian's and Ubuntu's package; it starts no service that would be used here.
install_slurm() {
    if command -v slurmctld slurmd srun munged > /dev/null; then
        return
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends slurm-wlm munge > /dev/null
}

free_port() {
    python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_slurm() {
    local folder=$1 partition=$2 node
    node=$(hostname -s)
    mkdir -p "$folder"/{state,spool}
    chmod 755 "$folder"
    dd if=/dev/urandom of="$folder/munge.key" bs=64 count=1 status=none
    chmod 400 "$folder/munge.key"
    munged --foreground --force --num-threads=2 --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
        --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" \
        > "$folder/munge.out" 2>&1 &
    slurm_pids+=($!)
    cat > "$folder/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=$partition Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF="$folder/slurm.conf"
    wait_for 20 test -S "$folder/munge.socket"
    slurmctld -D -c -f "$SLURM_CONF" > "$folder/slurmctld.out" 2>&1 &
    slurm_pids+=($!)
    slurmd -D -N "$node" -f "$SLURM_CONF" > "$folder/slurmd.out" 2>&1 &
    slurm_pids+=($!)
    wait_for 60 timeout 20 srun -p "$partition" -N1 true
}

# Waits until a command succeeds: `wait_for SECONDS COMMAND…`.
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@" > /dev/null 2>&1; do
        if ((SECONDS >= until)); then
            echo "gave up waiting for: $*" >&2
            return 1
        fi
        sleep 0.5
    done
}

stop_slurm() {
    local pid number
    # The controller and the node before the daemon that they speak through.
    for ((number = ${#slurm_pids[@]} - 1; number >= 0; number--)); do
        pid=${slurm_pids[number]}
        kill "$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
    slurm_pids=()
}
