/* SPDX-License-Identifier: MIT */
#include "model/core/adaptive.h"

#include "base/memory.h"

static const size_t default_block = (size_t)1 << 24;

/* The state shared by the blocks of one loss. */
typedef struct work {
    mgk_device *device;
    const mgk_adaptive *output;
    const void *hidden;
    size_t rows;         /* number of hidden states */
    size_t head, widest; /* logits per row: of the head, and the most of any part */
    size_t capacity;     /* rows of a block */
    int32_t *targets;    /* host [rows] */
    int32_t *row;        /* host [capacity]: the block's rows */
    int32_t *target;     /* host [capacity]: their targets among the logits */
    int32_t *row_;       /* copies of both on the device */
    int32_t *target_;
    void *gathered;  /* [capacity, C] */
    void *logits;    /* [capacity, widest] */
    void *head_bias; /* [head] */
    mgk_loss *parts; /* [2] of words in clusters: −ln p_head(cluster k), −ln p_k(w) */

    const mgk_adaptive_gradient *gradient; /* NULL: the loss alone is wanted */
    void *dgathered;                       /* [capacity, C] */
    void *dhead_bias;                      /* [head] */
} work;

/* Part 0 of the vocabulary has the frequent words, part k the words of cluster k − 1. */
static size_t begin_of(const mgk_adaptive *output, size_t part)
{
    return part == 0 ? 0 : (size_t)output->cutoffs[part - 1];
}

static size_t words_of(const mgk_adaptive *output, size_t part)
{
    size_t end = part == output->clusters ? output->vocabulary : (size_t)output->cutoffs[part];
    return end - begin_of(output, part);
}

/* The weights of the frequent words. */
static const void *frequent_of(const mgk_adaptive *output)
{
    return output->frequent ? output->frequent : output->words;
}

static mgk_status set_sizes(work *w)
{
    const mgk_adaptive *output = w->output;
    size_t block = output->block ? output->block : default_block;
    if (w->rows > INT32_MAX)
        return mgk_fail(STATUS_SHAPE, "%zu hidden states at a time are too many", w->rows);
    w->widest = w->head = words_of(output, 0) + output->clusters;
    for (size_t part = 1; part <= output->clusters; part++)
        if (words_of(output, part) > w->widest)
            w->widest = words_of(output, part);
    w->capacity = block / w->widest;
    w->capacity = w->capacity < 1 ? 1 : w->capacity > w->rows ? w->rows : w->capacity;
    return STATUS_OK;
}

static mgk_status allocate(work *w)
{
    mgk_device *device = w->device;
    size_t real = device->real_size, count = w->capacity;
    TRY(mgk_alloc(w->rows, sizeof(*w->targets), &w->targets));
    TRY(mgk_alloc(count, sizeof(*w->row), &w->row));
    TRY(mgk_alloc(count, sizeof(*w->target), &w->target));
    TRY(device->op->allocate(device, count * sizeof(*w->row_), &w->row_));
    TRY(device->op->allocate(device, count * sizeof(*w->target_), &w->target_));
    TRY(device->op->allocate(device, count * w->output->dim * real, &w->gathered));
    TRY(device->op->allocate(device, count * w->widest * real, &w->logits));
    TRY(device->op->allocate(device, w->head * real, &w->head_bias));
    if (w->gradient) {
        TRY(device->op->allocate(device, count * w->output->dim * real, &w->dgathered));
        TRY(device->op->allocate(device, w->head * real, &w->dhead_bias));
        TRY(device->op->zero(device, w->dhead_bias, w->head * real));
    }
    return device->op->allocate(device, 2 * sizeof(*w->parts), &w->parts);
}

static void release(work *w)
{
    void *const arrays[] = {w->row_,      w->target_, w->gathered,  w->logits,
                            w->head_bias, w->parts,   w->dgathered, w->dhead_bias};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        w->device->op->release(w->device, arrays[i]);
    mgk_free(w->targets);
    mgk_free(w->row);
    mgk_free(w->target);
}

/* Joins the head's biases in the order of its logits. */
static mgk_status join_biases(const work *w)
{
    const mgk_adaptive *output = w->output;
    mgk_device *device = w->device;
    size_t frequent = words_of(output, 0);
    if (!output->bias)
        return STATUS_OK;
    TRY(device->op->copy(device, w->head_bias, output->bias, frequent * device->real_size));
    return device->op->copy(device, mgk_at(device, w->head_bias, frequent), output->cluster_bias,
                            output->clusters * device->real_size);
}

/*
 * Columns `column` and on of logits [rows, width]: the block's hidden states times weight
 * [count, C].
 */
