package integration_test

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// connectOver connects one of our clients over a wire. It is closed at the end.
func connectOver(t *testing.T, w wire, to way, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	o.Revisions, o.HTTP.Client = []mcp.Revision{w.revision}, to.web
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := mcpclient.Connect(t.Context(), to.target, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func eachWireInFakeTime(t *testing.T, test func(t *testing.T, w wire)) {
	t.Parallel()
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, w) })
		})
	}
}

// A failure here means that changes do not reach clients of our server, or that one
// that does not read holds up the others.
func TestChangesReachAllClientsThatRead(t *testing.T) {
	eachWireInFakeTime(t, func(t *testing.T, w wire) {
		claim.Shows(t, "R-206", "R-235a")
		s := quietServer()
		s.Resource("note://a", "a", "", func(context.Context) ([]byte, error) { return nil, nil })
		s.Tool("first", "First", func(context.Context, struct{}) (string, error) { return "", nil })
		to := w.serve(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range 3 {
			deaf, err := connectRaw(ctx, t, w, to)
			if err == nil {
				err = deaf.listen()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		lists := make(chan struct{}, 1)
		c := connectOver(t, w, to, mcpclient.Options{OnToolsChanged: func(context.Context, *mcpclient.Client) { lists <- struct{}{} }})
		told := 0
		for _, err := range c.Watch(ctx, "note://a") {
			if err != nil {
				t.Fatal(err)
			}
			if told++; told > 100 {
				break
			}
			s.RemoveTool(fmt.Sprint("t", told-1))
			s.Tool(fmt.Sprint("t", told), "", func(context.Context, struct{}) (string, error) { return "", nil })
			s.Updated("note://a")
		}
		if told <= 100 {
			t.Errorf("told %d times, want 101: %v", told, ctx.Err())
		}
		select {
		case <-lists:
		case <-ctx.Done():
			t.Error("the list has not changed for the client")
		}
	})
}

func TestSubscriptionOverHTTPEndsWithItsResultAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-310", "G-a")
	synctest.Test(t, func(t *testing.T) {
		w := wires[slices.IndexFunc(wires, func(w wire) bool { return w.posts && w.stateless() })]
		s := quietServer()
		s.Tool("first", "First", func(context.Context, struct{}) (string, error) { return "", nil })
		c, err := connectRaw(t.Context(), t, w, w.serve(t, s))
		if err == nil {
			err = c.listen()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if m, err := c.next(); err != nil || m.Method != "" || string(m.ID) != `"listen"` || m.Error != nil {
			t.Errorf("got %+v, %v, want the result", m, err)
		}
	})
}

// A failure here means that a caller gets the log messages of another's call.
func TestLogMessagesOfACallReachOnlyItsClient(t *testing.T) {
	eachWireInFakeTime(t, func(t *testing.T, w wire) {
		s := quietServer()
		s.Tool("say", "Logs what it is told", func(ctx context.Context, in secret) (string, error) {
			for range 3 {
				mcpserver.Log(ctx).Info(in.Nonce)
				time.Sleep(time.Millisecond)
			}
			return in.Nonce, nil
		})
		c := connectOver(t, w, w.serve(t, s), mcpclient.Options{OnLog: func(context.Context, *mcp.LoggingMessageParams) {}})
		say := func() (own int) {
			nonce := rand.Text()
			_, err := c.CallTool(t.Context(), "say", secret{nonce}, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
				if !strings.Contains(string(m.Data), nonce) {
					t.Errorf("got %s, want %s", m.Data, nonce)
				}
				own++
			}))
			if err != nil {
				t.Error(err)
			}
			return own
		}
		if got := say(); got != 3 {
			t.Errorf("alone: got %d messages, want 3", got)
		}
		if !w.posts {
			return // whose a message is cannot be told
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got := say(); got != 3 {
					t.Errorf("among others: got %d messages, want 3", got)
				}
			})
		}
		all.Wait()
	})
}

func TestTraceIsPassedOnByAHandlerThatCalls(t *testing.T) {
	eachWireInFakeTime(t, func(t *testing.T, w wire) {
		claim.Shows(t, "R-035")
		behind := quietServer()
		behind.Tool("trace", "Tells the trace", func(ctx context.Context, _ struct{}) (mcp.Trace, error) {
			return mcp.TraceFrom(ctx), nil
		})
		inner := connectOver(t, w, w.serve(t, behind), mcpclient.Options{})
		front := quietServer()
		front.Tool("trace", "Asks the next one", func(ctx context.Context, _ struct{}) (jsontext.Value, error) {
			text, err := inner.CallTool(ctx, "trace", nil)
			if err != nil {
				return nil, err
			}
			return jsontext.Value(text.Content.Text()), nil
		})
		c := connectOver(t, w, w.serve(t, front), mcpclient.Options{})
		want := mcp.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=b", Baggage: "c=d"}
		got, err := c.Call[mcp.Trace](mcp.ContextWithTrace(t.Context(), want), "trace", nil)
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestClientsOfTwoReplicasGetTheSameChange(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				bus := new(mcpserver.MemoryBus)
				heard := make(chan string, 10)
				var replicas []*mcpserver.Server
				for i := range 2 {
					s := mcpserver.New("notes", "1", &mcpserver.Options{Bus: bus})
					s.Resource("note://a", "a", "", func(context.Context) ([]byte, error) { return nil, nil })
					replicas = append(replicas, s)
					c := connectOver(t, wire{revision: v}, way{target: mcpclient.InProcess(s)}, mcpclient.Options{
						OnResourceUpdated: func(_ context.Context, _ *mcpclient.Client, uri string) { heard <- fmt.Sprint(i, uri) },
					})
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						for range c.Watch(ctx, "note://a") {
						}
					}()
					t.Cleanup(func() { cancel(); <-ended })
				}
				time.Sleep(time.Second)
				replicas[0].Updated("note://a")
				got := []string{<-heard, <-heard}
				slices.Sort(got)
				if want := []string{"0note://a", "1note://a"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				for _, s := range replicas {
					if err := s.Shutdown(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
