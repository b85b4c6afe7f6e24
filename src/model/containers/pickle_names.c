/* SPDX-License-Identifier: MIT */
/*
 * The names of harmful functions. Nothing that a pickle names is ever called here, so all other
 * names are plain records, even getattr, which harmless pickles of methods and enumerations call.
 * But a pickle that names one of these functions was made to do harm, and its tensors cannot be
 * trusted either.
 */
#include <string.h>

#include "model/containers/pickle_machine.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const of_python[] = {"__import__", "breakpoint", "compile", "eval", "exec",
                                        "execfile",   "file",       "input",   "open"};

static const char *const of_system[] = {
    "abort",   "chmod",  "chown",   "execl",   "execle",  "execlp",     "execlpe",  "execv",
    "execve",  "execvp", "execvpe", "fdopen",  "fork",    "forkpty",    "kill",     "killpg",
    "link",    "open",   "popen",   "popen2",  "popen3",  "popen4",     "putenv",   "posix_spawn",
    "remove",  "rename", "replace", "rmdir",   "spawnl",  "removedirs", "renames",  "posix_spawnp",
    "spawnle", "spawnv", "spawnlp", "spawnve", "spawnvp", "spawnlpe",   "spawnvpe", "startfile",
    "symlink", "system", "unlink",  "write"};

static const char *const of_processes[] = {
    "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"};

static const char *const of_commands[] = {"getoutput", "getstatusoutput"};

static const char *const of_files[] = {"chown",        "copy",     "copy2",
                                       "copyfile",     "copytree", "move",
                                       "make_archive", "rmtree",   "unpack_archive"};

static const char *const of_streams[] = {"FileIO", "open", "open_code"};
static const char *const of_imports[] = {"__import__",   "import_module", "load_compiled",
                                         "load_dynamic", "load_module",   "load_source"};
static const char *const of_pickles[] = {"Unpickler", "load", "loads"};
static const char *const of_libraries[] = {"CDLL",      "LibraryLoader", "OleDLL", "PyDLL",
                                           "WinDLL",    "cdll",          "oledll", "pydll",
                                           "pythonapi", "windll"};
static const char *const of_debuggers[] = {"Pdb", "run", "runcall", "runctx", "runeval"};
static const char *const of_consoles[] = {"InteractiveConsole", "InteractiveInterpreter",
                                          "interact"};
static const char *const of_timers[] = {"Timer", "main", "repeat", "timeit"};
static const char *const of_pages[] = {"pager", "pipepager", "tempfilepager"};
static const char *const of_browsers[] = {"get", "open", "open_new", "open_new_tab"};
static const char *const of_web[] = {"Request", "URLopener", "urlopen", "urlretrieve"};

/* Also matched behind other modules ("torch.serialization.os.system"). */
static const struct {
    const char *module;
    const char *const *functions;
    size_t count;
} harmful[] = {
    {"builtins", of_python, COUNT(of_python)},
    {"__builtin__", of_python, COUNT(of_python)},
    {"__builtins__", of_python, COUNT(of_python)},
    {"os", of_system, COUNT(of_system)},
    {"posix", of_system, COUNT(of_system)},
    {"nt", of_system, COUNT(of_system)},
    {"subprocess", of_processes, COUNT(of_processes)},
    {"commands", of_commands, COUNT(of_commands)},
    {"shutil", of_files, COUNT(of_files)},
    {"io", of_streams, COUNT(of_streams)},
    {"_io", of_streams, COUNT(of_streams)},
    {"codecs", of_streams, COUNT(of_streams)},
    {"importlib", of_imports, COUNT(of_imports)},
    {"imp", of_imports, COUNT(of_imports)},
    {"pickle", of_pickles, COUNT(of_pickles)},
    {"_pickle", of_pickles, COUNT(of_pickles)},
    {"cPickle", of_pickles, COUNT(of_pickles)},
    {"marshal", of_pickles, COUNT(of_pickles)},
    {"ctypes", of_libraries, COUNT(of_libraries)},
    {"pdb", of_debuggers, COUNT(of_debuggers)},
    {"bdb", of_debuggers, COUNT(of_debuggers)},
    {"cProfile", of_debuggers, COUNT(of_debuggers)},
    {"profile", of_debuggers, COUNT(of_debuggers)},
    {"code", of_consoles, COUNT(of_consoles)},
    {"timeit", of_timers, COUNT(of_timers)},
    {"pydoc", of_pages, COUNT(of_pages)},
    {"webbrowser", of_browsers, COUNT(of_browsers)},
    {"urllib", of_web, COUNT(of_web)},
    {"urllib.request", of_web, COUNT(of_web)},
};

/* Python's modules that no checkpoint needs. */
static const char *const modules[] = {"_posixsubprocess", "_socket", "pty", "runpy", "socket"};

/*
 * The part of a name after `path` and a dot; "" if the name ends there, NULL if it does not begin
 * with `path`.
 */
static const char *behind(const char *name, const char *path)
{
    size_t length = strlen(path);
    if (strncmp(name, path, length) != 0 || (name[length] && name[length] != '.'))
        return NULL;
    return name + length + (name[length] == '.');
}

/*
 * Whether this is the function, or one of its attributes such as __call__: modules of other
 * packages may have the same name.
 */
static bool is_function(const char *name, const char *function)
{
    const char *rest = behind(name, function);
    return rest && (*rest == '\0' || strncmp(rest, "__", 2) == 0);
}

static bool begins_with_harm(const char *name)
{
    for (size_t i = 0; i < COUNT(harmful); i++) {
        const char *rest = behind(name, harmful[i].module);
        for (size_t k = 0; rest && k < harmful[i].count; k++)
            if (is_function(rest, harmful[i].functions[k]))
                return true;
    }
    return false;
}

static bool names_module(const char *name)
{
    for (size_t i = 0; i < COUNT(modules); i++)
        if (behind(name, modules[i]))
            return true;
    return false;
}

mgk_status mgk_pickle_check_name(const char *name)
{
    bool harm = names_module(name);
    for (const char *part = name; part && !harm; part = strchr(part, '.')) {
        part += *part == '.';
        harm = begins_with_harm(part);
    }
    if (harm)
        return mgk_fail(STATUS_UNSUPPORTED, "its pickle calls %.200s; not read", name);
    return STATUS_OK;
}
