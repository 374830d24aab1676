package mcpserver_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// sender sends messages from an address, without a network.
type sender struct {
	t       *testing.T
	handler http.Handler
	address string
	// eventStream is the handler of HTTP+SSE; nil where no test uses it.
	eventStream http.Handler
	session     string
}

// send sends a message in the session, or opens one, and returns status and body of the
// answer. A header is one of a request of the stateless era.
func (s *sender) send(ctx context.Context, method, message string, header ...string) (int, string) {
	w := httptest.NewRecorder()
	s.sendTo(ctx, w, method, message, header...)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	return w.Code, w.Body.String()
}

// sendTo is send for an answer that w gets.
func (s *sender) sendTo(ctx context.Context, w http.ResponseWriter, method, message string, header ...string) {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(message))
	r.RemoteAddr = s.address
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	s.handler.ServeHTTP(w, r)
}

// open opens a session and reports whether there was room.
func (s *sender) open() bool {
	s.session = ""
	s.send(s.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"elicitation":{"form":{},"url":{}}}}}`)
	return s.session != ""
}

// call calls a tool, as a task if more says so.
func (s *sender) call(id int, tool, more string) (int, string) {
	return s.send(s.t.Context(), http.MethodPost, callOf(id, tool, more))
}

// callOf returns a call of a tool, with more params.
func callOf(id int, tool, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s}}`, id, tool, more)
}

// modern calls a tool in the stateless era, with more params.
func (s *sender) modern(id int, tool, more string) (int, string) {
	s.session = ""
	return s.send(s.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}%s,`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, id, tool, more),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// rounds calls a tool that asks, answers it, and returns the last answer of the server.
func (s *sender) rounds(tool string) (int, string) {
	status, body := s.modern(1, tool, "")
	var reply struct {
		Result struct {
			RequestState *string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.Result.RequestState == nil {
		s.t.Errorf("got status %d, %s, want a question", status, body)
		return status, body
	}
	return s.modern(2, tool, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"colour":{"action":"accept","content":{"colour":"red"}}}`, *reply.Result.RequestState))
}

// subscribe subscribes the session to a resource.
func (s *sender) subscribe(id int, uri string) (int, string) {
	return s.send(s.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":%q}}`, id, uri))
}

// listenTo subscribes to a resource in the stateless era, and returns when that ends.
func (s *sender) listenTo(id int, uri string) (int, string) {
	alone := &sender{t: s.t, handler: s.handler, address: s.address}
	return alone.send(s.t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%q]},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, uri),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
}

// listen opens an event stream and returns what says that it has ended.
func (s *sender) listen(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.send(ctx, http.MethodGet, "")
	}()
	return over
}

// room is how much there is of each thing in the test below.
const room = 6

// largeSize is the size of a large result, without what surrounds it.
const largeSize = 100 << 10

