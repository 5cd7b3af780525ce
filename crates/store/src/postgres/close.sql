-- The end of an open version, at COMMIT; and what is called by hand.

-- Takes back rows of an open version that came and went again; of one type or of all.
CREATE FUNCTION zonda.net(open_version bigint, of_type text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    DELETE FROM zonda.change c
     USING (SELECT number, row_number() OVER (PARTITION BY owner, type, ttl, rdata, what ORDER BY number) AS nth,
                   least(count(*) FILTER (WHERE what = '+') OVER same, count(*) FILTER (WHERE what = '-') OVER same) AS pairs
              FROM zonda.change WHERE version = open_version AND (of_type IS NULL OR type = of_type)
            WINDOW same AS (PARTITION BY owner, type, ttl, rdata)) n
     WHERE c.version = open_version AND c.number = n.number AND n.nth <= n.pairs;
END $$;

-- Whether a serial is greater than another (RFC 1982); 2^31 apart neither is. Called with the names of its callers, which are safe: so it is inlined.
CREATE FUNCTION zonda.is_greater(serial bigint, other bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (serial - other + 4294967296) % 4294967296 BETWEEN 1 AND 2147483647
$$;

CREATE FUNCTION zonda.close() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    version zonda.version;
    prior zonda.version;
    zone zonda.zone;
    soa record;
    least_serial bigint;
    fields text[];
    new_serial bigint;
BEGIN
    -- One that was opened and is closed already, or has gone.
    SELECT * INTO version FROM zonda.version v WHERE v.id = NEW.id AND v.open;
    IF NOT FOUND THEN RETURN NULL; END IF;
    SELECT * INTO prior FROM zonda.version v WHERE v.id = version.follows;
    SELECT * INTO zone FROM zonda.zone z WHERE z.name = version.zone AND z.enabled;
    IF NOT FOUND THEN
        -- No row of its history is of use: it is gone from here on.
        DELETE FROM zonda.change c WHERE c.version = NEW.id;
        IF prior.id IS NULL OR prior.kind = 'removed' THEN
            DELETE FROM zonda.version v WHERE v.id = NEW.id;
            RETURN NULL;
        END IF;
        PERFORM zonda.finish(NEW.id, 'removed', prior.serial);
        RETURN NULL;
    END IF;
    IF version.kind = 'change' THEN
        PERFORM zonda.net(NEW.id, NULL);
        IF NOT EXISTS (SELECT FROM zonda.change c WHERE c.version = NEW.id) THEN
            DELETE FROM zonda.version v WHERE v.id = NEW.id;
            RETURN NULL;
        END IF;
    END IF;

    SELECT count(*) AS rows, min(r.rdata) AS rdata INTO soa FROM zonda.record r WHERE r.zone = zone.id AND r.owner = zone.name AND r.type = 'SOA';
    IF soa.rows = 0 AND (prior.id IS NULL OR prior.kind = 'removed') THEN
        -- Not one yet.
        DELETE FROM zonda.version v WHERE v.id = NEW.id;
        RETURN NULL;
    ELSIF soa.rows = 0 THEN
        PERFORM zonda.refuse_zone(zone.name, 'it has no SOA record at its apex, and can be no version without');
    ELSIF soa.rows > 1 THEN
        PERFORM zonda.refuse_zone(zone.name, 'expected one SOA record, found a second one');
    END IF;
    fields := regexp_match(soa.rdata, '^([^ ]+ [^ ]+ )([0-9]{1,10})( [0-9]+ [0-9]+ [0-9]+ [0-9]+)$');
    IF fields IS NULL OR fields[2]::bigint > 4294967295 THEN
        PERFORM zonda.refuse_zone(zone.name, format('SOA %L: expected two names and five numbers', soa.rdata));
    END IF;

    least_serial := prior.serial;
    IF version.serial <> 0 AND (least_serial IS NULL OR zonda.is_greater(version.serial, least_serial)) THEN
        least_serial := version.serial;
    END IF;
    new_serial := fields[2]::bigint;
    IF new_serial = 0 OR NOT coalesce(zonda.is_greater(new_serial, least_serial), true) THEN
        new_serial := coalesce(least_serial, 0) % 4294967295 + 1;
        IF EXISTS (SELECT FROM zonda.record r WHERE r.zone = zone.id AND r.owner = zone.name AND r.type = 'RRSIG'
                      AND starts_with(r.rdata, 'SOA ')) THEN
            PERFORM zonda.refuse_zone(zone.name, format('it is signed, so that its serial cannot be chosen here: expected an SOA record with one greater than %s', coalesce(least_serial, 0)));
        END IF;
        UPDATE zonda.record r SET rdata = fields[1] || new_serial || fields[3] WHERE r.zone = zone.id AND r.owner = zone.name AND r.type = 'SOA';
        PERFORM zonda.net(NEW.id, 'SOA');
    END IF;
    PERFORM zonda.finish(NEW.id, version.kind, new_serial);
    UPDATE zonda.zone z SET serial = new_serial WHERE z.id = zone.id;
    RETURN NULL;
END $$;

CREATE FUNCTION zonda.refuse_zone(of_zone text, why text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A state of our own, by which programs of ours know the zone.
    RAISE EXCEPTION 'zone %: %', of_zone, why USING ERRCODE = 'ZD001', DETAIL = of_zone;
END $$;

CREATE FUNCTION zonda.finish(open_version bigint, is_kind text, new_serial bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    UPDATE zonda.version v
       SET open = false, kind = is_kind, serial = new_serial, at = extract(epoch FROM clock_timestamp())::bigint,
           -- What somebody calls himself (SET LOCAL zonda.who) stands beside the role. Both have a bound, as whoever follows reads them with each version.
           who = coalesce(left(nullif(current_setting('zonda.who', true), ''), 1024) || ' as ', '') || session_user,
           why = left(nullif(current_setting('zonda.why', true), ''), 1024),
           rows = c.rows, octets = c.octets
      -- 16 octets: numbers and lengths of a row.
      FROM (SELECT count(*) AS rows, coalesce(sum(length(owner) + length(type) + length(rdata) + 16), 0) AS octets
              FROM zonda.change WHERE version = open_version) c
     WHERE v.id = open_version;
    IF (SELECT notify FROM zonda.store WHERE one = 1) THEN
        -- Without words: those of one transaction are one.
        PERFORM pg_notify('zonda', '');
    END IF;
END $$;

CREATE CONSTRAINT TRIGGER version_close AFTER INSERT ON zonda.version DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.open) EXECUTE FUNCTION zonda.close();

-- Takes a zone's row before anything else: two transactions that change the same record else may deadlock, one waiting for the zone and one for the record.
-- Says which version it has.
-- Not called `begin`: psql takes that word in CREATE FUNCTION for the beginning of a body, and `;` for no end from there on.
CREATE FUNCTION zonda.lock(of_zone text) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM 1 FROM zonda.zone z WHERE z.name = of_zone FOR NO KEY UPDATE;
    RETURN (SELECT v.mark FROM zonda.version v WHERE v.zone = of_zone AND NOT v.open ORDER BY v.follows DESC LIMIT 1);
END $$;

-- Has the transaction's version of a zone say that all of it is to be read, whatever triggers have noted; with a serial that is above another one, too.
CREATE FUNCTION zonda.touch(of_zone text, above bigint DEFAULT 0) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM 1 FROM zonda.zone z WHERE z.name = of_zone FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        PERFORM zonda.refuse_zone(of_zone, 'there is no such zone');
    END IF;
    PERFORM zonda.open_whole(ARRAY[of_zone]);
    UPDATE zonda.version v SET serial = above WHERE v.zone = of_zone AND v.open AND above <> 0;
END $$;

-- Who may write or read gets it by GRANT: no more than what is said here is for everybody who has USAGE of the schema.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA zonda FROM PUBLIC;
GRANT EXECUTE ON FUNCTION zonda.key(text), zonda.cluster() TO PUBLIC;
