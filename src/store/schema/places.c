/* SPDX-License-Identifier: MIT */
#include "store/schema/places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static size_t count_places(const mgk_store_places *places, const mgk_store_description *description,
                           int object)
{
    return (size_t)description->samples * places->layers * places->chunks[object];
}

mgk_status mgk_places_open(const char *path, const mgk_store_description *description,
                           mgk_store_places *out)
{
    *out = (mgk_store_places){.path = path, .layers = (size_t)description->layers};
    pthread_mutex_init(&out->lock, NULL);
    for (int object = 0; object <= STORE_VALUES; object++) {
        if (!(description->objects & MGK_STORE_BIT(object)))
            continue;
        out->chunks[object] = mgk_chunk_grid_of(description, object).chunks;
        TRY(mgk_alloc(count_places(out, description, object), sizeof(*out->addresses[object]),
                      &out->addresses[object]));
    }
    return STATUS_OK;
}

mgk_status mgk_places_reserve(mgk_store_places *places, mgk_store_file *file)
{
    for (int object = 0; object <= STORE_VALUES; object++)
        if (places->addresses[object])
            TRY(mgk_store_file_reserve(file, object, places->addresses[object]));
    return STATUS_OK;
}

/* The file has a name that nobody else uses: it is there only in the folder of rank 0. */
static mgk_status open_file(mgk_store_places *places, const char *actual)
{
    places->is_open = mgk_placed_open(actual, O_WRONLY, &places->file);
    if (places->is_open)
        return STATUS_OK;
    if (errno == ENOENT)
        return mgk_fail(STATUS_IO,
                        "%s: in another folder than that of rank 0: all processes write one file",
                        places->path);
    return mgk_fail_write(places->path, errno);
}

mgk_status mgk_places_share(mgk_store_places *places, mgk_cluster *cluster,
                            const mgk_store_description *description, char *actual)
{
    TRY(mgk_cluster_broadcast(cluster, actual, PATH_MAX));
    for (int object = 0; object <= STORE_VALUES; object++)
        if (places->addresses[object])
            TRY(mgk_cluster_broadcast(cluster, places->addresses[object],
                                      count_places(places, description, object) *
                                          sizeof(*places->addresses[object])));
    return mgk_cluster_agree(cluster, open_file(places, actual));
}

mgk_status mgk_places_put_chunk(void *places, const mgk_store_chunk *chunk)
{
    mgk_store_places *p = places;
    const size_t block = (size_t)chunk->sample * p->layers + (size_t)chunk->layer;
    const size_t place = block * p->chunks[chunk->object] + chunk->number;
    pthread_mutex_lock(&p->lock);
    mgk_placed_write(&p->file, p->addresses[chunk->object][place], chunk->size, chunk->bytes,
                     &p->error);
    const int error = p->error;
    pthread_mutex_unlock(&p->lock);
    return error ? mgk_fail_write(p->path, error) : STATUS_OK;
}

mgk_status mgk_places_finish(mgk_store_places *places)
{
    if (fsync(places->file.descriptor) != 0 && places->error == 0)
        places->error = errno;
    mgk_placed_close(&places->file, &places->error);
    places->is_open = false;
    return places->error ? mgk_fail_write(places->path, places->error) : STATUS_OK;
}

void mgk_places_close(mgk_store_places *places)
{
    if (!places->path)
        return;
    if (places->is_open)
        mgk_placed_close(&places->file, &places->error);
    for (int object = 0; object <= STORE_VALUES; object++)
        mgk_free(places->addresses[object]);
    pthread_mutex_destroy(&places->lock);
    *places = (mgk_store_places){0};
}
