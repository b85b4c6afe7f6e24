#include "model/format.h"

#include "base/file.h"

static const mgk_model_format *const registry[] = {&mgk_format_native};

mgk_status mgk_model_load(const char *path, mgk_device *device, mgk_model **out)
{
    mgk_mapping mapping;
    *out = NULL;
    /* A file that cannot be read at all is not a question of its format. */
    TRY(mgk_map_file(path, &mapping));
    mgk_unmap_file(&mapping);
    for (size_t i = 0; i < sizeof(registry) / sizeof(registry[0]); i++)
        if (registry[i]->matches(path))
            return registry[i]->load(path, device, out);
    return mgk_fail(STATUS_FORMAT, "%s: not a model of a known format (safetensors by mgk-train)",
                    path);
}
