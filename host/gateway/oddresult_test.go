package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// oddServer is a server in raw messages of one era. It has the tool "go", the prompt "ask", the resource odd://a
// and the template odd://t/{x}, and answers what else it is asked with the results of a test.
type oddServer struct {
	revision mcp.Revision
	result   func(method string) (result string, odd bool)
}

// oddResults are results by method, in place of those that are not odd.
type oddResults map[string]string

func (r oddResults) of(method string) (result string, odd bool) {
	result, odd = r[method]
	return result, odd
}

func (s *oddServer) Serve(ctx context.Context, conn mcp.Conn) error {
	const capabilities = `"capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}}`
	return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
		if result, odd := s.result(m.Method); odd {
			return `"result":` + result
		}
		switch m.Method {
		case mcp.MethodPromptsGet:
			return `"error":{"code":4050,"message":"no paper"}`
		case mcp.MethodDiscover:
			if s.revision.Stateless() {
				return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` + capabilities + `,"ttlMs":0,"cacheScope":"private"}`
			}
		case mcp.MethodInitialize:
			return `"result":{"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":{"name":"odd","version":"1"}}`
		case mcp.MethodToolsList:
			return oneRawTool
		case mcp.MethodPromptsList:
			return `"result":{"prompts":[{"name":"ask","arguments":[{"name":"a"}]}]}`
		case mcp.MethodResourcesList:
			return `"result":{"resources":[{"uri":"odd://a","name":"a"}]}`
		case mcp.MethodResourceTemplatesList:
			return `"result":{"resourceTemplates":[{"uriTemplate":"odd://t/{x}","name":"t"}]}`
		}
		return ""
	})
}

// oddParams are those of a request for what the server has.
var oddParams = map[string]any{
	mcp.MethodToolsCall:     map[string]string{"name": "o__go"},
	mcp.MethodResourcesRead: map[string]string{"uri": "odd://a"},
	mcp.MethodPromptsGet:    map[string]string{"name": "o__ask"},
	mcp.MethodComplete:      &mcp.CompleteParams{Ref: mcp.PromptRef("o__ask"), Argument: mcp.CompleteArgument{Name: "a"}},
}

// eachOddPair calls test with a client of each era of a host whose upstream is a server of each era.
func eachOddPair(t *testing.T, results oddResults, settings host.Settings, test func(t *testing.T, c *mcpclient.Client, server mcp.Revision)) {
	t.Helper()
	revisions := []mcp.Revision{mcp.V20251125, mcp.V20260728}
	for _, server := range revisions {
		g := start(t, host.Upstream{Key: "o", Target: mcpclient.InProcess(&oddServer{server, results.of}), Settings: settings})
		for _, client := range revisions {
			t.Run(client.String()+" to "+server.String(), func(t *testing.T) {
				test(t, mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{client}}), server)
			})
		}
	}
}

// An oddResult is a result off its format, and a member of what the host makes of it.
type oddResult struct{ name, method, result, member, want string }

func (o *oddResult) check(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	var got jsontext.Value
	if err := c.Request(t.Context(), o.method, oddParams[o.method], &got); err != nil {
		t.Errorf("%s: %v", o.name, err)
		return
	}
	member := got
	for name := range strings.SplitSeq(o.member, "/") {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(member, &members); err != nil {
			t.Fatal(err)
		}
		member = members[name]
	}
	if string(member) != o.want {
		t.Errorf("%s: got %s, want the %s %s", o.name, got, o.member, o.want)
	}
}

func TestMetadataKeysOfResultsOffTheGrammarAreLeftOutAlone(t *testing.T) {
	t.Parallel()
	const meta = `"_meta":{"my key":1,"_traceId":"x","a/b/c":{}}`
	for _, odd := range []oddResult{
		{"tool", mcp.MethodToolsCall, `{"content":[{"type":"text","text":"done",` + meta + `}],` + meta + `}`, "content", `[{"type":"text","text":"done"}]`},
		{"read", mcp.MethodResourcesRead, `{"contents":[{"uri":"odd://a","text":"done",` + meta + `}],` + meta + `}`, "contents", `[{"uri":"odd://a","text":"done"}]`},
		{"prompt", mcp.MethodPromptsGet, `{"messages":[{"role":"user","content":{"type":"text","text":"done",` + meta + `}}],` + meta + `}`, "messages", `[{"role":"user","content":{"type":"text","text":"done"}}]`},
		{"completion", mcp.MethodComplete, `{"completion":{"values":["done"]},` + meta + `}`, "completion/values", `["done"]`},
	} {
		for _, settings := range []host.Settings{{}, {Validate: true}} {
			t.Run(odd.name, func(t *testing.T) {
				t.Parallel()
				eachOddPair(t, map[string]string{odd.method: odd.result}, settings, func(t *testing.T, c *mcpclient.Client, _ mcp.Revision) {
					odd.check(t, c)
				})
			})
		}
	}
}

// Results of session revisions have no type. What looks like one is none, also for a client whose results have types.
func TestResultTypeOfASessionEraServerMeansNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		`"weird"`, `7`, `null`, `{"a":1}`, `"complete"`, `"task"`,
		`"input_required","requestState":"s","inputRequests":{"q":{"method":"roots/list"}}`,
		`"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Password?","requestedSchema":{"type":"object","properties":{}}}}}`,
	} {
		results := oddResults{
			mcp.MethodToolsCall:     `{"content":[{"type":"text","text":"done"}],"resultType":` + kind + `}`,
			mcp.MethodResourcesRead: `{"contents":[{"uri":"odd://a","text":"done"}],"resultType":` + kind + `}`,
			mcp.MethodPromptsGet:    `{"messages":[{"role":"user","content":{"type":"text","text":"done"}}],"resultType":` + kind + `}`,
			mcp.MethodComplete:      `{"completion":{"values":["done"]},"resultType":` + kind + `}`,
			mcp.MethodToolsList:     `{"tools":[{"name":"go","inputSchema":{"type":"object"}}],"resultType":` + kind + `}`,
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := start(t, host.Upstream{Key: "o", Target: mcpclient.InProcess(&oddServer{mcp.V20251125, results.of})})
			for _, client := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
				opts := answering(client, noAnswer)
				c := mcptest.Connect(t, g.Server(), opts)
				for method, params := range oddParams {
					var got map[string]jsontext.Value
					if err := c.Request(t.Context(), method, params, &got); err != nil || !strings.Contains(string(got["content"])+string(got["contents"])+string(got["messages"])+string(got["completion"]), "done") {
						t.Errorf("%s of %s: got %s, %v, want the result", method, client, got, err)
					}
					if kind := string(got["resultType"]); client.Stateless() != (kind == `"complete"`) || !client.Stateless() && kind != "" {
						t.Errorf("%s of %s: got the type %s, want that of a final result", method, client, kind)
					}
				}
			}
		})
	}
}

// The type of a result of 2026-07-28 says what the result is.
func TestResultOfAnUnknownTypeFailsItsCallAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{`"weird"`, `7`} {
		g := start(t, host.Upstream{Key: "o", Target: mcpclient.InProcess(&oddServer{mcp.V20260728, oddResults{
			mcp.MethodToolsCall: `{"content":[{"type":"text","text":"done"}],"resultType":` + kind + `}`,
		}.of})})
		for _, client := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{client}})
			if r, err := c.CallTool(t.Context(), "o__go", nil); err != nil || !r.IsError || !strings.Contains(r.Content.Text(), "invalid response") {
				t.Errorf("%s of %s: got %+v, %v, want a failed call", kind, client, r, err)
			}
			if _, err := c.GetPrompt(t.Context(), "o__ask", nil); err == nil || strings.Contains(err.Error(), "invalid response") {
				t.Errorf("%s of %s: got %v, want the answer of the server to another request", kind, client, err)
			}
		}
	}
}

// What is good of the result of a call that has run reaches the client, whatever the rest is.
func TestResultsOffTheirFormatReachTheClient(t *testing.T) {
	t.Parallel()
	const (
		text     = `{"type":"text","text":"done"}`
		contents = `[{"uri":"odd://a","text":"done"}]`
		messages = `[{"role":"user","content":` + text + `}]`
	)
	var results []oddResult
	for name, result := range map[string]string{
		"a text": `"done"`, "an array": `["done"]`, "content that is a text": `{"content":"done"}`, "a text among the blocks": `{"content":["done",null]}`,
		"a block without a type": `{"content":[{"text":"done"}]}`, "a type that is no text": `{"content":[{"type":7,"text":"done"}]}`,
		"data that is not base64": `{"content":[{"type":"image","data":"###","mimeType":"image/png"},` + text + `]}`, "isError as a text": `{"content":[` + text + `],"isError":"false"}`,
		"metadata that is a text": `{"content":[` + text + `],"_meta":"x"}`, "annotations of other types": `{"content":[{"type":"text","text":"done","annotations":{"priority":"high"}},null]}`,
	} {
		want := `[` + text + `]`
		if name == "annotations of other types" {
			want = `[{"type":"text","text":"done","annotations":{}}]`
		}
		results = append(results, oddResult{name, mcp.MethodToolsCall, result, "content", want})
	}
	for name, result := range map[string]string{
		"a text": `"done"`, "an array": `[{"uri":"odd://a","text":"done"}]`, "contents that are a text": `{"contents":"done"}`, "one object": `{"contents":{"text":"done"}}`,
		"a bad element": `{"contents":[7.0e1,{"uri":"odd://b","blob":"#"}],"ttlMs":"x"}`, "null among them": `{"contents":[null,{"uri":"odd://a","text":"done","_meta":7}]}`,
	} {
		want := contents
		if name == "a bad element" {
			want = `[{"uri":"odd://a","text":"7.0e1"}]`
		}
		results = append(results, oddResult{name, mcp.MethodResourcesRead, result, "contents", want})
	}
	for name, result := range map[string]string{
		"a text": `"done"`, "messages that are a text": `{"messages":"done","description":7}`, "one message": `{"messages":{"content":"done"}}`,
		"content that is a text": `{"messages":[{"role":"user","content":"done"}]}`, "content that is an array": `{"messages":[null,{"role":"user","content":[` + text + `]}]}`,
	} {
		results = append(results, oddResult{name, mcp.MethodPromptsGet, result, "messages", messages})
	}
	for name, result := range map[string]string{
		"a number": `{"completion":{"values":["done",7]}}`, "values alone": `["done",7]`, "a total that is none": `{"completion":{"values":["done",7],"total":"x"}}`,
	} {
		results = append(results, oddResult{name, mcp.MethodComplete, result, "completion/values", `["done","7"]`})
	}
	for _, odd := range results {
		t.Run(odd.method+" "+odd.name, func(t *testing.T) {
			t.Parallel()
			eachOddPair(t, map[string]string{odd.method: odd.result}, host.Settings{}, func(t *testing.T, c *mcpclient.Client, _ mcp.Revision) { odd.check(t, c) })
		})
	}
}

// A template that cannot be parsed answers for no plain URI. Who names its server reaches it.
func TestTemplateThatCannotBeParsedIsReadByItsQualifiedURI(t *testing.T) {
	t.Parallel()
	eachOddPair(t, map[string]string{
		mcp.MethodResourceTemplatesList: `{"resourceTemplates":[{"uriTemplate":"odd://x/{a b}","name":"odd"}]}`,
		mcp.MethodResourcesRead:         `{"contents":[{"uri":"odd://x/1","text":"done"}]}`,
	}, host.Settings{}, func(t *testing.T, c *mcpclient.Client, _ mcp.Revision) {
		var listed []string
		for template, err := range c.Templates(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, template.URITemplate)
		}
		if !slices.Contains(listed, "odd://x/{a b}") {
			t.Errorf("got the templates %q, want the one that cannot be parsed in them", listed)
		}
		for uri, want := range map[string]string{
			host.QualifiedURI("o", "odd://x/1"):     "done",
			host.QualifiedURI("o", "odd://x/a%20b"): "done",
			"odd://x/2":                             "", // not named by a result
			host.QualifiedURI("o", "odd://y/1"):     "",
			host.QualifiedURI("p", "odd://x/1"):     "",
		} {
			r, err := c.ReadResource(t.Context(), uri)
			if want == "" && mcp.CodeOf(err) == "" || want != "" && (err != nil || r.Contents[0].Text != want) {
				t.Errorf("%s: got %+v, %v, want %q", uri, r, err, want)
			}
		}
	})
}

func TestEmptyListInASchemaIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	eachOddPair(t, map[string]string{
		mcp.MethodToolsList: `{"tools":[{"name":"go","inputSchema":{"type":"object","properties":[],"required":[],"title":"x"}},{"name":"list","inputSchema":[]},{"name":"null","inputSchema":null}]}`,
	}, host.Settings{}, func(t *testing.T, c *mcpclient.Client, _ mcp.Revision) {
		got := make(map[string]string)
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got[tool.Name] = string(tool.InputSchema)
		}
		want := map[string]string{"o__go": `{"required":[],"title":"x","type":"object"}`, "o__list": `{"type":"object"}`, "o__null": `{"type":"object"}`}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Clients that check URIs would refuse the whole result because of one that has no scheme.
func TestURIWithoutASchemeInAResultIsQualified(t *testing.T) {
	t.Parallel()
	results := oddResults{
		mcp.MethodToolsCall:     `{"content":[{"type":"resource_link","uri":"notes.txt","name":"n"},{"type":"resource_link","uri":"a1+b://c","name":"m"}]}`,
		mcp.MethodResourcesRead: `{"contents":[{"uri":"notes.txt","text":"done"}]}`,
	}
	eachOddPair(t, results, host.Settings{}, func(t *testing.T, c *mcpclient.Client, _ mcp.Revision) {
		result, err := c.CallTool(t.Context(), "o__go", nil)
		if err != nil || len(result.Content) != 2 {
			t.Fatalf("got %+v, %v, want two links", result, err)
		}
		for i, want := range []string{host.QualifiedURI("o", "notes.txt"), "a1+b://c"} {
			if got := result.Content[i].(mcp.ResourceLink).URI; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if r, err := c.ReadResource(t.Context(), result.Content[0].(mcp.ResourceLink).URI); err != nil || r.Contents[0].Text != "done" {
			t.Errorf("got %+v, %v, want what the link leads to", r, err)
		}
	})
}
