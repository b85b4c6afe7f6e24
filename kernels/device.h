/* SPDX-License-Identifier: MIT */
/*
 * A device that computes: the CPU or a GPU. Whoever has opened it calls the operations of its table
 * (kernels/backend.h) and knows no more of it.
 */
#ifndef MGK_KERNELS_DEVICE_H
#define MGK_KERNELS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum mgk_precision { MGK_SINGLE, MGK_DOUBLE } mgk_precision;

typedef struct mgk_operations mgk_operations; /* kernels/backend.h */

/* An open device: its table, its precision and the backend's own state. */
typedef struct mgk_device {
    const mgk_operations *op;
    mgk_precision precision;
    size_t real_size; /* bytes of one real */
    int threads;      /* CPU threads in use */
    bool accelerator; /* has its own memory and needs large batches to be efficient */
    int batch_tokens; /* tokens that keep the device busy: larger batches only take memory */
    bool tf32;        /* see allow_tf32 */
    bool all_parts;   /* has what only some models need: score terms, and the operations that may be
                         NULL for a device without */
    char name[128];   /* for people: "cpu (x86-64-v4, 2 threads)" */
    void *context;
    void *lent; /* [lent_bytes], of mgk_device_lend */
    size_t lent_bytes;
} mgk_device;

/*
 * Opens "auto", "cpu", "cuda" or "cuda:N". threads: 0 uses all cores. Close with mgk_device_close.
 * STATUS_USAGE: another name; STATUS_DEVICE: no such device, or built without CUDA.
 */
mgk_status mgk_device_open(const char *name, mgk_precision precision, int threads,
                           mgk_device **out);
/* The same of several processes of a machine, numbered by `turn`: "cuda" is another device for
 * each, as far as there are as many. */
mgk_status mgk_device_open_in_turn(const char *name, int turn, mgk_precision precision, int threads,
                                   mgk_device **out);
/* Fails like mgk_device_open, but does not load OpenBLAS. */
mgk_status mgk_device_check(const char *name, int threads);
void mgk_device_close(mgk_device *device); /* NULL is accepted */

/* *out: `bytes` of the device's memory, with anything in them, until the next call: for what is
 * needed again and again, as the system clears fresh memory page by page. The device owns them. */
mgk_status mgk_device_lend(mgk_device *device, size_t bytes, void **out);

/*
 * An array of the device and its copy on the host: results are copied out while the device
 * continues to compute. Where device memory is host memory, both are one array and nothing is
 * copied.
 */
typedef struct mgk_mirror {
    void *array; /* operations write this one */
    void *host;  /* `send` copies to this one */
    size_t bytes;
    void *state; /* of the backend */
} mgk_mirror;

/* Copies `count` reals from the device, in its precision, to out [count] on the host. */
mgk_status mgk_device_download(mgk_device *device, const void *reals, size_t count, double *out);
/* Copies values [count] on the host to `count` reals on the device, in its precision. */
mgk_status mgk_device_upload(mgk_device *device, const double *values, size_t count, void *reals);

/* Copies integers [count] of the device to new memory of the host; release with mgk_free. */
mgk_status mgk_device_indices(mgk_device *device, const int32_t *indices, size_t count,
                              int32_t **out);

/* Starts the copy of a mirror, and waits for it: see mgk_mirror_send_fn of backend.h. */
mgk_status mgk_device_send(mgk_device *device, const mgk_mirror *mirror);
mgk_status mgk_device_receive(mgk_device *device, const mgk_mirror *mirror);

/* The address of element `offset` of an array of real. */
static inline void *mgk_at(const mgk_device *device, const void *array, size_t offset)
{
    return (void *)((uintptr_t)array + offset * device->real_size);
}

/*
 * Seed and stream of an operation's random numbers (base/random.h), and how many rows and samples
 * have the numbers before: those of a batch's share are the same as in the whole batch. In device
 * memory.
 */
typedef struct mgk_draw {
    uint64_t seed, stream, rows, samples;
} mgk_draw;

#endif
