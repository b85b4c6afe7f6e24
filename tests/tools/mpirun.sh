# SPDX-License-Identifier: MIT
# Sourced by tests of several processes, after begin.sh: skips them where there is no MPI.
command -v mpirun >/dev/null && [ -e "$programs/../lib/libmgk_mpi.so" ] || {
    echo "skipped: no mpirun, or a build without MPI"
    exit 77
}

# The processes are on one machine: Open MPI needs not look for networks, for 0.2 s at each start.
export OMPI_MCA_pml=ob1

# start RANKS COMMAND...: more processes than cores, and of whoever runs the test; if they hang, for five minutes.
start() {
    ranks=$1
    shift
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 MPIEXEC_TIMEOUT=300 mpirun --oversubscribe -n "$ranks" "$@"
}
