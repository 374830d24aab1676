package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// inquirer is a server whose tool asks one question.
func inquirer(q mcpserver.Question, done func() string) *mcpserver.Server {
	srv := mcpserver.New("inquirer", "1", nil)
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		err := mcpserver.AskAll(ctx, q)
		return done(), err
	})
	return srv
}

// askedBy connects in each era and calls the tool that asks.
func askedBy(t *testing.T, srv *mcpserver.Server, o mcpclient.Options, check func(text string, err error)) {
	t.Helper()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		o.Revisions, o.Logger = []mcp.Revision{v}, quiet()
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &o)
		if err != nil {
			t.Fatal(err)
		}
		check(c.Call[string](t.Context(), "ask", nil))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func agree(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"password":"x","api_key":"x","town":"x"}`)}, nil
}

func nothing() string { return "" }

func TestFormsThatAskForSecretsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-336a")
	for name, test := range map[string]struct {
		question mcpserver.Question
		secret   bool
	}{
		"password": {mcpserver.ElicitForm("q", "?", &struct {
			Password string `json:"password"`
		}{}), true},
		"API key": {mcpserver.ElicitForm("q", "?", &struct {
			Key string `json:"api_key"`
		}{}), true},
		"by its title": {mcpserver.ElicitForm("q", "?", &struct {
			Town string `json:"town" title:"Your secret"`
		}{}), true},
		"plain": {mcpserver.ElicitForm("q", "?", &struct {
			Town string `json:"town"`
		}{}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := inquirer(test.question, nothing)
			askedBy(t, srv, mcpclient.Options{ElicitForm: agree}, func(_ string, err error) {
				if refused := err != nil && strings.Contains(err.Error(), "looks like a secret"); refused != test.secret {
					t.Errorf("got %v", err)
				}
			})
			askedBy(t, srv, mcpclient.Options{ElicitForm: agree, Ask: mcpclient.AskOptions{AllowSecretFields: true}}, func(_ string, err error) {
				if err != nil {
					t.Errorf("allowed: got %v", err)
				}
			})
		})
	}
}

// A person would fill in what cannot be checked.
func TestFormWithAnInvalidSchemaIsRefusedBeforeTheUserIsAsked(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("inquirer", "1", nil)
	err := srv.SetTool(mcp.Tool{Name: "ask", InputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		form := `{"message":"?","requestedSchema":{"type":"object","properties":{"town":{"type":"string","minLength":-1}}}}`
		return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: jsontext.Value(form)}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	askedBy(t, srv, mcpclient.Options{ElicitForm: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked++
		return agree(ctx, p)
	}}, func(string, error) {})
	if asked > 0 {
		t.Errorf("the user was asked %d times, want the form refused before", asked)
	}
}

func TestInvalidFormThatAsksForSecretsIsRefused(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("inquirer", "1", nil)
	err := srv.SetTool(mcp.Tool{Name: "ask", InputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		form := `{"message":"?","requestedSchema":{"type":"object","properties":{"town":{"type":"object"},"card_pin":{"type":"string"}}}}`
		return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: jsontext.Value(form)}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		t.Error("the handler is asked for a secret")
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	askedBy(t, srv, mcpclient.Options{ElicitForm: asked}, func(_ string, err error) {
		if err == nil {
			t.Error("the call succeeds, want an error")
		}
	})
}

func TestURLElicitationsAreHTTPSAlone(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-345", "R-346b")
	for address, allowed := range map[string]bool{
		"https://id.example.com/": true, "http://127.0.0.1:8080/x": true, "http://localhost/": true, "http://[::1]/": true,
		"https://xn--pple-43d.com/": true, "https://ID.example.com:8443/?x": true, "https://[2001:db8::1]/": true,
		"https://аpple.com/": false, "https://ｅxample.com/": false, "https://exa%6dple.com/": false, "https://%D0%B0pple.com/": false,
		"https://a b.example/": false, "https://user@id.example.com/": false, "https:id.example.com": false,
		"http://id.example.com/": false, "ftp://id.example.com/": false, "http://127.0.0.1.example.com/": false,
	} {
		srv := inquirer(mcpserver.ElicitURL("q", "?", address), nothing)
		host := ""
		askedBy(t, srv, mcpclient.Options{ElicitURL: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			host = mcpclient.URLHost(p)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}}, func(_ string, err error) {
			if (err == nil) != allowed || (host != "") != allowed {
				t.Errorf("%s: got %v, host %q", address, err, host)
			}
		})
	}
}

// A host is shown as what it is, and not as what it looks like.
func TestURLHostIsPlain(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://ID.Example.com:8443/path": "id.example.com:8443",
		"https://xn--PPLE-43d.com/":        "xn--pple-43d.com",
		"https://[::1]:8080/":              "[::1]:8080",
		"https://аpple.com/":               "",
		"https://example.com\u200b/":       "",
		"https://a%00b/":                   "",
		"not a URL":                        "",
		"":                                 "",
	} {
		if got := mcpclient.URLHost(&mcp.ElicitParams{URL: address}); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestSamplingIsBounded(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-325", "R-328b")
	user := func(cs ...mcp.Content) mcp.SamplingMessage {
		return mcp.SamplingMessage{Role: mcp.RoleUser, Content: cs}
	}
	hello := user(mcp.Text("hello"))
	for _, test := range []struct {
		tokens   int64
		messages []mcp.SamplingMessage
		want     int64 // what the model is asked for; 0 when it is not
	}{
		{10, []mcp.SamplingMessage{hello}, 10},
		{1000, []mcp.SamplingMessage{hello}, 100},
		{1 << 62, []mcp.SamplingMessage{hello}, 100},
		{0, []mcp.SamplingMessage{hello}, 0},
		{-1, []mcp.SamplingMessage{hello}, 0},
		{10, []mcp.SamplingMessage{user(mcp.ToolResultContent{ToolUseID: "1", Content: mcp.Contents{}})}, 0},
	} {
		for era, handle := range map[string]func(params string) func(*script, message) string{"session": asksOnceInSession, "stateless": asksOnceInRounds} {
			raw, err := json.Marshal(&mcp.CreateMessageParams{MaxTokens: test.tokens, Messages: test.messages})
			if err != nil {
				t.Fatal(err)
			}
			var got int64
			_, target := serve(t, handle(string(raw)))
			c := connect(t, target, &mcpclient.Options{
				Ask:          mcpclient.AskOptions{MaxTokens: 100},
				Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: new(mcp.Capability)}},
				Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					got = p.MaxTokens
					return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("a")}}, nil
				},
			})
			text, err := c.Call[string](t.Context(), "ask", nil)
			if got != test.want {
				t.Errorf("%s, %d tokens: the model was asked for %d, want %d", era, test.tokens, got, test.want)
			}
			if refused := err != nil || strings.Contains(text, "-32602"); refused != (test.want == 0) {
				t.Errorf("%s, %d tokens: got %q, %v", era, test.tokens, text, err)
			}
		}
	}
}

// asksOnceInSession is a server of the session era whose tool asks the model and
// returns the answer, or the error, as text.
func asksOnceInSession(params string) func(*script, message) string {
	came := make(chan message, 1)
	return func(s *script, m message) string {
		if m.Method == "" {
			came <- m
			return ""
		}
		return session(mcp.V20251125, func(s *script, m message) string {
			s.send(`{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":` + params + `}`)
			a := <-came
			return m.result(`{"content":[{"type":"text","text":` + strconv.Quote(string(a.Error)) + `}]}`)
		})(s, m)
	}
}

