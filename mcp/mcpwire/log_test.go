package mcpwire_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// timeOfDay is the beginning of a line.
var timeOfDay = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3} `)

func logged(o *mcpwire.LogOptions, messages ...mcp.WireMessage) string {
	var out bytes.Buffer
	log := mcpwire.NewLog(&out, o)
	for _, m := range messages {
		log.Record(m)
	}
	return timeOfDay.ReplaceAllString(out.String(), "")
}

func TestLinesShowWhatAMessageIs(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add"}}`, `1 ← tools/call id=7 {"name":"add"}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `1 ← notifications/initialized`},
		{`{"jsonrpc":"2.0","id":"a","result":{}}`, `1 ← id="a" result {}`},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, `1 ← id=null error {"code":-32700,"message":"no"}`},
		{`{"id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{},"progressToken":3,"io.modelcontextprotocol/clientCapabilities":{}}}}`, `1 ← m id=1 {"_meta":{"progressToken":3}}`},
		{`[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`, "1 ← a\n1 ← b"},
		{`{"jsonrpc":"2.0"}`, `1 ← invalid (17 bytes)`},
		{` [{"method":"a"}]`, `1 ← a`},
		{`Content-Length: 12`, `1 ← invalid "Content-Length: 12"`},
		{"half \xff", "1 ← invalid \"half \uFFFD\""},
	} {
		if got := logged(nil, mcp.WireMessage{Conn: 1, Data: []byte(c.data)}); got != c.want+"\n" {
			t.Errorf("%s\n got %s\nwant %s", c.data, got, c.want)
		}
	}
}

