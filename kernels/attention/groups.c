/* SPDX-License-Identifier: MIT */
#include "kernels/attention/groups.h"

#include "base/memory.h"
#include "kernels/attention/primitives.h"

mgk_groups mgk_groups_head(const mgk_groups *groups, size_t sample, size_t head)
{
    mgk_groups out = *groups;
    const size_t matrix = sample * groups->heads + head;
    out.samples = out.heads = 1;
    out.query += matrix * groups->groups * groups->queries;
    out.key += matrix * groups->groups * groups->keys;
    out.query_lengths += sample * groups->groups;
    out.key_lengths += sample * groups->groups;
    return out;
}

mgk_packed mgk_packed_head(const mgk_device *device, const mgk_groups *groups,
                           const mgk_packed *packed, size_t sample, size_t head)
{
    mgk_packed out = *packed;
    const size_t first = head * packed->dim, group = sample * groups->groups * packed->stride;
    out.query = mgk_at(device, packed->query, group * groups->queries + first);
    out.key = mgk_at(device, packed->key, group * groups->keys + first);
    return out;
}

size_t mgk_group_index_count(const mgk_groups *sizes)
{
    const size_t all = sizes->samples * sizes->groups;
    return all * sizes->heads * (sizes->queries + sizes->keys) + 2 * all;
}

mgk_group_index mgk_group_index_at(const mgk_groups *sizes, int32_t *memory)
{
    const size_t all = sizes->samples * sizes->groups;
    mgk_group_index out = {.query = memory};
    out.key = out.query + all * sizes->heads * sizes->queries;
    out.query_lengths = out.key + all * sizes->heads * sizes->keys;
    out.key_lengths = out.query_lengths + all;
    return out;
}

size_t mgk_group_arrays_reals(const mgk_groups *sizes, size_t dim)
{
    const size_t queries = mgk_groups_queries(sizes);
    return (queries + mgk_groups_keys(sizes)) * dim + queries + mgk_group_index_count(sizes);
}

mgk_group_arrays mgk_group_arrays_at(const mgk_device *device, const mgk_groups *sizes, size_t dim,
                                     void *memory)
{
    const size_t queries = mgk_groups_queries(sizes);
    mgk_group_arrays out = {.dim = dim, .packed = queries * dim, .query = memory, .groups = *sizes};
    out.key = mgk_at(device, out.query, out.packed);
    out.statistic = mgk_at(device, out.key, mgk_groups_keys(sizes) * dim);
    out.index = mgk_at(device, out.statistic, queries);
    const mgk_group_index index = mgk_group_index_at(sizes, out.index);
    out.groups.query = index.query;
    out.groups.key = index.key;
    out.groups.query_lengths = index.query_lengths;
    out.groups.key_lengths = index.key_lengths;
    return out;
}

mgk_attention_view mgk_groups_view(const mgk_groups *groups, const mgk_packed *packed,
                                   const void *value, size_t value_dim)
{
    return (mgk_attention_view){.samples = (int)(groups->samples * groups->groups),
                                .heads = (int)groups->heads,
                                .tokens = (int)groups->queries,
                                .dim = (int)packed->dim,
                                .mixtures = 1,
                                .key_tokens = (int)groups->keys,
                                .value_dim = (int)value_dim,
                                .causal = packed->causal,
                                .lengths = groups->query_lengths,
                                .key_lengths = groups->key_lengths,
                                .query = packed->query,
                                .key = packed->key,
                                .value = value,
                                .query_stride = packed->stride,
                                .key_stride = packed->stride,
                                .value_stride = groups->heads * value_dim};
}

static mgk_head_tokens tokens_of(const mgk_groups *g, size_t dim, size_t stride)
{
    return (mgk_head_tokens){g->samples, g->tokens, g->heads, dim, stride, NULL};
}

mgk_status mgk_groups_pack(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                           const void *x, size_t x_stride, void *packed)
{
    const mgk_head_tokens tokens = tokens_of(groups, dim, x_stride);
    return device->op->dense->gather_tokens(
        device, &tokens, groups->groups * (keys ? groups->keys : groups->queries),
        keys ? groups->key : groups->query, x, packed, groups->heads * dim);
}

mgk_status mgk_groups_unpack(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                             const void *packed, void *x, size_t x_stride)
{
    const mgk_head_tokens tokens = tokens_of(groups, dim, x_stride);
    return device->op->dense->scatter_add_tokens(
        device, &tokens, groups->groups * (keys ? groups->keys : groups->queries),
        keys ? groups->key : groups->query, packed, groups->heads * dim, x);
}

