-- SPDX-License-Identifier: Apache-2.0
-- Loads generated songs into the database, and asks it a few questions: sqlite3 songs.db < load.sql
PRAGMA temp_store = memory;
CREATE TABLE song (id INTEGER PRIMARY KEY, title TEXT, seconds REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 315000)
INSERT INTO song SELECT i, printf('%08x of %d', i * 2654435761 % 4294967296, i), i % 600 FROM n;
CREATE INDEX song_title ON song (title);
SELECT count(*) || ' songs of ' || round(avg(seconds), 1) || ' seconds' FROM song;
SELECT substr(title, 1, 1) || ': ' || length(group_concat(title)) || ' bytes of titles'
FROM song GROUP BY substr(title, 1, 1) LIMIT 2;
