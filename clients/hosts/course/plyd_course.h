/* The course's interface to a player of Connect Four on M x N with a forbidden cell; see plyd_course.c. */
#ifndef PLYD_COURSE_H
#define PLYD_COURSE_H

#ifdef __cplusplus
extern "C" {
#endif

struct Point {
    int x; /* row, 0 at the top */
    int y; /* column, 0 at the left */
};

/* Where to put the next stone; free it with clearPoint. The board has M rows and N columns; _board[row * N + column] is
 * 0 empty, 1 the opponent's, 2 mine. The next stone in a column lands in row top[column] - 1; 0 means that it is full.
 * lastX, lastY is the opponent's last move, -1, -1 if there is none; noX, noY the forbidden cell. */
struct Point *getPoint(const int M, const int N, const int *top, const int *_board, const int lastX, const int lastY,
                       const int noX, const int noY);

void clearPoint(struct Point *p);

#ifdef __cplusplus
}
#endif

#endif
