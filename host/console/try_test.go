package console_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

// trip is a schema with each kind of value.
const trip = `{"type": "object", "required": ["from", "passenger"], "$defs": {"name": {"type": "string", "description": "as in the passport"}},
	"properties": {
		"from": {"type": "string", "title": "Departure"}, "day": {"type": "string", "format": "date"}, "seats": {"type": "integer", "default": 2},
		"class": {"enum": ["economy", "business", 1]}, "window": {"type": "boolean"}, "kind": {"oneOf": [{"const": "oneway", "title": "One way"}, {"const": "return"}]},
		"stops": {"type": "array", "items": {"type": "string"}}, "miles": {"type": ["array", "null"], "items": {"type": "number"}},
		"legs": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "any": {}, "either": {"oneOf": [{"type": "string"}, {"type": "number"}]},
		"passenger": {"type": "object", "required": ["name"], "properties": {"name": {"$ref": "#/$defs/name"}, "a/b~c": {"type": "string"}}},
		"extras": {"type": "object", "properties": {"meal": {"type": "string"}}}
	}}`

func tryHost(schema string) *source {
	return &source{
		surface: mcp.Surface{
			Tools:     []mcp.Tool{{Name: "air__book", Description: "Books a flight", InputSchema: jsontext.Value(schema)}},
			Prompts:   []mcp.Prompt{{Name: "air__plan", Arguments: []mcp.PromptArgument{{Name: "to", Description: "where to", Required: true}, {Name: "when"}}}},
			Resources: []mcp.Resource{{URI: "status://today", Name: "Today"}},
			Templates: []mcp.ResourceTemplate{{URITemplate: "flight://{number}"}},
		},
		result: &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("booked")}},
	}
}

const toolPage = "try/tool?name=air__book"

