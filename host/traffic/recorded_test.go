package traffic_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// directoryWith returns a directory in which the messages were recorded.
func directoryWith(t *testing.T, upstream string, messages ...mcp.WireMessage) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recordings")
	d, err := traffic.OpenDirectory(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		d.Record(upstream, m)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRecordedSessionIsReadAsItWasSeen(t *testing.T) {
	t.Parallel()
	dir := directoryWith(t, "git-hub",
		sent(2, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"push","arguments":{"to":"main","password":"hunter2"}}}`),
		read(2, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`),
		sent(2, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"push","arguments":{"to":"main","password":"hunter2"},"requestState":"s"}}`),
		read(2, `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such branch"}}`))
	all, err := traffic.ListRecordings(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v, want one session", all, err)
	}
	if s := all[0]; s.Of != "git-hub" || s.Session != "c2" || s.Started.IsZero() || s.Bytes == 0 {
		t.Errorf("got %+v, want a connection to git-hub", s)
	}
	rec, err := traffic.OpenRecording(dir, all[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	messages := rec.Messages
	if len(messages) != 4 {
		t.Fatalf("got %d messages, want 4", len(messages))
	}
	for i, m := range messages {
		if m.Upstream != "git-hub" || m.Method != "tools/call" || m.Name != "push" || m.Call != 1 || m.Round != i/2+1 || m.FromClient != (i%2 == 0) {
			t.Errorf("got %+v, want two rounds of one call", m)
		}
	}
	if m := messages[3]; m.Code != -32602 || m.Request != 3 || !strings.Contains(string(m.Body), "no such branch") {
		t.Errorf("got %+v, want the error with its body", m)
	}
	if body := string(messages[0].Body); strings.Contains(body, "hunter2") || !strings.Contains(body, `"main"`) {
		t.Errorf("got %s, want the arguments without the secret", body)
	}
}

func TestOtherFilesAreNoRecordings(t *testing.T) {
	t.Parallel()
	dir := directoryWith(t, "", read(1, `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	outside := filepath.Join(t.TempDir(), "20261128-090105.120-secret-c1.jsonl")
	for path, text := range map[string]string{outside: "{}", filepath.Join(dir, "notes.jsonl"): "{}"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const link = "20261128-090105.121-link-c1.jsonl"
	if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	all, err := traffic.ListRecordings(dir)
	if err != nil || len(all) != 1 {
		t.Errorf("got %v, %v, want the recording alone", all, err)
	}
	for _, name := range []string{link, "notes.jsonl", "../" + filepath.Base(outside), outside, "", "20261128-090105.120-/../../x.jsonl"} {
		if rec, err := traffic.OpenRecording(dir, name); err == nil {
			t.Errorf("%q: got %+v, want an error", name, rec)
		}
	}
}

// What is in the file of another program breaks nothing.
func TestOddRecordingIsRead(t *testing.T) {
	t.Parallel()
	rec := &mcpwire.Recording{Lines: []mcpwire.Line{
		{Kind: "request"},
		{Kind: "result", ID: []byte(`{}`), Payload: []byte(`[1]`)},
		{Kind: "nonsense", Payload: []byte(`"x"`)},
		{HTTP: &mcpwire.HTTPLine{Status: 500}},
		{HTTP: &mcpwire.HTTPLine{Status: 200}},
		{Kind: "error", Payload: []byte(`{"code":"x"}`)},
	}}
	var kinds []traffic.Kind
	for _, m := range traffic.NewRecording(rec).Messages {
		kinds = append(kinds, m.Kind)
	}
	if !slices.Equal(kinds, []traffic.Kind{traffic.Request, traffic.Result, traffic.Invalid, traffic.HTTP, traffic.Error}) {
		t.Errorf("got %v, want all but the response without a message", kinds)
	}
}

func TestLargeRecordingIsNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const name = "20261128-090105.120-git-c1.jsonl"
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := traffic.OpenRecording(dir, name); err == nil || !strings.Contains(err.Error(), "want at most 64") {
		t.Errorf("got %v, want that it is too large", err)
	}
}
