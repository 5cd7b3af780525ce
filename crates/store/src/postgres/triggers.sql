-- From changed rows to versions, in the transaction that changes them. All functions have the rights of who made the schema, and names of their own alone.
-- Plans that are kept must do for large tables, however small these were when they were made: no sequential scans, whose price, where there is no other way, has
-- each call compiled (`jit`) for longer than all else takes.

-- Has each of these zones, by number, an open version, and locks their rows until the end of the transaction, in the order of names: versions of one zone
-- are committed in the order of their serials. Each step sees what was committed while the one before waited.
CREATE FUNCTION zonda.open(touched bigint[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM 1 FROM zonda.zone WHERE id = ANY (touched) ORDER BY name FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM zonda.zone z WHERE z.id = ANY (touched) AND z.enabled
                  AND NOT EXISTS (SELECT FROM zonda.version v WHERE v.zone = z.name AND v.open)) THEN
        -- Else it were closed at once after SET CONSTRAINTS ALL IMMEDIATE, before its first row is noted.
        SET CONSTRAINTS zonda.version_close DEFERRED;
        INSERT INTO zonda.version (zone, follows, kind)
        SELECT z.name, coalesce(n.id, 0), CASE WHEN n.kind IN ('change', 'whole') THEN 'change' ELSE 'whole' END
          FROM zonda.zone z
          LEFT JOIN LATERAL (SELECT v.id, v.kind FROM zonda.version v WHERE v.zone = z.name ORDER BY v.follows DESC LIMIT 1) n ON true
         WHERE z.id = ANY (touched) AND z.enabled AND NOT EXISTS (SELECT FROM zonda.version v WHERE v.zone = z.name AND v.open)
         ORDER BY z.name;
    END IF;
END $$;

-- The open versions of these zones, by name, are to say that all is to be read. The rows of the zones are locked, new or gone.
CREATE FUNCTION zonda.open_whole(names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    DELETE FROM zonda.change c USING zonda.version v WHERE v.open AND v.zone = ANY (names) AND c.version = v.id;
    UPDATE zonda.version SET kind = 'whole' WHERE open AND zone = ANY (names) AND kind <> 'whole';
    SET CONSTRAINTS zonda.version_close DEFERRED;
    INSERT INTO zonda.version (zone, follows, kind)
    SELECT t.name, coalesce((SELECT v.id FROM zonda.version v WHERE v.zone = t.name ORDER BY v.follows DESC LIMIT 1), 0), 'whole'
      FROM unnest(names) t (name)
     WHERE NOT EXISTS (SELECT FROM zonda.version v WHERE v.zone = t.name AND v.open)
     ORDER BY t.name;
END $$;

-- By statement: `came` and `went` are its rows.
CREATE FUNCTION zonda.record_written() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    touched bigint[];
    beyond record;
BEGIN
    CASE TG_OP
        WHEN 'DELETE' THEN SELECT array_agg(DISTINCT zone) INTO touched FROM went;
        ELSE SELECT array_agg(DISTINCT zone) INTO touched FROM came;
    END CASE;
    IF touched IS NULL THEN RETURN NULL; END IF;
    PERFORM zonda.open(touched);
    IF TG_OP <> 'DELETE' THEN
        SELECT c.owner, c.type, z.name INTO beyond
          FROM came c LEFT JOIN (SELECT id, name FROM zonda.zone WHERE id = ANY (touched)) z ON z.id = c.zone
         WHERE z.name IS NULL OR (c.type = 'SOA' AND c.owner <> z.name)
            OR (c.owner <> z.name AND z.name <> '.' AND right(c.owner, length(z.name) + 1) <> '.' || z.name)
         LIMIT 1;
        IF FOUND AND beyond.name IS NULL THEN
            RAISE EXCEPTION 'record.zone: no zone has this id' USING ERRCODE = 'foreign_key_violation';
        ELSIF FOUND AND beyond.type = 'SOA' THEN
            RAISE EXCEPTION 'record.owner: an SOA record below the apex' USING ERRCODE = 'check_violation', DETAIL = beyond.owner;
        ELSIF FOUND THEN
            RAISE EXCEPTION 'record.owner: expected a name at or below that of the zone' USING ERRCODE = 'check_violation', DETAIL = beyond.owner;
        END IF;
    END IF;
    -- Versions first, as there are few: so the plan that is kept does not depend on how many rows the first statement had.
    CASE TG_OP
        WHEN 'INSERT' THEN
            INSERT INTO zonda.change (version, what, owner, type, ttl, rdata)
            SELECT o.version, '+', c.owner, c.type, c.ttl, c.rdata
              FROM (SELECT z.id, v.id AS version FROM zonda.zone z JOIN zonda.version v ON v.zone = z.name AND v.open AND v.kind = 'change'
                     WHERE z.id = ANY (touched)) o JOIN came c ON c.zone = o.id;
        WHEN 'DELETE' THEN
            INSERT INTO zonda.change (version, what, owner, type, ttl, rdata)
            SELECT o.version, '-', c.owner, c.type, c.ttl, c.rdata
              FROM (SELECT z.id, v.id AS version FROM zonda.zone z JOIN zonda.version v ON v.zone = z.name AND v.open AND v.kind = 'change'
                     WHERE z.id = ANY (touched)) o JOIN went c ON c.zone = o.id;
        ELSE
            INSERT INTO zonda.change (version, what, owner, type, ttl, rdata)
            SELECT o.version, c.what, c.owner, c.type, c.ttl, c.rdata
              FROM (SELECT z.id, v.id AS version FROM zonda.zone z JOIN zonda.version v ON v.zone = z.name AND v.open AND v.kind = 'change'
                     WHERE z.id = ANY (touched)) o
              JOIN (SELECT '-' AS what, * FROM (TABLE went EXCEPT ALL TABLE came) gone
                    UNION ALL
                    SELECT '+', * FROM (TABLE came EXCEPT ALL TABLE went) new) c ON c.zone = o.id;
    END CASE;
    RETURN NULL;
END $$;

CREATE TRIGGER inserted AFTER INSERT ON zonda.record REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION zonda.record_written();
CREATE TRIGGER updated AFTER UPDATE ON zonda.record REFERENCING OLD TABLE AS went NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION zonda.record_written();
CREATE TRIGGER deleted AFTER DELETE ON zonda.record REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION zonda.record_written();

-- A zone that is new, gone, enabled or disabled is noted alone, not row by row. Its records go with it.
CREATE FUNCTION zonda.zone_written() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    names text[];
BEGIN
    CASE TG_OP
        WHEN 'INSERT' THEN SELECT array_agg(name) INTO names FROM came;
        ELSE SELECT array_agg(name) INTO names FROM went;
    END CASE;
    IF names IS NULL THEN RETURN NULL; END IF;
    PERFORM zonda.open_whole(names);
    IF TG_OP = 'DELETE' THEN
        DELETE FROM zonda.record r USING went w WHERE r.zone = w.id;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER inserted AFTER INSERT ON zonda.zone REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION zonda.zone_written();
CREATE TRIGGER deleted AFTER DELETE ON zonda.zone REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION zonda.zone_written();

-- By row: each version updates the row of its zone, and is to cost no call here.
CREATE FUNCTION zonda.zone_enabled() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM zonda.open_whole(ARRAY[NEW.name]);
    RETURN NULL;
END $$;
CREATE TRIGGER enabled AFTER UPDATE ON zonda.zone FOR EACH ROW WHEN (NEW.enabled <> OLD.enabled) EXECUTE FUNCTION zonda.zone_enabled();

-- What is never done. The argument is the message.
CREATE FUNCTION zonda.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE TRIGGER renamed BEFORE UPDATE ON zonda.zone FOR EACH ROW WHEN (NEW.id <> OLD.id OR NEW.name <> OLD.name)
    EXECUTE FUNCTION zonda.refuse('zone: its name and id stay; delete it and insert another one');
CREATE TRIGGER numbered BEFORE INSERT ON zonda.zone FOR EACH ROW WHEN (NEW.serial <> 0)
    EXECUTE FUNCTION zonda.refuse('zone.serial: leave it out; the serial is that of the SOA record');
CREATE TRIGGER moved BEFORE UPDATE ON zonda.record FOR EACH ROW WHEN (NEW.zone <> OLD.zone)
    EXECUTE FUNCTION zonda.refuse('record.zone: a record stays in its zone; delete it and insert another one');
CREATE TRIGGER emptied BEFORE TRUNCATE ON zonda.zone FOR EACH STATEMENT
    EXECUTE FUNCTION zonda.refuse('zone: TRUNCATE goes by no trigger that makes versions; use DELETE');
CREATE TRIGGER emptied BEFORE TRUNCATE ON zonda.record FOR EACH STATEMENT
    EXECUTE FUNCTION zonda.refuse('record: TRUNCATE goes by no trigger that makes versions; use DELETE');
CREATE TRIGGER emptied BEFORE TRUNCATE ON zonda.version FOR EACH STATEMENT
    EXECUTE FUNCTION zonda.refuse('version: by the newest of a zone its next serial is known; use zonda store trim');

-- Ours writes the version first, then its serial here.
CREATE FUNCTION zonda.expect_serial() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.serial IS DISTINCT FROM (SELECT v.serial FROM zonda.version v WHERE v.zone = NEW.name AND NOT v.open ORDER BY v.follows DESC LIMIT 1) THEN
        RAISE EXCEPTION 'zone.serial: it is that of the newest version; change the SOA record instead' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER serial BEFORE UPDATE ON zonda.zone FOR EACH ROW WHEN (NEW.serial <> OLD.serial) EXECUTE FUNCTION zonda.expect_serial();
