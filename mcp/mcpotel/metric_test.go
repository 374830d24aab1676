package mcpotel_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestDurationsAreMeasuredByMethodAndName(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision.String(), func(t *testing.T) {
			b := newBackend(sdktrace.NeverSample())
			s := b.weather(&mcpserver.Options{Revisions: []mcp.Revision{revision}}, b.options())
			c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
			for range 3 {
				if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
					t.Fatal(err)
				}
			}
			call := "gen_ai.operation.name=execute_tool gen_ai.tool.name=forecast mcp.method.name=tools/call mcp.protocol.version=" + revision.String()
			got := b.metrics(t)
			for _, metric := range []string{"mcp.server.operation.duration", "mcp.client.operation.duration"} {
				if n := got[metric][call]; n != 3 {
					t.Errorf("%s: got %d calls in %v, want 3 of %s", metric, n, got[metric], call)
				}
			}
			for _, metric := range []string{"fondaco.server.requests.active", "fondaco.client.requests.active"} {
				if n, ok := got[metric]["mcp.method.name=tools/call"]; n != 0 || !ok {
					t.Errorf("%s: got %v, want 0 of tools/call", metric, got[metric])
				}
			}
		})
	}
}

func TestRunningRequestsAreActive(t *testing.T) {
	b := newBackend(sdktrace.NeverSample())
	s := b.weather(nil, b.options())
	var during map[string]map[string]int64
	s.Tool("look", "Looks.", func(context.Context, struct{}) (string, error) {
		during = b.metrics(t)
		return "", nil
	})
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
	_, _ = c.CallTool(t.Context(), "look", nil)
	for _, metric := range []string{"fondaco.server.requests.active", "fondaco.client.requests.active"} {
		if got := during[metric]["mcp.method.name=tools/call"]; got != 1 {
			t.Errorf("%s: got %d during a call, want 1", metric, got)
		}
	}
}

// A program may connect any number of clients, one after another.
func TestClientsThatAreGoneAreNotReadAnyMore(t *testing.T) {
	b := newBackend(sdktrace.NeverSample())
	func() {
		s := b.weather(nil, nil)
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.CallTool(t.Context(), "forecast", city{"Rome"})
		_ = c.Close()
		_ = s.Shutdown(t.Context())
	}()
	if _, ok := b.metrics(t)["fondaco.client.requests.active"]; !ok {
		t.Error("got no requests of the client, want 0")
	}
	for ok := true; ok; {
		runtime.GC()
		_, ok = b.metrics(t)["fondaco.client.requests.active"]
	}
}

func TestSessionsAreCountedAndMeasured(t *testing.T) {
	for _, revision := range revisions {
		for transport, target := range transports {
			t.Run(revision.String()+" over "+transport, func(t *testing.T) {
				b := newBackend(sdktrace.NeverSample())
				s := b.weather(&mcpserver.Options{Revisions: []mcp.Revision{revision}}, b.options())
				c, err := mcpclient.Connect(t.Context(), target(t, s), mcpotel.Client(&mcpclient.Options{Logger: quiet}, b.options()))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
					t.Fatal(err)
				}
				open := b.metrics(t)
				for open["fondaco.client.sessions.active"][""] == 0 { // a goroutine of the client reports the begin
					runtime.Gosched()
					open = b.metrics(t)
				}
				_ = c.Close()
				_ = s.Shutdown(t.Context())
				ended := b.metrics(t)
				wantOpen := map[string]int64{"fondaco.client.sessions.active": 1, "fondaco.server.sessions.active": 1}
				if transport == "http" && revision.Stateless() {
					wantOpen["fondaco.server.sessions.active"] = 0
				}
				for metric, want := range wantOpen {
					if got := open[metric][""]; got != want {
						t.Errorf("%s: got %d during the session, want %d", metric, got, want)
					}
					if got := ended[metric][""]; got != 0 {
						t.Errorf("%s: got %d after the end, want 0", metric, got)
					}
				}
				for _, metric := range []string{"mcp.server.session.duration", "mcp.client.session.duration"} {
					want := int64(1)
					if revision.Stateless() {
						want = 0
					}
					if got := ended[metric]["mcp.protocol.version="+revision.String()]; got != want {
						t.Errorf("%s: got %v, want %d", metric, ended[metric], want)
					}
				}
			})
		}
	}
}

