/* SPDX-License-Identifier: MIT */
/* Models of SentencePiece and llama2.c's tokenizer: a byte that chooses the class, and the file. */
#include <stdio.h>
#include <string.h>

#include "fuzz/encode.h"
#include "fuzz/fuzz.h"

/* "": no class is named; Marian's ids are in vocab.json. */
static const char *const classes[] = {
    "",
    "LlamaTokenizer",
    "GemmaTokenizer",
    "T5Tokenizer",
    "AlbertTokenizer",
    "XLMRobertaTokenizer",
    "CamembertTokenizer",
    "DebertaV2Tokenizer",
    "MarianTokenizer",
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), MARIAN = CLASSES - 1 };

static const char ids[] = "{\"</s>\":0,\"<unk>\":1,\"a\":2,\"\xe2\x96\x81walk\":3,\">>fr<<\":4}";

static void write_config(const char *class)
{
    char config[128];
    int size =
        snprintf(config, sizeof(config), "{\"tokenizer_class\":\"%s\",\"extra_ids\":2}", class);
    fuzz_write("tokenizer_config.json", *class ? (const uint8_t *)config : NULL, (size_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char text[] = ">>fr<< \xef\xbc\xa1\xe2\x80\xa6 e\xcc\x81  walk<extra_id_0>";
    char path[FUZZ_PATH];
    mgk_tokenizer *tokenizer;
    if (size < 2)
        return 0;
    int class = bytes[0] % CLASSES;
    const char *name = class == MARIAN ? "source.spm" : "tokenizer.model";
    write_config(classes[class]);
    fuzz_write("vocab.json", (const uint8_t *)ids, sizeof(ids) - 1);
    fuzz_write(name, bytes + 1, size - 1);
    fuzz_path(name, path);
    if (mgk_tokenizer_open(path, &tokenizer) != STATUS_OK)
        return 0;
    fuzz_encode(tokenizer, text, sizeof(text) - 1);
    mgk_tokenizer_close(tokenizer);
    return 0;
}
