package traffic_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// recordIn records messages in a directory, and returns the recordings in it by name, without the time in it.
func recordIn(t *testing.T, dir string, o *traffic.DirectoryOptions, record func(d *traffic.Directory)) map[string]*mcpwire.Recording {
	t.Helper()
	if o == nil {
		o = new(traffic.DirectoryOptions)
	}
	o.OnError = func(err error) { t.Error(err) }
	d, err := traffic.OpenDirectory(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	record(d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.Record("", read(1, `{"method":"late"}`))
	return recordings(t, dir)
}

func recordings(t *testing.T, dir string) map[string]*mcpwire.Recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*mcpwire.Recording)
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := mcpwire.ReadRecording(file)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		found[strings.TrimSuffix(filepath.Base(path)[len("20060102-150405.000-"):], ".jsonl")] = rec
		_ = file.Close()
	}
	return found
}

func methods(rec *mcpwire.Recording) (all []string) {
	if rec != nil {
		for _, l := range rec.Lines {
			if l.Kind != "" {
				all = append(all, l.Method)
			}
		}
	}
	return all
}

func TestEachSessionHasAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	got := recordIn(t, dir, nil, func(d *traffic.Directory) {
		const session = "0123456789abcdef"
		d.Record("", httpRequest(1, "", `{"id":0,"method":"initialize","params":{"clientInfo":{"name":"ide"}}}`))
		d.Record("", httpResponse(1, 200, session, `{"id":0,"result":{}}`))
		d.Record("", httpRequest(2, session, `{"id":1,"method":"tools/call"}`))
		d.Record("", event(httpResponse(2, 200, "", `{"id":1,"result":{}}`)))
		d.Record("", httpRequest(3, "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"cli/1"}}}}`))
		d.Record("", httpResponse(3, 200, "", `{"id":1,"result":{}}`))
		d.Record("git", sent(4, `{"id":1,"method":"prompts/list"}`))
		d.Record("git", sent(5, `{"id":1,"method":"resources/list"}`))
	})
	for name, want := range map[string][]string{
		"clients-01234567": {"initialize", "initialize", "tools/call", "tools/call"},
		"clients-cli_1":    {"tools/list", "tools/list"},
		"git-c4":           {"prompts/list"},
		"git-c5":           {"resources/list"},
	} {
		rec := got[name]
		if !slices.Equal(methods(rec), want) {
			t.Errorf("%s: got %q, want %q", name, methods(rec), want)
			continue
		}
		if !rec.FromClient(&rec.Lines[0]) {
			t.Errorf("%s: the first message is not one of the client", name)
		}
	}
	if len(got) != 4 {
		t.Errorf("got %d files, want 4", len(got))
	}
}

func TestRecordingsAreTheUsersOwnAndHaveNoSecrets(t *testing.T) {
	dir := t.TempDir()
	hide := &traffic.DirectoryOptions{Hide: func(line string) string { return strings.ReplaceAll(line, "planted", "[hidden]") }}
	recordIn(t, dir, hide, func(d *traffic.Directory) {
		d.Record("", read(1, `{"id":1,"method":"tools/call","params":{"password":"hunter2","text":"planted"}}`))
	})
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(paths) != 1 {
		t.Fatalf("got %q, want one file", paths)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "planted") {
		t.Errorf("got %s, %v, want no secret", text, err)
	}
	if info, err := os.Stat(paths[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestDirectoryThatOthersCanChangeIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of Unix")
	}
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := traffic.OpenDirectory(dir, nil); err == nil {
		t.Error("got no error")
	}
}

func TestOldestRecordingsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes.jsonl")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	const size = 64 << 10
	text := strings.Repeat("x", 1000)
	for run := range 2 { // files of an earlier run count
		d, err := traffic.OpenDirectory(dir, &traffic.DirectoryOptions{MaxBytes: size, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 200 {
			d.Record("", read(uint64(1+n/20), fmt.Sprintf(`{"id":%d,"method":"run%d","params":{"text":"%s"}}`, n, run, text)))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		var total int64
		paths, _ := filepath.Glob(filepath.Join(dir, "2*.jsonl"))
		newest := false
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			total += info.Size()
			content, _ := os.ReadFile(path)
			newest = newest || strings.Contains(string(content), `"id":199,`)
			if info.Size() > size/8+2000 {
				t.Errorf("%s has %d bytes, want at most an eighth of %d", path, info.Size(), size)
			}
			if _, err := mcpwire.ReadRecording(strings.NewReader(string(content))); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if total > size || total < size/2 || !newest {
			t.Errorf("got %d bytes, with the newest message %t, want at most %d with it", total, newest, size)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}
}

// The peer chooses the id of a session and its name.
func TestNamesOfFilesStayInTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "in")
	got := recordIn(t, dir, nil, func(d *traffic.Directory) {
		d.Record("git", mcp.WireMessage{Conn: 1, Sent: true, HTTP: &mcp.WireHTTP{Method: "POST", Header: map[string][]string{"Mcp-Session-Id": {"../../x\x00"}}}, Data: []byte(`{"method":"m"}`)})
		d.Record("", httpRequest(2, "", `{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"../../y"}}}}`))
	})
	if len(got) != 2 {
		t.Errorf("got %d files in the directory, want 2", len(got))
	}
}

func TestSessionWithAnIDThatIsNoTextIsRecorded(t *testing.T) {
	for _, id := range []string{"\xff\xfeabc", "abcdefgé"} {
		got := recordIn(t, filepath.Join(t.TempDir(), "recordings"), nil, func(d *traffic.Directory) {
			d.Record("", httpRequest(1, id, `{"id":1,"method":"ping"}`))
			d.Record("", httpResponse(1, 200, "", `{"id":1,"result":{}}`))
		})
		if len(got) != 1 {
			t.Errorf("%q: got %d recordings, want one", id, len(got))
		}
	}
}

func TestSecretThatIsANumberLeavesARecordingThatCanBeRead(t *testing.T) {
	o := &traffic.DirectoryOptions{Hide: func(line string) string { return strings.ReplaceAll(line, "654321", "[hidden]") }}
	got := recordIn(t, filepath.Join(t.TempDir(), "recordings"), o, func(d *traffic.Directory) {
		d.Record("git", sent(4, `{"id":1,"method":"tools/call","params":{"n":654321}}`))
		d.Record("git", sent(4, `{"id":2,"method":"tools/list","params":{"a":"654321"}}`))
	})["git-c4"]
	if got == nil || len(got.Lines) != 2 || !got.Lines[0].Cut || got.Lines[0].Payload != nil || string(got.Lines[1].Payload) != `{"a":"[hidden]"}` {
		t.Errorf("got %+v", got)
	}
}
