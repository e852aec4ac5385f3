/* The course's getPoint, answered by a plyd daemon through `plyd ugi connect4 --listen 127.0.0.1:25852`.
 *
 *     make course                      builds build/libplyd-course.so
 *     PLYD_COURSE=127.0.0.1:25852      address of that bridge (HOST:PORT); this is the default
 *     PLYD_MOVE_MS=2700                time per move in milliseconds; default: 2700
 *
 * If anything fails, a legal move is played within PLYD_MOVE_MS + GRACE_MS: an immediate win, else a block, else the
 * column nearest to the centre. The reason is printed on stderr. Plain C11 and POSIX; also compiles as C++.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "plyd_course.h"

#include "plyd_lines.h"

#ifndef GRACE_MS
#define GRACE_MS 200 /* for the bridge, added to the time of the search */
#endif

enum {
    SMALLEST = 4, /* number of rows and columns that the engine supports */
    LARGEST = 16,
    MOVE_MS = 2700, /* plus GRACE_MS, this is below the course's 3 s */
    MOST_MS = 3600000
};

typedef struct {
    int rows, columns, no_row, no_column;
    const int *top, *cells;
} Board;

static struct Point *point_in(const Board *board, int column);
static int ask(const Board *board, const char *address, char *why);
static int any_column(const Board *board);
static int landing(const Board *board, int column);
static void complain(const char *address, const char *why);

struct Point *getPoint(const int M, const int N, const int *top, const int *_board, const int lastX, const int lastY,
                       const int noX, const int noY) {
    const Board board = {M, N, noX, noY, top, _board};
    const char *address = getenv("PLYD_COURSE");
    char why[WHY] = "";
    (void)lastX, (void)lastY; /* not needed: the board tells */
    if (!address || !*address) address = "127.0.0.1:25852";
    int column = ask(&board, address, why);
    if (column < 0) {
        complain(address, why);
        column = any_column(&board);
    }
    return point_in(&board, column);
}

void clearPoint(struct Point *p) { free(p); }

static struct Point *point_in(const Board *board, int column) {
    struct Point *point = (struct Point *)malloc(sizeof *point);
    if (point) {
        point->x = column < 0 ? -1 : landing(board, column);
        point->y = column;
    }
    return point;
}