func TestLimitsAreCountedAndTheOptionIsStillCalled(t *testing.T) {
	b := newBackend(sdktrace.NeverSample())
	seen := 0
	s := b.weather(&mcpserver.Options{OnLimit: func(mcp.LimitReached) { seen++ }}, b.options())
	s.Tool("rare", "May be called once.", func(context.Context, struct{}) (string, error) { return "", nil }, mcpserver.Rate(0.001, 1))
	c := connect(t, mcpclient.InProcess(s), new(mcpclient.Options))
	for range 3 {
		_, _ = c.CallTool(t.Context(), "rare", nil)
	}
	if got := b.metrics(t)["fondaco.server.limits.reached"]["fondaco.limit=tool.rate mcp.method.name=tools/call"]; got != 2 || seen != 2 {
		t.Errorf("got %d counted and %d seen, want 2", got, seen)
	}
}

func TestMessageSizesAreMeasuredWhenAskedFor(t *testing.T) {
	b := newBackend(sdktrace.NeverSample())
	o := b.options()
	o.MessageSizes = true
	s := b.weather(nil, o)
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, o))
	if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
		t.Fatal(err)
	}
	got := b.metrics(t)
	for _, metric := range []string{"fondaco.server.message.size", "fondaco.client.message.size"} {
		for _, direction := range []string{"receive", "transmit"} {
			if got[metric]["network.io.direction="+direction] == 0 {
				t.Errorf("%s: got %v, want some of %s", metric, got[metric], direction)
			}
		}
	}
}

// TestAClientCannotMakeSeries attacks a server: names, methods, ids, URIs, versions, notifications and
// error numbers that nobody has registered. The series are those of the first round.
func TestAClientCannotMakeSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(sdktrace.AlwaysSample())
		o := b.options()
		o.MessageSizes = true
		s := b.weather(nil, o)
		s.AddPrompt(mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
			return &mcp.GetPromptResult{}, nil
		})
		s.Resource("note://1", "note", "text/plain", func(context.Context) ([]byte, error) { return nil, nil })
		attack := func(round int) {
			junk := fmt.Sprintf("junk-%d", round)
			client, server := memory.Pair()
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = s.Serve(t.Context(), server)
			}()
			for _, text := range []string{
				`{"jsonrpc":"2.0","id":"` + junk + `","method":"initialize","params":{"protocolVersion":"` + junk + `","capabilities":{},"clientInfo":{"name":"` + junk + `","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":"a` + junk + `","method":"tools/call","params":{"name":"` + junk + `"}}`,
				`{"jsonrpc":"2.0","id":"b` + junk + `","method":"prompts/get","params":{"name":"` + junk + `"}}`,
				`{"jsonrpc":"2.0","id":"c` + junk + `","method":"resources/read","params":{"uri":"note://` + junk + `"}}`,
				`{"jsonrpc":"2.0","id":"d` + junk + `","method":"` + junk + `","params":{"name":"` + junk + `"}}`,
				`{"jsonrpc":"2.0","method":"notifications/` + junk + `"}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + junk + `","progress":1}}`,
				`{"jsonrpc":"2.0","id":"e` + junk + `","method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"` + junk + `"},"argument":{"name":"` + junk + `","value":""}}}`,
				`{"jsonrpc":"2.0","id":"f` + junk + `","method":"logging/setLevel","params":{"level":"` + junk + `"}}`,
				`{"jsonrpc":"2.0","id":"g` + junk + `","method":"tools/call","params":{"name":"forecast","arguments":{"city":"` + junk + `"},"_meta":{"traceparent":"` + junk + `","baggage":"a=` + junk + `"}}}`,
			} {
				_ = client.Write(t.Context(), []byte(text))
			}
			synctest.Wait()
			_ = client.Close()
			<-served
		}
		attack(0)
		before := b.metrics(t)
		for round := range 50 {
			attack(round + 1)
		}
		after := b.metrics(t)
		for metric, series := range after {
			if got, want := slices.Sorted(maps.Keys(series)), slices.Sorted(maps.Keys(before[metric])); !slices.Equal(got, want) {
				t.Errorf("%s: got series\n%s\nwant\n%s", metric, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for s := range series {
				if strings.Contains(s, "junk") {
					t.Errorf("%s: got a series with a text of the client: %s", metric, s)
				}
			}
		}
		if n := after["mcp.server.operation.duration"]; len(n) < 5 {
			t.Errorf("got series %v, want the attack to have reached the handlers", n)
		}
		for _, span := range b.recorder.Ended() {
			if strings.Contains(span.Name(), "junk") {
				t.Errorf("got span %q with a name of the client", span.Name())
			}
		}
	})
}

