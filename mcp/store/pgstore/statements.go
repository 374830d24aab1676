package pgstore

import "strings"

// statements are the statements of a Store, with the names of its tables.
type statements struct {
	get, put, create, swap, remove, list    string
	publish                                 string
	appendEvent, eventsAfter, trimEvents    string
	removeEntries, removeOld, removeSurplus string
}

// newStatements returns the statements for a namespace in a schema, which is quoted and ends with
// a dot. Statements that wait for a lock use clock_timestamp, which has the time after the wait.
func newStatements(schema, namespace string) statements {
	names := strings.NewReplacer(
		"ENTRIES", schema+quote(namespace+"_entries"),
		"EVENTS", schema+quote(namespace+"_events"),
		"ALIVE", "(e.expires_at IS NULL OR e.expires_at > clock_timestamp())",
	).Replace
	return statements{
		get: names(`SELECT e.value FROM ENTRIES e WHERE e.key = $1 AND ALIVE`),
		put: names(`INSERT INTO ENTRIES (key, value, expires_at) VALUES ($1, $2, clock_timestamp() + $3::interval)
			ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at`),
		create: names(`INSERT INTO ENTRIES AS e (key, value, expires_at) VALUES ($1, $2, clock_timestamp() + $3::interval)
			ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at WHERE NOT ALIVE`),
		swap: names(`UPDATE ENTRIES e SET value = $3, expires_at = clock_timestamp() + $4::interval
			WHERE e.key = $1 AND e.value = $2 AND ALIVE`),
		remove: names(`DELETE FROM ENTRIES WHERE key = $1`),
		list: names(`SELECT e.key FROM ENTRIES e WHERE e.key > $1 AND e.key >= $2 AND e.key < $3 AND ALIVE
			ORDER BY e.key LIMIT $4`),

		// The loss of a message in a crash is permitted, so the commit does not wait for the disk.
		publish: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, part) FROM unnest($2::text[]) part`,

		appendEvent: names(`INSERT INTO EVENTS (stream, n, msg) VALUES ($1, $2, $3)
			ON CONFLICT (stream, n) DO UPDATE SET msg = EXCLUDED.msg, at = EXCLUDED.at`),
		eventsAfter: names(`SELECT msg FROM EVENTS WHERE stream = $1 AND n > $2 ORDER BY n`),
		trimEvents:  names(`DELETE FROM EVENTS WHERE stream = $1 AND n <= $2`),

		// These skip rows that others have locked, so that they wait for nobody and nobody's
		// order of locks matters.
		removeEntries: names(`DELETE FROM ENTRIES WHERE key = ANY (ARRAY(
			SELECT key FROM ENTRIES WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`),
		removeOld: names(`DELETE FROM EVENTS WHERE (stream, n) IN (
			SELECT stream, n FROM EVENTS WHERE at < now() - $2::interval ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED)`),
		removeSurplus: names(`WITH total AS (SELECT coalesce(sum(size), 0) - $2::bigint AS surplus FROM EVENTS),
			oldest AS (SELECT at, sum(size) OVER (ORDER BY at) AS upto FROM (SELECT at, size FROM EVENTS ORDER BY at LIMIT $1) o),
			last AS (SELECT coalesce(min(at) FILTER (WHERE upto >= surplus), max(at)) AS at FROM oldest, total WHERE surplus > 0)
			DELETE FROM EVENTS WHERE (stream, n) IN (
			SELECT e.stream, e.n FROM EVENTS e, last WHERE e.at <= last.at FOR UPDATE OF e SKIP LOCKED)`),
	}
}
