package mcpserver_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
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

// The owner of what is kept, and others: another subject, the same one through
// another client and at another issuer, one whose parts only join to the same text,
// and nobody.
const owner = "ada/phone/one"

var others = []string{"bob/phone/one", "ada/laptop/one", "ada/phone/two", "adaphone//one", "ada//one", ""}

// keeper keeps something for its callers wherever a server can.
type keeper struct {
	*mcpserver.Server
	t       *testing.T
	handles *handles.Handles[string]
	release chan struct{} // lets calls of wait end
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{Server: newServer(nil), t: t, handles: handles.New[string](nil), release: make(chan struct{})}
	k.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-k.release:
			return "waited", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	k.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "")
		mcpserver.Log(ctx).Info("talk")
		return "said", nil
	})
	k.Tool("secret", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal == identity(owner).Principal }))
	k.Tool("task", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, tasks.Enable(k.Server, &tasks.Options{Logger: slog.New(slog.DiscardHandler)}).AsTask())
	k.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		parked, err := mcpserver.Park(ctx, "live", func(context.Context) (string, error) { return "parked", nil }, func(string) {})
		if err != nil {
			return "", err
		}
		_, err = mcpserver.Ask[colour](ctx, "colour", "Which?")
		return parked, err
	})
	k.Tool("keep", "", func(ctx context.Context, _ struct{}) (string, error) { return k.handles.New(ctx, "kept") })
	k.Tool("get", "", func(ctx context.Context, in struct {
		Handle string `json:"handle"`
	},
	) (string, error) {
		return k.handles.Get(ctx, in.Handle)
	})
	return k
}

// as returns a client with a session of its own where there are any.
func (k *keeper) as(r mcp.Revision, token string) *caller { return callerOf(k.t, k.Server, r, token) }

// held is one thing that belongs to the owner: its id, and how another principal tries to use
// it, or a thing with another id. The answer is everything that this principal learns.
type held struct {
	id  string
	try func(token, id string) string
	// still reports whether the owner has it, after all the others have tried.
	still func() bool
}

// told is everything that an HTTP response says.
func told(w *httptest.ResponseRecorder) string {
	return fmt.Sprint(w.Code, w.Header(), w.Body)
}

// inSession tries one HTTP request in the owner's session.
func inSession(r mcp.Revision, method, body string, header ...string) func(k *keeper) held {
	return func(k *keeper) held {
		c := k.as(r, owner)
		return held{
			id: c.session,
			try: func(token, id string) string {
				return told((&caller{t: k.t, h: c.h, revision: r, session: id}).do(method, token, body, header...))
			},
			still: func() bool { return c.call(owner, "ping", "").Result != nil },
		}
	}
}

// byTask tries one request about the owner's task.
func byTask(r mcp.Revision, method, params string) func(k *keeper) held {
	return func(k *keeper) held {
		c := k.as(r, owner)
		call, at1 := `{"name":"task"}`, "/taskId"
		if !isModern(r) {
			call, at1 = `{"name":"task","task":{}}`, "/task/taskId"
		}
		id := strings.Trim(at(k.t, c.call(owner, "tools/call", call).Result, at1), `"`)
		mine := map[string]*caller{owner: c}
		return held{
			id: id,
			try: func(token, id string) string {
				if mine[token] == nil {
					mine[token] = k.as(r, token)
				}
				return mine[token].call(token, method, strings.ReplaceAll(params, "ID", id)).Raw
			},
			still: func() bool {
				return strings.Contains(c.call(owner, "tasks/get", `{"taskId":"`+id+`"}`).Raw, `"working"`)
			},
		}
	}
}

var eventID = regexp.MustCompile(`(?m)^id: (.*)$`)

