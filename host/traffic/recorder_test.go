package traffic_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// read is a message that the host has read from a client over a stream.
func read(conn uint64, data string) mcp.WireMessage {
	return mcp.WireMessage{Conn: conn, Data: []byte(data), Principal: mcp.PrincipalLocal}
}

// sent is a message that the host has sent over a stream.
func sent(conn uint64, data string) mcp.WireMessage {
	return mcp.WireMessage{Conn: conn, Sent: true, Data: []byte(data), Principal: mcp.PrincipalLocal}
}

func httpRequest(conn uint64, session, data string) mcp.WireMessage {
	h := &mcp.WireHTTP{Method: "POST", Path: "/mcp", Header: map[string][]string{}}
	if session != "" {
		h.Header["Mcp-Session-Id"] = []string{session}
	}
	return mcp.WireMessage{Conn: conn, HTTP: h, Data: []byte(data), Principal: mcp.Principal{Issuer: "https://issuer.example", Subject: "anna"}}
}

func httpResponse(conn uint64, status int, session, data string) mcp.WireMessage {
	m := httpRequest(conn, session, data)
	m.Sent, m.HTTP.Method, m.HTTP.Path, m.HTTP.Status = true, "", "", status
	return m
}

func event(m mcp.WireMessage) mcp.WireMessage {
	m.HTTP.Event = true
	return m
}

func recorded(messages ...mcp.WireMessage) []traffic.Message {
	r := traffic.New()
	for _, m := range messages {
		r.Record("", m)
	}
	return r.Messages()
}

func TestMessageHasTheEnvelopeAndNotTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const call = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"pay","arguments":{"card":"4111"},"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","io.modelcontextprotocol/clientInfo":{"name":"ide","version":"1"}}}}`
		r := traffic.New()
		r.Record("", read(3, call))
		time.Sleep(time.Second)
		r.Record("", sent(3, `{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"4111"}],"isError":true}}`))
		got := r.Messages()
		want := []traffic.Message{
			{
				Seq: 1, Time: got[0].Time, Conn: 3, Session: "c3", FromClient: true, Client: "ide", Principal: "local", Kind: traffic.Request, Method: "tools/call", ID: `"a"`, Name: "pay",
				Bytes: len(call), Trace: "0af7651916cd43dd8448eb211c80319c", Call: 1, Round: 1,
			},
			{
				Seq: 2, Time: got[1].Time, Conn: 3, Session: "c3", Client: "ide", Principal: "local", Kind: traffic.Result, Method: "tools/call", ID: `"a"`, Name: "pay",
				Bytes: got[1].Bytes, ToolError: true, Request: 1, Milliseconds: 1000, Call: 1, Round: 1,
			},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), "4111") {
			t.Errorf("got %s, %v, want it without the body", text, err)
		}
	})
}

func TestKindsOfMessages(t *testing.T) {
	for data, want := range map[string]traffic.Kind{
		`{"id":1,"method":"ping"}`:                                  traffic.Request,
		`{"params":{"a":["}"]},"method":"notifications\/progress"}`: traffic.Notification,
		`{"id":1,"result":{}}`:                                      traffic.Result,
		`{"id":1,"error":{"code":-32601,"message":"\"no\\"}}`:       traffic.Error,
		`{"id":1,"error":null,"result":{}}`:                         traffic.Result,
		`{"jsonrpc":"2.0"}`:                                         traffic.Invalid,
		`{"id":`:                                                    traffic.Invalid,
		`Content-Length: 12`:                                        traffic.Invalid,
		`"`:                                                         traffic.Invalid,
		`[`:                                                         traffic.Invalid,
	} {
		got := recorded(read(1, data))
		if len(got) != 1 || got[0].Kind != want || got[0].Failed() != (want == traffic.Error || want == traffic.Invalid) {
			t.Errorf("%s: got %+v, want a message of the kind %s", data, got, want)
		}
	}
}

