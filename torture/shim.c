/* Faults of the operating system, injected into one process by LD_PRELOAD.
 *
 * Calls on files below one folder are counted by kind. From the nth of the armed kinds on, a number of them fail: before
 * they do anything, after they did it, or (writes) after a part of the bytes. The wall clock can be moved as well.
 * Nothing happens until torture_arm or torture_clock is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, RENAME = 8, TRUNCATE = 16, MKDIR = 32, UNLINK = 64, READ = 128 };
enum { BEFORE = 0, AFTER = 1, SHORT = 2 };

static char folder[PATH_MAX];
static size_t folder_length = 0;
static int armed_kinds = 0, armed_error = 0, armed_mode = 0;
static long armed_nth = 0, armed_count = 0, seen = 0, failed = 0, seen_of[8];
static char failed_path[PATH_MAX + 16] = "";
static long long clock_offset = 0;

#define REAL(result, name, ...)                                      \
    static result (*real)(__VA_ARGS__) = 0;                          \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void torture_arm(const char *below, int kinds, long nth, long count, int error, int mode) {
    snprintf(folder, sizeof folder, "%s", below);
    folder_length = strlen(folder);
    armed_kinds = kinds; armed_nth = nth; armed_count = count; armed_error = error; armed_mode = mode;
    seen = failed = 0;
    memset(seen_of, 0, sizeof seen_of);
    failed_path[0] = 0;
}
void torture_disarm(void) { armed_kinds = 0; }
/* How many calls of a kind there were since torture_arm; only armed kinds are counted. */
long torture_seen(int kind) { return seen_of[__builtin_ctz(kind)]; }
long torture_failed(void) { return failed; }
const char *torture_failed_path(void) { return failed_path; }
void torture_clock(long long nanoseconds) { clock_offset = nanoseconds; }

static int is_below(const char *path) { return folder_length && !strncmp(path, folder, folder_length); }

static void path_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

/* Whether this call is one of those that fail. */
static int fails_at(int kind, const char *path) {
    if (!(armed_kinds & kind) || !is_below(path)) return 0;
    long turn = seen++;
    seen_of[__builtin_ctz(kind)]++;
    if (turn < armed_nth || (armed_count >= 0 && turn >= armed_nth + armed_count)) return 0;
    failed++;
    snprintf(failed_path, sizeof failed_path, "%s", path);
    return 1;
}
static int fails(int kind, int descriptor) {
    if (!(armed_kinds & kind)) return 0;
    char path[PATH_MAX];
    path_of(descriptor, path);
    return fails_at(kind, path);
}
static int fails_in(int kind, int directory, const char *name) {
    if (!(armed_kinds & kind)) return 0;
    if (directory == AT_FDCWD || name[0] == '/') return fails_at(kind, name);
    char path[2 * PATH_MAX];
    path_of(directory, path);
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "/%s", name);
    return fails_at(kind, path);
}

#define REFUSE do { errno = armed_error; return -1; } while (0)
#define FAIL_OR(condition, call)                      \
    if (!(condition)) return call;                    \
    if (armed_mode == AFTER && (call) < 0) return -1; \
    REFUSE

/* Whether an open can fail as armed: all that write can, but a full disk refuses only new files. */
static int makes(int flags, const char *path) {
    if (armed_error == ENOSPC) return (flags & O_CREAT) && access(path, F_OK) != 0;
    return (flags & O_CREAT) || (flags & O_ACCMODE) != O_RDONLY;
}

