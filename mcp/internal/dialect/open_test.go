package dialect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func newServer(revisions ...mcp.Revision) *dialect.Server {
	return dialect.NewServer(dialect.ServerParams{
		Revisions: revisions,
		Info:      mcp.Implementation{Name: "test", Version: "1"},
		Custom:    func(_ *dialect.Facts, method string) bool { return method == "acme/count" },
	})
}

func decode(t testing.TB, raw string) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(raw), jsonrpc.Limits{})
	if err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return m
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernHeaders(method string) *dialect.Headers {
	return &dialect.Headers{Version: []string{"2026-07-28"}, Method: []string{method}}
}

// A failure here means that a stateless request is judged in another order than
// the protocol's own suite expects: a client would repair the wrong thing.
func TestStatelessRequestsAreCheckedInOrder(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-029", "R-036a", "R-054", "R-139", "R-140b", "R-142a", "R-143b", "R-145", "G-l", "G-p")
	named := func(h *dialect.Headers, name ...string) *dialect.Headers {
		h.Name = name
		return h
	}
	for _, test := range []struct {
		name    string
		raw     string
		headers *dialect.Headers
		code    mcp.Code
		status  int
	}{
		{"complete", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, modernHeaders("tools/list"), "", 0},
		{"complete over a stream", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, nil, "", 0},
		{
			"no version comes before a wrong header",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			modernHeaders("tools/call"), mcp.CodeInvalidParams, 400,
		},
		{
			"no capabilities",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			modernHeaders("tools/list"), mcp.CodeInvalidParams, 400,
		},
		{"header alone makes it modern", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, modernHeaders("tools/list"), mcp.CodeInvalidParams, 400},
		{
			"version of the wrong type",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`,
			nil, mcp.CodeInvalidParams, 400,
		},
		{
			"a null version is none",
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":null,"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			nil, mcp.CodeInvalidParams, 400,
		},
		{
			"a wrong header comes before an unknown version",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v9","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			modernHeaders("tools/list"), mcp.CodeHeaderMismatch, 400,
		},
		{
			"unknown version",
			`{"jsonrpc":"2.0","id":1,"method":"no/such","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v9","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			&dialect.Headers{Version: []string{"v9"}, Method: []string{"no/such"}}, mcp.CodeUnsupportedVersion, 400,
		},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + modernMeta + `}}`, modernHeaders("no/such"), mcp.CodeMethodNotFound, 404},
		{"method of the session era", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` + modernMeta + `}}`, nil, mcp.CodeMethodNotFound, 404},
		{"a custom method cannot bring ping back", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, nil, mcp.CodeMethodNotFound, 404},
		{"custom method", `{"jsonrpc":"2.0","id":1,"method":"acme/count","params":{` + modernMeta + `}}`, nil, "", 0},
		{"method header in another case", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, modernHeaders("TOOLS/LIST"), mcp.CodeHeaderMismatch, 400},
		{
			"version header twice",
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`,
			&dialect.Headers{Version: []string{"2026-07-28", "2026-07-28"}, Method: []string{"tools/list"}}, mcp.CodeHeaderMismatch, 400,
		},
		{"name header missing", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",` + modernMeta + `}}`, modernHeaders("tools/call"), mcp.CodeHeaderMismatch, 400},
		{"name header wrong", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",` + modernMeta + `}}`, named(modernHeaders("tools/call"), "sub"), mcp.CodeHeaderMismatch, 400},
		{"name header encoded", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",` + modernMeta + `}}`, named(modernHeaders("tools/call"), "=?base64?YWRk?="), "", 0},
		{"log level", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/logLevel":"loud","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, nil, mcp.CodeInvalidParams, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := dialect.TransportInfo{Headers: test.headers}
			if test.headers != nil {
				in.Binding = dialect.Streamable
			}
			call, err := newServer().Open(decode(t, test.raw), in)
			if test.code == "" {
				if err != nil {
					t.Fatalf("got %v, want no error", err)
				}
				return
			}
			if got := mcp.CodeOf(err); got != test.code {
				t.Fatalf("got %q (%v), want %q", got, err, test.code)
			}
			refusal, _ := errors.AsType[*dialect.Refusal](err)
			if test.status != 0 && (refusal == nil || refusal.Status != test.status) {
				t.Errorf("got %+v, want HTTP status %d", refusal, test.status)
			}
			if reply := call.Reply(nil, err); test.status != 0 && reply.Status != test.status {
				t.Errorf("sealed with status %d, want %d", reply.Status, test.status)
			}
		})
	}
}