func TestErrorHasItsCode(t *testing.T) {
	got := recorded(read(1, `{"id":1,"method":"m"}`), sent(1, `{"id":1,"error":{"message":"no","code":-32602}}`))
	if got[1].Code != -32602 || got[1].Method != "m" {
		t.Errorf("got %+v, want the code and the method", got[1])
	}
}

func TestBatchIsSeveralMessages(t *testing.T) {
	got := recorded(read(1, ` [{"id":1,"method":"a"}, {"id":2,"method":"b"}]`))
	if len(got) != 2 || got[0].Method != "a" || got[1].Method != "b" {
		t.Errorf("got %+v, want both messages", got)
	}
}

func TestDirectionIsThatOfTheHop(t *testing.T) {
	r := traffic.New()
	r.Record("git", sent(1, `{"id":1,"method":"tools/list"}`))
	r.Record("git", read(1, `{"id":1,"result":{}}`))
	r.Record("", read(2, `{"id":1,"method":"tools/list"}`))
	got := r.Messages()
	if !got[0].FromClient || got[1].FromClient || !got[2].FromClient || got[0].Upstream != "git" || got[0].Principal != "" {
		t.Errorf("got %+v", got)
	}
}

// A question and its answer are in different HTTP requests.
func TestSessionOverHTTPIsJoined(t *testing.T) {
	const session = "0123456789abcdef"
	got := recorded(
		httpRequest(1, "", `{"id":0,"method":"initialize","params":{"clientInfo":{"name":"ide"}}}`),
		httpResponse(1, 200, session, `{"id":0,"result":{}}`),
		httpRequest(2, session, `{"id":1,"method":"tools/call","params":{"name":"book"}}`),
		event(httpResponse(2, 200, "", `{"id":1,"method":"elicitation/create"}`)),
		httpRequest(3, session, `{"id":1,"result":{"action":"accept"}}`),
		httpResponse(3, 202, "", ``),
		event(httpResponse(2, 200, "", `{"id":1,"result":{}}`)),
	)
	if len(got) != 6 {
		t.Fatalf("got %d messages, want 6 without the response 202", len(got))
	}
	for i, m := range got {
		if m.Client != "ide" || m.Principal != "anna" || i > 0 && m.Session != "01234567" {
			t.Errorf("got client %q, principal %q and session %q, want ide, anna and 01234567", m.Client, m.Principal, m.Session)
		}
	}
	if answer := got[4]; answer.Request != 4 || answer.Method != "elicitation/create" || answer.Call != 3 {
		t.Errorf("got %+v, want the answer of message 4 in the call 3", answer)
	}
	if result := got[5]; result.Request != 3 || result.Name != "book" {
		t.Errorf("got %+v, want the result of message 3", result)
	}
}

func TestRoundsOfACallAreJoined(t *testing.T) {
	got := recorded(
		httpRequest(1, "", `{"id":1,"method":"tools/call","params":{"name":"book"}}`),
		httpResponse(1, 200, "", `{"id":1,"result":{"resultType":"input_required","requestState":"sealed"}}`),
		httpRequest(2, "", `{"id":2,"method":"tools/call","params":{"name":"book","requestState":"sealed"}}`),
		httpResponse(2, 200, "", `{"id":2,"result":{"resultType":"complete"}}`),
	)
	for i, m := range got {
		if m.Call != 1 || m.Round != 1+i/2 || m.Asks != (i == 1) {
			t.Errorf("message %d: got call %d, round %d, asks %t", m.Seq, m.Call, m.Round, m.Asks)
		}
	}
}

// Of several calls of a connection nobody knows which one asks.
func TestQuestionDuringSeveralCallsHasNoCall(t *testing.T) {
	got := recorded(read(1, `{"id":1,"method":"tools/call"}`), read(1, `{"id":2,"method":"tools/call"}`), sent(1, `{"id":1,"method":"roots/list"}`))
	if got[2].Call != 0 {
		t.Errorf("got call %d, want none", got[2].Call)
	}
}