// TestAServerCannotMakeSeries attacks a client: notifications and requests of any method, and errors of
// any number. The model of the client makes up names of tools.
func TestAServerCannotMakeSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(sdktrace.AlwaysSample())
		s := mcpserver.New("hostile", "1", &mcpserver.Options{Logger: quiet})
		count := 0
		s.AddPrompt(mcp.Prompt{Name: "bad"}, func(ctx context.Context, _ *mcp.GetPromptParams) (mcp.Result, error) {
			count++
			for i := range 3 {
				_ = mcpserver.From(ctx).Notify(ctx, fmt.Sprintf("notifications/junk-%d-%d", count, i), nil)
			}
			return nil, &mcp.Error{Code: mcp.CodeOther, Number: int64(10_000 + count), Message: "junk"}
		})
		c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
		attack := func(round int) {
			_, _ = c.GetPrompt(t.Context(), "bad", nil)
			_, _ = c.CallTool(t.Context(), fmt.Sprintf("junk-%d", round), nil)
			_ = c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: fmt.Sprintf("junk-%d", round)}, new(jsontext.Value))
			synctest.Wait()
		}
		attack(0)
		before := len(b.metrics(t)["mcp.client.operation.duration"])
		for round := range 50 {
			attack(round + 1)
		}
		after := b.metrics(t)["mcp.client.operation.duration"]
		if len(after) != before {
			t.Errorf("got %d series, want %d: %v", len(after), before, slices.Sorted(maps.Keys(after)))
		}
		for series := range after {
			if strings.Contains(series, "junk") {
				t.Errorf("got a series with a text of the server: %s", series)
			}
		}
	})
}

// TestNamesAreLimited: a server with many tools has series of MaxNames of them.
func TestNamesAreLimited(t *testing.T) {
	b := newBackend(sdktrace.NeverSample())
	o := b.options()
	o.MaxNames = 3
	s := b.weather(nil, o)
	long := strings.Repeat("x", 129)
	s.AddPrompt(mcp.Prompt{Name: long}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) { return &mcp.GetPromptResult{}, nil })
	for i := range 10 {
		s.Tool(fmt.Sprintf("tool%d", i), "A tool.", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, o))
	if _, err := c.GetPrompt(t.Context(), long, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := c.CallTool(t.Context(), fmt.Sprintf("tool%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, metric := range []string{"mcp.server.operation.duration", "mcp.client.operation.duration"} {
		names := make(map[string]int64)
		for series, n := range b.metrics(t)[metric] {
			if strings.Contains(series, long) {
				t.Errorf("%s: got a name of %d bytes, want _OTHER", metric, len(long))
			}
			if _, rest, ok := strings.Cut(series, "gen_ai.tool.name="); ok {
				name, _, _ := strings.Cut(rest, " ")
				names[name] += n
			}
		}
		if want := map[string]int64{"tool0": 1, "tool1": 1, "tool2": 1, "_OTHER": 7}; !maps.Equal(names, want) {
			t.Errorf("%s: got %v, want %v", metric, names, want)
		}
	}
}

// TestNothingIsReportedWithoutAnSDK: the options of a program that sets none.
func TestNothingIsReportedWithoutAnSDK(t *testing.T) {
	s := mcpserver.New("s", "1", mcpotel.Server(nil, nil))
	s.Tool("tool", "A tool.", func(ctx context.Context, _ struct{}) (string, error) { return mcp.TraceFrom(ctx).Parent, nil })
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, nil))
	ctx := mcp.ContextWithTrace(t.Context(), mcp.Trace{Parent: remoteParent})
	got, err := c.Call[string](ctx, "tool", nil)
	if err != nil || got != remoteParent {
		t.Errorf("got %q, %v, want the trace of the caller as it is", got, err)
	}
}

func TestSessionLastsUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []mcpserver.SessionEvent
		s := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20251125}, OnSession: func(e mcpserver.SessionEvent) { events = append(events, e) }})
		c := connect(t, mcpclient.InProcess(s), new(mcpclient.Options))
		time.Sleep(time.Minute)
		_ = c.Close()
		synctest.Wait()
		if len(events) != 2 || events[0].Ended || !events[1].Ended || events[1].Lasted < time.Minute || events[1].Revision != mcp.V20251125 || events[0].Connection != events[1].Connection {
			t.Errorf("got %+v, want a begin and an end after a minute", events)
		}
	})
}