func TestStatelessRequestOverHTTPSSENamesTheSessionRevisions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-054")
	m := decode(t, `{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{`+modernMeta+`}}`)
	call, err := newServer().Open(m, dialect.TransportInfo{Binding: dialect.EventStream})
	got := string(call.Reply(nil, err).Body)
	want := `{"jsonrpc":"2.0","id":"x","error":{"code":-32022,"message":"protocol version \"2026-07-28\": want one of [2025-11-25 2025-06-18 2025-03-26 2024-11-05]",` +
		`"data":{"supported":["2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2026-07-28"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The same methods must be gone for a stateless request and work for a session:
// the era is decided before the method is looked at.
func TestMethodsOfTheSessionEraAreUnknownToStatelessRequests(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-064a", "R-289", "G-m")
	s := newServer()
	session := negotiate(t, s, "2025-11-25")
	for _, method := range []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"} {
		stateless := decode(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+modernMeta+`}}`)
		if _, err := s.Open(stateless, dialect.TransportInfo{Session: session}); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
			t.Errorf("%s with metadata of the stateless era: got %v, want method not found", method, err)
		}
		for _, params := range []string{"", `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":null,"io.modelcontextprotocol/clientCapabilities":null}}`} {
			legacy := decode(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"`+params+`}`)
			if _, err := s.Open(legacy, dialect.TransportInfo{Session: session}); err != nil {
				t.Errorf("%s in a session%s: got %v, want no error", method, params, err)
			}
		}
	}
}

func negotiate(t *testing.T, s *dialect.Server, version string) *dialect.Session {
	t.Helper()
	call, err := s.Open(decode(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), dialect.TransportInfo{})
	if err != nil {
		t.Fatalf("open initialize: %v", err)
	}
	session, err := s.Negotiate(call)
	if err != nil {
		t.Fatalf("negotiate: %v", err)
	}
	return session
}

func TestNegotiationEchoesWhatIsServedAndOffersTheNewestOtherwise(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-043a", "R-043b", "R-043c")
	for _, test := range []struct{ offer, want string }{
		{"2024-11-05", "2024-11-05"},
		{"2025-03-26", "2025-03-26"},
		{"2025-06-18", "2025-06-18"},
		{"2025-11-25", "2025-11-25"},
		{"2026-07-28", "2025-11-25"},
		{"1999-01-01", "2025-11-25"},
	} {
		if got := negotiate(t, newServer(), test.offer).Facts.Revision.String(); got != test.want {
			t.Errorf("offer %s: got %s, want %s", test.offer, got, test.want)
		}
	}
	pinned := newServer(mcp.V20241105, mcp.V20260728)
	if got := negotiate(t, pinned, "2025-11-25").Facts.Revision; got != mcp.V20241105 {
		t.Errorf("pinned to 2024-11-05: got %s", got)
	}
}