func TestFailedHTTPResponsesAreRecorded(t *testing.T) {
	got := recorded(httpRequest(1, "", ``), httpResponse(1, 401, "", ``), httpRequest(2, "", ``), httpResponse(2, 202, "", ``))
	if len(got) != 1 || got[0].Kind != traffic.HTTP || got[0].Status != 401 || !got[0].Failed() {
		t.Errorf("got %+v, want the response 401", got)
	}
}

func TestLastMessagesAreKept(t *testing.T) {
	r := traffic.New()
	for range traffic.Capacity + 10 {
		r.Record("", read(1, `{"method":"m"}`))
	}
	got := r.Messages()
	if len(got) != traffic.Capacity || got[0].Seq != 11 || got[len(got)-1].Seq != traffic.Capacity+10 {
		t.Errorf("got %d messages from %d on, want %d from 11 on", len(got), got[0].Seq, traffic.Capacity)
	}
}

// A peer chooses how long its texts are, and may leave everything unanswered.
func TestMemoryIsBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var before, after runtime.MemStats
	r := traffic.New()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range 5_000 {
		m := httpRequest(uint64(n+1), fmt.Sprint(long, n), fmt.Sprintf(`{"id":"%d%s","method":"%[2]s","params":{"name":"%[2]s","requestState":"%[1]d","_meta":{"io.modelcontextprotocol/clientInfo":{"name":"%[2]s"}}}}`, n, long))
		m.Principal.Subject = long
		r.Record("", m)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
		t.Errorf("got %d bytes, want at most 4 MiB", kept)
	}
	runtime.KeepAlive(r)
}

func TestFollowYieldsWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := traffic.New()
		r.Record("", read(1, `{"method":"first"}`))
		r.Record("", read(1, `{"method":"second"}`))
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for batch := range r.Follow(ctx, 1) {
				for _, m := range batch.Messages {
					got = append(got, m.Method)
				}
			}
		}()
		synctest.Wait()
		r.Record("", read(1, `{"method":"third"}`))
		synctest.Wait()
		cancel()
		<-ended
		if !slices.Equal(got, []string{"second", "third"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestSlowReaderIsToldWhatItHasMissed(t *testing.T) {
	r := traffic.New()
	record := func(n int) {
		for range n {
			r.Record("", read(1, `{"method":"m"}`))
		}
	}
	record(traffic.Capacity + 5)
	var missed []uint64
	for batch := range r.Follow(t.Context(), 0) {
		if missed = append(missed, batch.Missed); len(missed) == 2 {
			break
		}
		record(traffic.Capacity + 7) // while the reader is busy
	}
	if !slices.Equal(missed, []uint64{0, 7}) {
		t.Errorf("got %d, want none of those before it began, and then 7", missed)
	}
}

// FuzzRecord finds texts for which the scanner does not stay within the text.
func FuzzRecord(f *testing.F) {
	for _, data := range []string{`{"id":1,"method":"a\"b","params":{"_meta":{"traceparent":"00--"}}}`, `[{"result":{"isError":true}},{}]`, `{"a":"\`, `{"a"`, `[]]`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for _, m := range recorded(read(1, data)) {
			if _, err := json.Marshal(m); err != nil {
				t.Error(err)
			}
		}
	})
}

// BenchmarkCall is a call that the host relays: four messages.
func BenchmarkCall(b *testing.B) {
	r := traffic.New()
	ask := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"git__log","arguments":{"path":"/srv/repository","max":50},"_meta":{"progressToken":7}}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("commit\\n", 200) + `"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		r.Record("", mcp.WireMessage{Conn: 1, Data: ask})
		r.Record("git", mcp.WireMessage{Conn: 2, Sent: true, Data: ask})
		r.Record("git", mcp.WireMessage{Conn: 2, Data: answer})
		r.Record("", mcp.WireMessage{Conn: 1, Sent: true, Data: answer})
	}
}

// group returns the groups of the messages, in their order.
func groups(messages []traffic.Message) (of []uint64) {
	for _, m := range messages {
		of = append(of, m.Group())
	}
	return of
}

func TestHopsOfACallAreJoined(t *testing.T) {
	call := func(id int, name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"arguments":%s,"name":%q}}`, id, arguments, name)
	}
	answer := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id) }
	for name, c := range map[string]struct {
		exchange func(r *traffic.Recorder)
		want     []uint64
	}{
		"calls of two tools at once": {func(r *traffic.Recorder) {
			r.Record("", read(1, call(1, "git__log", `{"n":1}`)))
			r.Record("", read(2, call(1, "git__show", `{"n":1}`)))
			r.Record("git", sent(3, call(8, "show", `{"n":1}`)))
			r.Record("git", sent(3, call(9, "log", `{"n":1}`)))
			r.Record("git", read(3, answer(9)))
			r.Record("", sent(1, answer(1)))
		}, []uint64{1, 2, 2, 1, 1, 1}},
		"equal calls at once, in their order": {func(r *traffic.Recorder) {
			for conn := range uint64(3) {
				r.Record("", read(conn+1, call(1, "git__log", `{}`)))
			}
			for conn := range uint64(3) {
				r.Record("git", sent(conn+4, call(1, "log", `{}`)))
			}
		}, []uint64{1, 2, 3, 1, 2, 3}},
		"a call that was answered is not sent on later": {func(r *traffic.Recorder) {
			r.Record("", read(1, call(1, "git__log", `{}`)))
			r.Record("", sent(1, answer(1)))
			r.Record("git", sent(2, call(1, "log", `{}`)))
		}, []uint64{1, 1, 3}},
		"a tool whose name clients see changed": {func(r *traffic.Recorder) {
			r.Record("", read(1, call(1, mcp.QualifiedName("git", "log.all"), `{}`)))
			r.Record("git", sent(2, call(1, "log.all", `{}`)))
		}, []uint64{1, 1}},
		"another server": {func(r *traffic.Recorder) {
			r.Record("", read(1, call(1, "git__log", `{}`)))
			r.Record("hub", sent(2, call(1, "log", `{}`)))
		}, []uint64{1, 2}},
		"a resource, and a question of its server": {func(r *traffic.Recorder) {
			r.Record("", read(1, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}`))
			r.Record("files", sent(2, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}`))
			r.Record("files", read(2, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
		}, []uint64{1, 1, 1}},
	} {
		r := traffic.New()
		c.exchange(r)
		if got := groups(r.Messages()); !slices.Equal(got, c.want) {
			t.Errorf("%s: got the calls %v, want %v", name, got, c.want)
		}
	}
}

// A client of the stateless era is asked between rounds, while the host waits at a server with sessions.
func TestRoundsOfBothHopsAreOneCall(t *testing.T) {
	r := traffic.New()
	r.Record("", httpRequest(1, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"git__push","arguments":{}}}`))
	r.Record("git", sent(2, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"push","arguments":{}}}`))
	r.Record("git", read(2, `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{}}`))
	r.Record("", httpResponse(1, 200, "", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`))
	r.Record("", httpRequest(3, "", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"git__push","arguments":{},"requestState":"s"}}`))
	r.Record("git", sent(2, `{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}}`))
	r.Record("git", read(2, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`))
	r.Record("", httpResponse(3, 200, "", `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`))
	if got := groups(r.Messages()); !slices.Equal(got, []uint64{1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("got the calls %v, want one", got)
	}
}

func TestRestOfAListIsNotRead(t *testing.T) {
	got := recorded(read(1, `{"id":1,"method":"tools/list"}`), sent(1, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]},"error":{"code":1}}`),
		read(1, `{"id":2,"method":"tools/list"}`), sent(1, `{"result":{"tools":[{"name":"}"}]},"id":2}`))
	for _, m := range []traffic.Message{got[1], got[3]} {
		if m.Kind != traffic.Result || m.Method != "tools/list" || m.ToolError {
			t.Errorf("got %+v, want the result of the list", m)
		}
	}
}
