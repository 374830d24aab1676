package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// decodeLenient decodes what is refused otherwise, and returns it encoded again.
func decodeLenient(t *testing.T, raw string, out any) (string, []string) {
	t.Helper()
	if err := dialect.Decode(jsontext.Value(raw), out); err == nil {
		t.Errorf("%s is not off the format", raw)
	}
	left, err := dialect.DecodeLenient(jsontext.Value(raw), out)
	if err != nil {
		t.Errorf("%s: %v", raw, err)
		return "", nil
	}
	if left.Count != len(left.Names) {
		t.Errorf("%s: got the count %d of %q", raw, left.Count, left.Names)
	}
	again, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		t.Errorf("%s: encode again: %v", raw, err)
	}
	return string(again), left.Names
}

type oddRow struct {
	raw, want string
	leftOut   []string
}

func checkOdd[T any](t *testing.T, rows []oddRow) {
	t.Helper()
	for _, row := range rows {
		got, left := decodeLenient(t, row.raw, new(T))
		if got != row.want || !slices.Equal(left, row.leftOut) {
			t.Errorf("%s:\ngot  %s without %q\nwant %s without %q", row.raw, got, left, row.want, row.leftOut)
		}
	}
}

func TestToolResultOffItsFormatKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	const (
		text  = `{"type":"text","text":"done"}`
		image = `{"type":"image","data":"+/8=","mimeType":"image/png"}`
	)
	content := func(blocks string) string { return `{"content":[` + blocks + `]}` }
	checkOdd[mcp.CallToolResult](t, []oddRow{
		{raw: `"done"`, want: content(text)},
		{raw: `["done",` + text + `]`, want: content(text + `,` + text)},
		{raw: `7`, want: content(`{"type":"text","text":"7"}`)},
		{raw: `{"content":"done"}`, want: content(text)},
		{raw: `{"content":true}`, want: content(`{"type":"text","text":"true"}`)},
		{raw: content(`{"text":"done"}`), want: content(text)},
		{raw: content(`{"type":7,"text":"done"}`), want: content(text)},
		{raw: content(`{"type":null,"text":"done","more":1}`), want: content(`{"type":"text","text":"done","more":1}`)},
		{raw: content(`{"data":"-_8","mimeType":"image/png"},{"data":"+/8=","mimeType":"audio/wav"}`), want: content(image + `,{"type":"audio","data":"+/8=","mimeType":"audio/wav"}`)},
		{raw: content(`{"resource":{"uri":"a://b","text":7}}`), want: content(`{"type":"resource","resource":{"uri":"a://b","text":"7"}}`)},
		{raw: content(`{"city":"Rome"}`), want: content(`{"type":"text","text":"{\"city\":\"Rome\"}"}`)},
		{raw: content(`{"type":"text","text":7},{"type":"text","text":{"a":[1]}},` + text), want: content(`{"type":"text","text":"7"},{"type":"text","text":"{\"a\":[1]}"},` + text)},
		{raw: content(`null,"done",7,[1],` + text), want: content(text + `,{"type":"text","text":"7"},{"type":"text","text":"[1]"},` + text), leftOut: []string{"content/0"}},
		{raw: content(`{"type":"image","data":"###","mimeType":"image/png"},` + text + `,{"type":"audio","data":7,"mimeType":"audio/wav"}`), want: content(text), leftOut: []string{"content/0", "content/2"}},
		{raw: content(`{"type":"image","data":"data:image/png;base64,+/8=","mimeType":"image/png"}`), want: content(image)},
		{raw: content(`{"type":"image","data":"+/\n8","mimeType":"image/png"}`), want: content(image)},
		{raw: content(`{"type":"tool_use","id":7,"name":"x","input":{}}`), want: content(`{"type":"text","text":"{\"type\":\"tool_use\",\"id\":7,\"name\":\"x\",\"input\":{}}"}`)},
		{raw: content(`{"type":"hologram","text":7},null`), want: content(`{"type":"hologram","text":7}`), leftOut: []string{"content/1"}},
		{raw: content(`{"type":"text","text":"done","annotations":"x","_meta":[]}`), want: content(text), leftOut: []string{"content/0/annotations", "content/0/_meta"}},
		{raw: content(`{"type":"text","text":"done","annotations":{"priority":"high","audience":"user","lastModified":5}}`), want: content(`{"type":"text","text":"done","annotations":{"audience":["user"]}}`), leftOut: []string{"content/0/annotations/priority", "content/0/annotations/lastModified"}},
		{raw: content(`{"type":"text","text":"done","annotations":{"audience":["user",7],"priority":1}}`), want: content(`{"type":"text","text":"done","annotations":{"audience":["user"],"priority":1}}`), leftOut: []string{"content/0/annotations/audience/1"}},
		{raw: content(`{"type":"resource_link","uri":"a://b","name":7,"size":1.5,"icons":["x.png",{"src":"https://x/y.png","sizes":"48x48"}]}`), want: content(`{"type":"resource_link","uri":"a://b","name":"","icons":[{"src":"https://x/y.png","sizes":["48x48"]}]}`), leftOut: []string{"content/0/name", "content/0/size", "content/0/icons/0"}},
		{raw: content(`{"type":"resource","resource":"done"}`), want: content(`{"type":"resource","resource":{"uri":"","text":"done"}}`)},
		{raw: content(`{"type":"resource","resource":{"uri":"a://b"}}`), want: content(`{"type":"resource","resource":{"uri":"a://b","text":""}}`)},
		{raw: content(`{"type":"resource","resource":{"uri":"a://b","text":"x","blob":"eA=="}}`), want: content(`{"type":"resource","resource":{"uri":"a://b","text":"x"}}`), leftOut: []string{"content/0/blob"}},
		{raw: content(`{"type":"resource","resource":null},` + text), want: content(text), leftOut: []string{"content/0"}},
		{raw: `{"content":[` + text + `],"isError":"true"}`, want: `{"content":[` + text + `],"isError":true}`},
		{raw: `{"content":[` + text + `],"isError":"No"}`, want: content(text)},
		{raw: `{"content":[` + text + `],"isError":1}`, want: `{"content":[` + text + `],"isError":true}`},
		{raw: `{"content":[` + text + `],"isError":{}}`, want: `{"content":[` + text + `],"isError":true}`},
		{raw: `{"content":[` + text + `],"_meta":"x","structuredContent":7}`, want: `{"content":[` + text + `],"structuredContent":7}`, leftOut: []string{"_meta"}},
	})
}

func TestReadOffItsFormatKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	const good = `{"uri":"a://b","text":"done"}`
	checkOdd[mcp.ReadResourceResult](t, []oddRow{
		{raw: `"done"`, want: `{"contents":[{"uri":"","text":"done"}]}`},
		{raw: `[` + good + `]`, want: `{"contents":[` + good + `]}`},
		{raw: `{"contents":` + good + `,"ttlMs":"1h","cacheScope":1}`, want: `{"contents":[` + good + `]}`, leftOut: []string{"ttlMs", "cacheScope"}},
		{raw: `{"contents":"done"}`, want: `{"contents":[{"uri":"","text":"done"}]}`},
		{raw: `{"contents":[null,` + good + `,{"uri":"a://c","blob":"###"},{"uri":7,"text":true,"mimeType":1}]}`, want: `{"contents":[` + good + `,{"uri":"","text":"true"}]}`, leftOut: []string{"contents/0", "contents/2", "contents/3/uri", "contents/3/mimeType"}},
		{raw: `{"contents":[{"uri":"a://c","blob":"-_8"}]}`, want: `{"contents":[{"uri":"a://c","blob":"+/8="}]}`},
		{raw: `{"contents":[{"uri":"a://c","text":"","blob":"+/8="}]}`, want: `{"contents":[{"uri":"a://c","blob":"+/8="}]}`},
		{raw: `{"contents":[{"uri":"a://c","text":"x","blob":"###"}]}`, want: `{"contents":[{"uri":"a://c","text":"x"}]}`, leftOut: []string{"contents/0/blob"}},
	})
}

func TestPromptOffItsFormatKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	const done = `{"role":"user","content":{"type":"text","text":"done"}}`
	messages := func(all string) string { return `{"messages":[` + all + `]}` }
	checkOdd[mcp.GetPromptResult](t, []oddRow{
		{raw: `"done"`, want: messages(done)},
		{raw: `{"messages":"done","description":7}`, want: messages(done), leftOut: []string{"description"}},
		{raw: `{"messages":` + done + `}`, want: messages(done)},
		{raw: messages(`{"role":"user","content":"done"}`), want: messages(done)},
		{raw: messages(`{"content":"done"}`), want: messages(done)},
		{raw: messages(`{"role":7,"content":"done"}`), want: messages(done), leftOut: []string{"messages/0/role"}},
		{raw: messages(`{"role":"assistant","content":["done",{"type":"text","text":7}]}`), want: messages(`{"role":"assistant","content":{"type":"text","text":"done"}},{"role":"assistant","content":{"type":"text","text":"7"}}`)},
		{raw: messages(`{"type":"text","text":"done"}`), want: messages(done)},
		{raw: messages(`{"role":"assistant","text":"done"}`), want: messages(`{"role":"assistant","content":{"type":"text","text":"done"}}`)},
		{raw: messages(`{"role":"assistant"},"done"`), want: messages(done), leftOut: []string{"messages/0"}},
		{raw: messages(`null,{"role":"user","content":null},{"role":"user","content":[]},"done",{"role":"user","content":{"type":"image","data":"#","mimeType":"image/png"}}`), want: messages(done), leftOut: []string{"messages/0", "messages/1", "messages/2", "messages/4"}},
	})
}

func TestCompletionOffItsFormatKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	completion := func(members string) string { return `{"completion":{` + members + `}}` }
	checkOdd[mcp.CompleteResult](t, []oddRow{
		{raw: completion(`"values":["a",7,null,true]`), want: completion(`"values":["a","7","true"]`), leftOut: []string{"values"}},
		{raw: completion(`"values":"a","total":"many","hasMore":"true"`), want: completion(`"values":["a"],"hasMore":true`), leftOut: []string{"total"}},
		{raw: `{"completion":["a"]}`, want: completion(`"values":["a"]`)},
		{raw: `["a",7]`, want: completion(`"values":["a","7"]`)},
		{raw: completion(`"values":["a"],"total":2.0`), want: completion(`"values":["a"],"total":2`)},
		{raw: completion(`"values":["a"],"total":1e400`), want: completion(`"values":["a"]`), leftOut: []string{"total"}},
		{raw: completion(`"values":["a"],"total":1.5`), want: completion(`"values":["a"]`), leftOut: []string{"total"}},
	})
}

func TestItemOfAListLosesABadMemberAlone(t *testing.T) {
	t.Parallel()
	checkOdd[mcp.ListToolsResult](t, []oddRow{
		{
			raw:     `{"tools":[{"name":"a","title":7,"description":["x"],"inputSchema":{},"icons":[7,{"src":"https://x/y.png"}],"annotations":{"readOnlyHint":"yes","title":"A"},"execution":7,"_meta":1},7,{"name":7,"inputSchema":{}}],"nextCursor":7}`,
			want:    `{"tools":[{"name":"a","inputSchema":{},"annotations":{"title":"A"},"icons":[{"src":"https://x/y.png"}]}]}`,
			leftOut: []string{"a/title", "a/description", "a/icons/0", "a/annotations/readOnlyHint", "a/execution", "a/_meta", "tools/1", "tools/2", "nextCursor"},
		},
	})
	checkOdd[mcp.ListPromptsResult](t, []oddRow{
		{
			raw:     `{"prompts":[{"name":"p","arguments":[{"name":"a","required":"yes"},{"name":7},"b"]},{"name":"q","arguments":"none"}]}`,
			want:    `{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]},{"name":"q","arguments":[]}]}`,
			leftOut: []string{"p/arguments/1", "p/arguments/2", "q/arguments/0"},
		},
	})
	checkOdd[mcp.ListResourcesResult](t, []oddRow{
		{raw: `{"resources":[{"uri":"a://b","name":"b","size":"1 KB","mimeType":1,"annotations":[]}]}`, want: `{"resources":[{"uri":"a://b","name":"b"}]}`, leftOut: []string{"b/size", "b/mimeType", "b/annotations"}},
	})
	checkOdd[mcp.ListResourceTemplatesResult](t, []oddRow{
		{raw: `{"resourceTemplates":[{"uriTemplate":"a://{b}","name":"b","title":{}},{"uriTemplate":7,"name":"c"}]}`, want: `{"resourceTemplates":[{"uriTemplate":"a://{b}","name":"b"}]}`, leftOut: []string{"b/title", "c"}},
	})
}

