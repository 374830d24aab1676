package mcpotel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestCallIsOneTrace: the span of the program is the parent of that of the client, which is the parent
// of that of the server, which is the parent of those of the handler.
func TestCallIsOneTrace(t *testing.T) {
	for _, revision := range revisions {
		for transport, target := range transports {
			t.Run(revision.String()+" over "+transport, func(t *testing.T) {
				b := newBackend(sdktrace.AlwaysSample())
				tracer := b.tracers.Tracer("test")
				s := b.weather(&mcpserver.Options{Revisions: []mcp.Revision{revision}}, b.options())
				var inHandler mcp.Trace
				var carried baggage.Baggage
				s.Tool("observe", "Observes.", func(ctx context.Context, _ struct{}) (string, error) {
					inHandler, carried = mcp.TraceFrom(ctx), baggage.FromContext(ctx)
					_, span := tracer.Start(ctx, "read thermometer")
					span.End()
					return "20 °C", nil
				})
				c := connect(t, target(t, s), mcpotel.Client(nil, b.options()))
				member, _ := baggage.NewMember("user", "alice")
				bag, _ := baggage.New(member)
				ctx, program := tracer.Start(baggage.ContextWithBaggage(t.Context(), bag), "program")
				for range 2 { // the client shows the name after the first answer
					if _, err := c.CallTool(ctx, "observe", nil); err != nil {
						t.Fatal(err)
					}
				}
				program.End()

				client, server := b.spans(trace.SpanKindClient, "tools/call observe"), b.spans(trace.SpanKindServer, "tools/call observe")
				inside := b.spans(trace.SpanKindInternal, "read thermometer")
				if len(client) != 2 || len(server) != 2 || len(inside) != 2 {
					t.Fatalf("got %q, want two of client, server and handler", b.names())
				}
				for i := range 2 {
					for _, pair := range [][2]trace.SpanContext{
						{client[i].Parent(), program.SpanContext()}, {server[i].Parent(), client[i].SpanContext()}, {inside[i].Parent(), server[i].SpanContext()},
					} {
						if got, want := pair[0], pair[1]; got.TraceID() != want.TraceID() || got.SpanID() != want.SpanID() {
							t.Errorf("got parent %s of trace %s, want %s of %s", got.SpanID(), got.TraceID(), want.SpanID(), want.TraceID())
						}
					}
				}
				if !strings.Contains(inHandler.Parent, server[1].SpanContext().SpanID().String()) {
					t.Errorf("got trace %+v in the context of the handler, want the span of the server", inHandler)
				}
				if got := carried.Member("user").Value(); got != "alice" {
					t.Errorf("got baggage %q, want alice", got)
				}
				want := map[string]string{
					"mcp.method.name": "tools/call", "gen_ai.tool.name": "observe", "gen_ai.operation.name": "execute_tool",
					"mcp.protocol.version": revision.String(),
				}
				checkAttributes(t, values(client[0]), want)
				if transport == "http" {
					want["network.transport"], want["network.protocol.name"] = "tcp", "http"
				}
				checkAttributes(t, values(server[0]), want)
				if values(server[0])["jsonrpc.request.id"] == "" {
					t.Error("got no jsonrpc.request.id, want the id of the request")
				}
				_, hasSession := values(server[0])["mcp.session.id"]
				if wantSession := transport == "http" && !revision.Stateless(); hasSession != wantSession {
					t.Errorf("got mcp.session.id %v, want %v", hasSession, wantSession)
				}
			})
		}
	}
}

func checkAttributes(t *testing.T, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: got %q, want %q", key, got[key], value)
		}
	}
}

