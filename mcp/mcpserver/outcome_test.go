package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// asks has a tool, a prompt and a resource that ask for a colour.
func asks(o *mcpserver.Options) (srv *mcpserver.Server, seen chan error) {
	srv, seen = newServer(o), make(chan error, 16)
	ask := func(ctx context.Context) (string, error) {
		c, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		if !errors.Is(err, mcpserver.ErrInputRequired) {
			seen <- err
		}
		return c.Colour, err
	}
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) { return ask(ctx) })
	srv.Prompt("ask", "", func(ctx context.Context, _ struct{}) ([]mcp.PromptMessage, error) {
		c, err := ask(ctx)
		return []mcp.PromptMessage{mcpserver.UserMessage(c)}, err
	})
	srv.Resource("ask://colour", "colour", "text/plain", func(ctx context.Context) ([]byte, error) {
		c, err := ask(ctx)
		return []byte(c), err
	})
	return srv, seen
}

// answerEach makes a call and answers each of its questions in the same way, in
// either era, until it is done. It returns the reply and how often it was asked.
func answerEach(t *testing.T, w *wire, method, params, answer string) (reply message, asked int) {
	t.Helper()
	if isModern(w.Revision) {
		again := params
		for ; ; asked++ {
			m := w.Call(method, again)
			if at(t, m.Result, "/resultType") != `"input_required"` {
				return m, asked
			}
			if got := at(t, m.Result, "/ttlMs") + at(t, m.Result, "/cacheScope"); got != "" {
				t.Errorf("%s: got the hints %s on questions, want none", method, got)
			}
			again = retry(t, params, m.Result, `{"colour":`+answer+`}`)
		}
	}
	id := w.Send(method, params)
	for {
		m := w.Read()
		if m.Method == "" && string(m.ID) == id {
			return m, asked
		}
		asked++
		w.Write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + answer + `}`)
	}
}

func TestOutcomesOfAQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-221a", "R-236", "R-243", "R-263b", "R-291a", "R-303a", "R-339", "R-342a")
	requests := []struct{ method, params, text string }{
		{"tools/call", `{"name":"ask"}`, "/content/0/text"},
		{"prompts/get", `{"name":"ask"}`, "/messages/0/content/text"},
		{"resources/read", `{"uri":"ask://colour"}`, "/contents/0/text"},
	}
	for name, test := range map[string]struct {
		answer   string
		is       error
		code     mcp.Code
		asked    int
		text     string // that the caller reads
		number   int    // of the error for prompts and resources, and for tools where protocol is set
		protocol bool
	}{
		"accepted":      {answer: accept(`{"colour":"red"}`), asked: 1, text: "red"},
		"declined":      {answer: `{"action":"decline"}`, is: mcpserver.ErrDeclined, asked: 1, text: `ask "colour": the user declined`, number: -32603},
		"dismissed":     {answer: `{"action":"cancel"}`, is: mcpserver.ErrDismissed, asked: 1, text: `ask "colour": the user dismissed the question`, number: -32603},
		"does not fit":  {answer: accept(`{"colour":"green"}`), code: mcp.CodeInvalidParams, asked: 2, text: `the answer does not fit, as the one before: answer/colour: `, number: -32602, protocol: true},
		"no content":    {answer: `{"action":"accept"}`, code: mcp.CodeInvalidParams, asked: 2, text: `answer: missing "colour" (string)`, number: -32602, protocol: true},
		"no such thing": {answer: `{"action":"maybe"}`, code: mcp.CodeInvalidParams, asked: 2, text: `action "maybe": want accept, decline or cancel`, number: -32602, protocol: true},
	} {
		for _, r := range eras {
			for _, req := range requests {
				t.Run(name+"/"+r.String()+"/"+req.method, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						srv, seen := asks(nil)
						w := dialAs(t, srv, r, canAll)
						m, asked := answerEach(t, w, req.method, req.params, test.answer)
						if asked != test.asked {
							t.Errorf("asked %d times, want %d", asked, test.asked)
						}
						if err := <-seen; test.is != nil && !errors.Is(err, test.is) || test.code != "" && mcp.CodeOf(err) != test.code {
							t.Errorf("the handler got %v, want %v%s", err, test.is, test.code)
						}
						text := at(t, m.Result, req.text)
						if test.number != 0 && (req.method != "tools/call" || test.protocol) {
							if m.Error == nil || m.Error.Code != test.number {
								t.Fatalf("got %s, want error %d", m.Raw, test.number)
							}
							text = m.Error.Message
						} else if isError := at(t, m.Result, "/isError") == "true"; isError != (test.is != nil) {
							t.Errorf("got %s", m.Raw)
						}
						if plain := strings.ReplaceAll(text, `\"`, `"`); !strings.Contains(plain, test.text) {
							t.Errorf("got %s, want %q", text, test.text)
						}
					})
				})
			}
		}
	}
}

