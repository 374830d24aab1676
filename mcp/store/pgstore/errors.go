package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var errClosed = errors.New("the store is closed")

// readOnly is the SQLSTATE of a change that a standby refuses.
const readOnly = "25006"

// meanings says what the administrator can do about a SQLSTATE.
var meanings = map[string]string{
	"28000":  "PostgreSQL refuses the role: check the user of the URL and pg_hba.conf",
	"28P01":  "PostgreSQL refuses the password: check the user and the password of the URL",
	"3D000":  "the database does not exist: create it, or change the URL",
	"42501":  "the role lacks a right: let an administrator run the statements of pgstore.Schema and grant the role SELECT, INSERT, UPDATE and DELETE on the tables",
	"42P01":  "a table is missing: let an administrator run the statements of pgstore.Schema, or open the store again",
	"3F000":  "no schema of the search_path exists: create one, or set search_path in the URL",
	readOnly: "the server permits no changes, as a standby: add target_session_attrs=read-write to the URL, with the hosts of all servers",
	"53100":  "the disk of PostgreSQL is full",
	"53200":  "PostgreSQL has no memory left",
	"53300":  "PostgreSQL has no free connection: raise its max_connections, or lower Options.MaxConns of the replicas",
	"57014":  "PostgreSQL took too long",
	"57P01":  "PostgreSQL is shutting down",
	"57P03":  "PostgreSQL is starting or shutting down",
}

// explain returns an error that says what is wrong and has no password. It wraps the cause of
// the error, but not the driver's description of the connection, which has the password.
func explain(err error) error {
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		meaning := meanings[refused.Code]
		if meaning == "" {
			meaning = "PostgreSQL refuses the statement"
		}
		return fmt.Errorf("%s (%w)", meaning, refused)
	case errors.As(err, &connect):
		return fmt.Errorf("cannot connect to PostgreSQL: %w", connect.Unwrap())
	}
	return err
}

// explainTimeout is explain for an error of a call with callCtx, which is ctx with callTimeout.
func explainTimeout(ctx, callCtx context.Context, err error) error {
	if callCtx.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer from PostgreSQL within %v: %w", callTimeout, explain(err))
	}
	return explain(err)
}

// isConnectionLost reports whether a call failed because of its connection, and not because of the
// server's answer or the end of its context.
func isConnectionLost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return strings.HasPrefix(refused.Code, "57P") || refused.Code == readOnly
	}
	return !errors.Is(err, context.Canceled)
}

// isReadOnly reports whether the server refused a change because it is a standby.
func isReadOnly(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == readOnly
}
