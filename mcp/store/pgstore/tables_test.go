package pgstore_test

import (
	"context"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

// administrator returns a function that runs statements as the administrator of a server.
func administrator(t *testing.T, address string) func(sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// count returns the number of rows that a query returns.
func count(t *testing.T, address, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM ("+query+") q").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// as returns the URL for another user.
func as(t *testing.T, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// wantError opens a Store, which has to fail with an error that has all texts and no password.
func wantError(t *testing.T, address string, opts *pgstore.Options, texts ...string) {
	t.Helper()
	s, err := pgstore.Open(t.Context(), address, quiet(opts))
	if err == nil {
		s.Close()
		t.Fatalf("Open: got no error, want one with %q", texts)
	}
	for _, text := range append(texts, "pgstore: open: ") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %q, want it to have %q", err, text)
		}
	}
	for _, secret := range []string{testengine.PostgresPassword, "hunter2"} {
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
			t.Errorf("the error shows the password: %q", err)
		}
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	address := testengine.Postgres(t).URL
	admin := administrator(t, address)
	t.Run("role without rights", func(t *testing.T) {
		admin(`CREATE ROLE app LOGIN PASSWORD 'hunter2'`)
		app := as(t, address, "app", "hunter2")
		wantError(t, app, &pgstore.Options{Namespace: "rights"}, "the role lacks a right", "SQLSTATE 42501", "pgstore.Schema")
		wantError(t, app, &pgstore.Options{Namespace: "rights", NoCreateTables: true}, `"rights_version" does not exist`, `pgstore.Schema("rights")`)
		admin(pgstore.Schema("rights"))
		admin(pgstore.Schema("rights")) // changes nothing
		wantError(t, app, &pgstore.Options{Namespace: "rights"}, "the role lacks a right")
		admin(`GRANT SELECT ON "rights_version", "rights_entries", "rights_events" TO app`)
		wantError(t, app, &pgstore.Options{Namespace: "rights"}, `of the table "rights_entries"`, "GRANT")
		admin(`GRANT SELECT, INSERT, UPDATE, DELETE ON "rights_version", "rights_entries", "rights_events" TO app`)
		s := open(t, app, &pgstore.Options{Namespace: "rights", NoCreateTables: true})
		put(t, s, "a", "1", 0)
		wantValue(t, s, "a", "1")
		if err := s.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("newer release", func(t *testing.T) {
		open(t, address, &pgstore.Options{Namespace: "newer"})
		admin(`UPDATE "newer_version" SET version = 1000`)
		wantError(t, address, &pgstore.Options{Namespace: "newer"}, "version 1000", "needs version 1")
	})
	t.Run("many replicas at once", func(t *testing.T) {
		errs := make(chan error)
		const replicas = 8
		for range replicas {
			go func() {
				s, err := pgstore.Open(context.WithoutCancel(t.Context()), address, quiet(&pgstore.Options{Namespace: "many", MaxConns: 2}))
				if err == nil {
					s.Close()
				}
				errs <- err
			}()
		}
		for range replicas {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("namespaces are apart", func(t *testing.T) {
		admin(`CREATE SCHEMA elsewhere`)
		stores := []*pgstore.Store{
			open(t, address, &pgstore.Options{Namespace: "apart"}),
			open(t, address, &pgstore.Options{Namespace: "Apart"}),
			open(t, address, &pgstore.Options{Namespace: "apart_1-"}),
			open(t, address+"&search_path=elsewhere", &pgstore.Options{Namespace: "apart"}),
		}
		got := make(chan int, 100)
		for i, s := range stores {
			put(t, s, "a", fmt.Sprint(i), 0)
			if err := s.Events().Append(t.Context(), "s", 1, fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
			subscribe(t, s, "a", func([]byte) { got <- i })
		}
		for i, s := range stores {
			wantValue(t, s, "a", fmt.Sprint(i))
			if msgs, err := s.Events().After(t.Context(), "s", 0); err != nil || len(msgs) != 1 || string(msgs[0]) != fmt.Sprint(i) {
				t.Errorf("events of namespace %d: got %q, %v", i, msgs, err)
			}
			if err := s.Publish(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			if to := <-got; to != i {
				t.Errorf("a message of namespace %d reached namespace %d", i, to)
			}
		}
		if len(got) > 0 {
			t.Errorf("%d messages reached two namespaces", len(got))
		}
	})
	t.Run("isolation of the role has no effect", func(t *testing.T) {
		admin(`CREATE ROLE strict LOGIN SUPERUSER PASSWORD 'hunter2'`)
		admin(`ALTER ROLE strict SET default_transaction_isolation = 'serializable'`)
		s := open(t, as(t, address, "strict", "hunter2"), &pgstore.Options{Namespace: "strict", MaxConns: 8})
		put(t, s, "n", "", 0)
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 20 {
					if err := s.Put(t.Context(), "n", []byte("1"), 0); err != nil { // which waits for others
						t.Errorf("Put: %v", err)
						return
					}
				}
			})
		}
		writers.Wait()
	})
	t.Run("connections are bounded", func(t *testing.T) {
		for name, tt := range map[string]struct{ set, want int }{"default": {0, max(4, runtime.NumCPU())}, "two": {2, 2}} {
			s := open(t, address+"&application_name="+name, &pgstore.Options{Namespace: "conns", MaxConns: tt.set})
			var calls sync.WaitGroup
			for range 40 {
				calls.Go(func() {
					if err := s.Put(t.Context(), "a", make([]byte, 1<<16), 0); err != nil {
						t.Errorf("Put: %v", err)
					}
				})
			}
			calls.Wait()
			if n := count(t, address, `SELECT FROM pg_stat_activity WHERE application_name = '`+name+`'`); n == 0 || n > tt.want {
				t.Errorf("%s: got %d connections, want at most %d", name, n, tt.want)
			}
		}
	})
	t.Run("expired rows are removed", func(t *testing.T) {
		s := open(t, address, &pgstore.Options{Namespace: "expired"})
		for i := range 20 {
			put(t, s, fmt.Sprint("short/", i), "1", time.Millisecond)
		}
		put(t, s, "long", "1", time.Hour)
		put(t, s, "forever", "1", 0)
		admin(`SELECT pg_sleep(0.01)`)
		for range 2 {
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := count(t, address, `SELECT FROM "expired_entries"`); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
	t.Run("events are bounded by bytes", func(t *testing.T) {
		s := open(t, address, &pgstore.Options{Namespace: "bytes", MaxEventBytes: 5 * (936 + 64)})
		for n := range 10 {
			appendEvent(t, s, "s", int64(n+1), string(make([]byte, 936)))
		}
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if msgs, err := s.Events().After(t.Context(), "s", 5); err != nil || len(msgs) != 5 {
			t.Errorf("got %d events after the fifth, %v, want 5", len(msgs), err)
		}
		if n := count(t, address, `SELECT FROM "bytes_events"`); n != 5 {
			t.Errorf("got %d events, want 5", n)
		}
	})
	t.Run("events are bounded by age", func(t *testing.T) {
		s := open(t, address, &pgstore.Options{Namespace: "age"})
		for n := range 4 {
			appendEvent(t, s, "s", int64(n+1), "event")
		}
		admin(`UPDATE "age_events" SET at = at - interval '59 minutes' WHERE n = 3`)
		admin(`UPDATE "age_events" SET at = at - interval '61 minutes' WHERE n < 3`)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, address, `SELECT FROM "age_events"`); n != 2 {
			t.Errorf("got %d events, want 2", n)
		}
	})
	t.Run("expired rows of a list are not counted", func(t *testing.T) {
		s := open(t, address, &pgstore.Options{Namespace: "list"})
		put(t, s, "a", "1", time.Millisecond)
		put(t, s, "b", "1", 0)
		admin(`SELECT pg_sleep(0.01)`)
		if keys, err := s.List(t.Context(), "", "", 1); err != nil || len(keys) != 1 || keys[0] != "b" {
			t.Errorf("got %q, %v, want b", keys, err)
		}
	})
}

func put(t *testing.T, s mcp.Store, key, value string, ttl time.Duration) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(value), ttl); err != nil {
		t.Fatalf("Put %q: %v", key, err)
	}
}

func wantValue(t *testing.T, s mcp.Store, key, want string) {
	t.Helper()
	if value, found, err := s.Get(t.Context(), key); err != nil || !found || string(value) != want {
		t.Errorf("Get %q: got %q, %v, %v, want %q", key, value, found, err, want)
	}
}

func appendEvent(t *testing.T, s *pgstore.Store, stream string, n int64, msg string) {
	t.Helper()
	if err := s.Events().Append(t.Context(), stream, n, []byte(msg)); err != nil {
		t.Fatal(err)
	}
}

func subscribe(t *testing.T, s *pgstore.Store, topic string, deliver func([]byte)) {
	t.Helper()
	cancel, err := s.Subscribe(t.Context(), topic, deliver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
}