func asksOnceInRounds(params string) func(*script, message) string {
	return stateless(func(_ *script, m message) string {
		if m.param("inputResponses") == "" {
			return m.result(`{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":` + params + `}}}`)
		}
		return m.result(`{"content":[]}`)
	})
}

func TestSamplingHooksEditAndRefuse(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-327a", "R-329", "R-330a")
	var answer mcp.CreateMessageResult
	srv := inquirer(mcpserver.SampleQuestion("q", &mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("hello")}},
	}}, &answer), func() string { return answer.Content.Text() })
	o := mcpclient.Options{
		Sample: func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if q, ok := mcpclient.QuestionFrom(ctx); !ok || q.Server.Name != "inquirer" {
				t.Errorf("got %+v, %t, want who asks", q, ok)
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text(p.SystemPrompt + " a secret")}}, nil
		},
		Ask: mcpclient.AskOptions{
			BeforeSample: func(_ context.Context, p *mcp.CreateMessageParams) error { p.SystemPrompt = "edited"; return nil },
			AfterSample: func(_ context.Context, _ *mcp.CreateMessageParams, r *mcp.CreateMessageResult) error {
				r.Content = mcp.Contents{mcp.Text(strings.TrimSuffix(r.Content.Text(), " a secret"))}
				return nil
			},
		},
	}
	askedBy(t, srv, o, func(text string, err error) {
		if text != "edited" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
	})
	o.Ask.BeforeSample = func(context.Context, *mcp.CreateMessageParams) error { return mcpclient.ErrRejected }
	askedBy(t, srv, o, func(_ string, err error) {
		if err == nil || !strings.Contains(err.Error(), "user declined") && !errors.Is(err, mcpclient.ErrRejected) {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

func TestRootsAreFilteredByConsentAndExistence(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-315a", "R-315b", "R-315c", "R-316a")
	dir := t.TempDir()
	here, gone := filepath.Join(dir, "a b"), filepath.Join(dir, "gone")
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	var roots []mcp.Root
	srv := inquirer(mcpserver.ListRoots("q", &roots), func() string {
		if len(roots) != 1 {
			return ""
		}
		return roots[0].URI
	})
	o := mcpclient.Options{Roots: mcpclient.Directories(here, gone)}
	askedBy(t, srv, o, func(text string, err error) {
		if want := "file://" + filepath.ToSlash(dir) + "/a%20b"; text != want || err != nil {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
	})
	elsewhere := mcpclient.Options{
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "https://example.com/"}}, nil },
		Ask: mcpclient.AskOptions{ShareRoots: func(_ context.Context, roots []mcp.Root) error {
			t.Errorf("got %v to share, want a root that is no file refused before", roots)
			return nil
		}},
	}
	askedBy(t, srv, elsewhere, func(_ string, err error) {
		if err == nil {
			t.Error("got no error for a root that is no file")
		}
	})
	o.Ask.ShareRoots = func(context.Context, []mcp.Root) error { return mcp.Errorf(mcp.CodeInternal, "not for you") }
	askedBy(t, srv, o, func(_ string, err error) {
		if err == nil || !strings.Contains(err.Error(), "not for you") {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}

func TestManualInputRounds(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-298a")
	var form struct {
		Town string `json:"town"`
	}
	srv := inquirer(mcpserver.ElicitForm("town", "Where?", &form), func() string { return form.Town })
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{ElicitForm: agree})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Call[string](t.Context(), "ask", nil, mcpclient.ManualInput())
	required, ok := errors.AsType[*mcpclient.InputRequiredError](err)
	if !ok || required.Result.InputRequests["town"].Method != mcp.MethodElicit {
		t.Fatalf("got %v, want the question", err)
	}
	got, err := c.Call[string](t.Context(), "ask", nil, mcpclient.ManualInput(), mcpclient.WithInput(mcp.InputResponseParams{
		RequestState:   required.Result.RequestState,
		InputResponses: map[string]jsontext.Value{"town": jsontext.Value(`{"action":"accept","content":{"town":"Oslo"}}`)},
	}))
	if got != "Oslo" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestURLOfAnElicitationIsNotFetched(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-347a")
	site := web(t, func(e *exchange) { e.w.WriteHeader(http.StatusOK) })
	asked := 0
	srv := inquirer(mcpserver.ElicitURL("q", "?", site.URL+"/sign-in"), nothing)
	askedBy(t, srv, mcpclient.Options{ElicitURL: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}}, func(_ string, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if got := site.log(); asked != 2 || len(got) != 0 {
		t.Errorf("asked %d times, fetched %v, want 2 and nothing", asked, got)
	}
}
