-- A metadata file of format 1 as SQL. It stands for files that are out there: never change it.
PRAGMA journal_mode = WAL;
CREATE TABLE format (version INTEGER NOT NULL);
CREATE TABLE nodes (path TEXT NOT NULL UNIQUE, value BLOB NOT NULL, version INTEGER NOT NULL);
CREATE TABLE changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, value BLOB, version INTEGER NOT NULL);
INSERT INTO format VALUES (1);
INSERT INTO nodes VALUES ('/tenants/public', X'7b7d', 3), ('/topics/public/default/persistent/orders', X'00ff', 0);
INSERT INTO changes VALUES (41, '/tenants/public', X'7b7d', 3), (42, '/tenants/gone', NULL, 1);
