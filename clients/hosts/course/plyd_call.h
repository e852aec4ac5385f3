/* One call of plyd.v1.EngineService/Search on a plyd daemon, in plain C11 and POSIX sockets.
 *
 * Uses a cleartext HTTP/2 connection with one stream, literal headers, and a message of a few fields. Of the answer it
 * reads only the message, and of the headers only those of an error.
 * To be included by one source file; everything is static. The entry, plyd_search, is last.
 */
#ifndef PLYD_CALL_H
#define PLYD_CALL_H

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

#ifndef GRACE_MS
#define GRACE_MS 200 /* for the network, added to the time of the search */
#endif

enum {
    WHY = 256,          /* characters of a reason */
    FRAME_HEAD = 9,     /* bytes, as HTTP/2 has them */
    MOST_PAYLOAD = 16384,
    MESSAGE_HEAD = 5,   /* bytes, as gRPC has them */
    MOST_MESSAGE = 1 << 16
};
enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7 }; /* frames */
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4, PADDED = 8 };                       /* their flags */

typedef struct {
    size_t size;
    unsigned char bytes[1024];
} Buffer;

typedef struct {
    unsigned type, flags, stream;
    size_t size;
    unsigned char payload[MOST_PAYLOAD];
} Frame;

typedef struct {
    size_t size;
    unsigned char bytes[MOST_MESSAGE];
} Answer;