// One anonymous client opens all the sessions it can and takes all it can get of one
// thing. Another one, from another address or over another session of this machine,
// gets some all the same. Each row is a table of the server.
func TestOneAnonymousClientDoesNotExcludeOthers(t *testing.T) {
	claim.Shows(t, "B-11")
	ok := func(t *testing.T, status int, body string) {
		t.Helper()
		if status != http.StatusOK || strings.Contains(body, `"isError":true`) || strings.Contains(body, `"error":{`) {
			t.Errorf("the modest client: got status %d, %s, want it served", status, body)
		}
	}
	asTask := `,"task":{"ttl":600000}`
	for _, tt := range []struct {
		table  string
		greedy func(s *sender, i int) // takes more, in a session of its own
		modest func(t *testing.T, s *sender)
	}{
		{"sessions", func(*sender, int) {}, func(t *testing.T, s *sender) {
			for i := range 3 {
				status, body := s.call(i, "hello", "")
				ok(t, status, body)
			}
		}},
		{"streams", func(s *sender, _ int) { s.listen(s.t.Context()) }, func(t *testing.T, s *sender) {
			over := s.listen(t.Context())
			synctest.Wait()
			select {
			case <-over:
				t.Error("the stream of the modest client has ended, want it open")
			default:
			}
		}},
		{"calls", func(s *sender, i int) { go s.call(i, "wait", "") }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "hello", "")
			ok(t, status, body)
		}},
		{"questions", func(s *sender, i int) { go s.call(i, "ask", "") }, func(t *testing.T, s *sender) {
			answered := make(chan string, 1)
			go func() {
				_, body := s.call(1, "ask", "")
				answered <- body
			}()
			time.Sleep(time.Minute)
			select {
			case body := <-answered:
				t.Errorf("the question of the modest client has ended with %s, want it to wait", body)
			default:
			}
		}},
		{"parked values", func(s *sender, i int) { s.modern(i, "park", "") }, func(t *testing.T, s *sender) {
			status, body := s.rounds("park")
			ok(t, status, body)
		}},
		{"used states", func(s *sender, _ int) { s.rounds("ask") }, func(t *testing.T, s *sender) {
			status, body := s.rounds("ask")
			ok(t, status, body)
		}},
		{"used states in a store", func(s *sender, _ int) { s.rounds("ask") }, func(t *testing.T, s *sender) {
			status, body := s.rounds("ask")
			ok(t, status, body)
		}},
		{"stored states", func(s *sender, i int) { s.modern(i, "hoard", "") }, func(t *testing.T, s *sender) {
			status, body := s.rounds("hoard")
			ok(t, status, body)
		}},
		{"watched resources", func(s *sender, i int) { s.subscribe(i, fmt.Sprintf("note://%d", i)) }, func(t *testing.T, s *sender) {
			status, body := s.subscribe(1, "note://mine")
			ok(t, status, body)
		}},
		{"subscriptions", func(s *sender, i int) { go s.listenTo(i, "note://1") }, func(t *testing.T, s *sender) {
			ended := make(chan string, 1)
			go func() {
				_, body := s.listenTo(1, "note://mine")
				ended <- body
			}()
			time.Sleep(time.Minute)
			select {
			case body := <-ended:
				t.Errorf("the subscription of the modest client has ended with %s, want it open", body)
			default:
			}
		}},
		{"large results", func(s *sender, i int) { s.callUnread(i, "large") }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "large", "")
			ok(t, status, body)
		}},
		{"large results over HTTP+SSE", func(s *sender, i int) {
			post, _ := unreadEventStream(s.t, s.eventStream, s.address)
			post(callOf(1+i, "large", ""))
		}, func(t *testing.T, s *sender) {
			status, body := s.call(1, "large", "")
			ok(t, status, body)
		}},
		{"handles", func(s *sender, i int) { s.call(i, "keep", "") }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "keep", "")
			ok(t, status, body)
		}},
		{"URL elicitations", func(s *sender, i int) {
			s.call(2*i, "visit", "")
			if i == 0 { // more of all sessions together than there is room for
				s.call(2*i+1, "visit-many", "")
			}
		}, func(t *testing.T, s *sender) {
			s.call(1, "visit", "")
			s.call(2, "visited", "")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, events := s.send(ctx, http.MethodGet, ""); !strings.Contains(events, "notifications/elicitation/complete") {
				t.Errorf("the modest client: got the events %q, want notifications/elicitation/complete", events)
			}
		}},
		{"tasks", func(s *sender, i int) { s.call(i, "work", asTask) }, func(t *testing.T, s *sender) {
			status, body := s.call(1, "work", asTask)
			ok(t, status, body)
		}},
		{"bytes of tasks", func(s *sender, i int) { s.call(i, "result", asTask) }, func(t *testing.T, s *sender) {
			_, body := s.call(1, "result", asTask)
			synctest.Wait()
			var created struct {
				Result mcp.CreateTaskResult `json:"result"`
			}
			if err := json.Unmarshal([]byte(body), &created); err != nil {
				t.Fatal(err)
			}
			status, body := s.send(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":%q}}`, created.Result.Task.TaskID))
			if ok(t, status, body); !strings.Contains(body, "xxx") {
				t.Errorf("the modest client: got %s, want the result of its task", body)
			}
		}},
	} {
		for _, from := range []struct{ name, greedy, modest string }{
			{"another address", "192.0.2.1:%d", "192.0.2.2:1"},
			{"another session of this machine", "127.0.0.1:%d", "127.0.0.1:1"},
		} {
			for _, each := range []int{1, 2 * room} {
				t.Run(fmt.Sprintf("%s/%s/%d in each session", tt.table, from.name, each), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						srv := crowdable(t, tt.table)
						h := srv.HTTPHandler()
						for port := range 2 * room {
							s := &sender{t: t, handler: h, address: fmt.Sprintf(from.greedy, 1000+port), eventStream: srv.EventStreamHandler()}
							if !s.open() {
								continue
							}
							for i := range each {
								tt.greedy(s, i)
								synctest.Wait()
							}
						}
						time.Sleep(time.Minute)
						modest := &sender{t: t, handler: h, address: from.modest}
						if !modest.open() {
							t.Fatal("the modest client gets no session")
						}
						tt.modest(t, modest)
					})
				})
			}
		}
	}
}

