/* SPDX-License-Identifier: MIT */
/* Plain vocabulary files: vocab.json with merges.txt, vocab.txt, lists of words. The parts of an
 * input are the vocabulary, the other files below, and a text. */
#include "fuzz/encode.h"
#include "fuzz/fuzz.h"

static const char *const beside[] = {"merges.txt", "tokenizer_config.json", "added_tokens.json",
                                     "special_tokens_map.json"};
enum { BESIDE = sizeof(beside) / sizeof(beside[0]) };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_parts parts = {bytes, size};
    char path[FUZZ_PATH];
    size_t length;
    mgk_tokenizer *tokenizer;
    const uint8_t *part = fuzz_next_part(&parts, &length);
    bool json = length > 0 && part[0] == '{';
    const char *name = json ? "vocab.json" : "vocab.txt";
    fuzz_write(json ? "vocab.txt" : "vocab.json", NULL, 0);
    fuzz_write(name, part, length);
    for (int i = 0; i < BESIDE; i++) {
        part = fuzz_next_part(&parts, &length);
        fuzz_write(beside[i], length > 0 ? part : NULL, length);
    }
    fuzz_path(name, path);
    if (mgk_tokenizer_open(path, &tokenizer) != STATUS_OK)
        return 0;
    part = fuzz_next_part(&parts, &length);
    fuzz_encode(tokenizer, (const char *)part, length);
    mgk_tokenizer_close(tokenizer);
    return 0;
}