/* Tells stderr, but not the same thing at every move. */
static void complain(const char *address, const char *why) {
    static char last[2 * WHY];
    char line[2 * WHY];
    snprintf(line, sizeof line, "plyd-course: %.200s: %s; playing without the engine", address, why);
    if (strcmp(last, line) == 0) return;
    strcpy(last, line);
    for (char *at = line; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?'; /* a stranger's bytes */
    fprintf(stderr, "%s\n", line);
}

/* What the engine plays */

/* The rows from the top: x and o for stones, # for the forbidden cell; x moved first. */
static void write_position(const Board *board, char *text) {
    int lead = 0;
    size_t size = 0;
    for (int i = 0; i < board->rows * board->columns; i++) lead += (board->cells[i] == 1) - (board->cells[i] == 2);
    char mine = lead == 0 ? 'x' : 'o', other = lead == 0 ? 'o' : 'x';
    for (int row = 0; row < board->rows; row++) {
        if (row) text[size++] = '/';
        for (int column = 0; column < board->columns; column++) {
            int cell = board->cells[row * board->columns + column];
            char is_free = row == board->no_row && column == board->no_column ? '#' : '.';
            text[size++] = cell == 2 ? mine : cell == 1 ? other : is_free;
        }
    }
    text[size] = 0;
}

static int move_ms(void) {
    static int is_reported = 0;
    const char *text = getenv("PLYD_MOVE_MS");
    char *end;
    if (!text || !*text) return MOVE_MS;
    long number = strtol(text, &end, 10);
    if (!*end && number >= 1 && number <= MOST_MS) return (int)number;
    if (!is_reported++)
        fprintf(stderr, "plyd-course: PLYD_MOVE_MS is \"%s\", not 1 to %d; %d is taken\n", text, MOST_MS, MOVE_MS);
    return MOVE_MS;
}

/* The game that the connection follows, so that the engine keeps its tree from move to move. */
static struct {
    Link link;
    int rows, columns, no_row, no_column;
    int cells[LARGEST * LARGEST];         /* after our last move */
    char start[LARGEST * (LARGEST + 1)];  /* the board at our first move */
    char moves[3 * LARGEST * LARGEST + 1]; /* since then, each after a space */
} game = {{-1, 0, NULL, 0, 0, {0}}, 0, 0, 0, 0, {0}, "", ""};

/* The opponent's column if the board is the game's after one move of his, else -1. */
static int continued_by(const Board *board) {
    int column = -1;
    if (game.link.file < 0 || board->rows != game.rows || board->columns != game.columns ||
        board->no_row != game.no_row || board->no_column != game.no_column)
        return -1;
    for (int i = 0; i < board->rows * board->columns; i++) {
        if (board->cells[i] == game.cells[i]) continue;
        if (column >= 0 || board->cells[i] != 1 || game.cells[i] != 0) return -1;
        column = i % board->columns;
    }
    return column;
}

static void add_move(int column) {
    size_t size = strlen(game.moves);
    snprintf(game.moves + size, sizeof game.moves - size, " %d", column + 1);
}

/* Lets the game be that of the board, over the same connection if it goes on, else over a new one. */
static int follow(const Board *board, const char *address) {
    int reply = continued_by(board);
    if (reply >= 0) {
        add_move(reply);
        return 0;
    }
    hang_up(&game.link);
    if (dial(&game.link, address)) return -1;
    game.rows = board->rows, game.columns = board->columns;
    game.no_row = board->no_row, game.no_column = board->no_column;
    write_position(board, game.start);
    game.moves[0] = 0;
    return 0;
}

static int send_question(int milliseconds) {
    char text[sizeof game.start + sizeof game.moves + 80];
    int size = snprintf(text, sizeof text, "position fen %s%s%s\ngo movetime %d\n", game.start,
                        game.moves[0] ? " moves" : "", game.moves, milliseconds);
    return send_all(&game.link, text, (size_t)size);
}

/* Reads until `bestmove MOVE`; "info string error: WHY" before it says why there is none. */
static int receive_move(char *move) {
    static const char best[] = "bestmove ", error[] = "info string error: ";
    char line[LINE], told[LINE] = "no move";
    for (;;) {
        if (receive_line(&game.link, line)) return -1;
        if (strncmp(line, error, sizeof error - 1) == 0) strcpy(told, line + sizeof error - 1);
        if (strncmp(line, best, sizeof best - 1)) continue;
        if (strcmp(line + sizeof best - 1, "0000") == 0) return fail(game.link.why, "refused: %.200s", told);
        strcpy(move, line + sizeof best - 1);
        return 0;
    }
}

static int converse(const Board *board, const char *address, int milliseconds) {
    char move[LINE], name[12];
    if (follow(board, address) || send_question(milliseconds) || receive_move(move)) return -1;
    for (int column = 0; column < board->columns; column++) {
        snprintf(name, sizeof name, "%d", column + 1);
        if (strcmp(name, move) || landing(board, column) < 0) continue;
        memcpy(game.cells, board->cells, (size_t)(board->rows * board->columns) * sizeof *board->cells);
        game.cells[landing(board, column) * board->columns + column] = 2;
        add_move(column);
        return column;
    }
    return fail(game.link.why, "the bridge answers \"%.200s\", which is no column with room", move);
}

/* The engine's column, counted from 0, or -1. */
static int ask(const Board *board, const char *address, char *why) {
    if (board->rows < SMALLEST || board->rows > LARGEST || board->columns < SMALLEST || board->columns > LARGEST)
        return fail(why, "%d rows and %d columns; allowed is %d to %d", board->rows, board->columns, SMALLEST, LARGEST);
    int milliseconds = move_ms(), was_open = game.link.file >= 0;
    int64_t began = now_ms();
    game.link.why = why;
    game.link.end_ms = began + milliseconds + GRACE_MS;
    int column = converse(board, address, milliseconds);
    if (column < 0) hang_up(&game.link); /* what comes late must not be taken for the next answer */
    if (column < 0 && was_open && now_ms() - began < milliseconds / 2) { /* the bridge was restarted: once more */
        column = converse(board, address, (int)(milliseconds - (now_ms() - began)));
        if (column < 0) hang_up(&game.link);
    }
    return column;
}

/* What is played without the engine */

static int landing(const Board *board, int column) {
    int row = board->top[column] - 1;
    return row == board->no_row && column == board->no_column ? row - 1 : row;
}

static int run_length(const Board *board, int who, int row, int column, int down, int right) {
    int length = 0;
    for (row += down, column += right; row >= 0 && row < board->rows && column >= 0 && column < board->columns &&
                                       board->cells[row * board->columns + column] == who;
         row += down, column += right)
        length++;
    return length;
}

static int makes_four(const Board *board, int who, int column) {
    static const int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    int row = landing(board, column);
    for (int i = 0; i < 4 && row >= 0; i++) {
        int down = directions[i][0], right = directions[i][1];
        if (run_length(board, who, row, column, down, right) + run_length(board, who, row, column, -down, -right) >= 3)
            return 1;
    }
    return 0;
}

/* A column that wins, or else blocks, or else is nearest to the centre; -1 if all are full. */
static int any_column(const Board *board) {
    int nearest = -1;
    for (int who = 2; who >= 1; who--)
        for (int column = 0; column < board->columns; column++)
            if (makes_four(board, who, column)) return column;
    for (int column = 0; column < board->columns; column++)
        if (landing(board, column) >= 0 &&
            (nearest < 0 || abs(2 * column + 1 - board->columns) < abs(2 * nearest + 1 - board->columns)))
            nearest = column;
    return nearest;
}
