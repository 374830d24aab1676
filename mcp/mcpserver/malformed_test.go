package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMalformedFrameIsAnsweredAndTheConnectionContinues(t *testing.T) {
	claim.Shows(t, "R-001", "R-002", "R-005", "R-007")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, everything(nil), r)
		for _, test := range []struct {
			frame string
			id    string
			code  int
		}{
			{``, ``, -32700},
			{`{`, ``, -32700},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","argum`, `7`, -32700},
			{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":{"x":NaN}},"id":7}`, `7`, -32700},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud83d"}}`, `7`, -32700},
			{`null`, ``, -32600},
			{`"tools/list"`, ``, -32600},
			{`{}`, ``, -32600},
			{`{"jsonrpc":"1.0","id":7,"method":"tools/list"}`, `7`, -32600},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/list"} {}`, `7`, -32700},
			{`{"jsonrpc":"2.0","id":7,"method":7}`, `7`, -32600},
			{`{"jsonrpc":"2.0","id":7,"method":""}`, `7`, -32600},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}`, `7`, -32600},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"ping"}`, `7`, -32700},
			{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":{"y":1,"y":2}}}}`, `7`, -32700},
			{`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, ``, -32600},
			{`{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, ``, -32600},
			{`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, ``, -32600},
			{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"tools/list"}`, ``, -32600},
			{`{"jsonrpc":"2.0","id":7,"Method":"tools/list"}`, `7`, -32600},
			{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", `7`, -32700},
			{`{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, `7`, -32700},
			{`[]`, ``, -32600},
			{`[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]`, `7`, -32600},
		} {
			w.Write(test.frame)
			m := w.Receive()
			if m.Error == nil || m.Error.Code != test.code {
				t.Errorf("%.100s: got %s, want error %d", test.frame, m.Raw, test.code)
			}
			if id := string(m.ID); id != test.id {
				t.Errorf("%.100s: got %s, want id %q or none", test.frame, m.Raw, test.id)
			}
		}
		w.Must("tools/list", "")
	})
}

func TestNotificationsAndResponsesAreNotAnswered(t *testing.T) {
	claim.Shows(t, "R-009b", "R-281b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, everything(nil), r)
		for _, frame := range []string{
			`{"jsonrpc":"2.0","method":"notifications/unknown"}`,
			`{"jsonrpc":"2.0","method":"tools/list"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{"_meta":7}}`,
			`{"jsonrpc":"2.0","id":99,"result":{}}`,
			`{"jsonrpc":"2.0","id":"99","error":{"code":1,"message":"x"}}`,
		} {
			w.Write(frame)
		}
		w.Quiet()
		w.Must("tools/list", "")
	})
}

func TestIDsAreEchoedByteForByte(t *testing.T) {
	claim.Shows(t, "R-005", "G-l")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, everything(nil), r)
		for _, id := range []string{`"a"`, `"1"`, `"\u00e9\n"`, `-1`, `0`, `9007199254740993`, `""`} {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`, id, w.Params("")))
			if m := w.Receive(); m.Error != nil || !strings.Contains(m.Raw, `"id":`+id+`,`) {
				t.Errorf("%s: got %s, want the id as it was", id, m.Raw)
			}
		}
	})
}

func TestIDOfARunningRequestIsRefused(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv, release := newServer(nil), make(chan struct{})
		srv.Tool("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			<-release
			return "done", nil
		})
		w := dial(t, srv, r)
		for _, id := range []string{`7`, `"7"`} {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}`, id, w.Params(`{"name":"wait"}`)))
		}
		synctest.Wait()
		w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":%s}`, w.Params("")))
		if m := w.Receive(); m.Error == nil || m.Error.Code != -32600 || string(m.ID) != "7" {
			t.Errorf("got %s, want -32600", m.Raw)
		}
		close(release)
		w.Reply(`7`)
		w.Reply(`"7"`)
		w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":%s}`, w.Params("")))
		if m := w.Receive(); m.Error != nil {
			t.Errorf("got %s, want an answer: the id is free again", m.Raw)
		}
	})
}

func TestFrameThatTheTransportDropsIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := pipe(t)
		w := attach(t, everything(nil), ours, &dropping{Conn: theirs})
		w.Write("too long")
		if m := w.Receive(); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "too long for this test") {
			t.Errorf("got %s, want the reason", m.Raw)
		}
		w.Must("ping", "")
	})
}

// dropping is a Conn that drops messages which begin like none.
type dropping struct{ mcp.Conn }