func TestLinesHaveNoSecrets(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{"password":"x","Api-Key":"x","api_key":"x","client_secret":"x"}`, `{"password":"[redacted]","Api-Key":"[redacted]","api_key":"[redacted]","client_secret":"[redacted]"}`},
		{`{"creditCard":"x","recovery_code":"x","cardPin":"x","X-Amz-Signature":"x","progressToken":"p","max_tokens":5}`, `{"creditCard":"[redacted]","recovery_code":"[redacted]","cardPin":"[redacted]","X-Amz-Signature":"[redacted]","progressToken":"p","max_tokens":5}`},
		{`{"pwd":"x","PIN":1,"options":"y","pinned":"y"}`, `{"pwd":"[redacted]","PIN":"[redacted]","options":"y","pinned":"y"}`},
		{`{"credentials":{"user":"x"}}`, `{"credentials":"[redacted]"}`},
		{`{"deep":[{"token":"x"}]}`, `{"deep":[{"token":"[redacted]"}]}`},
		{`{"password":null}`, `{"password":null}`},
		{`{"requestState":"x"}`, `{"requestState":"[redacted]"}`},
		{`{"_meta":{"progressToken":3}}`, `{"_meta":{"progressToken":3}}`},
		{`{"url":"https://u:p@a.example/b?key=x#f"}`, `{"url":"https://[redacted]@a.example/b?[redacted]"}`},
		{`{"db":"postgres://u:p@h/db","ws":"WSS://h?token=x"}`, `{"db":"postgres://[redacted]@h/db","ws":"WSS://h?[redacted]"}`},
		{`{"p\u0061ssword":"x"}`, `{"password":"[redacted]"}`},
		{`{"password":"x","password":"y"}`, `{"password":"[redacted]","password":"[redacted]"}`},
		// The schema of a secret is none, what it has of its values is.
		{`{"tools":[{"name":"login","inputSchema":{"properties":{"password":{"type":"string","default":"x","enum":["x"],"minLength":8},"token":"x"}}}]}`, `{"tools":[{"name":"login","inputSchema":{"properties":{"password":{"type":"string","minLength":8},"token":"[redacted]"}}}]}`},
		{`{"requestedSchema":{"properties":{"pin":{"default":"x","type":"string"},"n":{"default":5}}}}`, `{"requestedSchema":{"properties":{"pin":{"type":"string"},"n":{"default":5}}}}`},
		{`{"inputRequests":{"a":{"params":{"requestedSchema":{"properties":{"pin":{"type":"string"}}}}}}}`, `{"inputRequests":{"a":{"params":{"requestedSchema":{"properties":{"pin":{"type":"string"}}}}}}}`},
		{`{"arguments":{"inputSchema":{"properties":{"password":{"value":"x"}}}}}`, `{"arguments":{"inputSchema":{"properties":{"password":"[redacted]"}}}}`},
		{`{"tools":[{"password":{"inputSchema":"x"},"_meta":{"properties":{"token":{"a":"x"}}}}]}`, `{"tools":[{"password":"[redacted]","_meta":{"properties":{"token":"[redacted]"}}}]}`},
	} {
		got := logged(nil, mcp.WireMessage{Conn: 1, Data: []byte(`{"id":1,"method":"m","params":` + c.params + `}`)})
		if got != "1 ← m id=1 "+c.want+"\n" {
			t.Errorf("%s\n got %s\nwant %s", c.params, got, c.want)
		}
	}
}

// What cannot be read as a message may be a part of one.
func TestInvalidMessagesAreNotShown(t *testing.T) {
	for _, data := range []string{
		`{"id":1,"method":"m","params":{"password":"hunter2"`, `{"id":1,"method":7,"params":{"password":"hunter2"}}`,
		`{"id":1,"password":"hunter2"}`, `"password":"hunter2"}`, `[{"password":"hunter2"}`,
	} {
		if got := logged(nil, mcp.WireMessage{Conn: 1, Data: []byte(data)}); strings.Contains(got, "hunter2") || !strings.Contains(got, "invalid") {
			t.Errorf("%s\n got %s, want it invalid without its text", data, got)
		}
	}
}

// A peer could otherwise keep its messages out of the log.
func TestLineOfALongIDIsComplete(t *testing.T) {
	id := `["` + strings.Repeat("x", 300) + `","` + strings.Repeat("y", 300) + `"]`
	var line mcpwire.Line
	text := logged(&mcpwire.LogOptions{JSON: true}, mcp.WireMessage{Conn: 7, Data: []byte(`{"id":` + id + `,"method":"m"}`)})
	if err := json.Unmarshal([]byte(text), &line); err != nil || line.Method != "m" || line.Conn != 7 {
		t.Errorf("got %s, %v, want the method and the connection", text, err)
	}
}

func TestHeadersHaveNoSecrets(t *testing.T) {
	header := map[string][]string{
		"Authorization": {"Bearer x"}, "Cookie": {"x"}, "X-Api-Key": {"x"}, "Mcp-Session-Id": {"0123456789"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	m := mcp.WireMessage{Conn: 1, HTTP: &mcp.WireHTTP{Method: "POST", Path: "/mcp", Header: header}}
	want := "1 ← POST /mcp Authorization: Bearer [redacted] Mcp-Protocol-Version: 2025-11-25 Mcp-Session-Id: 01234567…\n"
	if got := logged(nil, m); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var line mcpwire.Line
	if err := json.Unmarshal([]byte(logged(&mcpwire.LogOptions{JSON: true}, m)), &line); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Cookie", "X-Api-Key"} {
		if got := line.HTTP.Header[name]; got != "[redacted]" {
			t.Errorf("%s: got %q, want [redacted]", name, got)
		}
	}
}

func TestLineIsShort(t *testing.T) {
	long := strings.Repeat("ä", 1<<16)
	many := strings.Repeat(`{"a":1},`, 1<<14)
	for _, data := range []string{
		`{"id":1,"method":"m","params":{"text":"` + long + `"}}`,
		`{"id":1,"method":"m","params":[` + many + `1]}`,
		`{"id":1,"method":"m","params":{"` + long + `":1}}`,
		`{"id":"` + long + `","method":"m"}`,
		`{"id":1,"method":"` + long + `"}`,
		`{"id":1,"method":"m","params":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
		long,
	} {
		for _, o := range []*mcpwire.LogOptions{{MaxBytes: 1 << 10}, {MaxBytes: 1 << 10, JSON: true}} {
			got := logged(o, mcp.WireMessage{Conn: 1, Data: []byte(data)})
			if len(got) > 4<<10 {
				t.Errorf("%.40s…: got a line of %d bytes, want about 1 KiB", data, len(got))
			}
			if o.JSON && json.Unmarshal([]byte(got), new(mcpwire.Line)) != nil {
				t.Errorf("%.40s…: got %s, want JSON", data, got)
			}
		}
	}
}

// A peer that writes to the terminal of the person who reads the log can hide what it does.
func TestLineShowsWhatTerminalsObey(t *testing.T) {
	for _, text := range hostiletext.Texts() {
		quoted, err := json.Marshal(text, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []string{
			`{"id":1,"method":"m","params":{"a":` + string(quoted) + `}}`,
			`{"id":1,"method":` + string(quoted) + `}`,
			`{"id":` + string(quoted) + `,"method":"m"}`,
			text,
		} {
			got := strings.TrimSuffix(logged(nil, mcp.WireMessage{Data: []byte(data), HTTP: &mcp.WireHTTP{Method: text, Path: text, Header: map[string][]string{"Accept": {text}}}}), "\n")
			for _, r := range got {
				if !unicode.IsPrint(r) {
					t.Errorf("got %q, which has %q", got, r)
				}
			}
			if !utf8.ValidString(got) {
				t.Errorf("got %q, want UTF-8", got)
			}
		}
	}
}

func TestResponseHasTheMethodAndTheTimeOfItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := mcpwire.NewLog(&out, nil)
		log.Record(mcp.WireMessage{Conn: 1, Data: []byte(`{"id":1,"method":"tools/list"}`)})
		log.As("other").Record(mcp.WireMessage{Conn: 1, Data: []byte(`{"id":1,"method":"ping"}`)})
		log.Record(mcp.WireMessage{Conn: 1, Sent: true, Data: []byte(`{"id":1,"method":"roots/list"}`)})
		time.Sleep(1500 * time.Microsecond)
		log.Record(mcp.WireMessage{Conn: 1, Sent: true, Data: []byte(`{"id":1,"result":{}}`)})
		lines := strings.Split(out.String(), "\n")
		if got := lines[3]; !strings.HasSuffix(got, " 1 → tools/list id=1 result {} 1.5ms") {
			t.Errorf("got %s", got)
		}
	})
}

