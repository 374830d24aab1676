package dialect_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// FuzzResultOfText shows that the results of tools that are written by hand say the
// same as json/v2 would write, and that what it refuses is refused.
func FuzzResultOfText(f *testing.F) {
	for _, text := range []string{"", "plain", "a\"b\\c\nd", "é漢😀", "\xff", "\u2028<&>"} {
		f.Add(text, ``)
		f.Add(text, `{"a":1}`)
	}
	for _, structured := range []string{`null`, `[1,"x"]`, `{"a":"\u0061"}`, "{\n\"a\": 1}", `{"a":1,"a":2}`, `{`, `1e400`, `{"a":1} `} {
		f.Add("x", structured)
	}
	f.Fuzz(func(t *testing.T, text, structured string) {
		r := &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text), mcp.Text("")}, StructuredContent: jsontext.Value(structured), IsError: text == ""}
		if jsonrpc.CheckValue([]byte(structured), jsonrpc.Limits{}) != nil && jsontext.Value(structured).IsValid() {
			return // JSON, and beyond what is read as a message
		}
		want, err := json.Marshal(r)
		e, encodeErr := dialect.Newest(dialect.StatelessEra).Encode(r)
		if (err == nil) != (encodeErr == nil) {
			t.Fatalf("json/v2 says %v, Encode %v", err, encodeErr)
		}
		if err != nil {
			return
		}
		server := dialect.NewServer(dialect.ServerParams{})
		call, _ := server.Open(jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: mcp.MethodPing}, dialect.TransportInfo{})
		body := call.Reply(e, nil).Body
		got, err := jsonrpcDecode(body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if a, b := decodeAny(t, got), decodeAny(t, want); !reflect.DeepEqual(a, b) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func decodeAny(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// FuzzReadingAResult shows that results that are read by hand are what json/v2
// reads.
func FuzzReadingAResult(f *testing.F) {
	for _, raw := range []string{
		`{}`, `{"content":[]}`, `{"content":[{"type":"text","text":"a\nb"}]}`, `{"content":[{"text":"x","type":"text"},{"type":"text","text":""}],"isError":true}`,
		`{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"content":[],"structuredContent":{"a":[1]}}`,
		`{"content":{"type":"text","text":"one"}}`, `{"content":null}`, `{"content":[{"type":"image","data":"","mimeType":"image/png"}]}`, `{"content":[{"type":"text"}]}`,
		`{"content":[{"type":"text","text":1}]}`, `{"isError":null,"content":[]}`, `{"x":1,"content":[]}`, `{"_meta":{"k":1}}`, `{"_meta":null}`, `{"structuredContent":null}`, `[]`, `null`,
		`{"resultType":"other"}`, `{"content":[null]}`, `{"content":[{"type":"text","text":"x","annotations":{"priority":1}}]}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if jsonrpc.CheckValue([]byte(raw), jsonrpc.Limits{}) != nil {
			return
		}
		var got, want mcp.CallToolResult
		gotErr, wantErr := dialect.Decode(jsontext.Value(raw), &got), json.Unmarshal([]byte(raw), &want)
		if (gotErr == nil) != (wantErr == nil) || wantErr == nil && !reflect.DeepEqual(decodeAny(t, encode(t, got)), decodeAny(t, encode(t, want))) {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v, %v", raw, got, gotErr, want, wantErr)
		}
	})
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// FuzzPartsOfAReply shows that a reply in parts is the same as one in one piece, to
// the byte, and on one line.
func FuzzPartsOfAReply(f *testing.F) {
	for _, text := range []string{"plain", "a\"b\\c\nd\r", "é漢😀", "\x00\u2028<&>"} {
		f.Add(text, `{"a":1}`, uint16(1), uint16(20_000), uint16(20_000))
		f.Add(text, ``, uint16(20_000), uint16(1), uint16(0))
	}
	f.Fuzz(func(t *testing.T, text, structured string, one, other, third uint16) {
		r := &mcp.CallToolResult{
			Content: mcp.Contents{
				mcp.Text(strings.Repeat(text, int(one)/max(1, len(text)))), mcp.Text(text), mcp.Text(strings.Repeat(text, int(other)/max(1, len(text)))),
			},
			IsError: one%2 == 0,
		}
		if jsonrpc.CheckValue([]byte(structured), jsonrpc.Limits{}) == nil {
			r.StructuredContent = jsontext.Value(`[` + strings.TrimSuffix(strings.Repeat(structured+`,`, 1+int(third)/max(1, len(structured))), `,`) + `]`)
		}
		e, err := dialect.Newest(dialect.StatelessEra).Encode(r)
		if err != nil {
			return
		}
		whole, inParts := seal(t, e, false), seal(t, e, true)
		if len(whole.Parts) > 0 || whole.Size() != len(whole.Body) {
			t.Fatalf("a reply in one piece has %d parts, %d bytes of %d", len(whole.Parts), whole.Size(), len(whole.Body))
		}
		got := inParts.Whole()
		if !bytes.Equal(got, whole.Body) || inParts.Size() != len(got) {
			t.Fatalf("in parts %d bytes, said to be %d:\n%.200s\nwhole %d bytes:\n%.200s", len(got), inParts.Size(), got, len(whole.Body), whole.Body)
		}
		if bytes.ContainsAny(got, "\r\n") {
			t.Fatalf("more than a line: %.200q", got)
		}
	})
}

// seal seals a result for a request of the stateless era.
func seal(t *testing.T, e *dialect.Encoded, inParts bool) dialect.Reply {
	t.Helper()
	params := jsontext.Value(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
	server := dialect.NewServer(dialect.ServerParams{})
	call, err := server.Open(jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: mcp.MethodToolsCall, Params: params}, dialect.TransportInfo{InParts: inParts})
	if err != nil {
		t.Fatal(err)
	}
	return call.Reply(e, nil)
}

func TestOnlyLargeValuesAreSeparateParts(t *testing.T) {
	for size, want := range map[int]int{100: 0, 16 << 10: 0, 16<<10 + 1: 1} {
		e, err := dialect.Newest(dialect.StatelessEra).Encode(&mcp.CallToolResult{Content: mcp.Contents{mcp.Text(strings.Repeat("x", size))}})
		if err != nil {
			t.Fatal(err)
		}
		r := seal(t, e, true)
		if len(r.Parts) != want || want == 1 && cap(r.Body) > 1024 {
			t.Errorf("a text of %d bytes: got %d parts and a body of %d, want %d parts", size, len(r.Parts), cap(r.Body), want)
		}
	}
}