func (d *dropping) Read(ctx context.Context) ([]byte, error) {
	msg, err := d.Conn.Read(ctx)
	if err == nil && msg[0] != '{' {
		return nil, &mcp.FrameError{Reason: "too long for this test"}
	}
	return msg, err
}

func TestBatchBelongsToOneRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a", "R-011", "R-012")
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, everything(nil), mcp.V20250326)
		w.Write(`[
			{"jsonrpc":"2.0","id":10,"method":"tools/list"},
			{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}},
			{"jsonrpc":"2.0","id":11,"method":"unknown"},
			{"jsonrpc":"2.0","id":12,"method":"initialize","params":` + initialize("2025-03-26") + `},
			{"id":13}]`)
		data, err := w.Conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		replies := decoded[[]message](t, jsontext.Value(data))
		var got []string
		for _, m := range replies {
			code := 0
			if m.Error != nil {
				code = m.Error.Code
			}
			got = append(got, fmt.Sprintf("%s:%d", m.ID, code))
		}
		if want := "10:0 11:-32601 12:-32600 13:-32600"; strings.Join(got, " ") != want {
			t.Errorf("got %s, want %s", strings.Join(got, " "), want)
		}
		w.Write(`[{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}]`)
		w.Quiet()
	})
}

func TestReservedMetadataOfUsersIsStripped(t *testing.T) {
	claim.Shows(t, "R-026")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		forged := mcp.Meta{
			"io.modelcontextprotocol/serverInfo":     jsontext.Value(`{"name":"forged","version":"0"}`),
			"io.modelcontextprotocol/subscriptionId": jsontext.Value(`1`),
			"progressToken":                          jsontext.Value(`1`),
			"com.example/kept":                       jsontext.Value(`1`),
		}
		srv := newServer(nil)
		srv.AddTool(mcp.Tool{Name: "a", Meta: forged}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			text := mcp.Text("x")
			text.Meta = forged
			return &mcp.CallToolResult{ResultBase: mcp.ResultBase{Meta: forged}, Content: mcp.Contents{text}}, nil
		})
		srv.AddResource(mcp.Resource{URI: "a://b", Name: "b", Meta: forged}, readRaw(&mcp.ReadResourceResult{
			ResultBase: mcp.ResultBase{Meta: forged}, Contents: []mcp.ResourceContents{{URI: "a://b", Meta: forged}},
		}, nil))
		srv.Handle("acme/x", func(context.Context, *mcpserver.Request) (any, error) {
			return &mcp.EmptyResult{ResultBase: mcp.ResultBase{Meta: forged}}, nil
		})
		w := dial(t, srv, r)
		for _, test := range []struct{ method, params string }{
			{"tools/list", ""}, {"tools/call", `{"name":"a"}`}, {"resources/list", ""}, {"resources/read", `{"uri":"a://b"}`}, {"acme/x", ""},
		} {
			raw := string(w.Must(test.method, test.params))
			if strings.Contains(raw, "forged") || strings.Contains(raw, "subscriptionId") || strings.Contains(raw, "progressToken") {
				t.Errorf("%s: got %s, want no reserved key of the author's", test.method, raw)
			}
			if !strings.Contains(raw, "com.example/kept") {
				t.Errorf("%s: got %s, want the author's own key", test.method, raw)
			}
		}
	})
}

// Data that is not JSON costs the data, and not the answer.
func TestErrorWithBadDataIsStillAnAnswer(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for _, data := range []string{`{"a":`, `1 2`, "\"\xff\"", `{"a":1,"a":2}`} {
			srv := newServer(nil)
			srv.AddTool(mcp.Tool{Name: "bad"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
				return nil, &mcp.Error{Code: mcp.CodeInternal, Message: "out of order", Data: []byte(data)}
			})
			e := dial(t, srv, r).Refused("tools/call", `{"name":"bad"}`, -32603)
			if e.Message != "out of order" || e.Data != nil {
				t.Errorf("data %q: got %+v, want the error without its data", data, e)
			}
		}
	})
}

func TestRepairedMessageIsWithinTheLimit(t *testing.T) {
	t.Parallel()
	w := dial(t, newServer(&mcpserver.Options{MaxFrame: 1000}), mcp.V20251125)
	w.Write(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"note":"` + strings.Repeat("\xff", 400) + `"}}`)
	if m := w.Reply("7"); m.Error == nil || !strings.Contains(m.Error.Message, "longer than 1000 bytes") {
		t.Errorf("got %s, want an error with the limit", m.Raw)
	}
	w.Must("ping", "")
}
