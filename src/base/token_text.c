/* SPDX-License-Identifier: MIT */
#include "base/token_text.h"

#include <pthread.h>
#include <stdio.h>

enum { BYTES = 256, TEXT_SIZE = 5 };

static char texts[BYTES][TEXT_SIZE];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill_texts(void)
{
    for (int byte = 0; byte < BYTES; byte++) {
        char escape = byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : '\0';
        if (escape)
            snprintf(texts[byte], TEXT_SIZE, "\\%c", escape);
        else if (byte >= 0x20 && byte < 0x7f)
            snprintf(texts[byte], TEXT_SIZE, "%c", byte);
        else
            snprintf(texts[byte], TEXT_SIZE, "\\x%02X", (unsigned)byte);
    }
}

static const char *text_of(const void *context, int32_t id)
{
    (void)context;
    return id >= 0 && id < BYTES ? texts[id] : id == BYTES ? "[CLS]" : "";
}

mgk_token_text mgk_byte_text(void)
{
    pthread_once(&filled, fill_texts);
    return (mgk_token_text){.of = text_of, .subword = " "};
}