func TestToolsPromptsAndResourcesAreListed(t *testing.T) {
	t.Parallel()
	body := enter(t, newConsole(t, tryHost(trip))).get("try")
	for _, want := range []string{"air/book", "Books a flight", "air/plan", "status://today", "flight://{number}"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

func TestFormSendsValuesOfTheirTypes(t *testing.T) {
	t.Parallel()
	s := tryHost(trip)
	b := enter(t, newConsole(t, s))
	page := b.get(toolPage)
	for name, want := range map[string]string{
		"/from": "<textarea", "/day": `<input type="date"`, "/seats": "<input", "/class": "<select", "/window": "<select", "/kind": "<select", "/stops": "<textarea",
		"/any": "<textarea", "/either~20": "<textarea", "/either~21": "<input", "/passenger/name": "<textarea", "/passenger/a~1b~0c": "<textarea", "/extras/meal": "<textarea",
	} {
		if at := strings.Index(page, `name="`+name+`"`); at < 0 || !strings.Contains(page[max(0, at-30):at], want[1:5]) {
			t.Errorf("%s: got %.100q, want %s", name, page[max(0, at-30):], want)
		}
	}
	for _, want := range []string{"Departure", "as in the passport", `value="2"`, "One way (oneway)"} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
	for _, call := range []struct{ fields, want string }{
		{"/from=TRN", `{"from":"TRN","passenger":{}}`},
		{
			"/from=TRN /day=2026-12-24 /seats=3 /class=1 /window=false /kind=\"return\" /stops=A\r\nB /miles=1\n2.5 /legs~3=2 /legs/0=A\r\nB /legs/1=C /any={} /either~2=1 /either~20=seven /either~21=7 /passenger/name=Ada /passenger/a~1b~0c=x /extras/meal=soup",
			`{"from":"TRN","day":"2026-12-24","seats":3,"class":1,"window":false,"kind":"return","stops":["A","B"],"miles":[1,2.5],"legs":[["A","B"],["C"]],"any":{},"either":7,` +
				`"passenger":{"name":"Ada","a/b~c":"x"},"extras":{"meal":"soup"}}`,
		},
	} {
		s.did = nil
		var fields []string
		for _, pair := range strings.Split(call.fields, " ") {
			name, value, _ := strings.Cut(pair, "=")
			fields = append(fields, name, value)
		}
		response, body := b.post(toolPage, fields...)
		if response.StatusCode != 200 || len(s.did) != 1 || s.did[0] != "call air__book "+call.want || !strings.Contains(body, "booked") {
			t.Errorf("%s: got %d, %q, %s, want %s", call.fields, response.StatusCode, s.did, body, call.want)
		}
	}
	// What was written stays in the form, and the call can be repeated in a terminal.
	_, body := b.post(toolPage, "/from", "T'RN", "/class", `"business"`)
	for _, want := range []string{">T&#39;RN</textarea>", `value="&#34;business&#34;" selected`, `fondaco call air/book &#39;{&#34;from&#34;:&#34;T&#39;\&#39;&#39;RN&#34;`} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

func TestFormSaysWhatIsWrongAndSendsNothing(t *testing.T) {
	t.Parallel()
	s := tryHost(trip)
	b := enter(t, newConsole(t, s))
	for _, wrong := range []struct{ page, name, value, want string }{
		{toolPage, "/seats", "two", "seats: found &#34;two&#34;, want a number"},
		{toolPage, "/miles", "1\nx", "miles: found &#34;x&#34;, want a number"},
		{toolPage, "/any", "[[", "any: found &#34;[[&#34;, want JSON"},
		{toolPage + "&raw=1", "json", "[1]", "found &#34;[1]&#34;, want a JSON object"},
	} {
		response, body := b.post(wrong.page, wrong.name, wrong.value)
		if response.StatusCode != http.StatusConflict || !strings.Contains(body, "Nothing was sent. "+wrong.want) || len(s.did) > 0 {
			t.Errorf("%s: got %d, %q, %s, want %s", wrong.name, response.StatusCode, s.did, body, wrong.want)
		}
	}
	if response, body := b.post("try/tool?name=gone"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "no tool &#34;gone&#34;") {
		t.Errorf("a tool that is gone: got %d, %s", response.StatusCode, body)
	}
}

func TestArgumentsThatNoFormExpressesAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	many := make(map[string]any)
	for i := range 1000 {
		many[fmt.Sprint("p", i)] = map[string]string{"type": "string"}
	}
	wide, err := json.Marshal(map[string]any{"type": "object", "properties": many})
	if err != nil {
		t.Fatal(err)
	}
	loop := `{"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}`
	for _, schema := range []string{`{"type": "object", "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}`, string(wide), loop, `true`, `{"$ref": "https://evil.example/schema"}`} {
		s := tryHost(schema)
		b := enter(t, newConsole(t, s))
		if page := b.get(toolPage); !strings.Contains(page, `name="json"`) {
			t.Errorf("%.80s: got %.200s, want a field for JSON", schema, page)
		}
		if response, _ := b.post(toolPage, "json", `{"a": 1}`); response.StatusCode != 200 || len(s.did) != 1 || s.did[0] != `call air__book {"a": 1}` {
			t.Errorf("%.80s: got %d, %q, want the JSON as it was written", schema, response.StatusCode, s.did)
		}
	}
	// An object that contains itself ends as JSON.
	deep := `{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}}}`
	if page := enter(t, newConsole(t, tryHost(deep))).get(toolPage); !strings.Contains(page, `name="/a/n/n/n"`) || strings.Contains(page, `name="/a/n/n/n/n"`) {
		t.Errorf("got %s, want fields up to a depth", page)
	}
}

func TestReferencesOfASchemaAreFollowedUpToALimit(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"const":1}},"properties":{"x":{"oneOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 1500) + `{"const":2}]}}}`
	page := enter(t, newConsole(t, tryHost(schema))).get(toolPage)
	if !strings.Contains(page, `<textarea name="/x"`) {
		t.Errorf("got %.2000s, want the field as JSON", page)
	}
}

func TestCallThatAsksAQuestionHasTheCommandThatAnswersIt(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object", "properties": {"from": {"type": "string"}}}`)
	s.callFailure = fmt.Errorf("call: %w", mcp.Errorf(mcp.CodeMissingCapability, "elicitation/create: the client did not declare the capability for it"))
	b := enter(t, newConsole(t, s))
	b.get(toolPage)
	_, body := b.post(toolPage, "/from", "Rome")
	if want := html.EscapeString(`A terminal can: fondaco call air/book '{"from":"Rome"}'`); !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
}

func TestResultsAreShownByTheirKind(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	png := []byte("\x89PNG")
	s.result = &mcp.CallToolResult{
		IsError: true, StructuredContent: jsontext.Value(`{"a":1}`),
		Content: mcp.Contents{
			mcp.Text(`{"b":2}`), mcp.Image(png, "image/png"), mcp.Image([]byte("<svg onload=alert(1)>"), "image/svg+xml"), mcp.Image([]byte("<script>"), "text/html"),
			mcp.Audio([]byte("x"), "audio/wav"), mcp.Link("status://today", "Today"), mcp.Embed(mcp.NewResourceContents("a://b", "text/plain", []byte("embedded"))),
		},
	}
	_, body := b.post(toolPage)
	for _, want := range []string{"The tool failed", "{\n  &#34;b&#34;: 2\n}", "{\n  &#34;a&#34;: 1\n}", "<b>b</b> <code>2</code>", "image/svg&#43;xml", "<audio controls", "status://today", "embedded", "fondaco call air/book &#39;{}&#39;"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if !strings.Contains(body, `<form method="post" action="`+b.path+`try/resource" id="read">`) || !strings.Contains(body, `<button form="read" name="uri" value="status://today"`) {
		t.Errorf("got %s, want a button that reads the resource of the link", body)
	}
	images := regexp.MustCompile(`<img src="([^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(images) != 1 {
		t.Fatalf("got %q, want the one image that no script can be in", images)
	}
	response, data := b.do(request(http.MethodGet, images[0][1], nil))
	if response.StatusCode != 200 || data != string(png) || response.Header.Get("Content-Type") != "image/png" {
		t.Errorf("got %d, %q, %v, want the image", response.StatusCode, data, response.Header)
	}
	if response, _ := serve(b.console, request(http.MethodGet, images[0][1], nil)); response.StatusCode != 401 {
		t.Errorf("without the cookie: got %d, want 401", response.StatusCode)
	}
	files := regexp.MustCompile(`<(?:audio[^>]* src|a href)="([^"]+/file/[^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(files) != 3 {
		t.Fatalf("got %q, want two files to save, and the sound", files)
	}
	for i, want := range []struct{ kind, saved, data string }{
		{"application/octet-stream", `attachment; filename="result-2"`, "<svg onload=alert(1)>"}, {"application/octet-stream", `attachment; filename="result-3"`, "<script>"}, {"audio/wav", "", "x"},
	} {
		response, data := b.do(request(http.MethodGet, files[i][1], nil))
		h := response.Header
		if response.StatusCode != 200 || data != want.data || h.Get("Content-Type") != want.kind || h.Get("Content-Disposition") != want.saved || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %d, %q, %v, want %v", response.StatusCode, data, h, want)
		}
	}
	part := request(http.MethodGet, files[2][1], nil)
	part.Header.Set("Range", "bytes=0-0")
	if response, _ := b.do(part); response.StatusCode != http.StatusPartialContent {
		t.Errorf("got %d, want a part of the sound", response.StatusCode)
	}
	s.result = &mcp.CallToolResult{}
	_, _ = b.post(toolPage)
	if response, _ := b.do(request(http.MethodGet, images[0][1], nil)); response.StatusCode != 404 {
		t.Errorf("after the next result: got %d, want 404", response.StatusCode)
	}
}

func TestResultsAreLimited(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	s.result = &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(strings.Repeat("x", console.MaxShownText+1)), mcp.Image(make([]byte, console.MaxResultBytes+1), "image/png")}}
	for range console.MaxResultFiles + 1 {
		s.result.Content = append(s.result.Content, mcp.Image([]byte("x"), "image/png"))
	}
	_, body := b.post(toolPage)
	if strings.Contains(body, strings.Repeat("x", console.MaxShownText+1)) || strings.Count(body, "<img") != console.MaxResultFiles {
		t.Errorf("got %d bytes with %d images, want the text cut, and %d images", len(body), strings.Count(body, "<img"), console.MaxResultFiles)
	}
}

func TestPromptsAndResourcesAreTried(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	if page := b.get("try/prompt?name=air__plan"); !strings.Contains(page, "where to") {
		t.Errorf("got %s, want the arguments", page)
	}
	if _, body := b.post("try/prompt?name=air__plan", "/to", "Oslo"); !strings.Contains(body, "booked") || !strings.Contains(body, "fondaco prompt air/plan to=Oslo") || s.did[0] != "prompt air__planmap[to:Oslo]" {
		t.Errorf("got %q, %s, want the prompt", s.did, body)
	}
	if _, body := b.post("try/resource", "uri", "status://today"); !strings.Contains(body, "read") || !strings.Contains(body, "fondaco read status://today") {
		t.Errorf("got %s, want the resource", body)
	}
}

// hostileSurface has a text in each place.
func hostileSurface(text string) mcp.Surface {
	quoted, err := json.Marshal(strings.ToValidUTF8(text, "?"))
	if err != nil {
		quoted = []byte(`"?"`)
	}
	schema := fmt.Sprintf(`{"type": "object", "properties": {%s: {"type": "string", "title": %[1]s, "description": %[1]s, "default": %[1]s}, "e": {"enum": [%[1]s]}}}`, quoted)
	return mcp.Surface{
		Tools:     []mcp.Tool{{Name: "t", Description: text, InputSchema: jsontext.Value(schema)}},
		Prompts:   []mcp.Prompt{{Name: "p", Description: text, Arguments: []mcp.PromptArgument{{Name: text, Description: text}}}},
		Resources: []mcp.Resource{{URI: text, Name: text}},
		Templates: []mcp.ResourceTemplate{{URITemplate: text, Description: text}},
	}
}

func TestTextsOfFeaturesAndResultsAreShownAsTexts(t *testing.T) {
	t.Parallel()
	s := &source{}
	b := enter(t, newConsole(t, s))
	show := func(text string) (pages []string) {
		s.surface = hostileSurface(text)
		s.result = &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text), mcp.Link(text, text), mcp.Image(nil, text)}}
		pages = append(pages, b.get("try"), b.get("try/tool?name=t"), b.get("try/prompt?name=p"))
		for _, page := range []string{"try/tool?name=t", "try/prompt?name=p", "try/resource"} {
			_, body := b.post(page, "uri", text)
			pages = append(pages, body)
		}
		return pages
	}
	plain := show("plain")
	for _, text := range []string{`</pre><script>alert(1)</script>`, `" onload="alert(1)`, `{{.Token}}`, "javascript:alert(1)", "\u202eevil", "\x1b[2J", "a\x00b", "\U000E0041"} {
		for i, body := range show(text) {
			if got, want := strings.Count(body, "<"), strings.Count(plain[i], "<"); got != want {
				t.Errorf("%q: page %d: got %d tags, want %d as with a plain text", text, i, got, want)
			}
			if strings.ContainsAny(body, "\u202e\x1b\x00\U000E0041") && !strings.Contains(body, "value=") {
				t.Errorf("%q: page %d: got it as it is, want it visible", text, i)
			}
		}
	}
	if query := url.QueryEscape("no\u202etool"); !strings.Contains(func() string {
		_, body := b.do(request(http.MethodGet, b.path+"try/tool?name="+query, nil))
		return body
	}(), `no\u202etool`) {
		t.Error("got the name of no tool as it is, want it visible")
	}
}

