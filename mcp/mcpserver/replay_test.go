package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const canAll = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

type colour struct {
	Colour string `json:"colour" enum:"red|blue"`
}

type size struct {
	Size int `json:"size" min:"1" max:"9"`
}

// painter asks twice, with a step between.
type painter struct {
	*mcpserver.Server
	mu    sync.Mutex
	steps int
}

type order struct {
	Item   string   `json:"item,omitzero"`
	Number *float64 `json:"number,omitzero"`
	Big    *int64   `json:"big,omitzero"`
}

func newPainter(o *mcpserver.Options) *painter {
	p := &painter{Server: newServer(o)}
	p.Tool("paint", "", p.paint)
	p.Tool("varnish", "", p.paint)
	return p
}

func (p *painter) paint(ctx context.Context, in order) (string, error) {
	c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
	if err != nil {
		return "", err
	}
	step, err := mcpserver.Once(ctx, "mix", func() (int, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.steps++
		return p.steps, nil
	})
	if err != nil {
		return "", err
	}
	s, err := mcpserver.Ask[size](ctx, "size", "Which size?")
	return fmt.Sprintf("%s %s %d, step %d", in.Item, c.Colour, s.Size, step), err
}

func accept(content string) string { return `{"action":"accept","content":` + content + `}` }

// retry returns the params of a call with answers and the state of a result.
func retry(t *testing.T, params string, result jsontext.Value, answers string) string {
	t.Helper()
	state := at(t, result, "/requestState")
	if state == "" {
		t.Fatalf("got %s, want a requestState", result)
	}
	return strings.TrimSuffix(params, "}") + `,"inputResponses":` + answers + `,"requestState":` + state + `}`
}

