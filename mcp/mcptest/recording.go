package mcptest

import (
	"os"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpreplay"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// RecordSession makes the client that gets the options record its session in a file, which is replaced: see
// mcpwire.NewRecording for what the file has, and what it does not have. Call it before the client is connected. The file is complete
// when the test has ended. The function OnMessage of the options, if there is one, still gets each message.
//
// RecordedServer reads the file, and so do the commands replay and diff of the program fondaco.
func RecordSession(tb testing.TB, path string, o *mcpclient.Options) {
	tb.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		tb.Fatalf("record session: %v", err)
	}
	tb.Cleanup(func() {
		if err := file.Close(); err != nil {
			tb.Errorf("record session: %v", err)
		}
	})
	log, err := mcpwire.NewRecording(file, mcpwire.RecordingHeader{Side: mcpwire.ClientSide, Name: tb.Name(), Program: "mcptest"})
	if err != nil {
		tb.Fatalf("record session: %v", err)
	}
	before := o.OnMessage
	o.OnMessage = func(m mcp.WireMessage) {
		log.Record(m)
		if before != nil {
			before(m)
		}
	}
}

// RecordedServer returns a server that answers as that of a recording did, in every revision: a file of
// RecordSession, of the program fondaco or of mcpwire.NewRecording. Several files are the connections of one server. See
// mcpreplay.NewServer, which it calls without options.
func RecordedServer(tb testing.TB, paths ...string) *mcpserver.Server {
	tb.Helper()
	var recs []*mcpwire.Recording
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			tb.Fatalf("recorded server: %v", err)
		}
		rec, err := mcpwire.ReadRecording(file)
		_ = file.Close()
		if err != nil {
			tb.Fatalf("recorded server: %s: %v", path, err)
		}
		recs = append(recs, rec)
	}
	return mcpreplay.NewServer(nil, recs...)
}
