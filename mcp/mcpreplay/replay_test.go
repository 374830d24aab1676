package mcpreplay_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpreplay"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

type seat struct {
	Row int `json:"row"`
}

type city struct {
	City string `json:"city"`
}

// airline is the server that is recorded. What it returns of a flight is up to the test.
func airline(price string) *mcpserver.Server {
	srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Instructions: "Book early."})
	srv.Tool("price", "The price of a flight", func(_ context.Context, in city) (string, error) {
		return fmt.Sprintf("%s: %s at %s", in.City, price, time.Now().UTC().Format(time.RFC3339)), nil
	})
	srv.Tool("book", "Books a flight", func(ctx context.Context, _ city) (string, error) {
		s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		return fmt.Sprint("row ", s.Row), err
	})
	srv.Resource("flights://all", "flights", "text/plain", func(context.Context) ([]byte, error) { return []byte("LH1"), nil })
	return srv
}

// use does what the recorded client does, and returns what it gets.
func use(t *testing.T, target mcpclient.Target, o *mcpclient.Options) (got []string) {
	t.Helper()
	o.ElicitForm = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row":4}`)}, nil
	}
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got = append(got, c.Server().Name, c.Instructions())
	for tool, err := range c.Tools(t.Context()) {
		got = append(got, fmt.Sprint(tool.Name, err))
	}
	price, err := c.Call[string](t.Context(), "price", city{"Rome"})
	price, _, _ = strings.Cut(price, " at ")
	row, err2 := c.Call[string](t.Context(), "book", city{"Rome"})
	got = append(got, fmt.Sprint(price, err), fmt.Sprint(row, err2))
	resource, err := c.ReadResource(t.Context(), "flights://all")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, resource.Contents[0].Text)
	_, err = c.CallTool(t.Context(), "unknown", nil)
	return append(got, fmt.Sprint(err != nil))
}

// recorded records what use does in a revision.
func recorded(t *testing.T, revision mcp.Revision, price string) (*mcpwire.Recording, []string) {
	t.Helper()
	var file bytes.Buffer
	log, err := mcpwire.NewRecording(&file, mcpwire.RecordingHeader{Side: mcpwire.ClientSide})
	if err != nil {
		t.Fatal(err)
	}
	got := use(t, mcpclient.InProcess(airline(price)), &mcpclient.Options{OnMessage: log.Record, Revisions: []mcp.Revision{revision}})
	rec, err := mcpwire.ReadRecording(&file)
	if err != nil {
		t.Fatal(err)
	}
	return rec, got
}

var revisions = []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125, mcp.V20260728}

func TestRecordedServerAnswersInEveryRevision(t *testing.T) {
	for _, from := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		rec, want := recorded(t, from, "120 €")
		for _, to := range revisions {
			if from == mcp.V20251125 || to == mcp.V20251125 || to == mcp.V20260728 {
				t.Run(fmt.Sprintf("%s as %s", from, to), func(t *testing.T) {
					srv := mcpreplay.NewServer(&mcpserver.Options{Revisions: []mcp.Revision{to}}, rec)
					if got := use(t, mcpclient.InProcess(srv), new(mcpclient.Options)); !slices.Equal(got, want) {
						t.Errorf("got\n%q\nwant\n%q", got, want)
					}
				})
			}
		}
	}
}

func play(t *testing.T, rec *mcpwire.Recording, srv *mcpserver.Server, o *mcpreplay.Options, revision mcp.Revision) *mcpreplay.Report {
	t.Helper()
	p := mcpreplay.NewPlayer(o, rec)
	options := &mcpclient.Options{Revisions: []mcp.Revision{revision}}
	p.Answer(options)
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	report, err := p.Play(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestRecordedClientFindsWhatDiffersInEveryRevision(t *testing.T) {
	for _, from := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		rec, _ := recorded(t, from, "120 €")
		for _, to := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			t.Run(fmt.Sprintf("%s as %s", from, to), func(t *testing.T) {
				if r := play(t, rec, airline("120 €"), nil, to); len(r.Differences) != 0 || r.Compared < 5 {
					t.Errorf("the same server: got %+v, want five or more equal answers", r)
				}
				r := play(t, rec, airline("130 €"), nil, to)
				if len(r.Differences) != 1 || r.Differences[0].Name != "price" || r.Differences[0].Path != "/content/0/text" {
					t.Errorf("another price: got %v, want the text of price", r.Differences)
				}
				if r := play(t, rec, airline("130 €"), &mcpreplay.Options{Ignore: []string{"/content/*/text"}}, to); len(r.Differences) != 0 {
					t.Errorf("ignored: got %v", r.Differences)
				}
				if r := play(t, rec, mcpreplay.NewServer(nil, rec), nil, to); len(r.Differences) != 0 {
					t.Errorf("the recorded server: got %v", r.Differences)
				}
			})
		}
	}
}