func TestCommandOfATerminalHasNoFlagsOfTheServer(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	if _, body := b.post("try/resource", "uri", "--config=evil"); !strings.Contains(body, "fondaco read -- --config=evil") {
		t.Errorf("got %s, want the URI behind --", body)
	}
}

func TestStructuredContentThatRepeatsATextIsShownOnce(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	s.result = &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(`{"b": 2, "a": 1}`), mcp.Text("in words")}, StructuredContent: jsontext.Value(`{"a":1,"b":2}`)}
	if _, body := b.post(toolPage); strings.Count(body, "<b>a</b>") != 1 || !strings.Contains(body, "in words") {
		t.Errorf("got %s, want the value once, and the other text", body)
	}
}

func TestTreesAreLimited(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "values of JSON that is shown as a tree; their depth; the text of one in the tree", console.MaxNodes, console.MaxTreeDepth, claim.Bytes(console.MaxLeaf))
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	for text, trees := range map[string]int{
		"[" + strings.Repeat("0,", console.MaxNodes-2) + "0]":     1,
		"[" + strings.Repeat("0,", console.MaxNodes-1) + "0]":     0,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000):     1,
		`["` + strings.Repeat("x", console.MaxShownText/2) + `"]`: 1,
		`{"a": [}`: 0,
	} {
		s.result = &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}}
		_, body := b.post(toolPage)
		before, _, _ := strings.Cut(body, "As text")
		if strings.Count(body, `class="tree"`) != trees || trees == 1 && len(before) > 1<<20/2 {
			t.Errorf("%.20s: got %d trees, %d bytes, want %d", text, strings.Count(body, `class="tree"`), len(before), trees)
		}
		if len(body) > 2*console.MaxShownText {
			t.Errorf("%.20s: got %d bytes, want the text not made longer by its depth", text, len(body))
		}
		if nested := strings.Count(before, "<details"); nested > console.MaxTreeDepth+1 {
			t.Errorf("%.20s: got a depth of %d, want at most %d", text, nested, console.MaxTreeDepth)
		}
	}
}
