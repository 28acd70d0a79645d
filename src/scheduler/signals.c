/* signals.c - signalfd. */
#include "scheduler/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { SIGNALS_SAME_WISH_US = 200000 };

int signals_open(struct signals *sg, struct err *e)
{
    sigset_t wanted;
    struct sigaction plain = {.sa_handler = SIG_DFL}, hangup;

    *sg = (struct signals){.fd = -1};
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&wanted, SIGHUP);
    sg->fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (sg->fd < 0) return ERR(e, ERR_INTERNAL, "signalfd: %s", strerror(errno));
    /* Where SIGCHLD is ignored the kernel reaps children itself and their exit status is lost. */
    sigaction(SIGCHLD, &plain, &sg->child_before);
    sigprocmask(SIG_BLOCK, &wanted, &sg->mask_before);
    return 0;
}

void signals_read(struct signals *sg, int64_t now_us, bool *child)
{
    struct signalfd_siginfo info;

    while (read(sg->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD) {
            *child = true;
            continue;
        }
        if (sg->stops_n == 0 || now_us - sg->last_record_us > SIGNALS_SAME_WISH_US) sg->stops_n++;
        sg->last_record_us = now_us;
    }
}

void signals_close(struct signals *sg)
{
    if (sg->fd < 0) return;
    bool child;
    signals_read(sg, 0, &child); /* what is still pending must not strike when it is unblocked */
    close(sg->fd);
    sigaction(SIGCHLD, &sg->child_before, NULL);
    sigprocmask(SIG_SETMASK, &sg->mask_before, NULL);
    sg->fd = -1;
}
