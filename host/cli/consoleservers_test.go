package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

func TestLogMessagesOfServersAreInTheirLog(t *testing.T) {
	t.Parallel()
	h := &hostProcess{main: &Main{IO: terminal.IO{Stderr: io.Discard}}}
	h.console.host = h
	receive := func(m mcp.WireMessage) { h.console.logMessage("files", m) }
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"disk","data":"almost full"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"free":3}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"text":"\"notifications/message\""}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":7}`,
		`"notifications/message"`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", maxLogMessage) + `"}}`,
	} {
		receive(mcp.WireMessage{Data: []byte(text)})
		receive(mcp.WireMessage{Data: []byte(text), Sent: true})
	}
	h.console.logStderr("files", "listening")
	want := []console.LogLine{{Level: mcp.LevelWarning, Text: "disk: almost full"}, {Level: mcp.LevelInfo, Text: `{"free":3}`}, {Text: "listening"}}
	got := h.console.Log("files")
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want {
		if want[i].Time = got[i].Time; got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}
