package integration_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

// goodCall needs nothing that was said before it.
const goodCall = `{"jsonrpc":"2.0","id":"the good call","method":"tools/call","params":{"name":"echo","arguments":{"text":"still here"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// FuzzServer sends anything to a live server, line by line. Nothing may make it
// panic, hang, or refuse a good call afterwards.
func FuzzServer(f *testing.F) {
	for _, seed := range conversations(f) {
		f.Add(seed)
	}
	f.Add([]byte(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"}}`)) // without an id
	f.Add([]byte("{\n[]\n[1,{}]\n\"\n{\"jsonrpc\":\"2.0\",\"id\":1}\n\xff\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 32<<10 {
			t.Skip("enough to have more calls running than a session may")
		}
		ours, theirs := net.Pipe()
		served := make(chan error, 1)
		s := newFixture(nil)
		go func() { served <- s.ServeStream(context.Background(), theirs) }()
		defer func() {
			ours.Close()
			select {
			case <-served:
			case <-time.After(testTimeout):
				t.Error("the server does not end with the connection")
			}
		}()
		if err := ours.SetDeadline(time.Now().Add(testTimeout)); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = ours.Write(bytes.Join([][]byte{data, []byte(goodCall), nil}, []byte{'\n'})) }()
		awaitGoodCall(t, ours)
	})
}

// awaitGoodCall reads what the server says until the good call was answered.
func awaitGoodCall(t *testing.T, from io.Reader) {
	t.Helper()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("no answer to the good call: %v", err)
		}
		if bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","id":"the good call",`)) {
			if !bytes.Contains(line, []byte(`"text":"still here"`)) {
				t.Fatalf("the good call: got %s", line)
			}
			return
		}
	}
}

// conversations returns what the client says in each transcript.
func conversations(tb testing.TB) [][]byte {
	tb.Helper()
	var all [][]byte
	for _, name := range transcripts(tb) {
		var said []byte
		for _, l := range read(tb, name).Lines {
			if l.From == mcptest.Client {
				said = append(append(said, l.Message...), '\n')
			}
		}
		all = append(all, said)
	}
	return all
}