mgk_status mgk_groups_spread(mgk_device *device, const mgk_groups *groups, bool keys, size_t dim,
                             const void *packed, void *x, size_t x_stride)
{
    TRY(mgk_zero_rows(device, groups->samples * groups->tokens, groups->heads * dim, x_stride, x));
    return mgk_groups_unpack(device, groups, keys, dim, packed, x, x_stride);
}

mgk_status mgk_groups_attend(mgk_device *device, const mgk_group_arrays *a,
                             const mgk_mixture *mixture, const void *values, void *output)
{
    const mgk_packed packed = mgk_group_arrays_packed(a);
    const mgk_attention_view view = mgk_groups_view(&a->groups, &packed, values, a->dim);
    return device->op->mixture_attention(device, &view, mixture, output, packed.stride,
                                         a->statistic);
}

mgk_status mgk_groups_attend_backward(mgk_device *device, const mgk_group_arrays *a,
                                      const mgk_mixture *mixture, const void *values,
                                      const void *output, const void *doutput, size_t output_stride,
                                      void *room, mgk_attention_gradient *inner)
{
    const mgk_groups *g = &a->groups;
    const mgk_packed packed = mgk_group_arrays_packed(a);
    const mgk_attention_view view = mgk_groups_view(g, &packed, values, a->dim);
    void *part = room, *dpart = mgk_at(device, part, a->packed);
    inner->query = mgk_at(device, dpart, a->packed);
    inner->key = mgk_at(device, inner->query, a->packed);
    inner->value = mgk_at(device, inner->key, mgk_groups_keys(g) * a->dim);
    TRY(mgk_groups_pack(device, g, false, a->dim, output, output_stride, part));
    TRY(mgk_groups_pack(device, g, false, a->dim, doutput, output_stride, dpart));
    return device->op->mixture_attention_backward(device, &view, mixture, part, a->statistic, dpart,
                                                  packed.stride, inner);
}

mgk_status mgk_copy_rows(mgk_device *device, size_t rows, size_t width, const void *from,
                         size_t from_stride, void *to, size_t to_stride)
{
    if (from_stride == width && to_stride == width)
        return device->op->copy(device, to, from, rows * width * device->real_size);
    for (size_t row = 0; row < rows; row++)
        TRY(device->op->copy(device, mgk_at(device, to, row * to_stride),
                             mgk_at(device, from, row * from_stride), width * device->real_size));
    return STATUS_OK;
}

mgk_status mgk_group_matrix(mgk_device *device, const mgk_groups *groups, const mgk_packed *packed,
                            const mgk_mixture *mixture, size_t group, void *out)
{
    const mgk_attention_view view = mgk_groups_view(groups, packed, NULL, packed->dim);
    int32_t *head;
    TRY(device->op->allocate(device, sizeof *head, (void **)&head));
    mgk_status status = device->op->zero(device, head, sizeof *head);
    if (status == STATUS_OK)
        status = device->op->mixture_matrix(device, &view, mixture, MGK_MATRIX_ATTENTION,
                                            (int)group, 1, head, 1, out);
    device->op->release(device, head);
    return status;
}

mgk_status mgk_groups_matrix(mgk_device *device, const mgk_groups *groups, const mgk_packed *packed,
                             const mgk_mixture *mixture, const void *weight, void *out)
{
    mgk_pairs pairs = {groups->tokens, groups->queries, groups->keys,
                       groups->query,  groups->key,     1};
    const size_t square = groups->queries * groups->keys;
    void *one;
    TRY(mgk_device_lend(device, square * device->real_size, &one));
    for (size_t g = 0; g < groups->groups; g++) {
        TRY(mgk_group_matrix(device, groups, packed, mixture, g, one));
        TRY(device->op->dense->add_pairs(
            device, &pairs, weight ? mgk_at(device, weight, g * groups->queries) : NULL, one, out));
        pairs.query += groups->queries;
        pairs.key += groups->keys;
    }
    return STATUS_OK;
}

mgk_status mgk_matrix_by_heads(mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer, mgk_head_matrix_fn *add,
                               int sample, const int32_t *heads, int count, void *matrix)
{
    const size_t square = (size_t)view->tokens * (size_t)view->tokens;
    int32_t *chosen;
    TRY(mgk_device_indices(device, heads, (size_t)count, &chosen));
    mgk_status status =
        device->op->zero(device, matrix, (size_t)count * square * device->real_size);
    for (size_t c = 0; status == STATUS_OK && c < (size_t)count; c++)
        status = add(device, view, layer, (size_t)sample, (size_t)chosen[c],
                     mgk_at(device, matrix, c * square));
    mgk_free(chosen);
    return status;
}
