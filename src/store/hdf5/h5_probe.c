#include "store/hdf5/h5_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * What is granted to the child: three seconds of processor time and one more for every MiB of
 * the file, many times what any file takes (five minutes at most); six times that by the clock, for
 * slow disks; and a gibibyte of memory besides what the file holds.
 */
enum { SECONDS = 3, BYTES_A_SECOND = 1 << 20, CLOCK_FACTOR = 6, MOST_SECONDS = 300 };
static const size_t memory = (size_t)1 << 30;

/* Address space in use, in bytes; sanitizers reserve terabytes of it. 0: not known. */
static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    hard = hard < now.rlim_max ? hard : now.rlim_max;
    now = (struct rlimit){.rlim_cur = soft < hard ? soft : hard, .rlim_max = hard};
    setrlimit(resource, &now);
}

/* Of the signals the fatal ones are as they were born, and those from the keyboard are for the
   parent. */
static void reset_signals(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGXCPU};
    static const int for_parent[] = {SIGINT, SIGQUIT, SIGTSTP};
    sigset_t none;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        signal(fatal[i], SIG_DFL);
    for (size_t i = 0; i < sizeof(for_parent) / sizeof(for_parent[0]); i++)
        signal(for_parent[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Libraries and sanitizers say on their way out what concerns nobody. */
static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
}

static void restrain(size_t bytes)
{
    enum { PATTERN = 0x5a };
    size_t used = address_space(), seconds = SECONDS + bytes / BYTES_A_SECOND;
    if (seconds > MOST_SECONDS)
        seconds = MOST_SECONDS;
    reset_signals();
    be_quiet();
    /* Poisons memory, so that wild reads crash. */
    mallopt(M_PERTURB, PATTERN);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, seconds, seconds + 1);
    if (used > 0)
        limit(RLIMIT_AS, used + memory + bytes, RLIM_INFINITY);
    alarm((unsigned)(CLOCK_FACTOR * seconds));
}

/* Ends the child where memory was refused: this process would have got it. */
static herr_t see_entry(unsigned depth, const H5E_error2_t *error, void *context)
{
    (void)depth;
    (void)context;
    if (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC)
        _exit(1);
    return 0;
}

static herr_t see_failure(hid_t stack, void *context)
{
    return H5Ewalk2(stack, H5E_WALK_UPWARD, see_entry, context);
}

/* Never returns, and leaves the files that the parent has open as they are. */
static void be_child(const char *path, size_t bytes, int verdict)
{
    restrain(bytes);
    /* The parent's handlers would keep it alive. */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    H5Eset_auto2(H5E_DEFAULT, see_failure, NULL);
    mgk_h5_survey(path);
    _exit(write(verdict, "", 1) == 1 ? 0 : 1);
}

/* The verdict is a byte in a pipe, for a child's status may be lost on whoever else waits for it.
 */
static bool await(int verdict, pid_t child)
{
    char byte;
    ssize_t got;
    do
        got = read(verdict, &byte, 1);
    while (got < 0 && errno == EINTR);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return got == 1;
}

mgk_status mgk_h5_probe(const char *path, size_t bytes)
{
    int verdict[2];
    if (pipe2(verdict, O_CLOEXEC) != 0)
        return mgk_fail(STATUS_IO, "%s: cannot look into it: %s", path, strerror(errno));
    pid_t child = fork();
    if (child == 0)
        be_child(path, bytes, verdict[1]);
    int reason = errno;
    close(verdict[1]);
    bool survived = child > 0 && await(verdict[0], child);
    close(verdict[0]);
    if (child < 0)
        return mgk_fail(STATUS_IO, "%s: no process to look into it: %s", path, strerror(reason));
    if (!survived)
        return mgk_fail(STATUS_FORMAT, "%s: damaged: the HDF5 library does not survive reading it",
                        path);
    return STATUS_OK;
}