#define OPENING(name)                                                                  \
    int name(const char *path, int flags, ...) {                                       \
        REAL(int, #name, const char *, int, ...);                                      \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest); \
        if (makes(flags, path) && fails_at(OPEN, path)) REFUSE;                              \
        return real(path, flags, mode);                                                \
    }
OPENING(open)
OPENING(open64)
#define OPENING_AT(name)                                                               \
    int name(int directory, const char *path, int flags, ...) {                        \
        REAL(int, #name, int, const char *, int, ...);                                 \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, int); va_end(rest); \
        if (makes(flags, path) && fails_in(OPEN, directory, path)) REFUSE;                   \
        return real(directory, path, flags, mode);                                     \
    }
OPENING_AT(openat)
OPENING_AT(openat64)

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!fails(WRITE, descriptor)) return real(descriptor, bytes, size);
    if (armed_mode == SHORT && size > 1) return real(descriptor, bytes, size / 2);
    if (armed_mode == AFTER) real(descriptor, bytes, size);
    REFUSE;
}
#define WRITING_AT(name, offset_type)                                                            \
    ssize_t name(int descriptor, const void *bytes, size_t size, offset_type offset) {           \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type);                            \
        if (!fails(WRITE, descriptor)) return real(descriptor, bytes, size, offset);             \
        if (armed_mode == SHORT && size > 1) return real(descriptor, bytes, size / 2, offset);   \
        if (armed_mode == AFTER) real(descriptor, bytes, size, offset);                          \
        REFUSE;                                                                                  \
    }
WRITING_AT(pwrite, off_t)
WRITING_AT(pwrite64, off64_t)
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (!fails(WRITE, descriptor)) return real(descriptor, parts, count);
    if (armed_mode == SHORT && parts[0].iov_len > 1) {
        struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
        return real(descriptor, &half, 1);
    }
    REFUSE;
}
#define READING_AT(name, offset_type)                                                  \
    ssize_t name(int descriptor, void *bytes, size_t size, offset_type offset) {       \
        REAL(ssize_t, #name, int, void *, size_t, offset_type);                        \
        if (!fails(READ, descriptor)) return real(descriptor, bytes, size, offset);    \
        REFUSE;                                                                        \
    }
READING_AT(pread, off_t)
READING_AT(pread64, off64_t)
ssize_t read(int descriptor, void *bytes, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    if (!fails(READ, descriptor)) return real(descriptor, bytes, size);
    REFUSE;
}

int fsync(int descriptor) {
    REAL(int, "fsync", int);
    FAIL_OR(fails(SYNC, descriptor), real(descriptor));
}
int fdatasync(int descriptor) {
    REAL(int, "fdatasync", int);
    FAIL_OR(fails(SYNC, descriptor), real(descriptor));
}
int ftruncate(int descriptor, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    FAIL_OR(fails(TRUNCATE, descriptor), real(descriptor, size));
}
int ftruncate64(int descriptor, off64_t size) {
    REAL(int, "ftruncate64", int, off64_t);
    FAIL_OR(fails(TRUNCATE, descriptor), real(descriptor, size));
}
int rename(const char *old, const char *new) {
    REAL(int, "rename", const char *, const char *);
    FAIL_OR(fails_at(RENAME, new), real(old, new));
}
int renameat(int from, const char *old, int to, const char *new) {
    REAL(int, "renameat", int, const char *, int, const char *);
    FAIL_OR(fails_in(RENAME, to, new), real(from, old, to, new));
}
int link(const char *old, const char *new) {
    REAL(int, "link", const char *, const char *);
    FAIL_OR(fails_at(RENAME, new), real(old, new));
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    FAIL_OR(fails_in(RENAME, to, new), real(from, old, to, new, flags));
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    FAIL_OR(fails_at(MKDIR, path), real(path, mode));
}
int mkdirat(int directory, const char *path, mode_t mode) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    FAIL_OR(fails_in(MKDIR, directory, path), real(directory, path, mode));
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    FAIL_OR(fails_at(UNLINK, path), real(path));
}
int unlinkat(int directory, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    FAIL_OR(fails_in(UNLINK, directory, path), real(directory, path, flags));
}

static void moved(struct timespec *now) {
    long long nanoseconds = now->tv_sec * 1000000000LL + now->tv_nsec + clock_offset;
    now->tv_sec = nanoseconds / 1000000000LL;
    now->tv_nsec = nanoseconds % 1000000000LL;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int result = real(clock, now);
    if (!result && clock_offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) moved(now);
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(int, "gettimeofday", struct timeval *, void *);
    int result = real(now, zone);
    if (!result && clock_offset) now->tv_sec += clock_offset / 1000000000LL;
    return result;
}
time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
