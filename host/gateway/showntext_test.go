package gateway_test

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

const (
	hidden = "a\u202eb\U000e0041" // a bidirectional override and a tag
	shown  = `a\u202eb\udb40\udc41`
)

// interviewer is a server whose tool "ask" sends a question, and returns the answer.
func interviewer(method string, params any) *mcpserver.Server {
	srv := mcpserver.New("interviewer", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		var answer jsontext.Value
		err := mcpserver.From(ctx).Call(ctx, method, params, &answer)
		return string(answer), err
	})
	return srv
}

// A person reads all of a form, and the server gets what it has named itself.
func TestNamesAndValuesOfFormsAreShownAndComeBackUnchanged(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a")
	schema, err := json.Marshal(mcp.ElicitSchema{Fields: []mcp.ElicitField{
		{Name: "n" + hidden, Schema: mcp.BooleanSchema{}},
		{Name: "plain", Schema: mcp.StringSchema{Default: new("d" + hidden), Description: "Text."}},
		{Name: "titled" + hidden, Schema: mcp.StringSchema{Title: "T" + hidden}},
		{Name: "one", Required: true, Schema: mcp.EnumSchema{Options: []mcp.EnumOption{{Value: "v" + hidden}, {Value: "w"}}}},
		{Name: "some", Schema: mcp.EnumSchema{Multiple: true, Options: []mcp.EnumOption{{Value: "m" + hidden}, {Value: "o" + hidden, Title: "O" + hidden}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		g := start(t, upstream("a", interviewer(mcp.MethodElicit, &mcp.ElicitParams{Message: "?", RequestedSchema: schema})))
		var form mcp.ElicitSchema
		answer := jsonValue(`{"n` + hidden + `":true,"one":"v` + hidden + `","some":["m` + hidden + `"]}`)
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
			Revisions: []mcp.Revision{revision}, Logger: quiet,
			ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: answer}, json.Unmarshal(p.RequestedSchema, &form)
			},
		})
		got, err := c.Call[string](t.Context(), "a__ask", nil)
		if err != nil || !strings.Contains(got, strings.TrimSuffix(string(answer), "}")) {
			t.Errorf("%s: got %q, %v, want the names and values of the server in the answer", revision, got, err)
		}
		if len(form.Fields) != 5 {
			t.Fatalf("%s: got the form %+v", revision, form)
		}
		one, some := form.Fields[3].Schema.(mcp.EnumSchema), form.Fields[4].Schema.(mcp.EnumSchema)
		for _, test := range []struct{ what, got, want string }{
			{"title of a name", form.Fields[0].Schema.(mcp.BooleanSchema).Title, "n" + shown},
			{"default", form.Fields[1].Schema.(mcp.StringSchema).Description, "Text. (Default: d" + shown + ")"},
			{"default value", *form.Fields[1].Schema.(mcp.StringSchema).Default, "d" + hidden},
			{"title", form.Fields[2].Schema.(mcp.StringSchema).Title, "T" + shown},
			{"choice", one.Options[0].Title, "v" + shown},
			{"value of a choice", one.Options[0].Value, "v" + hidden},
			{"choice of several", some.Options[0].Title, "m" + shown},
			{"titled choice", some.Options[1].Title, "O" + shown},
		} {
			if test.got != test.want {
				t.Errorf("%s: %s: got %q, want %q", revision, test.what, test.got, test.want)
			}
		}
		if !form.Fields[3].Required {
			t.Errorf("%s: the field is not required any more", revision)
		}
	}
}

// The model obeys what a person does not see, so a person has to see all of a sampling request.
func TestToolsOfSamplingRequestsAreShownWhole(t *testing.T) {
	t.Parallel()
	text := strings.ToValidUTF8(strings.Join(hostiletext.Texts(), " "), "")
	plain := jsonValue(`{"type":"object"}`)
	quoted, _ := jsontext.AppendQuote(nil, text)
	for name, test := range map[string]struct {
		tool    mcp.Tool
		call    string // default t
		input   string
		content mcp.Content // of a result
		check   []mcptest.CheckOption
		want    bool
	}{
		"texts": {tool: mcp.Tool{
			Name: "t", Title: text, Description: text, Annotations: &mcp.ToolAnnotations{Title: text},
			InputSchema: jsonValue(`{"type":"object","properties":{"a":{"type":"string","description":` + string(quoted) + `}}}`),
		}, input: `{"a":` + string(quoted) + `}`, want: true},
		"name":              {tool: mcp.Tool{Name: "t" + hidden, InputSchema: plain}, input: `{}`},
		"name of a member":  {tool: mcp.Tool{Name: "t", InputSchema: jsonValue(`{"type":"object","properties":{"` + hidden + `":{}}}`)}, input: `{}`},
		"value of a choice": {tool: mcp.Tool{Name: "t", InputSchema: jsonValue(`{"type":"object","properties":{"a":{"enum":["` + hidden + `"]}}}`)}, input: `{}`},
		"input":             {tool: mcp.Tool{Name: "t", InputSchema: plain}, input: `{"` + hidden + `":1}`},
		"name in a call":    {tool: mcp.Tool{Name: "t", InputSchema: plain}, call: "t" + hidden, input: `{}`},
		"resource": {
			tool: mcp.Tool{Name: "t", InputSchema: plain}, input: `{}`, want: true,
			content: mcp.Embed(mcp.ResourceContents{URI: "file:///a" + hidden, Text: text}),
		},
		"link": {
			tool: mcp.Tool{Name: "t", InputSchema: plain}, input: `{}`, want: true,
			content: mcp.ResourceLink{Resource: mcp.Resource{URI: "file:///a" + hidden, Name: text, Title: text, Description: text}},
		},
		"unknown content": {
			tool: mcp.Tool{Name: "t", InputSchema: plain}, input: `{}`, want: true,
			content: mcp.UnknownContent{Type: "hologram", Raw: jsonValue(`{"type":"hologram","text":` + string(quoted) + `}`)},
			check:   []mcptest.CheckOption{mcptest.CheckOnly(mcptest.Client)}, // no revision has the content
		},
		"name in unknown content": {
			tool: mcp.Tool{Name: "t", InputSchema: plain}, input: `{}`,
			content: mcp.UnknownContent{Type: "hologram", Raw: jsonValue(`{"type":"hologram","` + hidden + `":1}`)},
		},
	} {
		results := mcp.Contents{mcp.Text(text)}
		if test.content != nil {
			results = append(results, test.content)
		}
		request := &mcp.CreateMessageParams{MaxTokens: 10, Tools: []mcp.Tool{test.tool}, Messages: []mcp.SamplingMessage{
			{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text(text)}},
			{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.ToolUseContent{ID: "1", Name: cmp.Or(test.call, "t"), Input: jsonValue(test.input)}}},
			{Role: mcp.RoleUser, Content: mcp.Contents{mcp.ToolResultContent{ToolUseID: "1", Content: results}}},
		}}
		g := start(t, upstream("a", interviewer(mcp.MethodCreateMessage, request)))
		relayed := ""
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet,
			Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: new(mcp.Capability)}},
			Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				raw, err := json.Marshal(p)
				relayed = string(raw)
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("ok")}}, err
			},
		}, test.check...)
		result, err := c.CallTool(t.Context(), "a__ask", nil)
		if err != nil || (relayed != "") != test.want {
			t.Errorf("%s: got %+v, %v, and the request %.100q, want it relayed: %t", name, result, err, relayed, test.want)
		}
		if i := hostiletext.Unshown(relayed, ""); i >= 0 {
			t.Errorf("%s: got %.60q, want every character visible", name, relayed[i:])
		}
		if !test.want && err == nil && host.EscapeUnprintable(result.Content.Text(), '\n') != result.Content.Text() {
			t.Errorf("%s: got %q, want a refusal that can be read", name, result.Content.Text())
		}
	}
}