// keys are the places in which a server keeps something by a principal.
var keys = map[string]func(k *keeper) held{
	"session: request":      inSession(mcp.V20251125, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	"session: response":     inSession(mcp.V20251125, "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`),
	"session: notification": inSession(mcp.V20251125, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
	"session: batch":        inSession(mcp.V20250326, "POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`),
	"session: stream":       inSession(mcp.V20251125, "GET", ""),
	"session: end":          inSession(mcp.V20251125, "DELETE", ""),
	"session: resumed":      inSession(mcp.V20251125, "GET", "", "Last-Event-Id", "x-1"),
	"session: cancellation": func(k *keeper) held {
		h := inSession(mcp.V20251125, "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)(k)
		c := &caller{t: k.t, h: k.as(mcp.V20260728, owner).h, revision: mcp.V20251125, session: h.id}
		waited := make(chan verdict, 1)
		go func() { waited <- c.call(owner, "tools/call", `{"name":"wait"}`) }()
		synctest.Wait()
		h.still = func() bool {
			close(k.release)
			return strings.Contains((<-waited).Raw, "waited")
		}
		return h
	},
	"event id": func(k *keeper) held {
		c := k.as(mcp.V20251125, owner)
		body, _ := c.form("tools/call", `{"_meta":{"progressToken":1},"name":"talk"}`)
		w := c.do(http.MethodPost, owner, body)
		id := eventID.FindStringSubmatch(w.Body.String())
		if id == nil {
			k.t.Fatalf("got %s, want events", w.Body)
		}
		return held{
			id: id[1],
			try: func(token, id string) string {
				return told(k.as(mcp.V20251125, token).do(http.MethodGet, token, "", "Last-Event-Id", id))
			},
			still: func() bool {
				return strings.Contains(c.do(http.MethodGet, owner, "", "Last-Event-Id", id[1]).Body.String(), "said")
			},
		}
	},
	"connection of HTTP+SSE": func(k *keeper) held {
		c := streamCallerOf(k.t, k.Server, mcp.V20241105, owner)
		_, at, _ := strings.Cut(string(c.out.text()), "sessionId=")
		id, _, _ := strings.Cut(at, "\n")
		return held{
			id: id,
			try: func(token, id string) string {
				r := c.newRequest(http.MethodPost, token, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
				r.URL.RawQuery = "sessionId=" + id
				w := httptest.NewRecorder()
				c.h.ServeHTTP(w, r)
				return told(w)
			},
			still: func() bool { return c.call(owner, "ping", "").Result != nil },
		}
	},
	"task: get":            byTask(mcp.V20260728, "tasks/get", `{"taskId":"ID"}`),
	"task: update":         byTask(mcp.V20260728, "tasks/update", `{"taskId":"ID","inputResponses":{}}`),
	"task: cancel":         byTask(mcp.V20260728, "tasks/cancel", `{"taskId":"ID"}`),
	"task: listen":         byTask(mcp.V20260728, "subscriptions/listen", `{"notifications":{"toolsListChanged":true,"taskIds":["ID"]}}`),
	"task of 2025: get":    byTask(mcp.V20251125, "tasks/get", `{"taskId":"ID"}`),
	"task of 2025: cancel": byTask(mcp.V20251125, "tasks/cancel", `{"taskId":"ID"}`),
	"task of 2025: result": byTask(mcp.V20251125, "tasks/result", `{"taskId":"ID"}`),
	"task of 2025: cursor": byTask(mcp.V20251125, "tasks/list", `{"cursor":"ID"}`),
	"state and what is parked": func(k *keeper) held {
		c := k.as(mcp.V20260728, owner)
		state := strings.Trim(at(k.t, c.call(owner, "tools/call", `{"name":"ask"}`).Result, "/requestState"), `"`)
		return held{
			id: state,
			try: func(token, id string) string {
				return c.call(token, "tools/call", `{"name":"ask","requestState":"`+id+`","inputResponses":{"colour":`+accept(`{"colour":"red"}`)+`}}`).Raw
			},
			still: func() bool {
				return strings.Contains(c.call(owner, "tools/call", `{"name":"ask","requestState":"`+state+`","inputResponses":{"colour":`+accept(`{"colour":"red"}`)+`}}`).Raw, "parked")
			},
		}
	},
	"handle": func(k *keeper) held {
		c := k.as(mcp.V20260728, owner)
		id := strings.Trim(at(k.t, c.call(owner, "tools/call", `{"name":"keep"}`).Result, "/content/0/text"), `"`)
		try := func(token, id string) string {
			return c.call(token, "tools/call", `{"name":"get","arguments":{"handle":"`+id+`"}}`).Raw
		}
		return held{id: id, try: try, still: func() bool { return strings.Contains(try(owner, id), "kept") }}
	},
	"feature": func(k *keeper) held {
		c := k.as(mcp.V20260728, owner)
		try := func(token, id string) string { return c.call(token, "tools/call", `{"name":"`+id+`"}`).Raw }
		return held{id: "secret", try: try, still: func() bool { return strings.Contains(try(owner, "secret"), "result") }}
	},
	"cached page": func(k *keeper) held {
		c := k.as(mcp.V20260728, owner)
		try := func(token, id string) string {
			return fmt.Sprint(strings.Contains(c.call(token, "tools/list", "").Raw, `"`+id+`"`))
		}
		return held{id: "secret", try: try, still: func() bool { return try(owner, "secret") == "true" }}
	},
	"cursor": func(k *keeper) held {
		c := k.as(mcp.V20260728, owner)
		try := func(token, id string) string {
			cursor := base64.RawURLEncoding.EncodeToString([]byte("a" + id))
			return c.call(token, "tools/list", `{"cursor":"`+cursor+`"}`).Raw
		}
		return held{id: "secret", try: try, still: func() bool { return strings.Contains(try(owner, "s"), "secret") }}
	},
}

// unknownLike returns an id of the same form that does not exist.
func unknownLike(id string) string {
	last := map[bool]string{true: "B", false: "A"}[strings.HasSuffix(id, "A")]
	return id[:len(id)-1] + last
}

// A15, A16. For every other principal, what is kept for a principal is the same as what does
// not exist, to the byte.
func TestStateOfAnotherPrincipalIsUnknown(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-125a", "R-125b", "R-125c", "R-295")
	for name, hold := range keys {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newKeeper(t)
				defer func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Second)
					defer cancel()
					_ = k.Shutdown(ctx)
				}()
				h := hold(k)
				for _, token := range others {
					unknown := unknownLike(h.id)
					foreign := strings.ReplaceAll(h.try(token, h.id), h.id, "ID")
					if want := strings.ReplaceAll(h.try(token, unknown), unknown, "ID"); foreign != want {
						t.Errorf("%q:\ngot  %s\nwant %s as for what does not exist", token, foreign, want)
					}
				}
				if !h.still() {
					t.Error("the owner has lost it")
				}
			})
		})
	}
}
