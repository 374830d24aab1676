package mirror_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/internal/mirror"
	"github.com/fondaco/fondaco/x/internal/mirror/mirrortest"
)

var sessionEra = &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}}

func TestForeignServerThatCannotConnectIsNotMounted(t *testing.T) {
	for name, test := range map[string]struct {
		foreign mirror.Foreign
		want    string
	}{
		"connection refused": {&fake{connecting: func() error { return errors.New("no more sessions") }}, "no more sessions"},
		"error response":     {handshake{err: mirror.Error(-32603, "not today", nil)}, "not today"},
		"result without a name": {
			handshake{result: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"","version":""}}`},
			"no name",
		},
		"result of another type": {handshake{result: `[]`}, "initialize"},
	} {
		t.Run(name, func(t *testing.T) {
			server := mcpserver.New("ours", "1.0.0", nil)
			if _, err := mirror.Mount(server, test.foreign, mirror.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Mount: got %v, want an error with %q", err, test.want)
			}
			if _, err := mirror.NewServer(test.foreign, nil, mirror.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("NewServer: got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// handshake is a foreign server that answers every request alike.
type handshake struct {
	result string
	err    error
}

func (h handshake) Connect(string, mirror.Receiver) (mirror.Session, error) { return h, nil }
func (h handshake) ConnectOnce(jsontext.Value) (mirror.Session, error)      { return h, nil }
func (h handshake) Notify(context.Context, string)                          {}
func (h handshake) Close()                                                  {}
func (h handshake) Do(_ context.Context, _ string, _ jsontext.Value) (jsontext.Value, error) {
	if h.err != nil {
		return nil, h.err
	}
	return jsontext.Value(h.result), nil
}

// TestListWithoutAnEndIsAnError has a foreign server whose pages all have a next one.
func TestListWithoutAnEndIsAnError(t *testing.T) {
	endless := handshake{result: `{"serverInfo":{"name":"n","version":"1"},"capabilities":{},"protocolVersion":"2025-11-25","tools":[],"nextCursor":"again"}`}
	if _, err := mirror.List(endless, mcp.MethodToolsList); err == nil || !strings.Contains(err.Error(), "pages") {
		t.Errorf("got %v, want an error that says how many pages are too many", err)
	}
}

func TestListReadsEveryPage(t *testing.T) {
	foreign := newFake()
	for i := range 5 {
		foreign.AddTool(fmt.Sprint("tool", i), mirrortest.Echo)
	}
	listed, err := mirror.List(foreign, mcp.MethodToolsList)
	if err != nil || len(listed) != 5 {
		t.Errorf("got %d entries, %v, want 5", len(listed), err)
	}
	if _, err := mirror.List(foreign, mcp.MethodPing); err == nil {
		t.Error("method of no list: got no error")
	}
	if got := foreign.Sessions(); got != 0 {
		t.Errorf("got %d sessions after List, want none", got)
	}
}

// TestPanicOfConnectFailsTheCallsOfItsSession has a foreign server that panics when the session
// of a client is opened. The end of that session must not panic again.
func TestPanicOfConnectFailsTheCallsOfItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foreign := newFake()
		foreign.AddTool("echo", mirrortest.Echo)
		server := mirrortest.Mounted(t, foreign)
		foreign.connecting = func() error { panic("cannot open a session") }
		c := mcptest.Connect(t, server, sessionEra)
		for range 2 {
			if result, err := c.CallTool(t.Context(), "echo", nil); err == nil && !result.IsError {
				t.Errorf("got %q, want an error", mirrortest.Said(result, err))
			}
		}
		c.Close()
		synctest.Wait()
		if got := foreign.Sessions(); got != 1 {
			t.Errorf("got %d sessions, want the bridge's own", got)
		}
	})
}

func TestNotificationsOfTheClientReachItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foreign := newFake()
		foreign.AddTool("echo", mirrortest.Echo)
		server := mirrortest.Mounted(t, foreign)
		before := foreign.requested(mcp.NotificationInitialized)
		c := mcptest.Connect(t, server, &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil },
		})
		if err := c.RootsChanged(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := foreign.requested(mcp.NotificationInitialized) - before; got != 1 {
			t.Errorf("got %d notifications %s, want 1", got, mcp.NotificationInitialized)
		}
		if got := foreign.requested(mcp.NotificationRootsListChanged); got != 1 {
			t.Errorf("got %d notifications %s, want 1", got, mcp.NotificationRootsListChanged)
		}
	})
}

func TestSubscriptionEndsWithItsSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foreign := newFake()
		foreign.AddResource("note:///1", func(uri string) string { return uri })
		c := mcptest.Connect(t, mirrortest.Mounted(t, foreign), sessionEra)
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for range c.Watch(ctx, "note:///1") {
			}
		})
		synctest.Wait()
		if got := foreign.requested(mcp.MethodResourcesSubscribe); got != 1 {
			t.Errorf("got %d subscriptions, want 1", got)
		}
		cancel()
		watching.Wait()
		c.Close()
		synctest.Wait()
		if got := foreign.requested(mcp.MethodResourcesUnsubscribe); got != 1 {
			t.Errorf("got %d ends of subscriptions, want 1", got)
		}
	})
}

func TestCompletionsAreForwarded(t *testing.T) {
	foreign := newFake()
	foreign.AddPrompt("greet", func(who string) string { return who })
	mcptest.EachRevision(t, mirrortest.Mounted(t, foreign), func(t *testing.T, c *mcpclient.Client) {
		got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("greet"), Argument: mcp.CompleteArgument{Name: "who", Value: "A"}})
		if err != nil || !slices.Equal(got.Values, []string{"Ada"}) {
			t.Errorf("got %+v, %v, want Ada", got, err)
		}
	})
}

// TestClientWithoutANameHasOne sends a request of the stateless era without the client's name,
// which a foreign server may need.
func TestClientWithoutANameHasOne(t *testing.T) {
	foreign := newFake()
	foreign.AddTool("who", func(ctx context.Context, c mirrortest.Caller, _ string) (string, error) {
		_, client := c.Session(ctx)
		return "I am " + client, nil
	})
	conn := mcptest.Dial(t, mirrortest.Mounted(t, foreign))
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who","_meta":{%q:%q,%q:{}}}}`,
		mcp.MetaProtocolVersion, mcp.V20260728, mcp.MetaClientCapabilities)
	if err := conn.Write(t.Context(), []byte(request)); err != nil {
		t.Fatal(err)
	}
	if got, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(got), "I am fondaco-adapter") {
		t.Errorf("got %s, %v, want the name of the adapter", got, err)
	}
}

