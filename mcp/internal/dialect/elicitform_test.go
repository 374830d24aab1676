package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// asking returns a call of a client that declares all capabilities for
// questions.
func asking(v mcp.Revision) *dialect.Call {
	return &dialect.Call{Facts: dialect.Of(v), Capabilities: &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: new(mcp.Capability), URL: new(mcp.Capability)},
		Sampling:    &mcp.SamplingCapability{Tools: new(mcp.Capability)},
		Roots:       new(mcp.RootsCapability),
	}}
}

// put returns the question that a client of the revision gets, and its params.
func put(t testing.TB, v mcp.Revision, method string, params any) (*dialect.Question, jsontext.Value) {
	t.Helper()
	q, err := asking(v).Question(method, params)
	if err != nil {
		t.Fatalf("%s: %s: %v", v, method, err)
	}
	m, err := jsonrpc.Decode(q.Encode(numberID(1)), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return q, m.Params
}

// formOf returns the form that a client of the revision is shown.
func formOf(t testing.TB, v mcp.Revision, form string) (*dialect.Question, string) {
	t.Helper()
	q, params := put(t, v, mcp.MethodElicit, &mcp.ElicitParams{Message: "?", RequestedSchema: jsontext.Value(form)})
	var p mcp.ElicitParams
	if err := json.Unmarshal(params, &p); err != nil {
		t.Fatal(err)
	}
	return q, string(p.RequestedSchema)
}

func TestFormsAreConvertedToOlderRevisions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-335a", "R-335b")
	const head, tail = `{"type":"object","properties":{`, `}}`
	for name, test := range map[string]struct{ rich, plain string }{
		"a text": {
			`"a":{"type":"string","title":"A","format":"email","minLength":1,"default":"x"}`,
			`"a":{"type":"string","title":"A","format":"email","minLength":1}`,
		},
		"a number": {
			`"a":{"type":"integer","minimum":1,"default":2}`,
			`"a":{"type":"integer","minimum":1}`,
		},
		"a yes or no keeps its default": {
			`"a":{"type":"boolean","default":true}`,
			`"a":{"type":"boolean","default":true}`,
		},
		"a choice": {
			`"a":{"type":"string","enum":["x","y"],"default":"x"}`,
			`"a":{"type":"string","enum":["x","y"]}`,
		},
		"a choice with titles": {
			`"a":{"type":"string","title":"A","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}`,
			`"a":{"type":"string","title":"A","enum":["x","y"],"enumNames":["X","Y"]}`,
		},
		"a choice of several": {
			`"a":{"type":"array","items":{"type":"string","enum":["x","y"]},"minItems":1}`,
			`"a.x":{"type":"boolean","title":"a: x"},"a.y":{"type":"boolean","title":"a: y"}`,
		},
		"a choice of several, with titles and a default": {
			`"a":{"type":"array","title":"A","description":"D","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]},"default":["y"]}`,
			`"a.x":{"type":"boolean","title":"A: X","description":"D","default":false},"a.y":{"type":"boolean","title":"A: Y","description":"D","default":true}`,
		},
		"a name that is taken": {
			`"a":{"type":"array","items":{"type":"string","enum":["x"]}},"a.x":{"type":"string"}`,
			`"a.x_":{"type":"boolean","title":"a: x"},"a.x":{"type":"string"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, got := formOf(t, mcp.V20250618, head+test.rich+tail); got != head+test.plain+tail {
				t.Errorf("2025-06-18\ngot  %s\nwant %s", got, head+test.plain+tail)
			}
			for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
				if _, got := formOf(t, v, head+test.rich+tail); got != head+test.rich+tail {
					t.Errorf("%s: got %s, want it as it is", v, got)
				}
			}
		})
	}
	_, got := formOf(t, mcp.V20250618, `{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}},"b":{"type":"string"}},"required":["a","b"]}`)
	if want := `"required":["b"]}`; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want %s at the end: an option that is off may be left out", got, want)
	}
	for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250326} {
		want := "elicitation/create: revision " + v.String() + " has no elicitation"
		if _, err := asking(v).Question(mcp.MethodElicit, &mcp.ElicitParams{}); mcp.CodeOf(err) != mcp.CodeMissingCapability || err.Error() != want {
			t.Errorf("%s: got %v, want a missing capability: it has no elicitation", v, err)
		}
	}
}

// Converting a plain form back yields the original form, as far as the plain
// form can express it.
func TestFormsAreConvertedFromOlderRevisions(t *testing.T) {
	t.Parallel()
	rich := `{"type":"object","properties":{` +
		`"a":{"type":"string","title":"A","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"y"}]},` +
		`"b":{"type":"boolean","default":false},"c":{"type":"string","enum":["x"]}},"required":["a"]}`
	_, plain := formOf(t, mcp.V20250618, rich)
	if plain == rich {
		t.Fatal("the form did not change")
	}
	if got := string(dialect.RichForm(jsontext.Value(plain))); got != rich {
		t.Errorf("got  %s\nwant %s", got, rich)
	}
	for _, form := range []string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`,
		`{"type":"object","properties":{"a":{"type":"odd","enumNames":[]}}}`, `[]`, ``,
	} {
		if got := string(dialect.RichForm(jsontext.Value(form))); got != form {
			t.Errorf("got %s, want %s as it is", got, form)
		}
	}
}

func TestAnswersToPlainFormsAreFoldedBack(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","properties":{` +
		`"days":{"type":"array","items":{"type":"string","enum":["mon","tue"]}},"name":{"type":"string"},` +
		`"sizes":{"type":"array","items":{"type":"string","enum":["s","l"]}}},"required":["sizes"]}`
	q, _ := formOf(t, mcp.V20250618, form)
	for name, test := range map[string]struct{ answer, want string }{
		"some":                {`{"action":"accept","content":{"days.mon":true,"days.tue":false,"name":"n","sizes.l":true}}`, `{"action":"accept","content":{"days":["mon"],"sizes":["l"],"name":"n"}}`},
		"all":                 {`{"action":"accept","content":{"days.mon":true,"days.tue":true,"sizes.s":true,"sizes.l":true}}`, `{"action":"accept","content":{"days":["mon","tue"],"sizes":["s","l"]}}`},
		"none":                {`{"action":"accept","content":{"days.mon":false,"sizes.s":false}}`, `{"action":"accept","content":{"days":[],"sizes":[]}}`},
		"nothing said":        {`{"action":"accept","content":{}}`, `{"action":"accept","content":{"sizes":[]}}`},
		"no yes or no":        {`{"action":"accept","content":{"days.mon":"yes"}}`, `{"action":"accept","content":{"days":["yes"],"sizes":[]}}`},
		"a list all the same": {`{"action":"accept","content":{"days":["mon"],"days.tue":true}}`, `{"action":"accept","content":{"days":["tue"],"sizes":[]}}`},
		"declined":            {`{"action":"decline"}`, `{"action":"decline"}`},
		"no object":           {`{"action":"accept","content":[]}`, `{"action":"accept","content":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got jsontext.Value
			if err := q.Answer(jsonrpc.Message{Kind: jsonrpc.Response, Result: jsontext.Value(test.answer)}, &got); err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Each answer to the plain form converts to the same answer to the original
// form.
func FuzzFoldedAnswers(f *testing.F) {
	f.Add("a", "x\ny", "a.x", uint8(1))
	f.Add("", "\n", ".", uint8(3))
	f.Add("é\"", "a.b\na.b_", "é\".a.b", uint8(2))
	f.Fuzz(func(t *testing.T, name, values, other string, chosen uint8) {
		var options []mcp.EnumOption
		var want []string
		for i, v := range strings.Split(values, "\n") {
			if slices.ContainsFunc(options, func(o mcp.EnumOption) bool { return o.Value == v }) {
				continue
			}
			options = append(options, mcp.EnumOption{Value: v})
			if chosen>>(i%8)&1 == 1 {
				want = append(want, v)
			}
		}
		if other == name {
			return
		}
		form, err := json.Marshal(mcp.ElicitSchema{Fields: []mcp.ElicitField{
			{Name: name, Required: true, Schema: mcp.EnumSchema{Options: options, Multiple: true}},
			{Name: other, Schema: mcp.BooleanSchema{}},
		}})
		if err != nil {
			return // no valid text
		}
		q, plain := formOf(t, mcp.V20250618, string(form))
		var shown mcp.ElicitSchema
		if err := json.Unmarshal([]byte(plain), &shown); err != nil {
			t.Fatalf("%s: %v", plain, err)
		}
		if len(shown.Fields) != len(options)+1 {
			t.Fatalf("got %d fields, want %d", len(shown.Fields), len(options)+1)
		}
		content := make(map[string]bool)
		for i, o := range options {
			content[shown.Fields[i].Name] = slices.Contains(want, o.Value)
		}
		raw, err := json.Marshal(map[string]any{"action": "accept", "content": content})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Content map[string][]string `json:"content"`
		}
		if err := q.Answer(jsonrpc.Message{Result: raw}, &answer); err != nil {
			t.Fatal(err)
		}
		if got := answer.Content[name]; !slices.Equal(got, want) || len(answer.Content) != 1 {
			t.Errorf("got %q, want %q under %q alone", answer.Content, want, name)
		}
	})
}

func TestURLElicitationsHaveAnIDIfTheRevisionHasOne(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-343a", "R-345")
	visit := &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: "sign in", URL: "https://example.com/s"}
	q, params := put(t, mcp.V20251125, mcp.MethodElicit, visit)
	var got mcp.ElicitParams
	if err := json.Unmarshal(params, &got); err != nil || len(got.ElicitationID) < 20 || got.ElicitationID != q.ElicitationID || q.ElicitationURL != visit.URL {
		t.Errorf("2025-11-25: got %s, %q, %v, want an id", params, q.ElicitationID, err)
	}
	again, _ := put(t, mcp.V20251125, mcp.MethodElicit, visit)
	if again.ElicitationID == q.ElicitationID || visit.ElicitationID != "" {
		t.Errorf("got %q twice, and %q in the question itself", q.ElicitationID, visit.ElicitationID)
	}
	relayed := *visit
	relayed.ElicitationID = "theirs"
	if q, _ := put(t, mcp.V20251125, mcp.MethodElicit, &relayed); q.ElicitationID != "theirs" {
		t.Errorf("a relayed id: got %q, want it as it came", q.ElicitationID)
	}
	if _, params := put(t, mcp.V20260728, mcp.MethodElicit, &relayed); string(params) != `{"mode":"url","message":"sign in","url":"https://example.com/s"}` {
		t.Errorf("2026-07-28: got %s, want no id", params)
	}
	for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618} {
		if _, err := asking(v).Question(mcp.MethodElicit, visit); mcp.CodeOf(err) != mcp.CodeMissingCapability {
			t.Errorf("%s: got %v, want that it cannot be asked", v, err)
		}
	}
}

func TestCapabilitiesAreThoseOfTheRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-319b", "R-332b")
	all := *asking(mcp.V20260728).Capabilities
	all.Tasks = new(mcp.TasksCapability)
	for v, want := range map[mcp.Revision]string{
		mcp.V20241105: `{"sampling":{},"roots":{}}`,
		mcp.V20250326: `{"sampling":{},"roots":{}}`,
		mcp.V20250618: `{"elicitation":{},"sampling":{},"roots":{}}`,
		mcp.V20251125: `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"tasks":{}}`,
		mcp.V20260728: `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	} {
		c, err := dialect.NewClient(dialect.Of(v), mcp.Implementation{Name: "c"}, all)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Request(dialect.RequestParams{Method: mcp.MethodInitialize, Params: &mcp.InitializeParams{Capabilities: all}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := jsonrpc.Decode(r.Encode(numberID(1)), jsonrpc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Capabilities jsontext.Value            `json:"capabilities"`
			Meta         map[string]jsontext.Value `json:"_meta"`
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		got := []string{string(p.Capabilities)}
		if v == mcp.V20260728 {
			got = append(got, string(p.Meta[mcp.MetaClientCapabilities]))
		}
		for _, got := range got {
			if got != want {
				t.Errorf("%s\ngot  %s\nwant %s", v, got, want)
			}
		}
	}
	if !reflect.DeepEqual(all.Sampling, asking(mcp.V20260728).Capabilities.Sampling) {
		t.Error("the capabilities of the client were modified")
	}
}
