package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// schemaVersion is the version of the tables that this release needs.
const schemaVersion = 1

// schemaTemplate creates the tables of version 1. NAMESPACE stands for the namespace. It may be
// run again.
const schemaTemplate = `CREATE TABLE IF NOT EXISTS "NAMESPACE_entries" (
	key text COLLATE "C" PRIMARY KEY,
	value bytea NOT NULL,
	expires_at timestamptz
);
CREATE INDEX IF NOT EXISTS "NAMESPACE_entries_expiry" ON "NAMESPACE_entries" (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "NAMESPACE_events" (
	stream text COLLATE "C" NOT NULL,
	n bigint NOT NULL,
	msg bytea NOT NULL,
	size bigint GENERATED ALWAYS AS (octet_length(msg) + 64) STORED,
	at timestamptz NOT NULL DEFAULT clock_timestamp(),
	PRIMARY KEY (stream, n)
);
CREATE INDEX IF NOT EXISTS "NAMESPACE_events_age" ON "NAMESPACE_events" (at) INCLUDE (size);
CREATE TABLE IF NOT EXISTS "NAMESPACE_version" (version integer NOT NULL);
INSERT INTO "NAMESPACE_version" SELECT 1 WHERE NOT EXISTS (SELECT FROM "NAMESPACE_version");
`

// tables lists the tables of a namespace, without its name.
var tables = []string{"entries", "events", "version"}

// Schema returns the statements that create the tables of a namespace, in the first schema of the
// search_path. They need the right to create tables there and change nothing if the tables exist.
// A role that uses the tables and does not own them needs
//
//	GRANT SELECT, INSERT, UPDATE, DELETE ON "fondaco_entries", "fondaco_events", "fondaco_version" TO role;
//
// An empty namespace is the default one. Schema panics if the namespace is not valid, see
// Options.Namespace.
func Schema(namespace string) string {
	o := Options{Namespace: namespace}
	if err := o.check(); err != nil {
		panic("pgstore: schema: " + err.Error())
	}
	return strings.ReplaceAll(schemaTemplate, "NAMESPACE", o.namespace())
}

// prepareTables creates the tables if they are missing, and checks that they can be used. Replicas
// that start at the same time do so one after another.
func (s *Store) prepareTables(ctx context.Context, create bool) error {
	version, err := s.version(ctx)
	if err == nil && version < schemaVersion && create {
		err = s.createTables(ctx)
		if err == nil {
			version, err = s.version(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case version == 0:
		return fmt.Errorf("the table %q does not exist: let an administrator run the statements that pgstore.Schema(%q) returns, or leave NoCreateTables unset", s.namespace+"_version", s.namespace)
	case version != schemaVersion:
		return fmt.Errorf("the tables of namespace %q have version %d: this release needs version %d", s.namespace, version, schemaVersion)
	}
	return s.findTables(ctx)
}

// version returns the version of the tables, or 0 if there are none.
func (s *Store) version(ctx context.Context) (version int, err error) {
	var exists bool
	table := quote(s.namespace + "_version")
	if err := s.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = s.pool.QueryRow(ctx, `SELECT version FROM `+table).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

func (s *Store) createTables(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, s.lockID("create")); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, Schema(s.namespace), pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// findTables sets the names of the tables with their schema, and checks the rights of the role.
func (s *Store) findTables(ctx context.Context) error {
	for _, table := range tables {
		name := s.namespace + "_" + table
		var schema string
		var allowed bool
		err := s.pool.QueryRow(ctx, `SELECT nspname, has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
				AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`, quote(name)).Scan(&schema, &allowed)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("the table %q does not exist: let an administrator run the statements that pgstore.Schema(%q) returns", name, s.namespace)
		case err != nil:
			return err
		case !allowed:
			return fmt.Errorf("the role may not select, insert, update and delete rows of the table %q: let an administrator GRANT it", name)
		}
		s.schema = schema
	}
	s.statements = newStatements(quote(s.schema)+".", s.namespace)
	return nil
}

// quote returns a name as an identifier of SQL.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
