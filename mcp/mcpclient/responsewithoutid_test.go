package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// goodResult is what calls get that nothing else ends.
const goodResult = `{"content":[{"type":"text","text":"good"}],"resultType":"complete"}`

// callBefore makes a call that is answered long before its timeout.
func callBefore(t *testing.T, c *mcpclient.Client, name string) (*mcp.CallToolResult, error) {
	t.Helper()
	return c.CallTool(t.Context(), name, nil, mcpclient.WithTimeout(5*time.Minute))
}

func TestResponseWithoutIDEndsTheOnlyCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-007")
	for name, text := range map[string]string{
		"result":                `{"jsonrpc":"2.0","result":{"content":[]}}`,
		"result with id null":   `{"jsonrpc":"2.0","id":null,"result":{"content":[]}}`,
		"result with a bad id":  `{"jsonrpc":"2.0","id":{},"result":{"content":[]}}`,
		"result with two ids":   `{"jsonrpc":"2.0","id":1,"result":{"content":[]},"id":2}`,
		"malformed result":      `{"jsonrpc":"2.0","result":{"content":NaN}}`,
		"truncated result":      `{"jsonrpc":"2.0","result":{"content":[{"text":"Once`,
		"error":                 `{"jsonrpc":"2.0","error":{"code":4050,"message":"no paper"}}`,
		"parse error":           `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no paper"}}`,
		"internal error, later": `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no paper"}}`,
		"text as error, later":  `{"jsonrpc":"2.0","error":"no paper"}`,
	} {
		for era, handle := range eras(func(_ *script, m message) string {
			if m.param("name") == `"bad"` {
				return text
			}
			return m.result(goodResult)
		}) {
			_, target := serve(t, handle)
			c := connect(t, target, nil)
			if strings.HasSuffix(name, "later") {
				if _, err := callBefore(t, c, "good"); err != nil {
					t.Fatal(err)
				}
			}
			_, err := callBefore(t, c, "bad")
			_, invalid := errors.AsType[*mcpclient.ProtocolError](err)
			if remote, ok := errors.AsType[*mcp.Error](err); !invalid && !(ok && remote.Message == "no paper") {
				t.Fatalf("%s, %s: got %v, want the error of the server or what is wrong with its response", era, name, err)
			}
			if r, err := callBefore(t, c, "good"); err != nil || r.Content.Text() != "good" {
				t.Errorf("%s, %s: got %v, %v for the next call", era, name, r, err)
			}
		}
	}
}

// A message over the limit whose id is beyond the parts that are kept is a response, unless it is
// not an object.
func TestOversizedResponseWithoutItsIDEndsTheOnlyCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-007")
	text := strings.Repeat("x", 20_000)
	for era, handle := range eras(func(s *script, m message) string {
		if m.param("name") == `"good"` {
			s.send(text)
			return m.result(goodResult)
		}
		return `{"result":{"content":[{"type":"text","text":"` + text + `"}]},"jsonrpc":"2.0","id":` + string(m.ID) + `,"debug":"` + text + `"}`
	}) {
		ours, theirs := net.Pipe()
		s := &script{conn: stdio.New(theirs, theirs, theirs, nil), handle: handle}
		var server sync.WaitGroup
		server.Go(s.run)
		c := connect(t, mcpclient.Stream(ours), &mcpclient.Options{Limits: mcpclient.LimitOptions{MaxMessage: 15_000}})
		for range 2 {
			if r, err := callBefore(t, c, "good"); err != nil || r.Content.Text() != "good" {
				t.Errorf("%s: got %v, %v", era, r, err)
			}
			_, err := callBefore(t, c, "bad")
			if invalid, ok := errors.AsType[*mcpclient.ProtocolError](err); !ok || !strings.Contains(invalid.Error(), "longer than 15000 bytes") {
				t.Fatalf("%s: got %v, want a ProtocolError with the limit", era, err)
			}
		}
		_ = c.Close()
		server.Wait()
	}
}

// What follows is dropped and logged, and every call gets its own response.