static mgk_status multiply(const work *w, size_t rows, const void *weight, size_t count,
                           size_t column, size_t width)
{
    mgk_device *device = w->device;
    size_t dim = w->output->dim;
    return device->op->multiply(device, false, true, rows, count, dim, 1, w->gathered, dim, weight,
                                dim, 0, mgk_at(device, w->logits, column), width);
}

/* Adds −ln p of the block's targets, from a softmax over `width` logits, to *loss; if a gradient is
 * wanted, its own takes the logits' place. */
static mgk_status add_loss(const work *w, size_t rows, size_t width, const void *bias,
                           mgk_loss *loss)
{
    mgk_device *device = w->device;
    TRY(device->op->upload(device, w->target_, w->target, rows * sizeof(*w->target)));
    if (w->output->bias)
        TRY(device->op->bias_activation(device, MGK_ACTIVATION_NONE, rows, width, bias, w->logits,
                                        NULL));
    return device->op->cross_entropy(device, rows, width, w->logits, w->target_,
                                     w->gradient ? w->gradient->scale : 1,
                                     w->gradient ? w->logits : NULL, loss);
}

/*
 * The reverse of `multiply`, from the logits' gradient: that of the weights is added to dweight,
 * and that of the block's hidden states is written to dgathered (beta 0) or added to it (beta 1).
 */
static mgk_status multiply_backward(const work *w, size_t rows, const void *weight, size_t count,
                                    size_t column, size_t width, double beta, void *dweight)
{
    mgk_device *device = w->device;
    const size_t dim = w->output->dim;
    const void *dlogits = mgk_at(device, w->logits, column);
    TRY(device->op->multiply(device, true, false, count, dim, rows, 1, dlogits, width, w->gathered,
                             dim, 1, dweight, dim));
    return device->op->multiply(device, false, false, rows, dim, count, 1, dlogits, width, weight,
                                dim, beta, w->dgathered, dim);
}

static mgk_status head_backward(const work *w, size_t rows)
{
    const mgk_adaptive *output = w->output;
    const mgk_adaptive_gradient *to = w->gradient;
    const size_t frequent = words_of(output, 0);
    TRY(multiply_backward(w, rows, frequent_of(output), frequent, 0, w->head, 0,
                          to->frequent ? to->frequent : to->words));
    TRY(multiply_backward(w, rows, output->cluster_weight, output->clusters, frequent, w->head, 1,
                          to->cluster_weight));
    if (!output->bias)
        return STATUS_OK;
    return w->device->op->column_sums(w->device, rows, w->head, w->logits, w->dhead_bias);
}

static mgk_status cluster_backward(const work *w, size_t part, size_t rows)
{
    const mgk_adaptive *output = w->output;
    mgk_device *device = w->device;
    const size_t begin = begin_of(output, part), words = words_of(output, part);
    const size_t first = begin * output->dim;
    TRY(multiply_backward(w, rows, mgk_at(device, output->words, first), words, 0, words, 1,
                          mgk_at(device, w->gradient->words, first)));
    if (!output->bias)
        return STATUS_OK;
    return device->op->column_sums(device, rows, words, w->logits,
                                   mgk_at(device, w->gradient->bias, begin));
}

/* Puts the gradients of the block's hidden states where these were. */
static mgk_status scatter(const work *w, size_t rows)
{
    mgk_device *device = w->device;
    return device->op->embed_backward(device, 1, rows, w->output->dim, w->row_, 1, w->dgathered,
                                      w->gradient->hidden, NULL);
}

/* The softmax of the head, for a block of rows whose words are in `part`. */
static mgk_status add_head(const work *w, size_t part, size_t rows, mgk_loss *loss)
{
    const mgk_adaptive *output = w->output;
    const size_t frequent = words_of(output, 0);
    TRY(multiply(w, rows, frequent_of(output), frequent, 0, w->head));
    TRY(multiply(w, rows, output->cluster_weight, output->clusters, frequent, w->head));
    for (size_t i = 0; i < rows; i++)
        w->target[i] = part ? (int32_t)(frequent + part - 1) : w->targets[w->row[i]];
    TRY(add_loss(w, rows, w->head, w->head_bias, part ? &w->parts[0] : loss));
    return w->gradient ? head_backward(w, rows) : STATUS_OK;
}