func TestRecordingsOfTwoErasAreCompared(t *testing.T) {
	old, _ := recorded(t, mcp.V20251125, "120 €")
	newer, _ := recorded(t, mcp.V20260728, "120 €")
	if r := mcpreplay.Compare(old, newer, nil); len(r.Differences) != 0 || r.Compared < 5 {
		t.Errorf("got %+v, want five or more equal answers", r)
	}
	dearer, _ := recorded(t, mcp.V20260728, "130 €")
	r := mcpreplay.Compare(old, dearer, nil)
	if len(r.Differences) != 1 || !strings.Contains(r.Differences[0].String(), "tools/call price: /content/0/text: got \"Rome: 130 €") {
		t.Errorf("got %v, want the price", r.Differences)
	}
}

func TestRequestsOfOneRecordingAloneAreDifferences(t *testing.T) {
	a := read(t, `{"sent":true,"kind":"request","id":1,"method":"tools/call","payload":{"name":"a"}}`, `{"kind":"result","id":1,"payload":{}}`)
	b := read(t, `{"sent":true,"kind":"request","id":1,"method":"tools/call","payload":{"name":"b"}}`, `{"kind":"result","id":1,"payload":{}}`)
	r := mcpreplay.Compare(a, b, nil)
	if len(r.Differences) != 2 || r.Differences[0].Got != nil || r.Differences[1].Want != nil {
		t.Errorf("got %v, want both requests", r.Differences)
	}
}

