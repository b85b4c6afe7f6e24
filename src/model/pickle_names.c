/*
 * Names that stand for doing something, not for data. Nothing that a pickle names is ever called
 * here; a pickle that asks for one of these was made to do harm, and its tensors are not to be
 * trusted either.
 */
#include <string.h>

#include "model/pickle_machine.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Wherever in a path: modules carry others within them ("torch.serialization.os.system"). */
static const char *const anywhere[] = {
    "os", "posix", "nt", "sys", "subprocess", "operator.attrgetter", "operator.methodcaller"};

static const char *const modules[] = {
    "_pickle",   "asyncio", "bdb",    "code",   "codeop",  "commands",  "ctypes", "imp",
    "importlib", "marshal", "pdb",    "pickle", "pkgutil", "pty",       "pydoc",  "requests",
    "runpy",     "shutil",  "socket", "timeit", "urllib",  "webbrowser"};

/* Of Python itself, where these would be called. */
static const char *const functions[] = {
    "__import__", "apply",   "breakpoint", "compile", "delattr", "eval", "exec",    "execfile",
    "file",       "getattr", "globals",    "input",   "locals",  "open", "setattr", "vars"};

/* Whether `name` is `path`, or something within it. */
static bool is_within(const char *name, const char *path)
{
    size_t length = strlen(path);
    return strncmp(name, path, length) == 0 && (name[length] == '\0' || name[length] == '.');
}

static bool names_module_anywhere(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '.')) {
        part += *part == '.';
        for (size_t i = 0; i < COUNT(anywhere); i++)
            if (is_within(part, anywhere[i]))
                return true;
    }
    return false;
}

static bool names_module(const char *name)
{
    for (size_t i = 0; i < COUNT(modules); i++)
        if (is_within(name, modules[i]))
            return true;
    return false;
}

static bool names_function(const char *name)
{
    static const char *const homes[] = {"builtins.", "__builtin__.", "__builtins__."};
    for (size_t home = 0; home < COUNT(homes); home++) {
        size_t length = strlen(homes[home]);
        if (strncmp(name, homes[home], length) != 0)
            continue;
        for (size_t i = 0; i < COUNT(functions); i++)
            if (is_within(name + length, functions[i]))
                return true;
    }
    return false;
}

mgk_status mgk_pickle_check_name(const char *name)
{
    if (names_module_anywhere(name) || names_module(name) || names_function(name))
        return mgk_fail(STATUS_UNSUPPORTED, "its pickle calls %.200s; not read", name);
    return STATUS_OK;
}
