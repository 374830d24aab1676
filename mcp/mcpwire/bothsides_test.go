package mcpwire_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) { leak.Main(m) }

// messages collects what one side passes to OnMessage.
type messages struct {
	mu  sync.Mutex
	all []mcp.WireMessage
}

func (m *messages) record(msg mcp.WireMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg.Data = slices.Clone(msg.Data)
	m.all = append(m.all, msg)
}

// data returns the messages of one direction, sorted.
func (m *messages) data(sent bool) (data []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, msg := range m.all {
		if msg.Sent == sent && len(msg.Data) > 0 {
			data = append(data, string(msg.Data))
		}
	}
	slices.Sort(data)
	return data
}

type seat struct {
	Row int `json:"row"`
}

// TestBothSidesPassTheSameMessages makes calls with progress, a question and an error over every
// transport and in both eras: what one side sends, the other one has read.
func TestBothSidesPassTheSameMessages(t *testing.T) {
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for transport, target := range transports {
			if transport == "sse" && revision.Stateless() {
				continue // the revision does not have the transport
			}
			t.Run(fmt.Sprintf("%s over %s", revision, transport), func(t *testing.T) {
				var atServer, atClient messages
				srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{OnMessage: atServer.record, Revisions: []mcp.Revision{revision}})
				srv.Tool("book", "Books a flight", func(ctx context.Context, _ struct{}) (string, error) {
					mcpserver.Progress(ctx, 1, 2, "looking for a seat")
					s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
					return fmt.Sprint(s.Row), err
				})
				c := connect(t, target(t, srv), &mcpclient.Options{
					OnMessage: atClient.record,
					ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
					},
				})
				progress := mcpclient.WithProgress(func(mcp.ProgressParams) {})
				if got, err := c.Call[string](t.Context(), "book", struct{}{}, progress); err != nil || got != "4" {
					t.Fatalf("Call = %q, %v, want 4", got, err)
				}
				if _, err := c.Call[string](t.Context(), "unknown", struct{}{}); err == nil {
					t.Fatal("Call of an unknown tool succeeded")
				}
				_ = c.Close()
				if err := srv.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, sent := range []bool{true, false} {
					if server, client := atServer.data(!sent), atClient.data(sent); len(client) < 3 || !slices.Equal(server, client) {
						t.Errorf("client sent=%t passed\n%q\nserver passed\n%q", sent, client, server)
					}
				}
			})
		}
	}
}

var transports = map[string]func(*testing.T, *mcpserver.Server) mcpclient.Target{
	"memory": func(_ *testing.T, s *mcpserver.Server) mcpclient.Target { return mcpclient.InProcess(s) },
	"http": func(t *testing.T, s *mcpserver.Server) mcpclient.Target {
		ts := httptest.NewServer(s.HTTPHandler())
		t.Cleanup(ts.Close)
		return mcpclient.URL(ts.URL)
	},
	"sse": func(t *testing.T, s *mcpserver.Server) mcpclient.Target {
		ts := httptest.NewServer(s.EventStreamHandler())
		t.Cleanup(ts.Close)
		return mcpclient.EventStream(ts.URL)
	},
}

func connect(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