// read returns a recording with lines of the side of the client.
func read(t *testing.T, lines ...string) *mcpwire.Recording {
	t.Helper()
	rec, err := mcpwire.ReadRecording(strings.NewReader(`{"recording":1,"side":"client"}` + "\n" + strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// The answer to a call whose arguments have a secret is found, although the recording does not have the secret.
func TestSecretsOfArgumentsDoNotMatter(t *testing.T) {
	rec := read(t, `{"sent":true,"kind":"request","id":1,"method":"tools/call","payload":{"name":"login","arguments":{"password":"[redacted]"}}}`,
		`{"kind":"result","id":1,"payload":{"content":[{"type":"text","text":"welcome"}]}}`)
	c := mcptest.Connect(t, mcpreplay.NewServer(nil, rec), nil)
	got, err := c.CallTool(t.Context(), "login", map[string]string{"password": "hunter2"})
	for tool, err := range c.Tools(t.Context()) {
		if tool.Name != "login" || err != nil {
			t.Errorf("got the tool %q, %v, want the one that was called", tool.Name, err)
		}
	}
	if err != nil || textOf(got) != "welcome" {
		t.Errorf("got %v, %v", got, err)
	}
	if r := play(t, rec, mcpreplay.NewServer(nil, rec), nil, mcp.V20260728); r.Skipped != 1 || r.Compared != 0 {
		t.Errorf("got %+v, want the call skipped, because its password is not known", r)
	}
}

// A server lists tools by what the client can do, so the player can do what the recorded client could.
func TestPlayerHasTheCapabilitiesOfTheRecordedClient(t *testing.T) {
	for line, want := range map[string]bool{
		`{"sent":true,"kind":"request","id":1,"method":"initialize","payload":{"capabilities":{}}}`:                                                                  false,
		`{"sent":true,"kind":"request","id":1,"method":"initialize","payload":{"capabilities":{"elicitation":{}}}}`:                                                  true,
		`{"sent":true,"kind":"request","id":1,"method":"tools/list","payload":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`:                          false,
		`{"sent":true,"kind":"request","id":1,"method":"tools/list","payload":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`: true,
		`{"sent":true,"kind":"request","id":1,"method":"tools/list","payload":{}}`:                                                                                   true,
	} {
		var o mcpclient.Options
		mcpreplay.NewPlayer(nil, read(t, line)).Answer(&o)
		if got := o.ElicitForm != nil && o.ElicitURL != nil; got != want {
			t.Errorf("%s: the player answers forms: %v, want %v", line, got, want)
		}
	}
}

func TestDifferenceWithoutPathIsOneLine(t *testing.T) {
	d := mcpreplay.Difference{Method: "prompts/list", Got: jsontext.Value(`{}`)}
	if got, want := d.String(), "prompts/list: got {}, want nothing"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func textOf(r *mcp.CallToolResult) string {
	text, _ := r.Content[0].(mcp.TextContent)
	return text.Text
}

// A client that pages gets the recorded pages, and a player uses the cursors of its server.
func TestPagesAreReplayed(t *testing.T) {
	rec := read(t, `{"sent":true,"kind":"request","id":1,"method":"tools/list","payload":{}}`,
		`{"kind":"result","id":1,"payload":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}}`,
		`{"sent":true,"kind":"request","id":2,"method":"tools/list","payload":{"cursor":"2"}}`,
		`{"kind":"result","id":2,"payload":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}}`)
	c := mcptest.Connect(t, mcpreplay.NewServer(nil, rec), nil)
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		names = append(names, fmt.Sprint(tool.Name, err))
	}
	if len(names) != 2 {
		t.Errorf("got %q, want both pages", names)
	}
	srv := mcpserver.New("pages", "1", &mcpserver.Options{PageSize: 1})
	for _, name := range []string{"a", "b"} {
		srv.AddTool(mcp.Tool{Name: name, InputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return nil, nil })
	}
	if r := play(t, rec, srv, nil, mcp.V20251125); r.Compared != 2 || len(r.Differences) != 0 {
		t.Errorf("got %+v, want both pages equal", r)
	}
}

func TestRepeatedRequestsGetTheirAnswersInOrder(t *testing.T) {
	var lines []string
	for id, text := range []string{"first", "second"} {
		lines = append(lines, fmt.Sprintf(`{"sent":true,"kind":"request","id":%d,"method":"tools/call","payload":{"name":"count"}}`, id),
			fmt.Sprintf(`{"kind":"result","id":%d,"payload":{"content":[{"type":"text","text":"%s"}]}}`, id, text))
	}
	c := mcptest.Connect(t, mcpreplay.NewServer(nil, read(t, lines...)), nil)
	for _, want := range []string{"first", "second", "second"} {
		if got, err := c.CallTool(t.Context(), "count", nil); err != nil || textOf(got) != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
	}
	_, err := c.CallTool(t.Context(), "other", nil)
	if err == nil || !strings.Contains(err.Error(), "the recording has no such request") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

func TestTimesAndIDsAreNotCompared(t *testing.T) {
	with := func(text string) *mcpwire.Recording {
		return read(t, `{"sent":true,"kind":"request","id":1,"method":"tools/call","payload":{"name":"a"}}`,
			`{"kind":"result","id":1,"payload":{"content":[{"type":"text","text":"`+text+`"}]}}`)
	}
	before := with("order 0f8fad5b-d9cb-469f-a165-70867728950e at 2026-11-28T09:01:05.5Z: shipped")
	if r := mcpreplay.Compare(before, with("order 7c9e6679-7425-40de-944b-e07fc1f90ae7 at 2027-01-01T00:00:00+01:00: shipped"), nil); len(r.Differences) != 0 {
		t.Errorf("got %v, want no difference", r.Differences)
	}
	if r := mcpreplay.Compare(before, with("order 7c9e6679-7425-40de-944b-e07fc1f90ae7 at 2027-01-01T00:00:00+01:00: lost"), nil); len(r.Differences) != 1 {
		t.Errorf("got %v, want a difference", r.Differences)
	}
}

// Over Streamable HTTP a question is on the connection of its call.
func TestQuestionBelongsToTheCallOfItsConnection(t *testing.T) {
	rec := read(t, `{"conn":1,"sent":true,"kind":"request","id":1,"method":"tools/call","payload":{"name":"a"}}`,
		`{"conn":2,"sent":true,"kind":"request","id":2,"method":"tools/call","payload":{"name":"b"}}`,
		`{"conn":1,"kind":"request","id":1,"method":"roots/list","payload":{}}`,
		`{"conn":3,"sent":true,"kind":"result","id":1,"method":"roots/list","payload":{"roots":[]}}`,
		`{"conn":2,"kind":"result","id":2,"method":"tools/call","payload":{}}`,
		`{"conn":1,"kind":"error","id":1,"method":"tools/call","payload":{"code":-32602}}`)
	got := mcpreplay.Exchanges(rec)
	if len(got) != 2 || len(got[0].Questions) != 1 || len(got[1].Questions) != 0 || got[0].Questions[0].Answer == nil || got[0].Error == nil || got[1].Result == nil {
		t.Errorf("got %+v, want the question and the error in the call of a", got)
	}
}
