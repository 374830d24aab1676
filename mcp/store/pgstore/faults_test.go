package pgstore_test

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/pgstore"
)

// maxWait is how long a Store may take until it works again.
const maxWait = 3 * time.Minute

// awaitMessage publishes until the subscription of a topic has got a message.
func awaitMessage(t *testing.T, s *pgstore.Store, topic string, got <-chan string) {
	t.Helper()
	for deadline := time.Now().Add(maxWait); time.Now().Before(deadline); {
		err := s.Publish(t.Context(), topic, []byte("message"))
		select {
		case <-got:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if err != nil {
			t.Log(err)
		}
	}
	t.Fatalf("no message after %v", maxWait)
}

// receiver subscribes to a topic and returns what is delivered, as far as it is read.
func receiver(t *testing.T, s *pgstore.Store, topic string) <-chan string {
	got := make(chan string, 1000)
	subscribe(t, s, topic, func(msg []byte) {
		select {
		case got <- string(msg):
		default:
		}
	})
	return got
}

func TestStoreWorksAgainAfterFaults(t *testing.T) {
	t.Parallel()
	server := testengine.Postgres(t)
	logged := make(chan string, 1000)
	s := open(t, server.URL, &pgstore.Options{Logger: slog.New(messages{logged})})
	got := receiver(t, s, "a")
	put(t, s, "a", "1", 0)
	works := func() {
		t.Helper()
		wantValue(t, s, "a", "1") // at once: what only reads is repeated
		put(t, s, "b", "1", 0)    // at once: other connections are checked after one was lost
		awaitMessage(t, s, "a", got)
	}
	works()

	for range 3 {
		server.Proxy.Cut()
		works()
	}

	server.Proxy.Refuse()
	server.Proxy.Cut()
	for range 3 {
		if err := s.Put(t.Context(), "b", nil, 0); err == nil || !strings.HasPrefix(err.Error(), "pgstore: put: ") {
			t.Errorf("without a server: got %v, want an error that names the operation", err)
		}
	}
	server.Proxy.Accept()
	works()
	for len(logged) > 0 {
		<-logged
	}

	server.Proxy.Block()
	select {
	case msg := <-logged:
		if !strings.Contains(msg, "subscriptions are interrupted") {
			t.Errorf("got log %q, want one of the lost connection", msg)
		}
	case <-time.After(maxWait):
		t.Error("a server that does not answer was not noticed")
	}
	server.Proxy.Unblock()
	works()
}

// messages is a slog.Handler that passes on messages.
type messages struct{ to chan<- string }

func (m messages) Enabled(context.Context, slog.Level) bool { return true }
func (m messages) WithAttrs([]slog.Attr) slog.Handler       { return m }
func (m messages) WithGroup(string) slog.Handler            { return m }

func (m messages) Handle(_ context.Context, r slog.Record) error {
	select {
	case m.to <- r.Message:
	default:
	}
	return nil
}

func TestSubscriptionThroughATransactionPoolerIsRefused(t *testing.T) {
	t.Parallel()
	server := testengine.Postgres(t)
	s := open(t, strings.Replace(server.URL, server.Proxy.Addr(), withoutNotifications(t, server.Addr()), 1), nil)
	put(t, s, "a", "1", 0)
	_, err := s.Subscribe(t.Context(), "a", func([]byte) { t.Error("got a message") })
	if err == nil || !strings.Contains(err.Error(), "pooler in transaction mode") {
		t.Errorf("got %v, want an error that names the pooler", err)
	}
}

// withoutNotifications starts a proxy that drops notifications, as a pooler does that does not know
// for which client they are. It returns its address.
func withoutNotifications(t *testing.T, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(server, client)
				server.Close()
			}()
			go func() {
				defer client.Close()
				for {
					header := make([]byte, 5) // a type and the size of what follows the type
					if _, err := io.ReadFull(server, header); err != nil {
						return
					}
					body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
					if _, err := io.ReadFull(server, body); err != nil {
						return
					}
					if header[0] == 'A' {
						continue
					}
					if _, err := client.Write(append(header, body...)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}
