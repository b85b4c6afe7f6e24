/* SPDX-License-Identifier: MIT */
/* Reads tensors and storages from the calls and tuples that describe them. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/containers/torch.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Views may repeat elements: a tensor may have this many even if its storage has fewer. */
enum { MAX_REPEATED = 1 << 24 };

static bool is_size(const mgk_pickle_value *value, size_t *out)
{
    if (value->kind != MGK_PICKLE_INTEGER || value->as.integer < 0)
        return false;
    *out = (size_t)value->as.integer;
    return true;
}

/* The last component of a class or type name in the module torch; NULL for other modules. */
static const char *torch_name(const mgk_pickle_value *value)
{
    if (value->kind != MGK_PICKLE_GLOBAL || strncmp(value->as.bytes.text, "torch.", 6) != 0)
        return NULL;
    return strrchr(value->as.bytes.text, '.') + 1;
}

typedef struct type_name {
    const char *name;
    mgk_dtype dtype;
} type_name;

static mgk_status find_type(const mgk_pickle_value *value, const type_name *types, size_t count,
                            mgk_dtype *out)
{
    const char *name = torch_name(value);
    for (size_t i = 0; name && i < count; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *out = types[i].dtype;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_UNSUPPORTED, "elements of type %.100s are not supported",
                    value->kind == MGK_PICKLE_GLOBAL ? value->as.bytes.text : "(not a name)");
}

static mgk_status find_storage_type(const mgk_pickle_value *value, mgk_dtype *out)
{
    static const type_name types[] = {
        {"DoubleStorage", MGK_DTYPE_F64}, {"FloatStorage", MGK_DTYPE_F32},
        {"HalfStorage", MGK_DTYPE_F16},   {"BFloat16Storage", MGK_DTYPE_BF16},
        {"LongStorage", MGK_DTYPE_I64},   {"IntStorage", MGK_DTYPE_I32},
        {"ShortStorage", MGK_DTYPE_I16},  {"CharStorage", MGK_DTYPE_I8},
        {"ByteStorage", MGK_DTYPE_U8},    {"BoolStorage", MGK_DTYPE_BOOL},
        {"UntypedStorage", MGK_DTYPE_U8},
    };
    return find_type(value, types, COUNT(types), out);
}

static mgk_status find_dtype(const mgk_pickle_value *value, mgk_dtype *out)
{
    static const type_name types[] = {
        {"float64", MGK_DTYPE_F64},   {"float32", MGK_DTYPE_F32}, {"float16", MGK_DTYPE_F16},
        {"bfloat16", MGK_DTYPE_BF16}, {"int64", MGK_DTYPE_I64},   {"int32", MGK_DTYPE_I32},
        {"int16", MGK_DTYPE_I16},     {"int8", MGK_DTYPE_I8},     {"uint8", MGK_DTYPE_U8},
        {"bool", MGK_DTYPE_BOOL},
    };
    return find_type(value, types, COUNT(types), out);
}

/* (key, first element, elements), or None. */
static bool read_view(const mgk_pickle_value *value, mgk_torch_storage_id *out)
{
    const mgk_pickle_items *view = mgk_pickle_sequence(value);
    if (value->kind == MGK_PICKLE_NONE)
        return true;
    return view && view->count == 3 && is_size(view->list[1], &out->first) &&
           is_size(view->list[2], &out->viewed) && out->first <= out->count &&
           out->viewed <= out->count - out->first;
}

mgk_status mgk_torch_read_storage_id(const mgk_pickle_value *value, mgk_torch_storage_id *out)
{
    const mgk_pickle_items *id = value->kind == MGK_PICKLE_PERSISTENT
                                     ? mgk_pickle_sequence(value->as.object->arguments)
                                     : NULL;
    *out = (mgk_torch_storage_id){0};
    if (!id || id->count < 5 || !mgk_pickle_is(id->list[0], MGK_PICKLE_TEXT, "storage") ||
        id->list[2]->kind != MGK_PICKLE_TEXT || !is_size(id->list[4], &out->count))
        return mgk_fail(STATUS_FORMAT, "not a storage: expected (storage, type, key, location, "
                                       "number of elements)");
    TRY(find_storage_type(id->list[1], &out->dtype));
    if (out->count > SIZE_MAX / mgk_dtype_size(out->dtype))
        return mgk_fail(STATUS_FORMAT, "a storage that is too large for this machine");
    out->key = id->list[2]->as.bytes.text;
    out->viewed = out->count;
    if (id->count > 5 && !read_view(id->list[5], out))
        return mgk_fail(STATUS_FORMAT, "storage \"%.100s\" has a view beyond its end", out->key);
    return STATUS_OK;
}

/* Reads sizes or strides: a tuple, or a torch.Size of a tuple. */
static const mgk_pickle_items *read_tuple(const mgk_pickle_value *value)
{
    const char *class = mgk_pickle_class(value);
    if (class && strcmp(class, "torch.Size") == 0) {
        const mgk_pickle_items *arguments = mgk_pickle_sequence(value->as.object->arguments);
        return arguments && arguments->count == 1 ? mgk_pickle_sequence(arguments->list[0]) : NULL;
    }
    return mgk_pickle_sequence(value);
}

static mgk_status read_sizes(const mgk_pickle_value *value, size_t sizes[MGK_MAX_AXES], int *axes)
{
    const mgk_pickle_items *items = read_tuple(value);
    if (!items)
        return mgk_fail(STATUS_FORMAT, "sizes that are not a tuple");
    if (items->count > MGK_MAX_AXES)
        return mgk_fail(STATUS_UNSUPPORTED, "%zu axes, expected at most %d", items->count,
                        MGK_MAX_AXES);
    for (size_t i = 0; i < items->count; i++)
        if (!is_size(items->list[i], &sizes[i]))
            return mgk_fail(STATUS_FORMAT, "a size or stride that is not a whole number from 0");
    *axes = (int)items->count;
    return STATUS_OK;
}

