"""The page for people, and the bridge between it and the daemons. The files, in the order a request meets them:

static/           the page: plain HTML, CSS and JavaScript modules, started by main.js
cli.py            `plyd web`: options, the listening socket, the web server
app.py            HTTP routes; checks Host and Origin; game files in and out
shell.py          the page's version; service-worker.js, which keeps the page in the browser
connection.py     one page's socket: its requests and its one search
messages.py       the JSON messages of that socket, checked and made
daemons.py        the daemons: which game each one serves, and whether it is up
rooms.py          games that people share by a link
fair_queue.py     shares each daemon's search slots among the pages
search_stream.py  runs a page's searches on a Play stream
turbo.py          tile games that the engine plays as fast as it can
review.py         the turns of a game that is reviewed, as many at once as there are slots
bench.py          `plyd bench web`
"""