func TestClientWithoutTheCapabilityGetsNoQuestion(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-031", "R-032", "R-293", "R-333a")
	for _, test := range []struct {
		revision     mcp.Revision
		can          string
		tool, others int // the number of the error; 0 for a result that the model reads
	}{
		{mcp.V20241105, canAll, 0, -32603},
		{mcp.V20250326, canAll, 0, -32603},
		{mcp.V20250618, `{}`, 0, -32603},
		{mcp.V20251125, `{"elicitation":{"url":{}}}`, 0, -32603},
		{mcp.V20260728, `{}`, -32021, -32021},
		{mcp.V20260728, `{"elicitation":{"url":{}}}`, -32021, -32021},
	} {
		t.Run(test.revision.String()+test.can, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, seen := asks(nil)
				w := dialAs(t, srv, test.revision, test.can)
				for method, params := range map[string]string{"tools/call": `{"name":"ask"}`, "prompts/get": `{"name":"ask"}`, "resources/read": `{"uri":"ask://colour"}`} {
					m := w.Call(method, params)
					if err := <-seen; mcp.CodeOf(err) != mcp.CodeMissingCapability {
						t.Errorf("%s: the handler got %v", method, err)
					}
					want := test.others
					if method == "tools/call" {
						want = test.tool
					}
					if want == 0 && at(t, m.Result, "/isError") != "true" || want != 0 && (m.Error == nil || m.Error.Code != want) {
						t.Errorf("%s: got %s, want error %d", method, m.Raw, want)
					}
					if want == -32021 && at(t, m.Error.Data, "/requiredCapabilities/elicitation") == "" {
						t.Errorf("%s: got %s, want the capability", method, m.Raw)
					}
				}
				w.Quiet()
			})
		})
	}
}

func TestQuestionOfTheSessionEraExpires(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-049a", "R-049b", "R-342a")
	synctest.Test(t, func(t *testing.T) {
		srv, seen := asks(nil)
		w := dialAs(t, srv, mcp.V20251125, canAll)
		begin := time.Now()
		id := w.Send("tools/call", `{"name":"ask"}`)
		q := w.Read()
		if err := <-seen; !errors.Is(err, mcpserver.ErrAskExpired) || time.Since(begin) != 10*time.Minute {
			t.Errorf("got %v after %v, want %v after 10 minutes", err, time.Since(begin), mcpserver.ErrAskExpired)
		}
		if got := w.Notification("notifications/cancelled"); at(t, got.Params, "/requestId") != string(q.ID) {
			t.Errorf("got %s", got.Raw)
		}
		if m := w.Reply(id); at(t, m.Result, "/isError") != "true" {
			t.Errorf("got %s", m.Raw)
		}
		w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept(`{"colour":"red"}`) + `}`) // too late
		w.Quiet()
	})
}

func TestAskOutsideOfACall(t *testing.T) {
	t.Parallel()
	if _, err := mcpserver.Ask[colour](t.Context(), "colour", "?"); !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("ask: got %v", err)
	}
	if n, err := mcpserver.Once(t.Context(), "step", func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("once: got %d, %v", n, err)
	}
	if _, err := mcpserver.Park(t.Context(), "x", func(context.Context) (int, error) { return 0, nil }, func(int) {}); !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("park: got %v", err)
	}
}

func TestMisuseOfKeysAndFormsIsAnError(t *testing.T) {
	claim.Shows(t, "R-292", "R-335a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, seen := newServer(nil), make(chan error, 8)
		srv.Tool("misuse", "", func(ctx context.Context, _ struct{}) (string, error) {
			step := func() (int, error) { return 1, nil }
			_, err := mcpserver.Once(ctx, "a", step)
			seen <- err
			_, err = mcpserver.Once(ctx, "a", step)
			seen <- err
			_, err = mcpserver.Once(ctx, strings.Repeat("k", 65), step)
			seen <- err
			_, err = mcpserver.Ask[struct{ Deep struct{ A int } }](ctx, "deep", "?")
			seen <- err
			seen <- mcpserver.AskAll(ctx, mcpserver.ElicitURL("visit", "Sign in", "not a url"))
			return "done", nil
		})
		dialAs(t, srv, r, canAll).Must("tools/call", `{"name":"misuse"}`)
		for _, want := range []string{"", `once "a": the key is used already`, "want 1 to 64 bytes", `ask "deep"`, "want an absolute one"} {
			if got := fmt.Sprint(<-seen); want != "" && !strings.Contains(got, want) {
				t.Errorf("got %s, want %q", got, want)
			}
		}
	})
}

