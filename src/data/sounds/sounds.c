/* SPDX-License-Identifier: MIT */
#include "data/sounds/sounds.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/sounds/spectrum.h"
#include "data/sounds/wav.h"

enum { TEXT_SIZE = 32, REMARK_SIZE = 128 };

struct mgk_sounds {
    mgk_sound_form form;
    mgk_spectrum *spectrum;
    char **paths;             /* [count] */
    size_t count, longer;     /* files, and those longer than the model hears */
    size_t samples;           /* that it hears */
    int tokens;               /* N */
    char (*texts)[TEXT_SIZE]; /* [N] */
    char remark[REMARK_SIZE];
};

static mgk_status open_file(const mgk_sounds *s, const char *path, mgk_wav *out)
{
    TRY(mgk_wav_open(path, out));
    if (out->rate == s->form.rate)
        return STATUS_OK;
    mgk_status status =
        mgk_fail(STATUS_UNSUPPORTED,
                 "%s: %d samples a second, the model hears %d: resample it first, for "
                 "example with ffmpeg or sox",
                 path, out->rate, s->form.rate);
    mgk_wav_close(out);
    return status;
}

static mgk_status add_file(mgk_sounds *s, const char *path)
{
    mgk_wav wav;
    TRY(open_file(s, path, &wav));
    s->longer += wav.count > s->samples;
    mgk_wav_close(&wav);
    TRY(mgk_copy_string(path, &s->paths[s->count]));
    s->count++;
    return STATUS_OK;
}

static mgk_status name_tokens(mgk_sounds *s)
{
    const double seconds = (double)MGK_SOUND_STRIDE * s->form.hop / s->form.rate;
    TRY(mgk_alloc((size_t)s->tokens, sizeof(*s->texts), &s->texts));
    for (int t = 0; t < s->tokens; t++)
        snprintf(s->texts[t], TEXT_SIZE, "%.2f", t * seconds);
    return STATUS_OK;
}

mgk_status mgk_sounds_open(const char *const *paths, size_t count, const mgk_sound_form *form,
                           int tokens, mgk_sounds **out)
{
    mgk_status status;
    mgk_sounds *s = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*s), &s));
    s->form = *form;
    s->tokens = tokens;
    s->samples = MGK_SOUND_STRIDE * (size_t)tokens * (size_t)form->hop;
    CHECK(mgk_alloc(count, sizeof(*s->paths), &s->paths));
    for (size_t i = 0; i < count; i++)
        CHECK(add_file(s, paths[i]));
    CHECK(mgk_spectrum_create(form, &s->spectrum));
    CHECK(name_tokens(s));
    if (s->longer > 0)
        snprintf(s->remark, sizeof(s->remark),
                 "%zu of %zu %s longer than %g s: the rest is left out", s->longer, count,
                 MGK_NOUN(s->longer, "recording is", "recordings are"),
                 (double)s->samples / form->rate);
    *out = s;
    s = NULL;
out:
    mgk_sounds_close(s);
    return status;
}

void mgk_sounds_close(mgk_sounds *sounds)
{
    if (!sounds)
        return;
    for (size_t i = 0; i < sounds->count; i++)
        mgk_free(sounds->paths[i]);
    mgk_free(sounds->paths);
    mgk_free(sounds->texts);
    mgk_spectrum_free(sounds->spectrum);
    mgk_free(sounds);
}

size_t mgk_sounds_count(const mgk_sounds *sounds)
{
    return sounds->count;
}

const char *mgk_sounds_remark(const mgk_sounds *sounds)
{
    return sounds->longer > 0 ? sounds->remark : NULL;
}

mgk_status mgk_sounds_read(const mgk_sounds *sounds, size_t index, int32_t *ids, double *frames)
{
    const size_t rows = mgk_sound_rows(sounds->tokens), bands = (size_t)sounds->form.bands;
    mgk_status status;
    float *samples = NULL;
    mgk_wav wav;
    TRY(open_file(sounds, sounds->paths[index], &wav));
    CHECK(mgk_alloc(sounds->samples, sizeof(*samples), &samples));
    CHECK(mgk_wav_read(&wav, wav.count < sounds->samples ? wav.count : sounds->samples, samples));
    memset(frames, 0, bands * sizeof(*frames));
    memset(frames + (rows - 1) * bands, 0, bands * sizeof(*frames));
    CHECK(mgk_spectrum_frames(sounds->spectrum, samples, rows - 2, frames + bands));
    for (int t = 0; t < sounds->tokens; t++)
        ids[t] = t;
out:
    mgk_free(samples);
    mgk_wav_close(&wav);
    return status;
}

static const char *text_of(const void *context, int32_t id)
{
    const mgk_sounds *s = context;
    return id >= 0 && id < s->tokens ? s->texts[id] : "";
}

mgk_token_text mgk_sounds_text(const mgk_sounds *sounds)
{
    return (mgk_token_text){.of = text_of, .context = sounds, .subword = ""};
}
