/* SPDX-License-Identifier: MIT */
/*
 * mgk-h5-probe FILE: reads an HDF5 file within limits of time and memory, so that it crashes or
 * hangs instead of the program that uses the file (h5_probe.h). It prints one byte before it opens
 * the file and another one after it has read it.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/hdf5/h5.h"
#include "store/hdf5/quarantine/h5_survey.h"

/*
 * Limits, many times the need of any file: processor time of 3 seconds plus 1 second per MiB of the
 * file, at most five minutes; six times that of wall-clock time, for slow disks; and memory of 1
 * GiB plus the size of the file's content.
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

/* Makes the process end with its parent, or when it exceeds its limits. */
static void restrain(size_t bytes)
{
    enum { PATTERN = 0x5a };
    size_t used = address_space(), seconds = SECONDS + bytes / BYTES_A_SECOND;
    if (seconds > MOST_SECONDS)
        seconds = MOST_SECONDS;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Poisons memory so that wild reads crash. */
    mallopt(M_PERTURB, PATTERN);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, seconds, seconds + 1);
    if (used > 0)
        limit(RLIMIT_AS, used + memory + bytes, RLIM_INFINITY);
    alarm((unsigned)(CLOCK_FACTOR * seconds));
}

/* Exits when memory was refused: the other process, without a limit, would have got it. */
static herr_t see_entry(unsigned depth, const H5E_error2_t *error, void *context)
{
    (void)depth;
    (void)context;
    if (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC)
        _exit(EXIT_FAILURE);
    return 0;
}

static herr_t see_failure(hid_t stack, void *context)
{
    return H5Ewalk2(stack, H5E_WALK_UPWARD, see_entry, context);
}

static void mark(void)
{
    if (write(STDOUT_FILENO, ".", 1) != 1)
        _exit(EXIT_FAILURE);
}

int main(int count, char **words)
{
    struct stat info;
    if (count != 2 || stat(words[1], &info) != 0) {
        fputs("usage: mgk-h5-probe FILE\n", stderr);
        return EXIT_FAILURE;
    }
    restrain((size_t)info.st_size);
    H5Eset_auto2(H5E_DEFAULT, see_failure, NULL);
    mark();
    mgk_h5_survey(words[1]);
    mark();
    /* Skips the library's clean-up and leak checks, which do not matter here. */
    _exit(EXIT_SUCCESS);
}