/* The end of the tensor's last element in bytes; false on overflow. */
static bool find_end(const mgk_stored_tensor *tensor, size_t *end)
{
    size_t last = tensor->offset, step;
    for (int axis = 0; axis < tensor->info.axes; axis++)
        if (__builtin_mul_overflow(tensor->info.shape[axis] - 1, tensor->strides[axis], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    return !__builtin_add_overflow(last, 1, &last) &&
           !__builtin_mul_overflow(last, mgk_dtype_size(tensor->info.dtype), end);
}

/* Checks that the tensor is within the view of its storage, which has `size` bytes. */
static mgk_status check_bounds(mgk_stored_tensor *tensor, size_t size)
{
    size_t end;
    tensor->info.count = 1;
    for (int axis = 0; axis < tensor->info.axes; axis++)
        if (mgk_multiply(tensor->info.count, tensor->info.shape[axis], &tensor->info.count) !=
            STATUS_OK)
            return mgk_fail(STATUS_FORMAT, "a shape that is too large for this machine");
    if (tensor->info.count == 0)
        return STATUS_OK;
    if (!find_end(tensor, &end) || end > size)
        return mgk_fail(STATUS_FORMAT, "leaves its storage of %zu %s", size,
                        MGK_NOUN(size, "byte", "bytes"));
    if (tensor->info.count > MAX_REPEATED &&
        tensor->info.count > size / mgk_dtype_size(tensor->info.dtype))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "repeats %zu bytes as %zu elements, expected at most %d", size,
                        tensor->info.count, MAX_REPEATED);
    return STATUS_OK;
}

/* Whether the function makes tensors; all these take storage, offset, sizes and strides first. */
static bool makes_tensor(const char *class)
{
    return strcmp(class, "torch._utils._rebuild_tensor") == 0 ||
           strcmp(class, "torch._utils._rebuild_tensor_v2") == 0 ||
           strcmp(class, "torch._utils._rebuild_tensor_v3") == 0;
}

/*
 * Replaces a wrapping call by the wrapped one: a parameter has the tensor as its first argument; a
 * tensor with attributes, or of a subclass, has function, class and arguments.
 */
static bool unwrap(mgk_pickle_object *call)
{
    const char *name = call->made_by->as.bytes.text;
    const mgk_pickle_items *arguments = mgk_pickle_sequence(call->arguments);
    bool parameter = strcmp(name, "torch._utils._rebuild_parameter") == 0 ||
                     strcmp(name, "torch._utils._rebuild_parameter_with_state") == 0;
    bool typed = strcmp(name, "torch._tensor._rebuild_from_type_v2") == 0;
    if (parameter && arguments && arguments->count > 0 &&
        arguments->list[0]->kind == MGK_PICKLE_OBJECT) {
        *call = *arguments->list[0]->as.object;
        return true;
    }
    if (typed && arguments && arguments->count > 2) {
        *call = (mgk_pickle_object){.made_by = arguments->list[0], .arguments = arguments->list[2]};
        return true;
    }
    return false;
}

bool mgk_torch_is_tensor(const mgk_pickle_value *value, mgk_pickle_object *call)
{
    enum { MAX_WRAPS = 4 }; /* a call may contain itself */
    if (value->kind != MGK_PICKLE_OBJECT)
        return false;
    *call = *value->as.object;
    for (int i = 0; i < MAX_WRAPS && call->made_by->kind == MGK_PICKLE_GLOBAL; i++) {
        if (makes_tensor(call->made_by->as.bytes.text))
            return true;
        if (!unwrap(call))
            return false;
    }
    return false;
}

/* v3 is for element types without a storage class: the type is its seventh argument. */
static mgk_status read_type(const mgk_pickle_object *call, const mgk_pickle_items *arguments,
                            mgk_dtype stored, mgk_dtype *out)
{
    *out = stored;
    if (!mgk_pickle_is(call->made_by, MGK_PICKLE_GLOBAL, "torch._utils._rebuild_tensor_v3"))
        return STATUS_OK;
    if (arguments->count < 7)
        return mgk_fail(STATUS_FORMAT, "a tensor without a type");
    return find_dtype(arguments->list[6], out);
}

mgk_status mgk_torch_read_tensor(const mgk_pickle_object *call, const mgk_torch_storages *storages,
                                 mgk_stored_tensor *out)
{
    const mgk_pickle_items *arguments = mgk_pickle_sequence(call->arguments);
    mgk_torch_storage_id id;
    int strides;
    *out = (mgk_stored_tensor){0};
    if (!arguments || arguments->count < 4 || !is_size(arguments->list[1], &out->offset))
        return mgk_fail(STATUS_FORMAT, "expected storage, offset, sizes and strides");
    TRY(mgk_torch_read_storage_id(arguments->list[0], &id));
    TRY(read_type(call, arguments, id.dtype, &out->info.dtype));
    TRY(read_sizes(arguments->list[2], out->info.shape, &out->info.axes));
    TRY(read_sizes(arguments->list[3], out->strides, &strides));
    if (strides != out->info.axes)
        return mgk_fail(STATUS_FORMAT, "%d sizes and %d strides", out->info.axes, strides);
    if (id.first > 0 && out->info.dtype != id.dtype)
        return mgk_fail(STATUS_UNSUPPORTED, "a view of elements of another type");
    TRY(check_bounds(out, id.viewed * mgk_dtype_size(id.dtype)));
    out->offset += id.first;
    return storages->find(storages->context, &id, &out->storage);
}
