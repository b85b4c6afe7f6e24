/* What a container of tensors holds, whether it is a model or not. */
#include <sys/stat.h>

#include "base/utf8.h"
#include "describe.h"
#include "model/tensors.h"

enum {
    MAX_TENSORS = 10000, /* that are shown */
    MAX_VALUES = 1000,
    MAX_TEXT = 200 /* bytes of a name or text */
};

/* Names and texts come from files: valid UTF-8 of a limited length. */
static mgk_status add_text(cJSON *object, const char *name, const char *text)
{
    char shown_name[MAX_TEXT], shown[MAX_TEXT];
    mgk_utf8_copy(name, SIZE_MAX, shown_name, sizeof(shown_name));
    mgk_utf8_copy(text, SIZE_MAX, shown, sizeof(shown));
    return mgk_describe_add(object, shown_name, cJSON_CreateString(shown));
}