func TestURLElicitationAndRootsInBothEras(t *testing.T) {
	claim.Shows(t, "R-343a", "R-345")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("go", "", func(ctx context.Context, _ struct{}) (string, error) {
			var roots []mcp.Root
			err := mcpserver.AskAll(ctx, mcpserver.ElicitURL("visit", "Sign in", "https://id.example.com/"), mcpserver.ListRoots("roots", &roots))
			return fmt.Sprint(len(roots)), err
		})
		w := dialAs(t, srv, r, canAll)
		const visited, roots = `{"action":"accept"}`, `{"roots":[{"uri":"file:///home"}]}`
		if isModern(r) {
			first := w.Must("tools/call", `{"name":"go"}`)
			if at(t, first, "/inputRequests/visit/params/url") != `"https://id.example.com/"` || at(t, first, "/inputRequests/visit/params/elicitationId") != "" {
				t.Errorf("got %s", first)
			}
			got := w.Must("tools/call", retry(t, `{"name":"go"}`, first, `{"visit":`+visited+`,"roots":`+roots+`}`))
			if at(t, got, "/content/0/text") != `"1"` {
				t.Errorf("got %s", got)
			}
			return
		}
		id := w.Send("tools/call", `{"name":"go"}`)
		for range 2 {
			q := w.Read()
			answer := roots
			if q.Method == "elicitation/create" {
				answer = visited
				if at(t, q.Params, "/elicitationId") == "" || at(t, q.Params, "/mode") != `"url"` {
					t.Errorf("got %s, want an id of the visit", q.Raw)
				}
			}
			w.Write(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + answer + `}`)
		}
		if got := w.Reply(id); at(t, got.Result, "/content/0/text") != `"1"` {
			t.Errorf("got %s", got.Raw)
		}
	})
}

func TestRawHandlerReturnsQuestions(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			if p.RequestState == nil {
				return &mcp.InputRequiredResult{RequestState: new("one"), InputRequests: map[string]mcp.InputRequest{
					"colour": {Method: "elicitation/create", Params: []byte(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)},
				}}, nil
			}
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Textf("%s %s", *p.RequestState, p.InputResponses["colour"])}}, nil
		})
		m, asked := answerEach(t, dialAs(t, srv, r, canAll), "tools/call", `{"name":"raw"}`, `{"action":"decline"}`)
		if got := at(t, m.Result, "/content/0/text"); asked != 1 || got != `"one {\"action\":\"decline\"}"` {
			t.Errorf("asked %d times, got %s", asked, m.Raw)
		}
		m, _ = answerEach(t, dialAs(t, srv, r, `{}`), "tools/call", `{"name":"raw"}`, `{}`)
		if isModern(r) && (m.Error == nil || m.Error.Code != -32021) || !isModern(r) && at(t, m.Result, "/isError") != "true" {
			t.Errorf("got %s, want the missing capability", m.Raw)
		}
	})
}

func TestRawHandlerThatReturnsQuestionsGetsManyRounds(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "raw"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			state := ""
			if p.RequestState != nil {
				state = *p.RequestState
				if len(p.InputResponses) != 1 {
					t.Errorf("got %v, want the answers of this round", p.InputResponses)
				}
			}
			if len(state) == 7 {
				return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(state)}}, nil
			}
			return &mcp.InputRequiredResult{RequestState: new(state + "x"), InputRequests: map[string]mcp.InputRequest{"colour": {Method: "roots/list"}}}, nil
		})
		m, asked := answerEach(t, dialAs(t, srv, r, canAll), "tools/call", `{"name":"raw"}`, `{"roots":[]}`)
		if got := at(t, m.Result, "/content/0/text"); asked != 7 || got != `"xxxxxxx"` {
			t.Errorf("asked %d times, got %s", asked, m.Raw)
		}
	})
}

func TestRawHandlerThatReturnsOnlyStateIsNotRunInATightLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, began := newServer(nil), time.Now()
		srv.AddTool(mcp.Tool{Name: "raw"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			if time.Since(began) < 3*time.Second {
				return &mcp.InputRequiredResult{RequestState: new("wait")}, nil
			}
			return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("done")}}, nil
		})
		if got := at(t, dialAs(t, srv, mcp.V20251125, "{}").Must("tools/call", `{"name":"raw"}`), "/content/0/text"); got != `"done"` {
			t.Errorf("got %s after %v, want done", got, time.Since(began))
		}
	})
}

func TestRawHandlerThatAlwaysReturnsQuestionsIsStopped(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "raw"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"colour": {Method: "roots/list"}}}, nil
		})
		m, asked := answerEach(t, dialAs(t, srv, r, canAll), "tools/call", `{"name":"raw"}`, `{"roots":[]}`)
		if asked != 8 || m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("asked %d times, got %s", asked, m.Raw)
		}
	})
}
