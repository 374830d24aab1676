package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const seatQuestion = `{"message":"Which seat?","requestedSchema":{"type":"object","properties":{"row":{"type":"integer"},"side":{"type":"string","default":"window"}},"required":["row","side"]}}`

// asks is a server of either era whose tool needs the seat, a message of the
// model and the roots. Its result holds the three answers.
func asks(era string) func(*script, message) string {
	if era == "stateless" {
		return stateless(asksByRounds)
	}
	var mu sync.Mutex
	waiting := map[string]chan message{}
	return func(s *script, m message) string {
		if m.Method == "" { // an answer
			mu.Lock()
			defer mu.Unlock()
			waiting[string(m.ID)] <- m
			return ""
		}
		return session(mcp.V20251125, func(s *script, m message) string {
			if m.Method == mcp.MethodToolsList {
				return m.result(`{"tools":[]}`)
			}
			var answers []string
			for i, q := range []string{
				`"method":"elicitation/create","params":` + seatQuestion,
				`"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`,
				`"method":"roots/list"`,
			} {
				id, came := fmt.Sprintf(`"q%d"`, i), make(chan message, 1)
				mu.Lock()
				waiting[id] = came
				mu.Unlock()
				s.send(`{"jsonrpc":"2.0","id":` + id + `,` + q + `}`)
				a := <-came
				if a.Error != nil {
					return m.fail(-32603, string(a.Error), "")
				}
				answers = append(answers, string(a.Result))
			}
			return m.result(`{"content":[],"structuredContent":[` + strings.Join(answers, ",") + `]}`)
		})(s, m)
	}
}

func asksByRounds(_ *script, m message) string {
	if m.Method == mcp.MethodToolsList {
		return m.result(`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
	}
	switch state := m.param("requestState"); state {
	case "":
		return m.result(`{"resultType":"input_required","requestState":"` + oddState + `","inputRequests":{
			"seat":{"method":"elicitation/create","params":` + seatQuestion + `},
			"poem":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}},
			"roots":{"method":"roots/list"}}}`)
	case `"` + oddState + `"`:
		return m.result(`{"resultType":"complete","content":[],"structuredContent":[` +
			m.param("inputResponses", "seat") + `,` + m.param("inputResponses", "poem") + `,` + m.param("inputResponses", "roots") + `]}`)
	default:
		return m.fail(-32602, "state "+state, "")
	}
}

// oddState holds what careless JSON code changes.
const oddState = `<&>\u0001é/\\ \"`

func answersAll() *mcpclient.Options {
	return &mcpclient.Options{
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: raw(`{"row":4}`)}, nil
		},
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("roses")}}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///home"}}, nil },
	}
}

func TestTheSameHandlersAnswerInBothEras(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-014", "R-221b", "R-298a", "R-299a", "R-300", "R-301", "R-334", "R-338b", "R-340")
	const want = `[{"action":"accept","content":{"row":4,"side":"window"}},` +
		`{"role":"assistant","content":{"type":"text","text":"roses"},"model":"m"},` +
		`{"roots":[{"uri":"file:///home"}]}]`
	for _, era := range []string{"session", "stateless"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, asks(era))
			c := connect(t, target, answersAll())
			result, err := c.CallTool(t.Context(), "book", pair{1, 2})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(result.StructuredContent); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			calls := servers.nth(0).messages(mcp.MethodToolsCall)
			if era == "stateless" && (len(calls) != 2 || string(calls[0].ID) == string(calls[1].ID) || calls[1].param("arguments") != `{"a":1,"b":2}`) {
				t.Errorf("got %v", calls)
			}
		})
	}
}

