package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lockedLog is a buffer that a log is written to.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestStackOfAPanicIsOnlyInTheLog(t *testing.T) {
	t.Parallel()
	for _, r := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			var log lockedLog
			told := make(chan error, 1)
			srv := mcpserver.New("test", "1", nil)
			srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
				_, err := mcpserver.Ask[struct {
					Name string `json:"name"`
				}](ctx, "name", "Who?")
				select {
				case told <- err:
				default:
				}
				return "", err
			})
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
				Revisions: []mcp.Revision{r}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { panic("lost marbles") },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			result, err := c.CallTool(t.Context(), "ask", nil)
			texts := []string{}
			if err != nil {
				texts = append(texts, err.Error())
			} else {
				texts = append(texts, result.Content.Text())
			}
			if err := <-told; err != nil {
				texts = append(texts, err.Error())
			}
			for _, text := range texts {
				if strings.Contains(text, "goroutine ") || strings.Contains(text, ".go:") {
					t.Errorf("a peer or a caller got the stack: %s", text)
				}
			}
			if got := log.String(); !strings.Contains(got, "lost marbles") || !strings.Contains(got, "goroutine ") {
				t.Errorf("got the log %s, want the panic with its stack", got)
			}
		})
	}
}

func TestMiddlewareMayUseTheClientWhileItIsConstructed(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("test", "1", nil)
	srv.Tool("quick", "", func(context.Context, struct{}) (string, error) { return "", nil })
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	made := false
	c.Use(func(next mcpclient.Handler) mcpclient.Handler {
		if !made {
			made = true
			c.Use(func(next mcpclient.Handler) mcpclient.Handler { return next }) // does not wait for itself
		}
		return next
	})
	_ = c.Request(t.Context(), mcp.MethodToolsList, jsontext.Value("{}"), nil)
}

func TestMiddlewareIsConstructedOncePerUse(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("test", "1", nil)
	srv.Tool("quick", "", func(context.Context, struct{}) (string, error) { return "", nil })
	var order []string
	constructed := make(map[string]int)
	layer := func(name string) mcpclient.Middleware {
		return func(next mcpclient.Handler) mcpclient.Handler {
			constructed[name]++
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				order = append(order, name)
				return next(ctx, r)
			}
		}
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{{ID: "com.example/a", Middleware: layer("extension")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Use(layer("first"), layer("second"))
	c.Use(layer("third"))
	if _, err := c.CallTool(t.Context(), "quick", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, " "), "first second third extension"; got != want {
		t.Errorf("the call went through %q, want %q", got, want)
	}
	for name, n := range constructed {
		if n != 1 {
			t.Errorf("the middleware %q was constructed %d times, want once", name, n)
		}
	}
}

func TestUseRefusesMiddlewareThatIsNil(t *testing.T) {
	t.Parallel()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(mcpserver.New("test", "1", nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, m := range []mcpclient.Middleware{nil, func(mcpclient.Handler) mcpclient.Handler { return nil }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("Use did not panic")
				}
			}()
			c.Use(m)
		}()
	}
}
