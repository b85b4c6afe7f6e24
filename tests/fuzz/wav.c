/* SPDX-License-Identifier: MIT */
/* Recordings: the header, and the first samples as a model hears them. */
#include "data/sounds/wav.h"
#include "data/sounds/sounds.h"
#include "fuzz/fuzz.h"

enum { TOKENS = 3, BANDS = 5 };

static void hear(const char *path, int rate)
{
    const mgk_sound_form form = {.bands = BANDS, .rate = rate, .hop = 16, .window = 32};
    double frames[BANDS * (2 * TOKENS + 2)];
    int32_t ids[TOKENS];
    mgk_sounds *sounds;
    if (mgk_sounds_open(&path, 1, &form, TOKENS, &sounds) != STATUS_OK)
        return;
    mgk_sounds_read(sounds, 0, ids, frames);
    mgk_sounds_close(sounds);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[FUZZ_PATH];
    mgk_wav wav;
    int file = fuzz_file_open(bytes, size, path);
    if (mgk_wav_open(path, &wav) == STATUS_OK) {
        hear(path, wav.rate);
        mgk_wav_close(&wav);
    }
    fuzz_file_close(file);
    return 0;
}