func TestHandlersDeclareTheirCapability(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-313a", "R-314", "R-319a", "R-319b", "R-332a", "R-332b", "R-405")
	visit := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil }
	for name, test := range map[string]struct {
		opts               *mcpclient.Options
		session, stateless string
	}{
		"none": {&mcpclient.Options{}, `{}`, `{}`},
		"all": {
			answersAll(),
			`{"elicitation":{"form":{}},"sampling":{},"roots":{"listChanged":true}}`,
			`{"elicitation":{"form":{}},"sampling":{},"roots":{}}`,
		},
		"urls": {&mcpclient.Options{ElicitURL: visit}, `{"elicitation":{"url":{}}}`, `{"elicitation":{"url":{}}}`},
		"an older pin": {
			&mcpclient.Options{ElicitURL: visit, ElicitForm: visit, Revisions: []mcp.Revision{mcp.V20250618}},
			`{"elicitation":{}}`, ``,
		},
		"details and extensions": {
			&mcpclient.Options{Sample: answersAll().Sample, Extensions: []mcpclient.Extension{{ID: "com.example/x"}, {ID: "com.example/y", Sessions: true}}, Capabilities: mcp.ClientCapabilities{
				Sampling: &mcp.SamplingCapability{Tools: new(mcp.Capability)},
				Roots:    new(mcp.RootsCapability),
			}},
			`{"sampling":{"tools":{}},"extensions":{"com.example/y":{}}}`, `{"sampling":{"tools":{}},"extensions":{"com.example/x":{},"com.example/y":{}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, session(mcp.V20251125, nil))
			if len(test.opts.Revisions) > 0 {
				servers, target = serve(t, session(test.opts.Revisions[0], nil))
			}
			connect(t, target, test.opts)
			s := servers.nth(0)
			if got := s.messages(mcp.MethodInitialize)[0].param("capabilities"); got != test.session {
				t.Errorf("session: got %s, want %s", got, test.session)
			}
			if test.stateless == "" {
				return
			}
			if got := s.messages(mcp.MethodDiscover)[0].param("_meta", "io.modelcontextprotocol/clientCapabilities"); got != test.stateless {
				t.Errorf("stateless: got %s, want %s", got, test.stateless)
			}
		})
	}
}

func TestQuestionsThatCannotBeAnsweredEndTheCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-329", "R-338a", "G-k")
	declined := errors.New("not today")
	for name, test := range map[string]struct {
		result string
		opts   mcpclient.Options
		want   string
	}{
		"not declared": {
			`{"resultType":"input_required","inputRequests":{"seat":{"method":"elicitation/create","params":` + seatQuestion + `}}}`,
			mcpclient.Options{},
			`input "seat": elicitation/create: this client does not support elicitation`,
		},
		"another mode than declared": {
			`{"resultType":"input_required","inputRequests":{"seat":{"method":"elicitation/create","params":{"mode":"url","message":"x","url":"https://x"}}}}`,
			mcpclient.Options{ElicitForm: answersAll().ElicitForm},
			`this client did not declare the capability`,
		},
		"a mode that is none": {
			`{"resultType":"input_required","inputRequests":{"seat":{"method":"elicitation/create","params":{"mode":"voice","message":"x"}}}}`,
			mcpclient.Options{ElicitForm: answersAll().ElicitForm, ElicitURL: answersAll().ElicitForm},
			`mode "voice": want form or url`,
		},
		"handler fails": {
			`{"resultType":"input_required","inputRequests":{"poem":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`,
			mcpclient.Options{Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return nil, declined
			}},
			`input "poem": not today`,
		},
		"handler panics": {
			`{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}}}`,
			mcpclient.Options{Roots: func(context.Context) ([]mcp.Root, error) { panic("oops") }},
			`input "r": panic: oops`,
		},
		"answer that does not fit": {
			`{"resultType":"input_required","inputRequests":{"seat":{"method":"elicitation/create","params":` + seatQuestion + `}}}`,
			mcpclient.Options{ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: raw(`{"row":"x"}`)}, nil
			}},
			`input "seat": elicitation: answer of the handler: content/row`,
		},
		"no question to a client": {
			`{"resultType":"input_required","inputRequests":{"x":{"method":"tools/call"}}}`,
			mcpclient.Options{},
			`method "tools/call": want one that a client answers`,
		},
		"neither question nor state": {
			`{"resultType":"input_required"}`,
			mcpclient.Options{},
			`neither inputRequests nor requestState`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, stateless(func(_ *script, m message) string { return m.result(test.result) }))
			c := connect(t, target, &test.opts)
			_, err := c.CallTool(t.Context(), "book", nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if got := len(servers.nth(0).messages(mcp.MethodToolsCall)); got != 1 {
				t.Errorf("called %d times, want 1", got)
			}
		})
	}
}

func TestOnlySomeRequestsMayAsk(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-291b", "G-o")
	_, target := serve(t, stateless(func(_ *script, m message) string {
		return m.result(`{"resultType":"input_required","requestState":"s"}`)
	}))
	c := connect(t, target, nil)
	if _, err := names(t, c); err == nil || !strings.Contains(err.Error(), "input_required is not a valid result of tools/list") {
		t.Errorf("got %v", err)
	}
}

func TestRoundsAreBoundedAndBackOffWithoutQuestions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-298b", "R-299a", "R-299b", "R-304")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, stateless(func(_ *script, m message) string {
			return m.result(`{"resultType":"input_required","requestState":""}`)
		}))
		c := connect(t, target, nil)
		began := time.Now()
		_, err := c.ReadResource(t.Context(), "a://b")
		if err == nil || !strings.Contains(err.Error(), "the server still requires input after 8 rounds") {
			t.Errorf("got %v", err)
		}
		calls := servers.nth(0).messages(mcp.MethodResourcesRead)
		if len(calls) != 9 || calls[1].param("requestState") != `""` || calls[0].param("requestState") != "" {
			t.Errorf("got %d calls, %v", len(calls), calls)
		}
		if waited := time.Since(began); waited < 5*time.Second {
			t.Errorf("eight rounds in %v: want pauses", waited)
		}
	})
}

func TestTimeoutIsPausedDuringAQuestion(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"session", "stateless"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := answersAll()
				elicit := opts.ElicitForm
				opts.ElicitForm = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					time.Sleep(5 * time.Minute)
					return elicit(ctx, p)
				}
				_, target := serve(t, asks(era))
				c := connect(t, target, opts)
				if _, err := c.CallTool(t.Context(), "book", nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestErrorsOfHandlersReachASessionWithoutTheirText(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-317", "R-328a")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"private": {errors.New("password 1234"), `{"code":-32603,"message":"internal error"}`},
		"refused": {mcp.Errorf(mcp.CodeRejected, "the user said no"), `{"code":-1,"message":"the user said no"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := answersAll()
			opts.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return nil, test.err
			}
			_, target := serve(t, asks("session"))
			c := connect(t, target, opts)
			_, err := c.CallTool(t.Context(), "book", nil)
			if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Message != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestRequestsOfTheServerAreRefusedInTheStatelessEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-015b", "R-074", "R-078")
	servers, target := serve(t, stateless(func(s *script, m message) string {
		s.send(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		return m.result(`{"content":[]}`)
	}))
	c := connect(t, target, answersAll())
	for range 2 {
		if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := servers.nth(0).messages(""); len(got) != 0 {
		t.Errorf("answered %v", got)
	}
}

func TestUnknownRequestsOfTheServerAreAnswered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-317", "D-01")
	came := make(chan message, 4)
	_, target := serve(t, func(s *script, m message) string {
		if m.Method == "" {
			came <- m
			return ""
		}
		return session(mcp.V20251125, func(s *script, m message) string {
			s.send(`{"jsonrpc":"2.0","id":"u","method":"acme/unknown"}`)
			return m.result(`{"content":[]}`)
		})(s, m)
	})
	c := connect(t, target, &mcpclient.Options{OnNotification: func(context.Context, string, rawValue) {}})
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-came; !strings.Contains(string(got.Error), "-32601") || string(got.ID) != `"u"` {
		t.Errorf("got %s", got.Error)
	}
}

func TestPingOfTheServerIsAnswered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-287")
	came := make(chan message, 4)
	_, target := serve(t, func(s *script, m message) string {
		if m.Method == "" {
			came <- m
			return ""
		}
		return session(mcp.V20251125, func(s *script, m message) string {
			s.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
			return m.result(`{"content":[]}`)
		})(s, m)
	})
	c := connect(t, target, nil)
	if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-came; string(got.Result) != `{}` || string(got.ID) != `"p"` {
		t.Errorf("got result %s, error %s of %s, want {} of \"p\"", got.Result, got.Error, got.ID)
	}
}

func TestMiddlewareSeesWhatTheServerAsks(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"session", "stateless"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, asks(era))
			c := connect(t, target, answersAll())
			var mu sync.Mutex
			var seen []string
			c.Use(func(next mcpclient.Handler) mcpclient.Handler {
				return func(ctx context.Context, r *mcpclient.Request) (any, error) {
					mu.Lock()
					defer mu.Unlock()
					if r.Inbound {
						seen = append(seen, r.Method)
						return next(ctx, r)
					}
					mu.Unlock()
					defer mu.Lock()
					return next(ctx, r)
				}
			})
			if _, err := c.CallTool(t.Context(), "book", nil); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(seen)
			if want := []string{mcp.MethodElicit, mcp.MethodRootsList, mcp.MethodCreateMessage}; !slices.Equal(seen, want) {
				t.Errorf("got %v, want %v", seen, want)
			}
		})
	}
}

func TestRootsListChangedIsSentToSessionsOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-313b", "R-314")
	for era, handle := range eras(func(_ *script, m message) string { return "" }) {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, handle)
			c := connect(t, target, answersAll())
			if err := c.RootsChanged(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{"session": 1, "stateless": 0}[era]
			if got := len(servers.nth(0).messages(mcp.NotificationRootsListChanged)); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

// A session's question that the client must not take has an error for an answer.
func TestInvalidQuestionsOfASessionAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-320b", "R-333b")
	const text = `{"role":"user","content":{"type":"text","text":"hi"}}`
	for name, test := range map[string]struct{ method, params string }{
		"a mode that was not declared": {"elicitation/create", `{"mode":"url","message":"?","url":"https://example.com/","elicitationId":"1"}`},
		"tools that were not declared": {"sampling/createMessage", `{"messages":[` + text + `],"maxTokens":1,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan message, 1)
			_, target := serve(t, func(s *script, m message) string {
				if m.Method == "" {
					came <- m
					return ""
				}
				return session(mcp.V20251125, func(s *script, m message) string {
					s.send(`{"jsonrpc":"2.0","id":"q","method":"` + test.method + `","params":` + test.params + `}`)
					return m.result(`{"content":[]}`)
				})(s, m)
			})
			c := connect(t, target, &mcpclient.Options{ElicitForm: answersAll().ElicitForm, Sample: answersAll().Sample})
			if _, err := c.CallTool(t.Context(), "x", nil); err != nil {
				t.Fatal(err)
			}
			if got := <-came; !strings.Contains(string(got.Error), "-32602") {
				t.Errorf("got %s%s, want -32602", got.Error, got.Result)
			}
		})
	}
}

// While a call is in its rounds, others have nothing of it.
func TestAnswersAreSentWithTheirCallOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-302")
	servers, target := serve(t, stateless(func(s *script, m message) string {
		if m.param("name") == `"other"` {
			return m.result(`{"content":[]}`)
		}
		return asksByRounds(s, m)
	}))
	var c *mcpclient.Client
	opts := answersAll()
	opts.Roots = func(ctx context.Context) ([]mcp.Root, error) {
		_, err := c.CallTool(ctx, "other", nil)
		return []mcp.Root{{URI: "file:///home"}}, err
	}
	c = connect(t, target, opts)
	if _, err := c.CallTool(t.Context(), "book", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(t.Context(), "other", nil); err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, m := range servers.nth(0).messages(mcp.MethodToolsCall) {
		if m.param("name") != `"other"` {
			continue
		}
		if others++; m.param("inputResponses") != "" || m.param("requestState") != "" {
			t.Errorf("got %s, want nothing of the other call", m.Params)
		}
	}
	if others != 2 {
		t.Errorf("got %d other calls, want 2", others)
	}
}