func TestServerOfTheStatelessEraNamesItsVersionsToInitialize(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-066")
	s := newServer(mcp.V20260728)
	call, err := s.Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`), dialect.TransportInfo{})
	want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"initialize: want requests of one of [2026-07-28], which need no initialize","data":{"supported":["2026-07-28"],"requested":"2025-06-18"}}}`
	if got := string(call.Reply(nil, err).Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestErrorsForMalformedMetadataDoNotNameGoTypes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-035")
	for _, test := range []struct{ meta, want string }{
		{`"x"`, "_meta: unexpected string"},
		{`{"progressToken":{}}`, "_meta: "},
		{`{"traceparent":1}`, "_meta: /traceparent: unexpected number"},
	} {
		call, err := newServer().Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":`+test.meta+`}}`), dialect.TransportInfo{})
		got := string(call.Reply(nil, err).Body)
		if !strings.Contains(got, test.want) || strings.Contains(got, "dialect") || strings.Contains(got, "RequestMeta") {
			t.Errorf("%s: got %s, want %q and no type", test.meta, got, test.want)
		}
	}
}

func TestRequestBeforeInitializeIsRefusedButPingIsNot(t *testing.T) {
	t.Parallel()
	s := newServer()
	if _, err := s.Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}`), dialect.TransportInfo{}); mcp.CodeOf(err) != mcp.CodeInvalidRequest {
		t.Errorf("tools/call: got %v, want invalid request", err)
	}
	if _, err := s.Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), dialect.TransportInfo{}); err != nil {
		t.Errorf("ping: got %v, want no error", err)
	}
}

func TestSessionHeadersAreComparedWhenTheyAreThere(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-124", "D-06", "D-10", "B-05", "B-06")
	s := newServer()
	session := negotiate(t, s, "2025-06-18")
	list := decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, test := range []struct {
		name    string
		headers dialect.Headers
		code    mcp.Code
	}{
		{"none", dialect.Headers{}, ""},
		{"version", dialect.Headers{Version: []string{"2025-06-18"}}, ""},
		{"unknown version", dialect.Headers{Version: []string{"2030-01-01"}}, mcp.CodeInvalidRequest},
		{"two versions", dialect.Headers{Version: []string{"2025-06-18", "2025-11-25"}}, mcp.CodeInvalidRequest},
		{"method", dialect.Headers{Method: []string{"tools/list"}}, ""},
		{"another method", dialect.Headers{Method: []string{"tools/call"}}, mcp.CodeHeaderMismatch},
	} {
		_, err := s.Open(list, dialect.TransportInfo{Binding: dialect.Streamable, Headers: &test.headers, Session: session})
		if got := mcp.CodeOf(err); got != test.code {
			t.Errorf("%s: got %q, want %q", test.name, got, test.code)
		}
	}
}

func TestRequestWithoutAnIDIsNotANotification(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-009a")
	s := newServer()
	session := negotiate(t, s, "2025-11-25")
	for _, tt := range []struct {
		raw     string
		session *dialect.Session
		want    mcp.Code
	}{
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}`, session, mcp.CodeInvalidRequest},
		{`{"jsonrpc":"2.0","method":"initialize","params":{}}`, nil, mcp.CodeInvalidRequest},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, nil, mcp.CodeInvalidRequest},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, ""},
		{`{"jsonrpc":"2.0","method":"acme/news"}`, session, ""},
	} {
		_, err := s.Open(decode(t, tt.raw), dialect.TransportInfo{Session: tt.session})
		if got := mcp.CodeOf(err); got != tt.want {
			t.Errorf("%s: got %v, want %q", tt.raw, err, tt.want)
		}
	}
}

// A failure here means that a client which sends keys of the stateless era to every server loses its
// sessions, or that such a key changes what a session has agreed on.
func TestSessionDecidesTheEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-064a")
	const stray = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"loud"}`
	const older = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}`
	version := func(names ...string) *dialect.Headers {
		return &dialect.Headers{Version: names, Method: []string{"tools/list"}}
	}
	for _, test := range []struct {
		name      string
		meta      string
		headers   *dialect.Headers
		session   bool
		stateless bool
		code      mcp.Code
	}{
		{"stray keys on a connection", stray, nil, true, false, ""},
		{"stray keys over HTTP", stray, version("2025-11-25"), true, false, ""},
		{"another revision with sessions on a connection", older, nil, true, false, ""},
		{"the stateless revision on a connection", modernMeta, nil, true, true, ""},
		{"the stateless revision in the metadata over HTTP", modernMeta, version("2025-11-25"), true, false, ""},
		{"the stateless revision without a header", modernMeta, version(), true, false, ""},
		{"the stateless revision in the header", modernMeta, version("2026-07-28"), true, true, ""},
		{"stray keys without a session", stray, nil, false, true, mcp.CodeInvalidParams},
		{"header and metadata differ without a session", modernMeta, version("2025-11-25"), false, true, mcp.CodeHeaderMismatch},
		{"header and metadata name the same revision with sessions", older, version("2025-11-25"), false, false, mcp.CodeInvalidRequest},
		{"a revision with sessions in the metadata alone", older, nil, false, true, mcp.CodeUnsupportedVersion},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			in := dialect.TransportInfo{Headers: test.headers}
			if test.headers != nil {
				in.Binding = dialect.Streamable
			}
			if test.session {
				in.Session = &dialect.Session{Facts: dialect.Of(mcp.V20251125), Client: &mcp.Implementation{Name: "c"}, Capabilities: new(mcp.ClientCapabilities)}
			}
			call, err := s.Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+test.meta+`}}`), in)
			if got := mcp.CodeOf(err); got != test.code {
				t.Fatalf("got %q (%v), want %q", got, err, test.code)
			}
			if got := call.Facts.Era == dialect.StatelessEra; got != test.stateless {
				t.Errorf("stateless: got %v, want %v", got, test.stateless)
			}
			if test.session && !test.stateless && call.Capabilities != in.Session.Capabilities {
				t.Error("the capabilities are not those of the session")
			}
		})
	}
}