// crowdable returns a server with little room for the things of one table.
func crowdable(t *testing.T, table string) *mcpserver.Server {
	o := &mcpserver.Options{HTTP: new(mcpserver.HTTPOptions), Load: new(mcpserver.LoadOptions), Ask: new(mcpserver.AskOptions)}
	keeping, work := new(handles.Options), new(tasks.Options)
	switch table {
	case "sessions":
		o.HTTP.MaxSessions = room
	case "streams":
		o.HTTP.MaxStreams = room
	case "calls":
		o.Load.MaxCalls = room
	case "questions":
		o.Ask.MaxQuestions = room
	case "parked values":
		o.Ask.MaxParked = room
	case "used states":
		o.Ask.SingleUse = true
	case "used states in a store":
		o.Ask.SingleUse = true
		store := new(mcpserver.MemoryStore)
		for i := range 100_000 - 70 { // as many as leave room for the states of one client in 64 entries
			if _, err := store.Create(t.Context(), fmt.Sprint("ask.used.", i), nil, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		o.Store = store
	case "stored states":
		o.Store = &mcpserver.MemoryStore{MaxBytes: 4 * room * 100 << 10}
	case "watched resources", "subscriptions":
		o.Load.MaxWatched, o.Load.SubscriptionRate = room, mcp.Rate{PerSecond: -1}
	case "large results", "large results over HTTP+SSE":
		o.Load.MaxUnsent, o.HTTP.WriteTimeout, o.HTTP.KeepAlive = room*largeSize, time.Hour, time.Hour
	case "handles":
		keeping.Max = room
	case "bytes of tasks":
		work.MaxBytes = room * 11_000
		o.Store = &mcpserver.MemoryStore{MaxBytes: 2 * room * 11_000}
	case "tasks":
		work.MaxTasks = room
	}
	s := mcpserver.New("crowdable", "1", o)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
	})
	kept := handles.New[string](keeping)
	all := tasks.Enable(s, work)
	s.Template("note://{part}", "note", "", anything)
	s.Tool("hello", "", func(context.Context, struct{}) (string, error) { return "hello", nil })
	s.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	question := func(ctx context.Context) (string, error) {
		c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return c.Colour, err
	}
	s.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return question(ctx) })
	s.Tool("hoard", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Once(ctx, "much", func() (string, error) { return strings.Repeat("x", 70<<10), nil })
		if err != nil {
			return "", err
		}
		return question(ctx)
	})
	s.Tool("park", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Park(ctx, "value", func(context.Context) (int, error) { return 1, nil }, func(int) {})
		if err != nil {
			return "", err
		}
		return question(ctx)
	})
	s.Tool("large", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", largeSize), nil })
	const page = "https://example.com/visit"
	pages := 0
	s.Tool("visit", "", func(context.Context, struct{}) (string, error) {
		return "", mcpserver.URLElicitationRequired("Please sign in.", page)
	})
	s.Tool("visit-many", "", func(context.Context, struct{}) (string, error) {
		var all []mcp.ElicitParams
		for range 500 {
			pages++
			all = append(all, mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "Please sign in.", URL: fmt.Sprintf("%s/%d", page, pages)})
		}
		data, err := json.Marshal(map[string]any{"elicitations": all})
		if err != nil {
			return "", err
		}
		return "", &mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: "visit", Data: data}
	})
	s.Tool("visited", "", func(ctx context.Context, _ struct{}) (string, error) {
		return "", s.ElicitationComplete(ctx, page)
	})
	s.Tool("keep", "", func(ctx context.Context, _ struct{}) (string, error) { return kept.New(ctx, "value") })
	s.Tool("result", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", 10_000), nil }, all.AsTask())
	s.Tool("work", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, all.AsTask())
	return s
}