func TestStatelessRoundsOnTheWire(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-014", "R-015a", "R-060", "R-075", "R-221a", "R-290", "R-292")
	synctest.Test(t, func(t *testing.T) {
		p := newPainter(nil)
		w := dialAs(t, p.Server, mcp.V20260728, canAll)
		const params = `{"name":"paint","arguments":{"item":"door"}}`
		r := w.Must("tools/call", params)
		same(t, jsontext.Value(at(t, r, "/inputRequests")), `{"colour":{"method":"elicitation/create","params":{"mode":"form","message":"Which colour?",
			"requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}}}}`)
		if got := at(t, r, "/resultType"); got != `"input_required"` {
			t.Errorf("got result type %s", got)
		}
		r = w.Must("tools/call", retry(t, params, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		same(t, jsontext.Value(at(t, r, "/inputRequests")), `{"size":{"method":"elicitation/create","params":{"mode":"form","message":"Which size?",
			"requestedSchema":{"type":"object","properties":{"size":{"type":"integer","minimum":1,"maximum":9}},"required":["size"]}}}}`)
		r = w.Must("tools/call", retry(t, params, r, `{"size":`+accept(`{"size":3}`)+`}`))
		if got := at(t, r, "/content/0/text"); got != `"door red 3, step 1"` || at(t, r, "/resultType") != `"complete"` {
			t.Errorf("got %s", r)
		}
		w.Quiet()
	})
}

func TestSessionEraQuestionsOnTheWire(t *testing.T) {
	eachOf(t, []mcp.Revision{mcp.V20250618, mcp.V20251125}, func(t *testing.T, r mcp.Revision) {
		p := newPainter(nil)
		w := dialAs(t, p.Server, r, `{"elicitation":{}}`)
		id := w.Send("tools/call", `{"name":"paint","arguments":{"item":"door"}}`)
		mode := `"mode":"form",`
		if r == mcp.V20250618 {
			mode = ""
		}
		for _, step := range []struct{ params, answer string }{
			{`{` + mode + `"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}}`, `{"colour":"red"}`},
			{`{` + mode + `"message":"Which size?","requestedSchema":{"type":"object","properties":{"size":{"type":"integer","minimum":1,"maximum":9}},"required":["size"]}}`, `{"size":3}`},
		} {
			q := w.Read()
			if q.Method != "elicitation/create" {
				t.Fatalf("got %s", q.Raw)
			}
			same(t, q.Params, step.params)
			w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(step.answer) + `}`)
		}
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"door red 3, step 1"` {
			t.Errorf("got %s", got)
		}
	})
}

func TestAnswersCountOnlyForOpenQuestions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-303b")
	synctest.Test(t, func(t *testing.T) {
		p := newPainter(nil)
		w := dialAs(t, p.Server, mcp.V20260728, canAll)
		const params = `{"name":"paint"}`
		all := `{"size":` + accept(`{"size":2}`) + `,"colour":` + accept(`{"colour":"blue"}`) + `,"other":7}`
		r := w.Must("tools/call", `{"name":"paint","inputResponses":`+all+`}`)
		if at(t, r, "/inputRequests/colour") == "" || p.steps != 0 {
			t.Errorf("without a state: got %s after %d steps, want the first question", r, p.steps)
		}
		r = w.Must("tools/call", retry(t, params, r, `{"size":`+accept(`{"size":2}`)+`}`))
		if at(t, r, "/inputRequests/colour") == "" || p.steps != 0 {
			t.Errorf("for a question that is not open: got %s after %d steps, want the first question", r, p.steps)
		}
		r = w.Must("tools/call", retry(t, params, r, all))
		if at(t, r, "/inputRequests/size") == "" || p.steps != 1 {
			t.Errorf("for both, of which one is open: got %s after %d steps, want the second question", r, p.steps)
		}
		r = w.Must("tools/call", retry(t, params, r, `{"size":`+accept(`{"size":3}`)+`}`))
		if got := at(t, r, "/content/0/text"); got != `" blue 3, step 1"` {
			t.Errorf("got %s", r)
		}
	})
}

// TestAnswerToAChangedQuestionIsDropped is about a price that changes while the user
// thinks: the consent to the old price is none to the new one.
func TestAnswerToAChangedQuestionIsDropped(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-303b")
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		srv := newServer(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		price, paid := 10, 0
		srv.Tool("buy", "", func(ctx context.Context, _ struct{}) (string, error) {
			if _, err := mcpserver.Ask[colour](ctx, "consent", fmt.Sprintf("Pay %d?", price)); err != nil {
				return "", err
			}
			paid = price
			return "", nil
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		answer := `{"consent":` + accept(`{"colour":"red"}`) + `}`
		r := w.Must("tools/call", `{"name":"buy"}`)
		price = 1000
		r = w.Must("tools/call", retry(t, `{"name":"buy"}`, r, answer))
		if got := at(t, r, "/inputRequests/consent/params/message"); got != `"Pay 1000?"` || paid != 0 {
			t.Errorf("got %s and paid %d, want the new question", r, paid)
		}
		if !strings.Contains(lines.String(), "question=consent") {
			t.Errorf("the log does not name the question: %s", lines.String())
		}
		if w.Must("tools/call", retry(t, `{"name":"buy"}`, r, answer)); paid != 1000 {
			t.Errorf("paid %d, want 1000", paid)
		}
	})
}

// firstRound makes the first round of a call and returns its result.
func firstRound(t *testing.T, srv *mcpserver.Server, params string) jsontext.Value {
	t.Helper()
	return dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", params)
}

var (
	keyA = mcpserver.Key{ID: "a", Secret: bytes.Repeat([]byte{1}, 32)}
	keyB = mcpserver.Key{ID: "b", Secret: bytes.Repeat([]byte{2}, 32)}
)

func TestStateBelongsToItsRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-058", "R-060", "R-294", "R-295")
	const params = `{"name":"paint","arguments":{"item":"door","big":9007199254740993}}`
	with := func(keys ...mcpserver.Key) *mcpserver.Options { return &mcpserver.Options{Keys: keys} }
	for name, test := range map[string]struct {
		params  string // of the retry
		replica *mcpserver.Options
		wait    time.Duration
		change  func(state string) string
		taken   bool
	}{
		"same":                     {taken: true},
		"members in another order": {params: `{"arguments":{"big":9007199254740993,"item":"door"},"name":"paint"}`, taken: true},
		"another tool":             {params: `{"name":"varnish","arguments":{"item":"door","big":9007199254740993}}`},
		"other arguments":          {params: `{"name":"paint","arguments":{"item":"gate","big":9007199254740993}}`},
		"other beyond 2^53":        {params: `{"name":"paint","arguments":{"item":"door","big":9007199254740992}}`},
		"almost expired":           {wait: 10*time.Minute - 2*time.Second, taken: true},
		"expired":                  {wait: 10 * time.Minute},
		"replica with the key":     {replica: with(keyA), taken: true},
		"replica after rotation":   {replica: with(keyB, keyA), taken: true},
		"replica without the key":  {replica: with(keyB)},
		"truncated":                {change: func(s string) string { return s[:len(s)-1] }},
		"empty":                    {change: func(string) string { return "" }},
		"of the client's own":      {change: func(string) string { return `{"round":1}` }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := newPainter(with(keyA)).Server
				r := firstRound(t, srv, params)
				if test.params == "" {
					test.params = params
				}
				if test.replica != nil {
					srv = newPainter(test.replica).Server
				}
				time.Sleep(test.wait)
				again := retry(t, test.params, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`)
				if test.change != nil {
					state := decoded[string](t, jsontext.Value(at(t, r, "/requestState")))
					again = strings.Replace(again, at(t, r, "/requestState"), string(encoded(t, test.change(state))), 1)
				}
				m := dialAs(t, srv, mcp.V20260728, canAll).Call("tools/call", again)
				switch {
				case test.taken && at(t, m.Result, "/inputRequests/size") == "":
					t.Errorf("got %s, want the next question", m.Raw)
				case !test.taken && (m.Error == nil || m.Error.Code != -32602 || m.Error.Message != "requestState: not valid for this request; make the call again without it"):
					t.Errorf("got %s, want it refused without a reason", m.Raw)
				}
			})
		})
	}
}

func TestEveryFlippedCharacterOfAStateIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-294")
	srv := newPainter(nil).Server
	const params = `{"name":"paint"}`
	w := dialAs(t, srv, mcp.V20260728, canAll)
	state := decoded[string](t, jsontext.Value(at(t, w.Must("tools/call", params), "/requestState")))
	for i := range state {
		c := byte('A')
		if state[i] == c {
			c = 'B'
		}
		forged := state[:i] + string(c) + state[i+1:]
		w.Refused("tools/call", `{"name":"paint","requestState":"`+forged+`"}`, -32602)
	}
}

func TestStateBelongsToItsPrincipal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-295", "R-342b")
	p := newPainter(&mcpserver.Options{Keys: []mcpserver.Key{keyA}})
	r := firstRound(t, p.Server, `{"name":"paint"}`) // local
	status, m := postAs(t, newPainter(&mcpserver.Options{
		Keys: []mcpserver.Key{keyA},
	}).Server, "ada", "tools/call", "paint", retry(t, `{"name":"paint"}`, r, `{}`))
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "requestState") {
		t.Errorf("got %d %s, want it refused", status, m.Raw)
	}
}

func TestStateIsUsedOnceWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-296")
	for _, single := range []bool{false, true} {
		p := newPainter(&mcpserver.Options{Ask: &mcpserver.AskOptions{SingleUse: single}})
		w := dialAs(t, p.Server, mcp.V20260728, canAll)
		again := retry(t, `{"name":"paint"}`, w.Must("tools/call", `{"name":"paint"}`), `{"colour":`+accept(`{"colour":"red"}`)+`}`)
		w.Must("tools/call", again)
		m := w.Call("tools/call", again)
		if refused := m.Error != nil && m.Error.Code == -32602 && strings.Contains(m.Error.Message, "already answered"); refused != single {
			t.Errorf("single use %t: got %s", single, m.Raw)
		}
	}
}

func TestReplicasUseAStateOnceTogether(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-296")
	o := &mcpserver.Options{Keys: []mcpserver.Key{keyA}, Store: newMapStore(), Ask: &mcpserver.AskOptions{SingleUse: true}}
	one, other := dialAs(t, newPainter(o).Server, mcp.V20260728, canAll), dialAs(t, newPainter(o).Server, mcp.V20260728, canAll)
	again := retry(t, `{"name":"paint"}`, one.Must("tools/call", `{"name":"paint"}`), `{"colour":`+accept(`{"colour":"red"}`)+`}`)
	other.Must("tools/call", again)
	m := one.Call("tools/call", again)
	if m.Error == nil || !strings.Contains(m.Error.Message, "already answered") {
		t.Errorf("got %s, want the state refused that another replica has taken", m.Raw)
	}
}

