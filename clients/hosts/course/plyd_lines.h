/* A conversation in lines with a bridge of plyd over a TCP socket, in plain C11 and POSIX.
 *
 * To be included by one source file; everything is static. dial, send_all and receive_line are its entries.
 */
#ifndef PLYD_LINES_H
#define PLYD_LINES_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum {
    WHY = 256,  /* characters of a reason */
    LINE = 4096 /* characters of a line that are read; the rest of it is skipped */
};

typedef struct {
    int file;       /* -1 without a connection */
    int64_t end_ms; /* when a wait times out */
    char *why;      /* the reason of a failure */
    size_t size, at; /* of what came and is not read yet */
    char came[LINE];
} Link;

static int fail(char *why, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(why, WHY, format, values);
    va_end(values);
    return -1;
}

/* Time and the wire */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_until(const Link *link, short events) {
    struct pollfd file = {link->file, events, 0};
    for (;;) {
        int64_t left = link->end_ms - now_ms();
        if (left <= 0) return fail(link->why, "no answer in time");
        int ready = poll(&file, 1, (int)left);
        if (ready > 0) return 0;
        if (ready < 0 && errno != EINTR) return fail(link->why, "%s", strerror(errno));
    }
}

static int send_all(const Link *link, const char *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(link->file, bytes, size, MSG_NOSIGNAL);
        if (sent >= 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_until(link, POLLOUT)) return -1;
        } else if (errno != EINTR) {
            return fail(link->why, "%s", strerror(errno));
        }
    }
    return 0;
}

static int connect_to(Link *link, const struct addrinfo *place) {
    int error = 0;
    socklen_t size = sizeof error;
    link->file = socket(place->ai_family, place->ai_socktype, place->ai_protocol);
    if (link->file < 0) return fail(link->why, "%s", strerror(errno));
    fcntl(link->file, F_SETFD, FD_CLOEXEC);
    fcntl(link->file, F_SETFL, O_NONBLOCK);
    if (connect(link->file, place->ai_addr, place->ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) {
        error = errno;
    } else if (wait_until(link, POLLOUT) == 0) {
        getsockopt(link->file, SOL_SOCKET, SO_ERROR, &error, &size);
        if (!error) return 0;
    }
    close(link->file);
    link->file = -1;
    return error ? fail(link->why, "%s", strerror(error)) : -1;
}

/* Connects to HOST:PORT, where an IPv6 host is in brackets. */
static int dial(Link *link, const char *address) {
    char host[256];
    struct addrinfo wanted, *places = NULL;
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : 0;
    if (!size || size >= sizeof host || !colon[1] || strchr(colon, '/'))
        return fail(link->why, "the address is no HOST:PORT");
    if (address[0] == '[' && colon[-1] == ']') address++, size -= 2;
    memcpy(host, address, size);
    host[size] = 0;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    int error = getaddrinfo(host, colon + 1, &wanted, &places);
    if (error) return fail(link->why, "%s", gai_strerror(error));
    int status = -1;
    for (const struct addrinfo *place = places; place && status; place = place->ai_next) status = connect_to(link, place);
    freeaddrinfo(places);
    return status;
}

/* Reads a line without its end. */
static int receive_line(Link *link, char *line) {
    size_t size = 0;
    for (;;) {
        while (link->at < link->size) {
            char next = link->came[link->at++];
            if (next == '\n') {
                line[size] = 0;
                return 0;
            }
            if (size < LINE - 1) line[size++] = next;
        }
        if (wait_until(link, POLLIN)) return -1;
        ssize_t came = recv(link->file, link->came, sizeof link->came, 0);
        if (came == 0) return fail(link->why, "the connection was closed");
        if (came < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return fail(link->why, "%s", strerror(errno));
        link->at = 0;
        link->size = came > 0 ? (size_t)came : 0;
    }
}

static void hang_up(Link *link) {
    if (link->file >= 0) close(link->file);
    link->file = -1;
    link->at = link->size = 0;
}

#endif