// A client can send requests that are never answered.
func TestLineNamesTheClient(t *testing.T) {
	initialize := []byte(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"Cursor","version":"1"}}}`)
	discover := []byte(`{"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"Zed"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	call, result := []byte(`{"id":2,"method":"tools/list"}`), []byte(`{"id":1,"result":{}}`)
	session := map[string][]string{"Mcp-Session-Id": {"0123456789"}}
	for name, c := range map[string]struct {
		messages []mcp.WireMessage
		want     string
	}{
		"message":    {[]mcp.WireMessage{{Conn: 1, Data: discover}, {Conn: 1, Sent: true, Data: result}}, `1 ← client=Zed server/discover id=1 {"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}` + "\n1 → client=Zed server/discover id=1 result {}"},
		"connection": {[]mcp.WireMessage{{Conn: 1, Data: initialize}, {Conn: 1, Data: call}, {Conn: 2, Data: call}}, `1 ← client=Cursor initialize id=1 {"clientInfo":{"name":"Cursor","version":"1"}}` + "\n1 ← client=Cursor tools/list id=2\n2 ← tools/list id=2"},
		"session": {
			[]mcp.WireMessage{{Conn: 1, HTTP: &mcp.WireHTTP{Method: "POST", Path: "/mcp"}, Data: initialize}, {Conn: 1, Sent: true, HTTP: &mcp.WireHTTP{Status: 200, Header: session}, Data: result}, {Conn: 2, HTTP: &mcp.WireHTTP{Method: "POST", Path: "/mcp", Header: session}, Data: call}},
			`1 ← client=Cursor POST /mcp initialize id=1 {"clientInfo":{"name":"Cursor","version":"1"}}` + "\n1 → client=Cursor 200 Mcp-Session-Id: 01234567… initialize id=1 result {}\n2 ← client=Cursor POST /mcp Mcp-Session-Id: 01234567… tools/list id=2",
		},
		"own": {[]mcp.WireMessage{{Conn: 1, Sent: true, Data: initialize}}, `1 → initialize id=1 {"clientInfo":{"name":"Cursor","version":"1"}}`},
	} {
		if got := regexp.MustCompile(` \d+\.\dms`).ReplaceAllString(logged(nil, c.messages...), ""); got != c.want+"\n" {
			t.Errorf("%s\n got %s\nwant %s", name, got, c.want)
		}
	}
	var many []mcp.WireMessage
	for i := range uint64(5000) {
		many = append(many, mcp.WireMessage{Conn: i, Data: initialize})
	}
	if got := logged(nil, append(many, mcp.WireMessage{Conn: 0, Data: call})...); !strings.HasSuffix(got, "\n0 ← tools/list id=2\n") {
		t.Errorf("got %s, want no client remembered for ever", got[len(got)-100:])
	}
}

func TestRequestsWithoutAResponseAreBounded(t *testing.T) {
	var out bytes.Buffer
	log := mcpwire.NewLog(&out, nil)
	for n := range uint64(10_000) {
		log.Record(mcp.WireMessage{Conn: n, Data: []byte(`{"id":1,"method":"m"}`)})
	}
	if n := log.Waiting(); n > 4096 {
		t.Errorf("got %d requests in memory, want at most 4096", n)
	}
}

func TestVariable(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true, "json": true} {
		if log, err := mcpwire.ForVariable(value, new(bytes.Buffer)); err != nil || (log != nil) != want {
			t.Errorf("%q: got %v, %v, want a log: %t", value, log, err, want)
		}
	}
	if _, err := mcpwire.ForVariable("yes", nil); err == nil || err.Error() != `FONDACO_WIRE="yes": want 1, json or 0` {
		t.Errorf("got %v", err)
	}
}
