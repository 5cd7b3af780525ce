-- Zones in a file of SQLite: schema number 1 (SCHEMA in schema.rs). Design: docs/design/store.md 2 and 3.
--
-- Whoever writes by plain SQL changes `zone` and `record` alone. Triggers note in `pending_zone` and `pending` what was there before; whoever reads
-- next closes that into a version of the zone: a row of `version`, and in `change` what differs from the version before.
-- Tables are STRICT, so that a number is no text; SQLite has these since 3.37.

-- One row: which program may read this, and which database it is.
CREATE TABLE store (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    written_by    INTEGER NOT NULL,  -- number of the schema
    readable_from INTEGER NOT NULL,  -- programs that know this number read it rightly, and leave it alone
    identity      TEXT NOT NULL      -- 128 random bits: by it servers know the store, not by its file's name
) STRICT;

CREATE TABLE zone (
    id      INTEGER PRIMARY KEY CHECK (id > 0),  -- SQLite's triggers see -1 where it is left out
    name    TEXT NOT NULL UNIQUE
            CHECK (name = lower(name) AND substr(name, -1) = '.' AND length(name) <= 1016
                   AND name NOT GLOB '*[^!-~]*' AND instr(name, char(0)) = 0),
    serial  INTEGER NOT NULL DEFAULT 0 CHECK (serial BETWEEN 0 AND 4294967295),  -- of its newest version; 0: it has none yet
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1))                 -- 0: not served, as if it were gone
) STRICT;

-- All texts are of printable ASCII: other octets are escaped (\DDD). GLOB ends at an octet of zero, which is looked for beside it.

-- One record a row, in its one form: owner absolute and in lower case, type by name or TYPE65280, RDATA as `check-zone --print` prints it with the
-- names in it that DNSSEC has in lower case (RFC 4034 6.2) in lower case. What of this SQL cannot check is checked when a version is closed.
CREATE TABLE record (
    zone  INTEGER NOT NULL REFERENCES zone (id),
    owner TEXT NOT NULL
          CHECK (owner = lower(owner) AND substr(owner, -1) = '.' AND length(owner) <= 1016
                 AND owner NOT GLOB '*[^!-~]*' AND instr(owner, char(0)) = 0),
    type  TEXT NOT NULL CHECK (type = upper(type) AND length(type) BETWEEN 1 AND 16 AND type NOT GLOB '*[^!-~]*' AND instr(type, char(0)) = 0),
    -- The longest is that of an NSEC record with all 65,536 types, of up to ten characters each.
    rdata TEXT NOT NULL CHECK (length(rdata) <= 660000 AND rdata NOT GLOB '*[^ -~]*' AND instr(rdata, char(0)) = 0),
    -- Last: of columns of a table without row numbers that stand before some of its key SQLite 3.40 says that they are NULL (PRAGMA integrity_check).
    ttl   INTEGER NOT NULL CHECK (ttl BETWEEN 0 AND 2147483647),
    PRIMARY KEY (zone, owner, type, rdata)
) STRICT, WITHOUT ROWID;

-- Versions of zones, numbered in the order of their commits. No reference to `zone`: a zone that is gone has to be seen too.
CREATE TABLE version (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    zone   TEXT NOT NULL,     -- its name
    serial INTEGER NOT NULL CHECK (serial BETWEEN 1 AND 4294967295),
    mark   TEXT NOT NULL,     -- 128 random bits: a copy that was restored and written since gives the same serials to other data
    kind   TEXT NOT NULL CHECK (kind IN ('change', 'whole', 'removed')),
    rows   INTEGER NOT NULL,  -- how many it has in `change`
    octets INTEGER NOT NULL,  -- what these take, about: `trim` counts it
    at     INTEGER NOT NULL,  -- seconds since 1970, when it was closed
    who    TEXT,              -- NULL: somebody by plain SQL
    why    TEXT
) STRICT;
CREATE INDEX version_of_zone ON version (zone, id);