// TestListsAreThoseForAbleClients has a foreign server that lists some tools only to clients that
// can answer, or to those of 2026-07-28.
func TestListsAreThoseForAbleClients(t *testing.T) {
	foreign := newFake()
	for _, name := range []string{"forms", "models", "pages", "returns"} {
		foreign.AddTool(name, mirrortest.Echo)
	}
	foreign.hides = func(s *fakeSession, key string) bool {
		able := s.about.Capabilities
		switch key {
		case "forms":
			return able.Elicitation == nil || able.Elicitation.Form == nil
		case "pages":
			return able.Elicitation == nil || able.Elicitation.URL == nil
		case "models":
			return able.Sampling == nil
		}
		return s.about.ProtocolVersion != mcp.V20260728.String()
	}
	for required, want := range map[bool][]string{false: {"forms", "models", "pages"}, true: {"forms", "models", "pages", "returns"}} {
		server, err := mirror.NewServer(foreign, nil, mirror.Options{InputRequired: required})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for tool := range mcptest.Connect(t, server, nil).Tools(t.Context()) {
			got = append(got, tool.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("InputRequired %v: got tools %q, want %q", required, got, want)
		}
	}
	if got := foreign.Sessions(); got != 2 {
		t.Errorf("got %d sessions, want the two of the bridges", got)
	}
}

func TestArgumentsAreValidatedIfTheOptionSaysSo(t *testing.T) {
	foreign := newFake()
	foreign.AddTool("echo", mirrortest.Echo)
	server, err := mirror.NewServer(foreign, nil, mirror.Options{ValidateArguments: true})
	if err != nil {
		t.Fatal(err)
	}
	got := mirrortest.Said(mcptest.Connect(t, server, nil).CallTool(t.Context(), "echo", map[string]any{"text": 5}))
	if !strings.Contains(got, "invalid arguments") || foreign.requested(mcp.MethodToolsCall) != 0 {
		t.Errorf("got %q, want an error, and no call of the foreign server", got)
	}
}

// TestReturnedQuestionsAreSentToTheClient has a handler that returns its question as the result,
// as handlers of 2026-07-28 do.
func TestReturnedQuestionsAreSentToTheClient(t *testing.T) {
	foreign := newFake()
	var mu sync.Mutex
	var revisions []string
	foreign.set(mcp.MethodToolsList, mcp.NotificationToolsListChanged, "ask", feature{toolDef("ask"), func(_ context.Context, s *fakeSession, params jsontext.Value) (any, error) {
		mu.Lock()
		revisions = append(revisions, s.about.ProtocolVersion)
		mu.Unlock()
		var p mcp.CallToolParams
		if err := json.Unmarshal(params, &p); err != nil || p.InputResponses["name"] == nil {
			question := object{"method": mcp.MethodElicit, "params": object{"mode": "form", "message": "Your name?", "requestedSchema": nameSchema}}
			return object{"resultType": "input_required", "requestState": "round 1", "inputRequests": object{"name": question}}, err
		}
		return object{"content": []object{{"type": "text", "text": *p.RequestState + " " + string(p.InputResponses["name"])}}}, nil
	}})
	server, err := mirror.NewServer(foreign, nil, mirror.Options{InputRequired: true})
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, server, &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
		},
	})
	if got := mirrortest.Said(c.CallTool(t.Context(), "ask", nil)); !strings.HasPrefix(got, "round 1 ") || !strings.Contains(got, "Ada") {
		t.Errorf("got %q, want the state and the answer", got)
	}
	if want := []string{"2026-07-28", "2026-07-28"}; !slices.Equal(revisions, want) {
		t.Errorf("got sessions of %q, want %q", revisions, want)
	}
}

