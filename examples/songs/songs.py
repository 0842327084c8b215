# SPDX-License-Identifier: Apache-2.0
"""songs.py SONGS [QUESTIONS] - a small server with a leak, to look at with geiger.

Keeps SONGS songs of songs.db in memory, and answers QUESTIONS about them.  It remembers each answer
by the question and its number, so that it finds none of them again and keeps all: the leak.
"""
import os
import sqlite3
import sys


def load_songs(database, count):
    return database.execute("SELECT id, title, seconds FROM song WHERE id <= ?", (count,)).fetchall()


def answer(database, songs, question):
    query = "SELECT count(*) FROM song WHERE id BETWEEN ? AND ? AND title LIKE '%7f%'"
    found = database.execute(query, (question, question + 1000)).fetchone()[0]
    part = [title for _, title, _ in songs[question : question + 60]]
    return f"{found} songs, near " + ", ".join(part)


def serve(database, songs, questions):
    remembered = {}
    for number in range(questions):
        question = number * 7919 % (len(songs) - 60)
        if (question, number) not in remembered:
            remembered[question, number] = answer(database, songs, question)
    return remembered


def main():
    questions = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    database = sqlite3.connect("songs.db")
    songs = load_songs(database, int(sys.argv[1]))
    remembered = serve(database, songs, questions)
    print(len(songs), "songs,", len(remembered), "answers", flush=True)
    os._exit(0)  # cleans nothing up, as when a server is ended


main()
