/* A player with the course's interface, for tests: plays the first column with room; on 4 rows it crashes, on 5 it
 * returns a point in the air, on 6 NULL. It counts its moves, and prints things. */
#include <stdio.h>
#include <stdlib.h>

struct Point {
    int x, y;
};

static int moves = 0;

struct Point *getPoint(const int M, const int N, const int *top, const int *board, const int lastX, const int lastY,
                       const int noX, const int noY) {
    struct Point *point = (struct Point *)malloc(sizeof *point);
    int column = 0;
    printf("move %d, last %d %d, forbidden %d %d\n", ++moves, lastX, lastY, noX, noY);
    fflush(stdout);
    if (M == 4) abort();
    if (M == 6 || !point) return NULL;
    while (column < N && top[column] == 0) column++;
    point->x = M == 5 ? 0 : top[column] - 1;
    point->y = column;
    if (lastX >= 0 && board[lastX * N + lastY] != 1) exit(7); /* the last move is the opponent's */
    if (M == 8 && moves == 3) exit(8); /* it is the third move of one process */
    return point;
}

void clearPoint(struct Point *p) { free(p); }
