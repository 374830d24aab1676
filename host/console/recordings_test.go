package console_test

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// recordedCalls is a session in which one call has failed.
func recordedCalls() *source {
	line := func(kind, method, id, payload string, sent bool) mcpwire.Line {
		l := mcpwire.Line{Conn: 1, Sent: sent, Kind: kind, Method: method, Payload: []byte(payload), Bytes: len(payload)}
		if id != "" {
			l.ID = []byte(id)
		}
		return l
	}
	return &source{
		recordings: []console.Recording{{ID: "a1", RecordedSession: traffic.RecordedSession{
			Name: "20261128-090105.120-git-c1.jsonl", Of: "git", Session: "c1", Started: time.Date(2026, 11, 28, 9, 1, 5, 0, time.Local), Bytes: 4096,
		}}},
		recording: &mcpwire.Recording{
			RecordingHeader: mcpwire.RecordingHeader{Recording: 1, Side: mcpwire.ClientSide, Name: "git"},
			Lines: []mcpwire.Line{
				line("request", "initialize", "1", `{"clientInfo":{"name":"ide"}}`, true),
				line("result", "initialize", "1", `{"serverInfo":{"name":"git"}}`, false),
				line("notification", "notifications/initialized", "", `{}`, true),
				line("request", "tools/call", "2", `{"name":"log","arguments":{"n":1}}`, true),
				line("result", "tools/call", "2", `{"content":[{"type":"text","text":"fix typo"}]}`, false),
				line("request", "tools/call", "3", `{"name":"push","arguments":{}}`, true),
				line("error", "tools/call", "3", `{"code":-32602,"message":"no branch"}`, false),
				line("request", "ping", "4", `{}`, false),
			},
		},
	}
}

func TestRecordedSessionIsShownWithBodies(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, recordedCalls()))
	if list := b.get("recordings"); !strings.Contains(list, `recordings/a1">2026-11-28 09:01:05</a>`) || !strings.Contains(list, "/srv/recordings") || !strings.Contains(list, "4 KiB") {
		t.Errorf("got %s, want the session", list)
	}
	body := b.get("recordings/a1")
	for _, want := range []string{"Recorded: git c1", "fix typo", "no branch", "host → git", "7 of 7 messages, 8 are kept", `data-watch="still"`} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if got := shownMessages(b.get("recordings/a1?failed=1")); !slices.Equal(got, []string{"7"}) {
		t.Errorf("got the messages %v, want the one that has failed", got)
	}
	if !strings.Contains(b.get("recordings/a1?failed=1"), "recordings/a1?call=6") {
		t.Error("want a link to the call in the recording")
	}
}

func TestPartOfARecordingIsSaved(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, recordedCalls()))
	response, text := b.do(request(http.MethodGet, b.path+"recordings/a1/file?failed=1", nil))
	if got := response.Header.Get("Content-Disposition"); got != `attachment; filename="20261128-090105.120-git-c1-part.jsonl"` {
		t.Errorf("got %s, want the name of a file", got)
	}
	rec, err := mcpwire.ReadRecording(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, l := range rec.Lines {
		kept = append(kept, fmt.Sprint(l.Kind, " ", string(l.ID)))
	}
	if want := []string{"request 1", "result 1", "notification ", "request 3", "error 3"}; rec.Name != "git" || !slices.Equal(kept, want) {
		t.Errorf("got %q of %s, want %q: the handshake, and the call that has failed with its request", kept, rec.Name, want)
	}
	if header := strings.SplitN(text, "\n", 2)[0]; json.Unmarshal([]byte(header), new(mcpwire.RecordingHeader)) != nil {
		t.Errorf("got %s, want a header", header)
	}
}

func TestRecordingsThatCannotBeReadAreSaid(t *testing.T) {
	t.Parallel()
	s := recordedCalls()
	b := enter(t, newConsole(t, s))
	cannot := func(page string) {
		t.Helper()
		if response, body := b.do(request(http.MethodGet, b.path+page, nil)); response.StatusCode != http.StatusConflict || !strings.Contains(body, "cannot be shown") {
			t.Errorf("%s: got %d, %s, want why it is not shown", page, response.StatusCode, body)
		}
	}
	cannot("recordings/gone")
	s.failure = errors.New("broken line")
	cannot("recordings/a1")
	cannot("recordings/a1/file")
	if body := enter(t, newConsole(t, new(source))).get("recordings"); !strings.Contains(body, "fondaco record DIR") {
		t.Errorf("got %s, want how to record", body)
	}
}

func TestBodiesAreCutOnThePage(t *testing.T) {
	t.Parallel()
	s := recordedCalls()
	quoted := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	for range 20 {
		s.recording.Lines = append(s.recording.Lines, mcpwire.Line{Kind: "notification", Method: "m", Payload: []byte(quoted), Cut: true})
	}
	body := enter(t, newConsole(t, s)).get("recordings/a1")
	if n := strings.Count(body, "lacks some of it"); n != 20 || len(body) > 20*(console.MaxBody+1000)+1<<16 {
		t.Errorf("got %d bytes and %d marks, want the beginnings of the bodies", len(body), n)
	}
}

func TestRecordingsOnAPageAreLimited(t *testing.T) {
	t.Parallel()
	s := recordedCalls()
	s.recordings = slices.Repeat(s.recordings, 1000)
	if body := enter(t, newConsole(t, s)).get("recordings"); strings.Count(body, "<tr data-row>") != console.MaxRecordings || !strings.Contains(body, "200 of 1000 sessions") {
		t.Errorf("got %d sessions, want %d", strings.Count(body, "<tr data-row>"), console.MaxRecordings)
	}
}

// hostileRecording is a session whose texts are all one.
func hostileRecording(text string) ([]console.Recording, *mcpwire.Recording) {
	text = strings.ToValidUTF8(text, "?") // as JSON has it
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return []console.Recording{{ID: "a1", RecordedSession: traffic.RecordedSession{Of: text, Session: text}}}, &mcpwire.Recording{
		RecordingHeader: mcpwire.RecordingHeader{Side: mcpwire.ServerSide, Name: text},
		Lines:           []mcpwire.Line{{Kind: "request", Method: text, ID: quoted, Client: text, Payload: []byte(`{"name":` + string(quoted) + `}`)}},
	}
}
