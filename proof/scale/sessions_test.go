//go:build linux

package scale_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// measureMemory measures what a replica keeps for idle sessions.
func measureMemory(t *testing.T, of size, p *page) {
	head := []string{fmt.Sprintf("%d idle sessions", of.idle), "heap and stacks of a replica", "each"}
	rows := [][]string{head}
	for _, name := range []string{"", of.engines[0]} {
		rows = append(rows, idleMemory(t, of, name)...)
	}
	p.add("Memory of idle sessions", rows...)
}

// idleMemory returns the rows of an engine.
func idleMemory(t *testing.T, of size, name string) (rows [][]string) {
	t.Run(cmp.Or(name, "none"), func(t *testing.T) {
		c := startCluster(t, name, 2)
		headers := make([][]string, of.idle)
		what := "with " + name
		if name == "" {
			what = "without an engine"
		}
		add := func(how string, at *replica, do func(i int) error) {
			before := c.usage(at, "?memory=1").Memory
			if err := concurrently(1, of.idle, do); err != nil {
				t.Fatal(err)
			}
			used := c.usage(at, "?memory=1").Memory - before
			rows = append(rows, []string{what + ", " + how, fmt.Sprintf("%.1f MB", float64(used)/1e6), fmt.Sprintf("%d bytes", used/int64(of.idle))})
		}
		add("opened there", c.replicas[0], func(i int) (err error) {
			headers[i], err = c.replicas[0].open(t.Context())
			return err
		})
		add("opened elsewhere, one call there", c.replicas[1], func(i int) error {
			_, err := c.replicas[1].succeed(t.Context(), echo, headers[i]...)
			return err
		})
		add("and a GET stream, whose connection is part of it", c.replicas[0], func(i int) error {
			return c.replicas[0].idleStream(t, headers[i])
		})
	})
	return rows
}

// idleStream opens a GET stream and reads nothing from it. It costs this process less than an
// http.Client does.
func (r *replica) idleStream(t *testing.T, header []string) error {
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return err
	}
	t.Cleanup(func() { conn.Close() })
	request := "GET /mcp HTTP/1.1\r\nHost: " + r.Addr() + "\r\nAccept: text/event-stream\r\n"
	for i := 0; i < len(header); i += 2 {
		request += header[i] + ": " + header[i+1] + "\r\n"
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(hangTime))
	line := make([]byte, len("HTTP/1.1 200"))
	if _, err := conn.Read(line); err != nil || !strings.HasSuffix(string(line), "200") {
		return fmt.Errorf("GET: got %q, %v", line, err)
	}
	return nil
}

// measureSessions opens sessions with a subscription and measures what the engine keeps for them.
func measureSessions(t *testing.T, of size, p *page) {
	rows := [][]string{{fmt.Sprintf("%d sessions with a subscription", of.sessions), "keys of a session", "bytes of a session", "time to open", "sessions per second", "calls of the engine for each"}}
	for _, name := range of.engines {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, name, 4)
			keysBefore, bytesBefore := c.stored()
			before, start := c.calls(), time.Now()
			err := concurrently(1, of.sessions, func(i int) error {
				at := c.replicas[i%len(c.replicas)]
				header, err := at.open(t.Context())
				if err == nil {
					_, err = at.succeed(t.Context(), subscribe, header...)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			took, calls := time.Since(start), c.calls().Since(before)
			keys, bytes := c.stored()
			n := float64(of.sessions)
			rows = append(rows, []string{
				name, fmt.Sprintf("%.2f", float64(keys-keysBefore)/n), fmt.Sprintf("%.0f", float64(bytes-bytesBefore)/n), seconds(took),
				fmt.Sprintf("%.0f", n/took.Seconds()), fmt.Sprintf("%.2f", float64(calls.Calls())/n),
			})
		})
	}
	p.add("Sessions in the engine", rows...)
}

// stored returns the number of keys and bytes in the engine.
func (c *cluster) stored() (keys, bytes int64) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), hangTime)
	defer cancel()
	var err error
	switch scheme, _, _ := strings.Cut(c.engine.URL, ":"); scheme {
	case "redis":
		keys, bytes, err = storedInRedis(c.engine.Addr())
	case "nats":
		keys, bytes, err = storedInNATS(ctx, c.engine.URL)
	default:
		keys, bytes, err = storedInPostgres(ctx, c.engine.URL)
	}
	if err != nil {
		c.Fatal(err)
	}
	return keys, bytes
}

// storedInRedis does not count the sorted set of all keys as a key; its memory is part of the bytes.
func storedInRedis(addr string) (keys, bytes int64, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hangTime))
	if _, err := conn.Write([]byte("INFO memory\r\nDBSIZE\r\n")); err != nil {
		return 0, 0, err
	}
	var text strings.Builder
	part := make([]byte, 16<<10)
	for !strings.Contains(text.String(), "\r\n:") { // the number of keys is last
		n, err := conn.Read(part)
		if err != nil {
			return 0, 0, err
		}
		text.Write(part[:n])
	}
	_, used, _ := strings.Cut(text.String(), "used_memory:")
	used, _, _ = strings.Cut(used, "\r\n")
	_, size, _ := strings.Cut(text.String(), "\r\n:")
	if bytes, err = strconv.ParseInt(used, 10, 64); err != nil {
		return 0, 0, err
	}
	keys, err = strconv.ParseInt(strings.TrimSpace(size), 10, 64)
	return keys, bytes, err
}

func storedInNATS(ctx context.Context, url string) (keys, bytes int64, err error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, 0, err
	}
	for info := range js.ListStreams(ctx).Info() {
		if strings.HasSuffix(info.Config.Name, "_STORE") {
			keys, bytes = int64(info.State.Msgs), int64(info.State.Bytes)
		}
	}
	return keys, bytes, ctx.Err()
}

func storedInPostgres(ctx context.Context, url string) (keys, bytes int64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*), pg_total_relation_size('fondaco_entries') FROM fondaco_entries`).Scan(&keys, &bytes)
	return keys, bytes, err
}