// Clients that send keys of the stateless era with every message send them with the one that opens the session, too.
func TestInitializeOpensASessionWhateverItsMetadataSays(t *testing.T) {
	t.Parallel()
	const offer = `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}`
	for _, meta := range []string{
		modernMeta,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":[]}`,
		`"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		m := decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+offer+`,`+meta+`}}`)
		for name, in := range map[string]dialect.TransportInfo{
			"HTTP":   {Binding: dialect.Streamable, Headers: &dialect.Headers{}},
			"stream": {Binding: dialect.Stream},
		} {
			s := newServer()
			call, err := s.Open(m, in)
			if err != nil {
				t.Errorf("%s: %s: got %v, want a session", name, meta, err)
				continue
			}
			if session, err := s.Negotiate(call); err != nil || session.Facts.Revision != mcp.V20250618 {
				t.Errorf("%s: %s: got %+v, %v, want a session of 2025-06-18", name, meta, session, err)
			}
		}
	}
	m := decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+offer+`,`+modernMeta+`}}`)
	if _, err := newServer().Open(m, dialect.TransportInfo{Binding: dialect.Streamable, Headers: modernHeaders("initialize")}); mcp.CodeOf(err) != mcp.CodeMethodNotFound {
		t.Errorf("got %v, want a request of the stateless era by its header", err)
	}
}

// The draft gives another number to this error than the stateless revision.
func TestDraftSessionsNumberAHeaderMismatchAsTheDraftDoes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-019c")
	s := newServer(mcp.DraftV1, mcp.V20251125)
	in := dialect.TransportInfo{Binding: dialect.Streamable, Headers: &dialect.Headers{}}
	opening := decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"DRAFT-2026-v1","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	call, err := s.Open(opening, in)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Negotiate(call)
	checkNumber(t, call.Reply(nil, err), -32001)

	in.Headers = &dialect.Headers{Method: []string{"tools/call"}}
	in.Session = &dialect.Session{Facts: dialect.Of(mcp.DraftV1), Client: &mcp.Implementation{Name: "c"}, Capabilities: new(mcp.ClientCapabilities)}
	call, err = s.Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), in)
	checkNumber(t, call.Reply(nil, err), -32001)

	in.Headers, in.Session = modernHeaders("tools/call"), nil
	call, err = newServer().Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`), in)
	checkNumber(t, call.Reply(nil, err), -32020)
}

func checkNumber(t *testing.T, reply dialect.Reply, want int) {
	t.Helper()
	if body := string(reply.Body); !strings.Contains(body, fmt.Sprintf(`"code":%d`, want)) || reply.Status != 400 {
		t.Errorf("got %d %s, want 400 and the number %d", reply.Status, body, want)
	}
}

// The name is looked up for each call whose telemetry is measured.
func TestNameOfACallIsFoundInAnyOrder(t *testing.T) {
	t.Parallel()
	const arguments = `"arguments":{"name":"wrong","_meta":{"name":"wrong"}}`
	for params, want := range map[string]string{
		modernMeta + `,"name":"a",` + arguments:         `"a"`,
		modernMeta + `,` + arguments + `,"name":"a"`:    `"a"`,
		`"name" : "a" ,` + arguments + `,` + modernMeta: `"a"`,
		arguments + `,` + modernMeta + `,"name":"a"`:    `"a"`,
		arguments + `,` + modernMeta:                    "",
		`"name":{"x":1},` + modernMeta:                  `{"x":1}`,
	} {
		c, err := newServer().Open(decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`), dialect.TransportInfo{})
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		if got := string(c.Name()); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
		if c.ReleaseMessage(); c.Name() != nil {
			t.Errorf("%s: got the name %s of params that were released", params, c.Name())
		}
	}
}