func TestHandshakeOffItsFormatKeepsWhatIsGood(t *testing.T) {
	t.Parallel()
	const about = `,"clientInfo":{"name":"c","version":"1"}`
	checkOdd[mcp.InitializeParams](t, []oddRow{
		{raw: `{"protocolVersion":"1","capabilities":[]` + about + `}`, want: `{"protocolVersion":"1","capabilities":{}` + about + `}`, leftOut: []string{"capabilities"}},
		{
			raw:  `{"protocolVersion":"1","capabilities":{"sampling":[],"roots":true,"elicitation":{"form":true},"tasks":7}` + about + `}`,
			want: `{"protocolVersion":"1","capabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}}` + about + `}`, leftOut: []string{"capabilities/tasks"},
		},
		{raw: `{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"c","version":1}}`, want: `{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"c","version":""}}`, leftOut: []string{"clientInfo/version"}},
	})
	checkOdd[mcp.InitializeResult](t, []oddRow{
		{
			raw:     `{"protocolVersion":"2025-11-25","capabilities":{"tools":true,"prompts":[],"resources":{"subscribe":"yes"},"logging":false,"completions":"x","experimental":[]},"serverInfo":"odd","instructions":["x"],"_meta":[]}`,
			want:    `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{}},"serverInfo":{"name":"","version":""}}`,
			leftOut: []string{"capabilities/completions", "capabilities/experimental", "serverInfo", "instructions", "_meta"},
		},
		{raw: `{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{"name":"a","version":1}}`, want: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"a","version":""}}`, leftOut: []string{"capabilities", "serverInfo/version"}},
	})
	checkOdd[mcp.DiscoverResult](t, []oddRow{
		{raw: `{"supportedVersions":["2026-07-28",7],"capabilities":{"tools":true},"ttlMs":"x"}`, want: `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`, leftOut: []string{"supportedVersions/1", "ttlMs"}},
	})
	for raw, out := range map[string]any{
		`{"protocolVersion":7}`:     new(mcp.InitializeResult),
		`{"protocolVersion":8}`:     new(mcp.InitializeParams),
		`"x"`:                       new(mcp.InitializeResult),
		`{"supportedVersions":"x"}`: new(mcp.DiscoverResult),
		`{"tools":{}}`:              new(mcp.ListToolsResult),
		`{"progress":"1"}`:          new(mcp.ProgressParams),
		`{"roots":7}`:               new(mcp.ListRootsResult),
	} {
		if _, err := dialect.DecodeLenient(jsontext.Value(raw), out); err == nil {
			t.Errorf("%s: got no error for %T", raw, out)
		}
	}
}

func TestListInAnItemWithALongNameIsReadInLinearSpace(t *testing.T) {
	raw := jsontext.Value(`{"tools":[{"name":"` + strings.Repeat("a", 100_000) + `","inputSchema":{},"icons":[` + strings.Repeat(`{"src":7},`, 1000) + `0]}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := dialect.DecodeLenient(raw, new(mcp.ListToolsResult)); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 50*uint64(len(raw)) {
		t.Errorf("%d bytes were allocated for %d bytes", n, len(raw))
	}
}

func TestMembersOfAMessageAreNotRepeatedForEachOfItsBlocks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100_000)
	raw := `{"messages":[{"role":"` + long + `","x":"` + long + `","content":[` + strings.Repeat(`"a",`, 1000) + `"a"]}]}`
	var out mcp.GetPromptResult
	encoded, _ := decodeLenient(t, raw, &out)
	if len(out.Messages) != 1001 || len(encoded) > 2*len(raw) {
		t.Errorf("got %d messages of %d bytes, want 1001 of at most %d", len(out.Messages), len(encoded), 2*len(raw))
	}
}
