/* SPDX-License-Identifier: MIT */
#include "run/own_tokenizer.h"

mgk_status mgk_own_tokenizer_open(const char *text, bool language_model, const char *path,
                                  mgk_tokenizer **out)
{
    mgk_status status = mgk_tokenizer_open_text(text, out);
    if (status != STATUS_OK) {
        mgk_fail_prefix(status, "the tokenizer that it carries");
        return mgk_fail_prefix(status, path);
    }
    if (language_model)
        mgk_tokenizer_drop_frame(*out);
    return STATUS_OK;
}
