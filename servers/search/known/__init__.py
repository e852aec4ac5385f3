"""What earlier searches found, which needs no second search.

question      what a search is asked, without what decides only how long it may take
reports       a table in memory
store         the same across restarts, in store_database (SQLite or PostgreSQL), as report_text
"""