typedef struct {
    int file;
    int64_t end_ms; /* when the call times out */
    char *why;      /* the reason of a failure */
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

static int send_all(const Link *link, const unsigned char *bytes, size_t size) {
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

static int receive_all(const Link *link, unsigned char *bytes, size_t size) {
    while (size) {
        if (wait_until(link, POLLIN)) return -1;
        ssize_t came = recv(link->file, bytes, size, 0);
        if (came == 0) return fail(link->why, "the connection was closed");
        if (came > 0) {
            bytes += came;
            size -= (size_t)came;
        } else if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
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

/* Protocol Buffers: a message is fields, each a key (number << 3 | wire type) and a value */

static void put(Buffer *buffer, const void *bytes, size_t size) {
    if (size > sizeof buffer->bytes - buffer->size) abort(); /* a bug: no length here comes from a caller */
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

static void put_number(Buffer *buffer, uint32_t number) {
    do {
        unsigned char byte = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        put(buffer, &byte, 1);
    } while (number >>= 7);
}

static void put_field(Buffer *buffer, unsigned number, const void *bytes, size_t size) {
    put_number(buffer, number << 3 | 2);
    put_number(buffer, (uint32_t)size);
    put(buffer, bytes, size);
}

static int take_number(const unsigned char **at, const unsigned char *end, uint64_t *number) {
    *number = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return 0;
    }
    return -1;
}

/* Narrows at..end from a message to its field of that number, which is text, bytes or a message. */
static int enter_field(const unsigned char **at, const unsigned char **end, unsigned number) {
    uint64_t key, size;
    while (*at < *end && take_number(at, *end, &key) == 0) {
        if ((key & 7) == 0) {
            if (take_number(at, *end, &size)) return -1;
            continue;
        }
        size = (key & 7) == 1 ? 8 : 4;
        if ((key & 7) == 2 && take_number(at, *end, &size)) return -1;
        if (((key & 7) != 1 && (key & 7) != 2 && (key & 7) != 5) || size > (uint64_t)(*end - *at)) return -1;
        if (key == (number << 3 | 2)) {
            *end = *at + size;
            return 0;
        }
        *at += size;
    }
    return -1;
}

/* SearchRequest { position { game: GAME start: TEXT } limits { move_time_ms: MS } } */
static void write_request(const char *game, const char *text, uint32_t milliseconds, Buffer *request) {
    Buffer position = {0, {0}}, limits = {0, {0}};
    put_field(&position, 1, game, strlen(game));
    put_field(&position, 3, text, strlen(text));
    put_number(&limits, 1 << 3);
    put_number(&limits, milliseconds);
    put_field(request, 1, position.bytes, position.size);
    put_field(request, 2, limits.bytes, limits.size);
}

/* Copies the move of SearchResponse { report { move: "4" } }. */
static int read_move(const Answer *answer, char *move, size_t room, char *why) {
    const unsigned char *at = answer->bytes + MESSAGE_HEAD, *end = answer->bytes + answer->size;
    if (enter_field(&at, &end, 1) || enter_field(&at, &end, 2)) return fail(why, "the daemon knows no move here");
    size_t size = (size_t)(end - at);
    if (size >= room) return fail(why, "a move of %zu characters", size);
    memcpy(move, at, size);
    move[size] = 0;
    return 0;
}

/* HTTP/2: a frame is length (3 bytes), type, flags, stream (4), and the payload */

static void put_frame(Buffer *buffer, unsigned type, unsigned flags, unsigned stream, const void *bytes, size_t size) {
    unsigned char head[FRAME_HEAD] = {(unsigned char)(size >> 16), (unsigned char)(size >> 8), (unsigned char)size,
                                      (unsigned char)type, (unsigned char)flags, 0, 0, 0, (unsigned char)stream};
    put(buffer, head, sizeof head);
    put(buffer, bytes, size);
}

/* A header as a literal, never indexed by either side; both lengths are below 127. */
static void put_header(Buffer *buffer, const char *name, const char *value) {
    unsigned char sizes[2] = {(unsigned char)strlen(name), (unsigned char)strlen(value)};
    put(buffer, "\0", 1);
    put(buffer, &sizes[0], 1);
    put(buffer, name, sizes[0]);
    put(buffer, &sizes[1], 1);
    put(buffer, value, sizes[1]);
}

static int send_request(const Link *link, const char *game, const char *text, uint32_t milliseconds) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const unsigned char settings[] = {0, 2, 0, 0, 0, 0}; /* ENABLE_PUSH = 0 */
    char timeout[24];
    Buffer all = {0, {0}}, headers = {0, {0}}, message = {0, {0}}, request = {0, {0}};
    write_request(game, text, milliseconds, &request);
    snprintf(timeout, sizeof timeout, "%um", (unsigned)milliseconds + GRACE_MS);
    put_header(&headers, ":method", "POST");
    put_header(&headers, ":scheme", "http");
    put_header(&headers, ":path", "/plyd.v1.EngineService/Search");
    put_header(&headers, ":authority", "plyd");
    put_header(&headers, "te", "trailers");
    put_header(&headers, "content-type", "application/grpc");
    put_header(&headers, "user-agent", "plyd-course");
    put_header(&headers, "grpc-timeout", timeout);
    unsigned char head[MESSAGE_HEAD] = {0, 0, 0, (unsigned char)(request.size >> 8), (unsigned char)request.size};
    put(&message, head, sizeof head);
    put(&message, request.bytes, request.size);
    put(&all, preface, sizeof preface - 1);
    put_frame(&all, SETTINGS, 0, 0, settings, sizeof settings);
    put_frame(&all, HEADERS, END_HEADERS, 1, headers.bytes, headers.size);
    put_frame(&all, DATA, END_STREAM, 1, message.bytes, message.size);
    return send_all(link, all.bytes, all.size);
}

static int receive_frame(const Link *link, Frame *frame) {
    unsigned char head[FRAME_HEAD];
    if (receive_all(link, head, sizeof head)) return -1;
    frame->size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    frame->type = head[3];
    frame->flags = head[4];
    frame->stream = (unsigned)(head[5] & 0x7f) << 24 | (unsigned)head[6] << 16 | (unsigned)head[7] << 8 | head[8];
    if (frame->size > MOST_PAYLOAD) return fail(link->why, "what answers there does not speak gRPC");
    return receive_all(link, frame->payload, frame->size);
}

static int reply_to(const Link *link, const Frame *frame) {
    Buffer buffer = {0, {0}};
    if (frame->flags & ACK) return 0;
    if (frame->type == PING && frame->size != 8) return fail(link->why, "a ping of %zu bytes", frame->size);
    put_frame(&buffer, frame->type, ACK, 0, frame->payload, frame->type == PING ? 8 : 0);
    return send_all(link, buffer.bytes, buffer.size);
}

/* The reason why a call ended without a message, if the headers give one as plain text. */
static int refused(const Frame *frame, char *why) {
    static const char name[] = "grpc-message";
    const size_t size = sizeof name - 1;
    for (size_t i = 0; i + size < frame->size; i++) {
        size_t left = frame->size - i - size - 1, length = frame->payload[i + size]; /* below 127: no Huffman code */
        if (memcmp(frame->payload + i, name, size) == 0 && length < 127)
            return fail(why, "refused: %.*s", (int)(length < left ? length : left), frame->payload + i + size + 1);
    }
    return fail(why, "refused");
}

static int is_whole(const Answer *answer) {
    const unsigned char *head = answer->bytes;
    return answer->size >= MESSAGE_HEAD &&
           answer->size - MESSAGE_HEAD == ((size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4]);
}

static int add_data(Answer *answer, const Frame *frame, char *why) {
    size_t skipped = frame->flags & PADDED ? 1 : 0, padding = skipped && frame->size ? frame->payload[0] : 0;
    if (skipped + padding > frame->size) return fail(why, "more padding than data");
    size_t size = frame->size - skipped - padding;
    if (size > sizeof answer->bytes - answer->size) return fail(why, "an answer of more than %d bytes", MOST_MESSAGE);
    memcpy(answer->bytes + answer->size, frame->payload + skipped, size);
    answer->size += size;
    return 0;
}

/* Handles frames until the stream ends or an error occurs. */
static int receive_answer(const Link *link, Answer *answer) {
    Frame frame;
    for (;;) {
        if (receive_frame(link, &frame)) return -1;
        int is_ours = frame.stream == 1;
        if ((frame.type == SETTINGS || frame.type == PING) && reply_to(link, &frame)) return -1;
        if (frame.type == GOAWAY && (frame.size < 8 || !(frame.payload[0] | frame.payload[1] | frame.payload[2] | frame.payload[3])))
            return fail(link->why, "the daemon shuts down");
        if (frame.type == RST_STREAM && is_ours) return fail(link->why, "the daemon broke the call off");
        if (frame.type == DATA && is_ours && add_data(answer, &frame, link->why)) return -1;
        if (frame.type == HEADERS && is_ours && frame.flags & END_STREAM) return refused(&frame, link->why);
    }
}

/* Asks the daemon at HOST:PORT for its move in a position, within a number of milliseconds and GRACE_MS. Returns 0
 * and the move, or -1 and the reason. The game's name and the position together have at most 500 characters. */
static int plyd_search(const char *address, const char *game, const char *text, int milliseconds, char *move,
                       size_t room, char *why) {
    int64_t began = now_ms();
    Link link = {-1, began + milliseconds + GRACE_MS, why};
    Answer answer;
    answer.size = 0;
    if (dial(&link, address)) return -1;
    int64_t left = began + milliseconds - now_ms();
    if (send_request(&link, game, text, left > 1 ? (uint32_t)left : 1) == 0) receive_answer(&link, &answer);
    close(link.file);
    if (!is_whole(&answer)) return -1; /* a complete message counts, even if the call then fails */
    if (answer.bytes[0]) return fail(why, "a compressed answer");
    return read_move(&answer, move, room, why);
}

#endif