// TestForwardedMetadata has the metadata of a call arrive without the members that belong to the
// connection of the caller, and with a progress token of its own.
func TestForwardedMetadata(t *testing.T) {
	foreign := newFake()
	var metas []map[string]jsontext.Value
	foreign.set(mcp.MethodToolsList, mcp.NotificationToolsListChanged, "meta", feature{toolDef("meta"), func(_ context.Context, _ *fakeSession, params jsontext.Value) (any, error) {
		var p struct {
			Meta map[string]jsontext.Value `json:"_meta"`
		}
		err := json.Unmarshal(params, &p)
		metas = append(metas, p.Meta)
		return object{"content": []object{}}, err
	}})
	c := mcptest.Connect(t, mirrortest.Mounted(t, foreign), &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
	meta := mcp.Meta{"example.com/key": jsontext.Value(`"value"`)}
	for range 2 {
		if _, err := c.CallTool(t.Context(), "meta", nil, mcpclient.WithMeta(meta)); err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range metas {
		if len(got) != 2 || string(got["example.com/key"]) != `"value"` {
			t.Errorf("got metadata %s, want that of the caller and a progress token", got)
		}
	}
	if string(metas[0]["progressToken"]) == string(metas[1]["progressToken"]) {
		t.Errorf("got progress token %s twice, want two tokens", metas[0]["progressToken"])
	}
}

func TestQuestionWithoutACallFails(t *testing.T) {
	if got := mirror.CallFrom(t.Context()); got != nil {
		t.Errorf("got call %v, want none", got)
	}
	foreign := newFake()
	foreign.AddTool("ask", func(ctx context.Context, c mirrortest.Caller, _ string) (string, error) {
		return c.Name(context.WithoutCancel(context.Background()), "Your name?")
	})
	got := mirrortest.Said(mcptest.Connect(t, mirrortest.Mounted(t, foreign), nil).CallTool(t.Context(), "ask", nil))
	if !strings.Contains(got, "no call of a client") {
		t.Errorf("got %q, want %v", got, mirror.ErrNoCall)
	}
}

func TestRequestsThatClientsDoNotKnowFail(t *testing.T) {
	foreign := newFake()
	var pinged jsontext.Value
	foreign.AddTool("ask", func(ctx context.Context, _ mirrortest.Caller, _ string) (string, error) {
		pinged, _ = mirror.CallFrom(ctx).Ask(mcp.MethodPing, nil)
		_, err := mirror.CallFrom(ctx).Ask("example/custom", nil)
		number, _ := mirror.Number(err)
		return fmt.Sprint(number), nil
	})
	got := mirrortest.Said(mcptest.Connect(t, mirrortest.Mounted(t, foreign), nil).CallTool(t.Context(), "ask", nil))
	if got != "-32601" || string(pinged) != `{}` {
		t.Errorf("got %q and %s for a ping, want -32601 and {}", got, pinged)
	}
}

func TestErrorsKeepTheirNumbers(t *testing.T) {
	for _, test := range []struct {
		number, wantNumber int64
		code               mcp.Code
	}{
		{-32700, 0, mcp.CodeParse},
		{-32600, 0, mcp.CodeInvalidRequest},
		{-32601, 0, mcp.CodeMethodNotFound},
		{-32602, 0, mcp.CodeInvalidParams},
		{-32603, 0, mcp.CodeInternal},
		{-32002, 0, mcp.CodeResourceNotFound},
		{-32042, 0, mcp.CodeURLElicitationRequired},
		{-32055, 0, mcp.CodeInternal}, // reserved, and without a meaning here
		{0, 0, mcp.CodeInternal},      // what an SDK sends for an error without a number
		{7, 7, mcp.CodeOther},
		{-40000, -40000, mcp.CodeOther},
	} {
		got := mirror.Error(test.number, "text", jsontext.Value(`1`))
		if got.Code != test.code || got.Number != test.wantNumber || got.Message != "text" || string(got.Data) != "1" {
			t.Errorf("%d: got %+v, want code %v, number %d, and the message and data", test.number, got, test.code, test.wantNumber)
		}
	}
}

// TestSinglesKeepNoServer has a server with a single feature be collected as garbage.
func TestSinglesKeepNoServer(t *testing.T) {
	singles := mirror.Singles[*fake]{New: newFake}
	collected := make(chan struct{})
	func() {
		server := mcpserver.New("ours", "1.0.0", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
		if err := singles.Tool(server, encode(toolDef("echo")), func(f *fake) { f.AddTool("echo", mirrortest.Echo) }); err != nil {
			t.Fatal(err)
		}
		runtime.AddCleanup(server, func(done chan struct{}) { close(done) }, collected)
	}()
	for range 1000 {
		runtime.GC()
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("the server is still referenced")
}
