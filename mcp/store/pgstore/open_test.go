package pgstore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	address := testengine.Postgres(t).URL
	t.Run("wrong password", func(t *testing.T) {
		wantError(t, as(t, address, testengine.PostgresUser, "hunter2"), nil, "refuses the password", "SQLSTATE 28P01")
	})
	t.Run("no such database", func(t *testing.T) {
		wantError(t, strings.Replace(address, "/postgres?", "/missing?", 1), nil, "the database does not exist", "SQLSTATE 3D000")
	})
	t.Run("malformed URL", func(t *testing.T) {
		for _, malformed := range []string{
			"", "redis://user:hunter2@localhost/", "postgres://user:hunter2%zz@localhost/app", "user=app password=hunter2",
			"postgres://user:hunter2@localhost:port/app", "user:hunter2@localhost:5432/app", "postgress://hunter2@localhost/app",
		} {
			wantError(t, malformed, nil, "want postgres://")
		}
		wantError(t, "postgres://user:hunter2@localhost/app?sslmode=hunter2", nil, "sslmode is invalid")
		wantError(t, "postgres://user@localhost/app?password=hunter2&connect_timeout=hunter2", nil, "connect_timeout")
	})
	t.Run("options", func(t *testing.T) {
		for text, opts := range map[string]*pgstore.Options{
			"namespace": {Namespace: `a"b`}, "want 1 to 32": {Namespace: strings.Repeat("n", 33)},
			"MaxConns": {MaxConns: -1}, "MaxEventAge": {MaxEventAge: -1}, "MaxEventBytes": {MaxEventBytes: -1},
		} {
			wantError(t, address, opts, text)
		}
		open(t, address, &pgstore.Options{Namespace: strings.Repeat("n", 32)})
	})
	t.Run("server without TLS", func(t *testing.T) {
		wantError(t, address, &pgstore.Options{TLS: &tls.Config{}}, "cannot connect to PostgreSQL", "TLS")
		wantError(t, strings.Replace(address, "disable", "prefer", 1), &pgstore.Options{TLS: &tls.Config{}}, "TLS")
	})
	t.Run("password of a function", func(t *testing.T) {
		asked := make(chan string, 100)
		s := open(t, as(t, address, testengine.PostgresUser, "hunter2"), &pgstore.Options{PasswordFunc: func(context.Context) (string, error) {
			asked <- testengine.PostgresPassword
			return testengine.PostgresPassword, nil
		}})
		put(t, s, "a", "1", 0)
		subscribe(t, s, "a", func([]byte) {})
		if len(asked) < 2 {
			t.Errorf("asked for the password %d times, want once for each connection", len(asked))
		}
	})
	t.Run("closed store", func(t *testing.T) {
		s := open(t, address, nil)
		subscribe(t, s, "a", func([]byte) {})
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		_, _, getErr := s.Get(t.Context(), "a")
		_, subscribeErr := s.Subscribe(t.Context(), "a", func([]byte) {})
		for _, err := range []error{getErr, s.Publish(t.Context(), "a", nil), s.Events().Append(t.Context(), "s", 1, nil), subscribeErr} {
			if err == nil || !strings.Contains(err.Error(), "the store is closed") {
				t.Errorf("got error %v, want one that says that the store is closed", err)
			}
		}
	})
	t.Run("server that does not answer", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0") // whose connections nobody accepts
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := pgstore.Open(ctx, "postgres://app:hunter2@"+l.Addr().String()+"/app", quiet(nil)); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
	t.Run("nobody listens at the address", func(t *testing.T) {
		wantError(t, "postgres://app:hunter2@127.0.0.1:1/app", nil, "cannot connect to PostgreSQL", "127.0.0.1:1")
	})
}