-- What a version of kind `change` has that the one before has not (`+`), and the reverse (`-`). What goes is numbered first, the SOA records before
-- the others: the order of IXFR (RFC 1995 4). A TTL that became another is both.
CREATE TABLE change (
    version INTEGER NOT NULL REFERENCES version (id),
    number  INTEGER NOT NULL,
    what    TEXT NOT NULL CHECK (what IN ('+', '-')),
    owner   TEXT NOT NULL,
    type    TEXT NOT NULL,
    ttl     INTEGER NOT NULL,
    rdata   TEXT NOT NULL,
    PRIMARY KEY (version, number)
) STRICT, WITHOUT ROWID;

-- Zones with changes that are of no version yet. whole = 1: all of the zone is to be read, rows are not noted.
CREATE TABLE pending_zone (
    name  TEXT PRIMARY KEY,
    whole INTEGER NOT NULL CHECK (whole IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Rows that were touched since the newest version, and the TTL that they had in it; NULL: there was no such row. The first touch of a row notes it, so
-- that what comes and goes again is no change, and so that INSERT OR REPLACE, which fires no trigger of deletion, forgets nothing.
CREATE TABLE pending (
    zone       INTEGER NOT NULL,
    owner      TEXT NOT NULL,
    type       TEXT NOT NULL,
    rdata      TEXT NOT NULL,
    ttl_before INTEGER,
    PRIMARY KEY (zone, owner, type, rdata)
) STRICT, WITHOUT ROWID;

-- All triggers look whether a row is there before they add it, in place of INSERT OR IGNORE: SQLite takes the OR of the outer statement for that of
-- the statements in a trigger too.

CREATE TRIGGER zone_insert BEFORE INSERT ON zone BEGIN
    SELECT RAISE(ABORT, 'zone: there is one of this name or id already (a zone is never replaced)')
     WHERE EXISTS (SELECT 1 FROM zone WHERE name = NEW.name OR id = NEW.id);
    SELECT RAISE(ABORT, 'zone.serial: leave it out; the serial is that of the SOA record')
     WHERE NEW.serial <> 0;
END;

CREATE TRIGGER zone_inserted AFTER INSERT ON zone BEGIN
    UPDATE pending_zone SET whole = 1 WHERE name = NEW.name;
    INSERT INTO pending_zone (name, whole)
    SELECT NEW.name, 1 WHERE NOT EXISTS (SELECT 1 FROM pending_zone WHERE name = NEW.name);
END;

-- Without a list of columns: `UPDATE zone SET rowid` is an update of `id` that is not in one.
CREATE TRIGGER zone_rename BEFORE UPDATE ON zone WHEN NEW.id <> OLD.id OR NEW.name <> OLD.name BEGIN
    SELECT RAISE(ABORT, 'zone: its name and id stay; delete it and insert another one');
END;

-- Ours writes the version first, then its serial here.
CREATE TRIGGER zone_serial BEFORE UPDATE OF serial ON zone WHEN NEW.serial <> OLD.serial BEGIN
    SELECT RAISE(ABORT, 'zone.serial: it is that of the newest version; change the SOA record instead')
     WHERE NEW.serial IS NOT (SELECT serial FROM version WHERE zone = NEW.name ORDER BY id DESC LIMIT 1);
END;

CREATE TRIGGER zone_enabled AFTER UPDATE OF enabled ON zone WHEN NEW.enabled <> OLD.enabled BEGIN
    DELETE FROM pending WHERE zone = NEW.id;
    UPDATE pending_zone SET whole = 1 WHERE name = NEW.name;
    INSERT INTO pending_zone (name, whole)
    SELECT NEW.name, 1 WHERE NOT EXISTS (SELECT 1 FROM pending_zone WHERE name = NEW.name);
END;

-- Its records go with it, also where foreign keys are off, as they are by default.
CREATE TRIGGER zone_delete BEFORE DELETE ON zone BEGIN
    UPDATE pending_zone SET whole = 1 WHERE name = OLD.name;
    INSERT INTO pending_zone (name, whole)
    SELECT OLD.name, 1 WHERE NOT EXISTS (SELECT 1 FROM pending_zone WHERE name = OLD.name);
    DELETE FROM record WHERE zone = OLD.id;
    DELETE FROM pending WHERE zone = OLD.id;
END;

CREATE TRIGGER record_insert BEFORE INSERT ON record BEGIN
    SELECT RAISE(ABORT, 'record.zone: no zone has this id')
     WHERE NOT EXISTS (SELECT 1 FROM zone WHERE id = NEW.zone);
    SELECT RAISE(ABORT, 'record.owner: expected a name at or below that of the zone')
      FROM zone
     WHERE id = NEW.zone AND NEW.owner <> name AND name <> '.' AND substr(NEW.owner, -length(name) - 1) <> '.' || name;
    INSERT INTO pending_zone (name, whole)
    SELECT name, 0 FROM zone
     WHERE id = NEW.zone AND NOT EXISTS (SELECT 1 FROM pending_zone p WHERE p.name = zone.name);
    INSERT INTO pending (zone, owner, type, rdata, ttl_before)
    SELECT NEW.zone, NEW.owner, NEW.type, NEW.rdata,
           (SELECT ttl FROM record WHERE zone = NEW.zone AND owner = NEW.owner AND type = NEW.type AND rdata = NEW.rdata)
      FROM zone z JOIN pending_zone p ON p.name = z.name
     WHERE z.id = NEW.zone AND p.whole = 0
       AND NOT EXISTS (SELECT 1 FROM pending WHERE zone = NEW.zone AND owner = NEW.owner AND type = NEW.type AND rdata = NEW.rdata);
END;

CREATE TRIGGER record_update BEFORE UPDATE ON record BEGIN
    SELECT RAISE(ABORT, 'record.zone: a record stays in its zone; delete it and insert another one')
     WHERE NEW.zone <> OLD.zone;
    SELECT RAISE(ABORT, 'record.owner: expected a name at or below that of the zone')
      FROM zone
     WHERE id = NEW.zone AND NEW.owner <> name AND name <> '.' AND substr(NEW.owner, -length(name) - 1) <> '.' || name;
    INSERT INTO pending_zone (name, whole)
    SELECT name, 0 FROM zone
     WHERE id = OLD.zone AND NOT EXISTS (SELECT 1 FROM pending_zone p WHERE p.name = zone.name);
    INSERT INTO pending (zone, owner, type, rdata, ttl_before)
    SELECT OLD.zone, OLD.owner, OLD.type, OLD.rdata, OLD.ttl
      FROM zone z JOIN pending_zone p ON p.name = z.name
     WHERE z.id = OLD.zone AND p.whole = 0
       AND NOT EXISTS (SELECT 1 FROM pending WHERE zone = OLD.zone AND owner = OLD.owner AND type = OLD.type AND rdata = OLD.rdata);
    INSERT INTO pending (zone, owner, type, rdata, ttl_before)
    SELECT NEW.zone, NEW.owner, NEW.type, NEW.rdata,
           (SELECT ttl FROM record WHERE zone = NEW.zone AND owner = NEW.owner AND type = NEW.type AND rdata = NEW.rdata)
      FROM zone z JOIN pending_zone p ON p.name = z.name
     WHERE z.id = NEW.zone AND p.whole = 0
       AND NOT EXISTS (SELECT 1 FROM pending WHERE zone = NEW.zone AND owner = NEW.owner AND type = NEW.type AND rdata = NEW.rdata);
END;

CREATE TRIGGER record_delete BEFORE DELETE ON record BEGIN
    INSERT INTO pending_zone (name, whole)
    SELECT name, 0 FROM zone
     WHERE id = OLD.zone AND NOT EXISTS (SELECT 1 FROM pending_zone p WHERE p.name = zone.name);
    INSERT INTO pending (zone, owner, type, rdata, ttl_before)
    SELECT OLD.zone, OLD.owner, OLD.type, OLD.rdata, OLD.ttl
      FROM zone z JOIN pending_zone p ON p.name = z.name
     WHERE z.id = OLD.zone AND p.whole = 0
       AND NOT EXISTS (SELECT 1 FROM pending WHERE zone = OLD.zone AND owner = OLD.owner AND type = OLD.type AND rdata = OLD.rdata);
END;
