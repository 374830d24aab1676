package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// The console lists what is recorded now, and what was recorded since the host has started.
func TestRecordedSessionsAreInTheConsole(t *testing.T) {
	t.Parallel()
	h := &hostProcess{main: &Main{IO: terminal.IO{Stderr: io.Discard}}}
	h.console.host = h
	var want []string
	for i := range maxRecordingDirs + 1 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		stop, err := h.recordings.start(h.main, dir, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		h.recordings.record("git", mcp.WireMessage{Conn: 1, Sent: true, Data: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)})
		stop()
		want = append(want, dir)
	}
	dirs, all, err := h.console.Recordings()
	if err != nil || !slices.Equal(dirs, want[1:]) || len(all) != maxRecordingDirs {
		t.Fatalf("got %d recordings in %q, %v, want those of the last %d directories", len(all), dirs, err, maxRecordingDirs)
	}
	ids := make(map[string]bool)
	for _, one := range all {
		ids[one.ID] = true
		rec, err := h.console.OpenRecording(one.ID)
		if err != nil || len(rec.Messages) != 1 || rec.Messages[0].Method != "tools/list" {
			t.Errorf("%s: got %+v, %v, want its message", one.Name, rec, err)
		}
	}
	if len(ids) != len(all) {
		t.Errorf("got %d ids for %d recordings", len(ids), len(all))
	}
	if rec, err := h.console.OpenRecording("../x"); err == nil {
		t.Errorf("got %+v, want an error", rec)
	}
}
