/* Preloaded into a process, it sets the process's clock off the right time by the seconds that stand, as a
   64-bit integer, in the file of TURNED_CLOCK. Monotonic time stays as it is, as on a machine that is set back. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t right_time, *off = &right_time;

__attribute__((constructor)) static void look_at_clock(void) {
    const char *path = getenv("TURNED_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *seconds = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (seconds != MAP_FAILED)
        off = seconds;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *off;
    return (int)failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    long failed = syscall(SYS_gettimeofday, now, zone);
    if (!failed)
        now->tv_sec += *off;
    return (int)failed;
}

time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept)
        *kept = now.tv_sec;
    return now.tv_sec;
}
