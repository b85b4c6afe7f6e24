/* What the targets of checkpoints share. */
#ifndef MGK_TESTS_FUZZ_TENSORS_H
#define MGK_TESTS_FUZZ_TENSORS_H

/* Opens a checkpoint, finds everything in it by its name, and reads what is not large. */
void fuzz_tensors(const char *path);

#endif