/* That of a cluster. */
static mgk_status add_cluster(const work *w, size_t part, size_t rows)
{
    const mgk_adaptive *output = w->output;
    mgk_device *device = w->device;
    const size_t begin = begin_of(output, part), words = words_of(output, part);
    TRY(multiply(w, rows, mgk_at(device, output->words, begin * output->dim), words, 0, words));
    for (size_t i = 0; i < rows; i++)
        w->target[i] = w->targets[w->row[i]] - (int32_t)begin;
    TRY(add_loss(w, rows, words, mgk_at(device, output->bias, begin), &w->parts[1]));
    return w->gradient ? cluster_backward(w, part, rows) : STATUS_OK;
}

/* Adds a block of rows, in w->row, whose words are in `part`. */
static mgk_status add_block(const work *w, size_t part, size_t rows, mgk_loss *loss)
{
    mgk_device *device = w->device;
    TRY(device->op->upload(device, w->row_, w->row, rows * sizeof(*w->row)));
    TRY(device->op->embed(device, 1, rows, w->output->dim, w->row_, NULL, 1, w->hidden, NULL,
                          w->gathered));
    TRY(add_head(w, part, rows, loss));
    if (part > 0)
        TRY(add_cluster(w, part, rows));
    return w->gradient ? scatter(w, rows) : STATUS_OK;
}

static mgk_status add_part(const work *w, size_t part, mgk_loss *loss)
{
    int64_t begin = (int64_t)begin_of(w->output, part);
    int64_t end = begin + (int64_t)words_of(w->output, part);
    size_t rows = 0;
    for (size_t i = 0; i < w->rows; i++) {
        if (w->targets[i] < begin || w->targets[i] >= end)
            continue;
        w->row[rows++] = (int32_t)i;
        if (rows == w->capacity) {
            TRY(add_block(w, part, rows, loss));
            rows = 0;
        }
    }
    return rows ? add_block(w, part, rows, loss) : STATUS_OK;
}

/* −ln p of a word in a cluster is the sum of both parts; both have counted the row. */
static mgk_status join_parts(const work *w, mgk_loss *loss)
{
    mgk_device *device = w->device;
    mgk_loss parts[2], total;
    TRY(device->op->download(device, parts, w->parts, sizeof(parts)));
    TRY(device->op->download(device, &total, loss, sizeof(total)));
    total.sum += parts[0].sum + parts[1].sum;
    total.count += parts[0].count;
    return device->op->upload(device, loss, &total, sizeof(total));
}

/* Adds all rows to *loss, and to the gradient if there is one. */
static mgk_status add_parts(work *w, const int32_t *targets, mgk_loss *loss)
{
    mgk_device *device = w->device;
    TRY(device->op->download(device, w->targets, targets, w->rows * sizeof(*targets)));
    TRY(join_biases(w));
    for (size_t part = 0; part <= w->output->clusters; part++)
        TRY(add_part(w, part, loss));
    return STATUS_OK;
}

mgk_status mgk_adaptive_loss(mgk_device *device, const mgk_adaptive *output, size_t rows,
                             const void *hidden, const int32_t *targets, mgk_loss *loss)
{
    mgk_status status;
    work w = {.device = device, .output = output, .hidden = hidden, .rows = rows};
    CHECK(set_sizes(&w));
    CHECK(allocate(&w));
    CHECK(add_parts(&w, targets, loss));
    CHECK(join_parts(&w, loss));
out:
    release(&w);
    return status;
}

/* Adds the gradient of the head's biases, in the order of its logits, to those of both arrays. */
static mgk_status divide_biases(const work *w)
{
    const mgk_adaptive *output = w->output;
    mgk_device *device = w->device;
    const size_t frequent = words_of(output, 0);
    if (!output->bias)
        return STATUS_OK;
    TRY(device->op->bias_activation(device, MGK_ACTIVATION_NONE, 1, frequent, w->dhead_bias,
                                    w->gradient->bias, NULL));
    return device->op->bias_activation(device, MGK_ACTIVATION_NONE, 1, output->clusters,
                                       mgk_at(device, w->dhead_bias, frequent),
                                       w->gradient->cluster_bias, NULL);
}

mgk_status mgk_adaptive_backward(mgk_device *device, const mgk_adaptive *output, size_t rows,
                                 const void *hidden, const int32_t *targets,
                                 const mgk_adaptive_gradient *gradient)
{
    mgk_status status;
    work w = {
        .device = device, .output = output, .hidden = hidden, .rows = rows, .gradient = gradient};
    CHECK(set_sizes(&w));
    CHECK(allocate(&w));
    CHECK(device->op->zero(device, gradient->hidden, rows * output->dim * device->real_size));
    CHECK(add_parts(&w, targets, &w.parts[0]));
    CHECK(divide_biases(&w));
out:
    release(&w);
    return status;
}
