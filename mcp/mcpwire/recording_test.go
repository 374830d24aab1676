package mcpwire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

func TestRecordingIsReadAsItWasWritten(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	var file bytes.Buffer
	rec, err := mcpwire.NewRecording(&file, mcpwire.RecordingHeader{Side: mcpwire.ServerSide, Name: "calculator"})
	if err != nil {
		t.Fatal(err)
	}
	rec.Record(mcp.WireMessage{Conn: 1, Data: []byte(`{"id":1,"method":"tools/call","params":{"name":"add","arguments":{"password":"hunter2","text":"` + long + `"}}}`)})
	rec.Record(mcp.WireMessage{Conn: 1, Sent: true, Data: []byte(`{"id":1,"result":{}}`)})
	whole := file.String()
	file.WriteString(`{"time":"2026-`) // the program was killed
	got, err := mcpwire.ReadRecording(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Recording != 1 || got.Name != "calculator" || got.Started.IsZero() || len(got.Lines) != 2 {
		t.Fatalf("got %+v", got)
	}
	ask, answer := &got.Lines[0], &got.Lines[1]
	if !got.FromClient(ask) || got.FromClient(answer) || ask.Cut || !strings.Contains(string(ask.Payload), long) || answer.Method != "tools/call" {
		t.Errorf("got %+v and %+v", ask, answer)
	}
	if strings.Contains(whole, "hunter2") {
		t.Error("the file has a secret")
	}
}

func TestWireLogIsARecording(t *testing.T) {
	for _, sent := range []bool{true, false} {
		var file bytes.Buffer
		mcpwire.NewLog(&file, &mcpwire.LogOptions{JSON: true}).Record(mcp.WireMessage{Conn: 1, Sent: sent, Data: []byte(`{"id":1,"method":"tools/list"}`)})
		got, err := mcpwire.ReadRecording(&file)
		if err != nil || !got.FromClient(&got.Lines[0]) {
			t.Errorf("sent %t: got %+v, %v, want a message of the client", sent, got, err)
		}
	}
}

func TestFileThatIsNoRecordingIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		``:                                "read recording: found no message",
		`hello`:                           "read recording: line 1: ",
		`{"recording":2,"side":"client"}`: "read recording: line 1: found version 2 of the format, want 1",
		`{"recording":1,"side":"both"}`:   `read recording: line 1: side "both": want "client" or "server"`,
		"{\"method\":\"a\"}\n7\n{\"method\":\"b\"}":    "read recording: line 2: ",
		strings.Repeat(" ", 17<<20) + `{"method":"a"}`: "read recording: bufio.Scanner: token too long",
	} {
		if _, err := mcpwire.ReadRecording(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", text, err, want)
		}
	}
}

// A peer could otherwise make a program that records many sessions keep any number of requests.
func TestRecordingRemembersFewRequests(t *testing.T) {
	for more, want := range map[int]string{255: "m", 256: ""} {
		var file bytes.Buffer
		log, err := mcpwire.NewRecording(&file, mcpwire.RecordingHeader{Side: mcpwire.ServerSide})
		if err != nil {
			t.Fatal(err)
		}
		for id := range 1 + more {
			log.Record(mcp.WireMessage{Conn: 1, Data: fmt.Appendf(nil, `{"id":%d,"method":"m"}`, id)})
		}
		log.Record(mcp.WireMessage{Conn: 1, Sent: true, Data: []byte(`{"id":0,"result":{}}`)})
		rec, err := mcpwire.ReadRecording(&file)
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Lines[len(rec.Lines)-1].Method; got != want {
			t.Errorf("response after %d other requests: got method %q, want %q", more, got, want)
		}
	}
}