func TestStateWithoutAnIDIsRefusedWhereStatesAreUsedOnce(t *testing.T) {
	t.Parallel()
	issuer := newPainter(&mcpserver.Options{Keys: []mcpserver.Key{keyA}})
	again := retry(t, `{"name":"paint"}`, dialAs(t, issuer.Server, mcp.V20260728, canAll).Must("tools/call", `{"name":"paint"}`), `{"colour":`+accept(`{"colour":"red"}`)+`}`)
	other := newPainter(&mcpserver.Options{Keys: []mcpserver.Key{keyA}, Store: newMapStore(), Ask: &mcpserver.AskOptions{SingleUse: true}})
	m := dialAs(t, other.Server, mcp.V20260728, canAll).Call("tools/call", again)
	if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, "already answered") {
		t.Errorf("got %s, want it refused", m.Raw)
	}
}

func TestStoreNeedsKeys(t *testing.T) {
	t.Parallel()
	got := panicText(t, func() { newServer(&mcpserver.Options{Store: newMapStore()}) })
	if !strings.Contains(got, "Options.Keys") {
		t.Errorf("got %s", got)
	}
	got = panicText(t, func() { newServer(&mcpserver.Options{Keys: []mcpserver.Key{{ID: "x", Secret: []byte("hunter2")}}}) })
	if !strings.Contains(got, `key "x"`) || strings.Contains(got, "hunter2") {
		t.Errorf("got %s", got)
	}
	newServer(&mcpserver.Options{Store: newMapStore(), Keys: []mcpserver.Key{keyA}})
	newServer(&mcpserver.Options{Store: new(mcpserver.MemoryStore)}) // for this process alone
}

func TestLargeStateIsKeptInTheStore(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*mcpserver.Options{
		"without": nil,
		"with":    {Store: newMapStore(), Keys: []mcpserver.Key{keyA}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(o)
			srv.Tool("hoard", "", func(ctx context.Context, _ struct{}) (string, error) {
				text, err := mcpserver.Once(ctx, "pile", func() (string, error) { return strings.Repeat("x", 70_000), nil })
				if err != nil {
					return "", err
				}
				_, err = mcpserver.Ask[colour](ctx, "colour", "Which colour?")
				return fmt.Sprint(len(text)), err
			})
			w := dialAs(t, srv, mcp.V20260728, canAll)
			r := w.Must("tools/call", `{"name":"hoard"}`)
			r = w.Must("tools/call", retry(t, `{"name":"hoard"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
			if got := at(t, r, "/content/0/text"); got != `"70000"` {
				t.Errorf("got %s", r)
			}
		})
	}
}

func TestStateThatIsTooLargeForTheStoreFails(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	srv.Tool("hoard", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := mcpserver.Once(ctx, "pile", func() (string, error) { return strings.Repeat("x", 1<<20), nil })
		if err != nil {
			return "", err
		}
		_, err = mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return "", err
	})
	r := dialAs(t, srv, mcp.V20260728, canAll).Must("tools/call", `{"name":"hoard"}`)
	if text := at(t, r, "/content/0/text"); !strings.Contains(text, `1048578 bytes under key \"pile\"`) || at(t, r, "/isError") != "true" {
		t.Errorf("got %s, want the key and its size", r)
	}
}

// A state that is evicted, and one for which there is no room, are refused without a word
// about the Store. States that have expired leave their room.
func TestStoredStatesHaveABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(&mcpserver.Options{Store: &mcpserver.MemoryStore{MaxBytes: 4 * 100 << 10}})
		srv.Tool("hoard", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Once(ctx, "pile", func() (string, error) { return strings.Repeat("x", 70<<10), nil })
			if err != nil {
				return "", err
			}
			c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			return c.Colour, err
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		first := w.Must("tools/call", `{"name":"hoard"}`)
		refused := w.Call("tools/call", `{"name":"hoard"}`)
		if !strings.Contains(string(refused.Raw), "make the call again later") || strings.Contains(string(refused.Raw), "MaxBytes") {
			t.Errorf("got %s, want it refused because there is no room", refused.Raw)
		}
		r := w.Must("tools/call", retry(t, `{"name":"hoard"}`, first, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		if got := at(t, r, "/content/0/text"); got != `"red"` {
			t.Errorf("got %s, want the first call to go on", r)
		}
		time.Sleep(10 * time.Minute)
		w.Must("tools/call", `{"name":"hoard"}`)
	})
}

func TestOpenQuestionEndsTheRunWhateverTheHandlerReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, seen := newServer(nil), make(chan error, 4)
		srv.Tool("stubborn", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			seen <- err
			seen <- context.Cause(ctx)
			_, err = mcpserver.Once(ctx, "step", func() (int, error) { t.Error("the step ran"); return 0, nil })
			seen <- err
			_, err = mcpserver.Ask[size](ctx, "size", "Which size?")
			seen <- err
			return "I do not care", nil
		})
		r := firstRound(t, srv, `{"name":"stubborn"}`)
		for range 4 {
			if err := <-seen; !errors.Is(err, mcpserver.ErrInputRequired) {
				t.Errorf("got %v, want %v", err, mcpserver.ErrInputRequired)
			}
		}
		if at(t, r, "/inputRequests/colour") == "" || at(t, r, "/inputRequests/size") == "" {
			t.Errorf("got %s, want what was asked before the handler returned", r)
		}
	})
}

func TestConcurrentQuestionsGoOutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("both", "", func(ctx context.Context, _ struct{}) (string, error) {
			var c colour
			var s size
			errs := make([]error, 2)
			var wait sync.WaitGroup
			wait.Go(func() { c, errs[0] = mcpserver.Ask[colour](ctx, "colour", "Which colour?") })
			wait.Go(func() { s, errs[1] = mcpserver.Ask[size](ctx, "size", "Which size?") })
			wait.Wait()
			return fmt.Sprint(c.Colour, s.Size), errors.Join(errs...)
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		r := w.Must("tools/call", `{"name":"both"}`)
		if at(t, r, "/inputRequests/colour") == "" || at(t, r, "/inputRequests/size") == "" {
			t.Fatalf("got %s, want both questions", r)
		}
		r = w.Must("tools/call", retry(t, `{"name":"both"}`, r, `{"colour":`+accept(`{"colour":"red"}`)+`,"size":`+accept(`{"size":2}`)+`}`))
		if got := at(t, r, "/content/0/text"); got != `"red2"` {
			t.Errorf("got %s", r)
		}
	})
}

func TestReplayRepeatsNoNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Log(ctx).Info("before")
			mcpserver.Progress(ctx, 1, 3, "")
			id, at, n := mcpserver.NewID(ctx, "x"), mcpserver.StartedAt(ctx), mcpserver.Rand(ctx, "r").Int64()
			first, err := mcpserver.Once(ctx, "first", func() (string, error) { return fmt.Sprint(id, at.UnixNano(), n), nil })
			if err != nil {
				return "", err
			}
			_, err = mcpserver.Ask[colour](ctx, "colour", "Which colour?")
			if err != nil {
				return "", err
			}
			mcpserver.Log(ctx).Info("after", "round", mcpserver.From(ctx).Round())
			mcpserver.Progress(ctx, 2, 3, "")
			return fmt.Sprint(first == fmt.Sprint(id, at.UnixNano(), n)), nil
		})
		w := dialAs(t, srv, mcp.V20260728, canAll)
		meta := func(token string) string {
			return `{"_meta":{"io.modelcontextprotocol/logLevel":"info","progressToken":"` + token + `"},"name":"talk"}`
		}
		id := w.Send("tools/call", meta("a"))
		w.Notification("notifications/message")
		w.Notification("notifications/progress")
		r := w.Reply(id).Result
		time.Sleep(time.Minute)
		id = w.Send("tools/call", retry(t, meta("b"), r, `{"colour":`+accept(`{"colour":"red"}`)+`}`))
		if m := w.Notification("notifications/message"); at(t, m.Params, "/data/msg") != `"after"` || at(t, m.Params, "/data/round") != "1" {
			t.Errorf("got %s, want what comes after the replay", m.Raw)
		}
		if m := w.Notification("notifications/progress"); at(t, m.Params, "/progress") != "2" || at(t, m.Params, "/progressToken") != `"b"` {
			t.Errorf("got %s, want the next progress", m.Raw)
		}
		if got := at(t, w.Reply(id).Result, "/content/0/text"); got != `"true"` {
			t.Errorf("got %s, want the same id, time and number in both runs", got)
		}
	})
}