func TestResponseWithoutIDEndsNoneOfSeveralCalls(t *testing.T) {
	t.Parallel()
	for era, handle := range eras(nil) {
		both := make(chan message, 2)
		_, target := serve(t, func(s *script, m message) string {
			if m.Method != mcp.MethodToolsCall {
				return handle(s, m)
			}
			both <- m
			if len(both) == 2 {
				s.send(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"?"}]}}`)
				s.send(`{"jsonrpc":"2.0","error":{"code":4050,"message":"no paper"}}`)
				s.send((<-both).result(goodResult))
				s.send((<-both).result(goodResult))
			}
			return ""
		})
		var log bytes.Buffer
		c := connect(t, target, &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := callBefore(t, c, "x")
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("%s: got %v", era, err)
			}
		}
		if got := log.String(); !strings.Contains(got, "?") {
			t.Errorf("%s: got the log %s, want the response in it", era, got)
		}
	}
}

// The response to a call that was cancelled does not end the next call, which may be that of
// somebody else.
func TestLateResponseWithoutIDEndsNoOtherCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-282a")
	for era, handle := range eras(nil) {
		first := make(chan message, 1)
		_, target := serve(t, func(s *script, m message) string {
			switch {
			case m.Method == mcp.NotificationCancelled:
				return ""
			case m.Method != mcp.MethodToolsCall:
				return handle(s, m)
			case m.param("name") == `"first"`:
				first <- m
				return ""
			case m.param("name") == `"second"`:
				s.send(`{"jsonrpc":"2.0","result":{"content":[]}}`)
				s.send(`{"jsonrpc":"2.0","error":{"code":4050,"message":"no paper"}}`)
				s.send((<-first).result(goodResult))
				return m.result(goodResult)
			}
			return `{"jsonrpc":"2.0","result":{"content":[]}}`
		})
		c := connect(t, target, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "first", nil)
			ended <- err
		}()
		m := <-first
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: got %v, want the call cancelled", era, err)
		}
		first <- m
		if r, err := callBefore(t, c, "second"); err != nil || r.Content.Text() != "good" {
			t.Errorf("%s: got %v, %v, want the call's own result", era, r, err)
		}
		// Now all calls before have their response.
		_, err := callBefore(t, c, "third")
		if _, invalid := errors.AsType[*mcpclient.ProtocolError](err); !invalid {
			t.Errorf("%s: got %v, want a ProtocolError", era, err)
		}
	}
}

// Some servers answer notifications.
func TestResponseToANotificationEndsNoCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-009b")
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32603,"message":"Unknown method"}}`,
		`{"jsonrpc":"2.0","error":"Method not found"}`,
		`{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","id":null,"result":null}`,
		`{"jsonrpc":"2.0"}`,
	} {
		_, target := serve(t, session(mcp.V20251125, func(s *script, m message) string {
			s.send(text) // as the response to notifications/initialized, and then to another one
			return m.result(goodResult)
		}))
		c := connect(t, target, nil)
		for range 2 {
			if r, err := callBefore(t, c, "x"); err != nil || r.Content.Text() != "good" {
				t.Errorf("%s: got %v, %v", text, r, err)
			}
		}
	}
}

func TestLinesOfALogEndNoCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-007")
	for era, handle := range eras(func(s *script, m message) string {
		s.send(`{"level":"error","error":"disk full"}`)
		s.send(`{"level":"info","result":{"rows":3}}`)
		s.send(`{"level":"info","id":` + string(m.ID) + `,"msg":"request"}`)
		return m.result(goodResult)
	}) {
		_, target := serve(t, handle)
		c := connect(t, target, nil)
		for range 3 {
			if r, err := callBefore(t, c, "x"); err != nil || r.Content.Text() != "good" {
				t.Errorf("%s: got %v, %v", era, r, err)
			}
		}
	}
}

// The late response to a probe that was given up does not end the initialize after it, and
// the probe is forgotten when that is answered.
func TestLateResponseToTheProbeEndsNoOtherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, func(s *script, m message) string {
			switch m.Method {
			case mcp.MethodDiscover:
				return ""
			case mcp.MethodInitialize:
				s.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)
				return m.result(initializeResult("2025-11-25"))
			case mcp.MethodToolsCall:
				return `{"jsonrpc":"2.0","result":{"content":[]}}`
			}
			return ""
		})
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = callBefore(t, c, "x")
		if _, invalid := errors.AsType[*mcpclient.ProtocolError](err); !invalid {
			t.Errorf("got %v, want a ProtocolError", err)
		}
	})
}

// A server that sends malformed requests and does not read the answers does not stop its client.
func TestUnreadAnswersToMalformedRequestsDoNotStopReading(t *testing.T) {
	t.Parallel()
	flooded, ended := make(chan struct{}), make(chan struct{})
	target := mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
		ours, theirs := memory.Pair()
		s := &script{conn: theirs, handle: session(mcp.V20251125, nil)}
		go func() {
			defer close(ended)
			defer theirs.Close()
			for {
				data, err := theirs.Read(context.Background())
				if err != nil {
					return
				}
				m := parse(data)
				if m.Method != mcp.MethodToolsCall {
					s.send(s.handle(s, m))
					continue
				}
				for range 1000 {
					s.send(`{"jsonrpc":"2.0","id":"u","method":"ping","params":{"x":NaN}}`)
				}
				s.send(m.result(goodResult))
				<-flooded
				return
			}
		}()
		return ours, nil
	})
	c := connect(t, target, nil)
	if _, err := callBefore(t, c, "x"); err != nil {
		t.Error(err)
	}
	close(flooded)
	<-ended
}
