/* A host as the course's judge is one: loads a player, lets it play both sides on M x N, prints its moves as "row,column".
 *
 * usage: course_host LIBRARY M N NO_ROW NO_COLUMN
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct Point {
    int x, y;
};
typedef struct Point *(*GetPoint)(int, int, const int *, const int *, int, int, int, int);
typedef void (*ClearPoint)(struct Point *);

static int wins(const int *board, int rows, int columns, int row, int column) {
    static const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int i = 0; i < 4; i++) {
        int length = 1;
        for (int sign = -1; sign <= 1; sign += 2)
            for (int k = 1;; k++) {
                int r = row + sign * k * steps[i][0], c = column + sign * k * steps[i][1];
                if (r < 0 || r >= rows || c < 0 || c >= columns || board[r * columns + c] != 2) break;
                length++;
            }
        if (length >= 4) return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count != 6) return 2;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 3;
    union {
        void *symbol;
        GetPoint get;
        ClearPoint clear;
    } get = {dlsym(library, "getPoint")}, clear = {dlsym(library, "clearPoint")};
    int rows = atoi(words[2]), columns = atoi(words[3]), no_row = atoi(words[4]), no_column = atoi(words[5]);
    int *board = calloc((size_t)(rows * columns), sizeof *board), *top = calloc((size_t)columns, sizeof *top);
    int last_row = -1, last_column = -1, status = 0, room = rows * columns - 1;
    for (int column = 0; column < columns; column++) top[column] = rows - (column == no_column && no_row == rows - 1);
    while (room-- && !status) {
        struct Point *point = get.get(rows, columns, top, board, last_row, last_column, no_row, no_column);
        int row = point->x, column = point->y;
        clear.clear(point);
        printf("%d,%d\n", row, column);
        if (column < 0 || column >= columns || top[column] == 0 || row != top[column] - 1) {
            status = 4;
            break;
        }
        board[row * columns + column] = 2;
        top[column] -= 1 + (row - 1 == no_row && column == no_column);
        if (wins(board, rows, columns, row, column)) break;
        for (int i = 0; i < rows * columns; i++) board[i] = board[i] ? 3 - board[i] : 0; /* now the other side asks */
        last_row = row, last_column = column;
    }
    free(board);
    free(top);
    dlclose(library);
    return status;
}
