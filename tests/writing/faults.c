/* System calls that fail, or kill the process, at the Nth one below a directory.

   Loaded before the C library (LD_PRELOAD), it counts calls on files below the directory that faults_arm names: open,
   write, rename, link, unlink, mkdir, rmdir, chmod, fsync. Before the Nth it sends a signal, or fails with an errno. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char place[PATH_MAX];
static int nth = 0, fault = 0, lasting = 0, count = 0;
static char kinds[65536];

/* fault: an errno, or a signal with a minus. nth 0 only counts. */
void faults_arm(const char *directory, int at, int what, int lasts) {
    strncpy(place, directory, sizeof place - 1);
    nth = at, fault = what, lasting = lasts, count = 0;
}
int faults_count(void) { return count; }
const char *faults_kinds(void) { return kinds; } /* a letter for each call */

static int below(const char *path) {
    size_t length = strlen(place);
    if (!length || !path) return 0;
    if (path[0] != '/') {
        char here[PATH_MAX];
        return getcwd(here, sizeof here) && strncmp(here, place, length) == 0;
    }
    return strncmp(path, place, length) == 0;
}
static int below_fd(int fd) {
    char name[64], path[PATH_MAX];
    if (!place[0]) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}
static int below_at(int at, const char *path) {
    return path && path[0] != '/' && at != AT_FDCWD ? below_fd(at) : below(path);
}
static int strikes(int concerned, char kind) {
    if (!concerned) return 0;
    if (count < (int)sizeof kinds - 1) kinds[count] = kind, kinds[count + 1] = 0;
    count++;
    if (!nth || !(count == nth || (lasting && count > nth))) return 0;
    if (fault < 0) return kill(getpid(), -fault);
    errno = fault;
    return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                                                       \
    int name(const char *path, int flags, ...) {                                         \
        REAL(name);                                                                      \
        va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        if (strikes(below(path), 'o')) return -1;                                        \
        return real(path, flags, mode);                                                  \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name)                                                                     \
    int name(int at, const char *path, int flags, ...) {                                 \
        REAL(name);                                                                      \
        va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        if (strikes(below_at(at, path), 'o')) return -1;                                 \
        return real(at, path, flags, mode);                                              \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t n) { REAL(write); return strikes(below_fd(fd), 'w') ? -1 : real(fd, data, n); }
ssize_t writev(int fd, const struct iovec *v, int n) { REAL(writev); return strikes(below_fd(fd), 'w') ? -1 : real(fd, v, n); }
int fsync(int fd) { REAL(fsync); return strikes(below_fd(fd), 's') ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return strikes(below_fd(fd), 's') ? -1 : real(fd); }
int rename(const char *a, const char *b) { REAL(rename); return strikes(below(b), 'r') ? -1 : real(a, b); }
int renameat(int x, const char *a, int y, const char *b) { REAL(renameat); return strikes(below(b), 'r') ? -1 : real(x, a, y, b); }
int link(const char *a, const char *b) { REAL(link); return strikes(below(b), 'l') ? -1 : real(a, b); }
int linkat(int x, const char *a, int y, const char *b, int f) { REAL(linkat); return strikes(below(b), 'l') ? -1 : real(x, a, y, b, f); }
int unlink(const char *a) { REAL(unlink); return strikes(below(a), 'u') ? -1 : real(a); }
int unlinkat(int x, const char *a, int f) { REAL(unlinkat); return strikes(below_at(x, a), 'u') ? -1 : real(x, a, f); }
int rmdir(const char *a) { REAL(rmdir); return strikes(below(a), 'd') ? -1 : real(a); }
int mkdir(const char *a, mode_t m) { REAL(mkdir); return strikes(below(a), 'm') ? -1 : real(a, m); }
int chmod(const char *a, mode_t m) { REAL(chmod); return strikes(below(a), 'c') ? -1 : real(a, m); }
int fchmod(int fd, mode_t m) { REAL(fchmod); return strikes(below_fd(fd), 'c') ? -1 : real(fd, m); }
int fchmodat(int x, const char *a, mode_t m, int f) { REAL(fchmodat); return strikes(below(a), 'c') ? -1 : real(x, a, m, f); }