// TestOutcomesOfCalls follows the conventions: numbers that say that the caller is at fault are errors of
// the client alone.
func TestOutcomesOfCalls(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	s := b.weather(nil, b.options())
	s.Tool("storm", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("no wind") })
	s.AddPrompt(mcp.Prompt{Name: "broken"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
		return nil, errors.New("secret of the database")
	})
	s.AddPrompt(mcp.Prompt{Name: "custom"}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
		return nil, &mcp.Error{Code: mcp.CodeOther, Number: 7777, Message: "out of ink"}
	})
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
	ctx := t.Context()
	_, _ = c.CallTool(ctx, "storm", nil)
	_, _ = c.CallTool(ctx, "no such tool", nil)
	_, _ = c.GetPrompt(ctx, "broken", nil)
	_, _ = c.GetPrompt(ctx, "custom", nil)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _ = c.CallTool(ended, "forecast", city{"Rome"})

	for _, want := range []struct {
		kind                    trace.SpanKind
		name                    string
		failure, status         string
		description             string
		fails                   bool
		wantTool, wantNoDetails string
	}{
		{kind: trace.SpanKindServer, name: "tools/call storm", failure: "tool_error", fails: true, wantTool: "storm"},
		{kind: trace.SpanKindServer, name: "tools/call", status: "-32602", wantTool: "_OTHER"},
		{kind: trace.SpanKindServer, name: "prompts/get broken", failure: "-32603", status: "-32603", fails: true},
		{kind: trace.SpanKindServer, name: "prompts/get custom", failure: "_OTHER", status: "_OTHER", description: "out of ink", fails: true},
	} {
		span := b.span(t, want.kind, want.name)
		got := values(span)
		if got["error.type"] != want.failure || got["rpc.response.status_code"] != want.status || (span.Status().Code == codes.Error) != want.fails || span.Status().Description != want.description {
			t.Errorf("%s: got %v, %+v, want error.type %q, status %q %q", want.name, got, span.Status(), want.failure, want.status, want.description)
		}
		if want.wantTool != "" && got["gen_ai.tool.name"] != want.wantTool {
			t.Errorf("%s: got tool %q, want %q", want.name, got["gen_ai.tool.name"], want.wantTool)
		}
	}
	failures := make(map[string]string)
	for _, span := range b.recorder.Ended() {
		if v := values(span); span.SpanKind() == trace.SpanKindClient && v["error.type"] != "" {
			failures[v["error.type"]] = span.Name()
		}
	}
	want := map[string]string{"tool_error": "tools/call storm", "-32602": "tools/call", "-32603": "prompts/get", "_OTHER": "prompts/get", "cancelled": "tools/call"}
	if fmt.Sprint(failures) != fmt.Sprint(want) {
		t.Errorf("got failures of the client %v, want %v", failures, want)
	}
}

func TestPanicOfMiddlewareEndsTheSpan(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	s := b.weather(&mcpserver.Options{Middleware: []mcpserver.Middleware{func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			if r.Method() == mcp.MethodToolsCall {
				panic("a bug")
			}
			return next(ctx, r)
		}
	}}}, b.options())
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, b.options()))
	_, _ = c.CallTool(t.Context(), "forecast", city{"Rome"})
	if got := values(b.span(t, trace.SpanKindServer, "tools/call forecast"))["error.type"]; got != "panic" {
		t.Errorf("got error.type %q, want panic", got)
	}
	for series, n := range b.metrics(t)["fondaco.server.requests.active"] {
		if n != 0 {
			t.Errorf("got %d active requests of %s, want none", n, series)
		}
	}
}

// TestRoundsAreLinked: in the stateless era each round of a call is a request of its own, also when the
// client has no telemetry.
func TestRoundsAreLinked(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	s := b.weather(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20260728}}, b.options())
	s.Tool("travel", "Asks twice.", func(ctx context.Context, _ struct{}) (string, error) {
		for _, key := range []string{"from", "to"} {
			if _, err := mcpserver.Ask[city](ctx, key, key+"?"); err != nil {
				return "", err
			}
		}
		return "bon voyage", nil
	})
	answer := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"city":"Rome"}`)}, nil
	}
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{ElicitForm: answer})
	if _, err := c.CallTool(t.Context(), "travel", nil); err != nil {
		t.Fatal(err)
	}
	rounds := b.spans(trace.SpanKindServer, "tools/call travel")
	if len(rounds) != 3 {
		t.Fatalf("got %q, want three rounds", b.names())
	}
	if links := rounds[0].Links(); len(links) != 0 {
		t.Errorf("first round: got links %v, want none", links)
	}
	for i := 1; i < len(rounds); i++ {
		links, before := rounds[i].Links(), rounds[i-1].SpanContext()
		if len(links) != 1 || links[0].SpanContext.SpanID() != before.SpanID() || links[0].SpanContext.TraceID() != before.TraceID() {
			t.Errorf("round %d: got links %v, want one to %s", i, links, before.SpanID())
		}
		if got := values(rounds[i])["fondaco.round"]; got != fmt.Sprint(i) {
			t.Errorf("got fondaco.round %q, want %d", got, i)
		}
	}
	if got := values(rounds[0])["fondaco.result.type"]; got != "input_required" {
		t.Errorf("got result type %q, want input_required", got)
	}
}

// TestQuestionsHaveSpansBelowTheirCall: in the session era the server sends a request to its client.
func TestQuestionsHaveSpansBelowTheirCall(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	s := b.weather(&mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}}, b.options())
	s.Tool("travel", "Asks.", func(ctx context.Context, _ struct{}) (string, error) {
		to, err := mcpserver.Ask[city](ctx, "to", "To where?")
		return to.City, err
	})
	answer := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"city":"Rome"}`)}, nil
	}
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(&mcpclient.Options{ElicitForm: answer}, b.options()))
	if _, err := c.CallTool(t.Context(), "travel", nil); err != nil {
		t.Fatal(err)
	}
	call, question := b.span(t, trace.SpanKindServer, "tools/call travel"), b.span(t, trace.SpanKindClient, "elicitation/create")
	if question.Parent().SpanID() != call.SpanContext().SpanID() {
		t.Errorf("got parent %s, want the call", question.Parent().SpanID())
	}
	answered := b.span(t, trace.SpanKindServer, "elicitation/create") // of the client, which handles it
	if answered.Parent().SpanID() != question.SpanContext().SpanID() {
		t.Errorf("got parent %s of the span of the client, want that of the question: %s", answered.Parent().SpanID(), question.SpanContext().SpanID())
	}
}

func TestTaskHasASpanBelowItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(sdktrace.AlwaysSample())
		s := b.weather(nil, b.options())
		all := tasks.Enable(s, &tasks.Options{Logger: quiet})
		var inWork trace.SpanContext
		s.Tool("slow", "Runs in the background.", func(ctx context.Context, _ struct{}) (string, error) {
			inWork = trace.SpanContextFromContext(ctx)
			return "done", nil
		}, all.AsTask())
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Extensions: []mcpclient.Extension{tasks.Client(nil)}})
		if _, err := c.CallTool(t.Context(), "slow", nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(t.Context()); err != nil { // waits for the work
			t.Fatal(err)
		}
		call, work := b.span(t, trace.SpanKindServer, "tools/call slow"), b.span(t, trace.SpanKindInternal, "background tools/call slow")
		if work.Parent().SpanID() != call.SpanContext().SpanID() || work.SpanContext().TraceID() != call.SpanContext().TraceID() {
			t.Errorf("got parent %v, want the call", work.Parent())
		}
		if inWork.SpanID() != work.SpanContext().SpanID() {
			t.Errorf("got span %s in the context of the work, want that of the work", inWork.SpanID())
		}
	})
}

// TestReplayedCallIsLinkedToTheCall: another process runs a durable call again, from what was stored.
func TestReplayedCallIsLinkedToTheCall(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	keys, err := mcpserver.ParseKeys(strings.Repeat("A", 43) + "=")
	if err != nil {
		t.Fatal(err)
	}
	var sealed []byte
	newReplica := func() *mcpserver.Server {
		s := b.weather(&mcpserver.Options{Keys: keys}, b.options())
		s.Tool("seal", "Stores its call.", func(ctx context.Context, _ struct{}) (string, error) {
			call, err := mcpserver.From(ctx).SealCall("test", time.Now().Add(time.Hour))
			sealed = call
			return "sealed", err
		})
		return s
	}
	c := connect(t, mcpclient.InProcess(newReplica()), new(mcpclient.Options))
	if _, err := c.CallTool(t.Context(), "seal", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := newReplica().Replay(t.Context(), "test", sealed, nil); err != nil {
		t.Fatal(err)
	}
	runs := b.spans(trace.SpanKindServer, "tools/call seal")
	if len(runs) != 2 || len(runs[1].Links()) != 1 || runs[1].Links()[0].SpanContext.SpanID() != runs[0].SpanContext().SpanID() {
		t.Fatalf("got %d runs with links %v, want the second with a link to the first", len(runs), runs[len(runs)-1].Links())
	}
}

const remoteParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// post sends a request of 2026-07-28 with members for _meta and headers.
func post(t *testing.T, h http.Handler, meta string, headers map[string]string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":"a \"quoted\" id","method":"tools/call","params":{"name":"forecast","arguments":{"city":"Rome"},"_meta":{` + meta +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "forecast",
	} {
		r.Header.Set(name, value)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
}

// TestParentOfARequest: _meta comes first, then the span of a handler in front, then HTTP headers.
func TestParentOfARequest(t *testing.T) {
	const other = "00-11111111111111111111111111111111-2222222222222222-01"
	for _, test := range []struct {
		name    string
		meta    string
		header  string
		inFront bool
		public  bool
		parent  string // span id; "front" is that of the handler in front, empty is none
		link    string
	}{
		{name: "nothing"},
		{name: "meta", meta: remoteParent, parent: "b7ad6b7169203331"},
		{name: "header", header: remoteParent, parent: "b7ad6b7169203331"},
		{name: "meta and header", meta: remoteParent, header: other, parent: "b7ad6b7169203331"},
		{name: "front", inFront: true, header: other, parent: "front"},
		{name: "meta and front", meta: remoteParent, inFront: true, parent: "b7ad6b7169203331", link: "front"},
		{name: "invalid meta", meta: "00-zz-b7ad6b7169203331-01"},
		{name: "public", meta: remoteParent, public: true, link: "b7ad6b7169203331"},
		{name: "public, header", header: remoteParent, public: true, link: "b7ad6b7169203331"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBackend(sdktrace.AlwaysSample())
			o := b.options()
			o.PublicEndpoint = test.public
			h := b.weather(nil, o).HTTPHandler()
			front := ""
			if test.inFront {
				inner := h
				h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ctx, span := b.tracers.Tracer("front").Start(r.Context(), "POST /mcp")
					defer span.End()
					front = span.SpanContext().SpanID().String()
					inner.ServeHTTP(w, r.WithContext(ctx))
				})
			}
			meta, headers := "", map[string]string{}
			if test.meta != "" {
				meta = `"traceparent":"` + test.meta + `",`
			}
			if test.header != "" {
				headers["Traceparent"] = test.header
			}
			post(t, h, meta, headers)
			span := b.span(t, trace.SpanKindServer, "tools/call forecast")
			got, linked := "", ""
			if span.Parent().IsValid() {
				got = span.Parent().SpanID().String()
			}
			if len(span.Links()) == 1 {
				linked = span.Links()[0].SpanContext.SpanID().String()
			}
			named := strings.NewReplacer("front", front).Replace
			if got != named(test.parent) || linked != named(test.link) {
				t.Errorf("got parent %q and link %q, want %q and %q", got, linked, named(test.parent), named(test.link))
			}
			if id := values(span)["jsonrpc.request.id"]; id != `a "quoted" id` {
				t.Errorf("got id %q, want it without quotes", id)
			}
		})
	}
}

// The local user of a public endpoint is trusted.
func TestLocalUserContinuesItsTrace(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	o := b.options()
	o.PublicEndpoint = true
	c := connect(t, mcpclient.InProcess(b.weather(nil, o)), mcpotel.Client(nil, b.options()))
	if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
		t.Fatal(err)
	}
	server, client := b.span(t, trace.SpanKindServer, "tools/call forecast"), b.span(t, trace.SpanKindClient, "tools/call forecast")
	if server.Parent().SpanID() != client.SpanContext().SpanID() {
		t.Errorf("got parent %s, want the span of the client", server.Parent().SpanID())
	}
}

// TestUnsampledTraceStaysUnsampled: the client does not sample, and the server follows it.
func TestUnsampledTraceStaysUnsampled(t *testing.T) {
	atClient, atServer := newBackend(sdktrace.NeverSample()), newBackend(sdktrace.ParentBased(sdktrace.AlwaysSample()))
	s := atServer.weather(nil, atServer.options())
	c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, atClient.options()))
	if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
		t.Fatal(err)
	}
	if got := atServer.spans(trace.SpanKindServer, "tools/call forecast"); len(got) != 0 {
		t.Errorf("got %d spans, want none", len(got))
	}
}

func TestResourceURIsAreShownOnlyWhenAskedFor(t *testing.T) {
	for _, shown := range []bool{false, true} {
		b := newBackend(sdktrace.AlwaysSample())
		o := b.options()
		o.ResourceURIs = shown
		s := b.weather(nil, o)
		s.Resource("note://secret", "note", "text/plain", func(context.Context) ([]byte, error) { return []byte("x"), nil })
		c := connect(t, mcpclient.InProcess(s), mcpotel.Client(nil, o))
		if _, err := c.ReadResource(t.Context(), "note://secret"); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []trace.SpanKind{trace.SpanKindServer, trace.SpanKindClient} {
			if got := values(b.span(t, kind, "resources/read"))["mcp.resource.uri"]; (got == "note://secret") != shown {
				t.Errorf("%s: got URI %q, want it shown: %v", kind, got, shown)
			}
		}
	}
}

func TestTextsOfPeersInSpansAreShortAndValid(t *testing.T) {
	b := newBackend(sdktrace.AlwaysSample())
	o := b.options()
	o.ResourceURIs = true
	c := connect(t, mcpclient.InProcess(b.weather(nil, o)), mcpotel.Client(&mcpclient.Options{Middleware: []mcpclient.Middleware{
		func(mcpclient.Handler) mcpclient.Handler {
			return func(context.Context, *mcpclient.Request) (any, error) {
				return nil, mcp.Errorf(mcp.CodeInternal, "%s", strings.Repeat("ü", 1<<20))
			}
		},
	}}, o))
	if _, err := c.ReadResource(t.Context(), "note:///"+strings.Repeat("a", 247)+"ü"); err == nil {
		t.Fatal("got no error")
	}
	s := b.span(t, trace.SpanKindClient, "resources/read")
	for _, text := range []string{s.Status().Description, values(s)["mcp.resource.uri"]} {
		if text == "" || len(text) > 256 || !utf8.ValidString(text) {
			t.Errorf("got %d bytes, valid: %v; want 1 to 256 valid ones", len(text), utf8.ValidString(text))
		}
	}
}
