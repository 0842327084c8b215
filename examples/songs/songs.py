# SPDX-License-Identifier: Apache-2.0
"""songs.py TITLES [QUESTIONS] - a small server with a leak, to look at with geiger.

Keeps TITLES songs of the database songs.db in memory, and answers QUESTIONS about them.  It remembers each answer
by the question and its number, so that it finds none of them again and keeps all: the leak.
"""
import os
import sqlite3
import sys


def load_titles(database, count):
    titles = {}
    for number, title in database.execute("SELECT id, title FROM song WHERE id <= ?", (count,)):
        titles[number] = title
    return titles


def answer(titles, question):
    part = [titles[number] for number in range(question, question + 60)]
    return ", ".join(part).upper()


def serve(titles, questions):
    remembered = {}
    for number in range(questions):
        question = 1 + number * 7919 % (len(titles) - 60)
        if (question, number) not in remembered:
            remembered[question, number] = answer(titles, question)
    return remembered


def main():
    questions = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    titles = load_titles(sqlite3.connect("songs.db"), int(sys.argv[1]))
    remembered = serve(titles, questions)
    print(len(titles), "titles,", len(remembered), "answers", flush=True)
    os._exit(0)  # cleans nothing up, as when a server is ended


main()
