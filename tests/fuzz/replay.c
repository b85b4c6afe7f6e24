/* SPDX-License-Identifier: MIT */
/* Passes every file of a folder to a target, as a test that the target returns without a crash. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "fuzz/fuzz.h"

static void fail(void)
{
    fprintf(stderr, "%s\n", mgk_fail_message());
    exit(EXIT_FAILURE);
}

static void replay(const char *folder, const char *name)
{
    char *path;
    mgk_mapping file;
    if (mgk_join_path(folder, name, &path) != STATUS_OK || mgk_map_file(path, &file) != STATUS_OK)
        fail();
    printf("%s\n", name);
    fflush(stdout); /* the last name identifies a fatal file */
    LLVMFuzzerTestOneInput(file.data, file.size);
    mgk_unmap_file(&file);
    mgk_free(path);
}

int main(int argc, char **argv)
{
    struct dirent *entry;
    int files = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "a folder of inputs is needed\n");
        return EXIT_FAILURE;
    }
    for (; (entry = readdir(folder)); files++)
        if (entry->d_name[0] != '.')
            replay(argv[1], entry->d_name);
    closedir(folder);
    return files > 2 ? EXIT_SUCCESS : EXIT_FAILURE; /* more than "." and ".." */
}
