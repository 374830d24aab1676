package mcptest_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// What went over the wire, as a transcript.
func ExampleRecord() {
	var wire *mcptest.Recorder
	s := mcptest.WrapConn(newServer(), func(conn mcp.Conn) mcp.Conn {
		wire = mcptest.Record(conn, mcptest.Server)
		return wire
	})
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(s), &mcpclient.Options{
		Info:          mcp.Implementation{Name: "example", Version: "1.0.0"},
		Revisions:     []mcp.Revision{mcp.V20250618},
		NoOutputCheck: true, // no list of the tools
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CallTool(context.Background(), "add", Pair{40, 2}); err != nil {
		log.Fatal(err)
	}
	for _, line := range wire.Transcript().Lines[3:] {
		fmt.Println(line.From, line.Message)
	}
	// Output:
	// -> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"A":40,"B":2}}}
	// <- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"total\":42}"}],"structuredContent":{"total":42}}}
}

// A transcript is valid when every message in it is.
func ExampleTranscript_Check() {
	transcript, err := mcptest.ReadTranscript("testdata/ping/2025-11-25.txtar")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transcript.Check())

	last := len(transcript.Lines) - 1
	transcript.Lines[last].Message = []byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)
	fmt.Println(transcript.Check())
	// Output:
	// <nil>
	// check: testdata/ping/2025-11-25.txtar:7: the server: a response with id 7, without a request
}

// A server whose client answers twice, late, and without having been asked.
func ExampleInjectFaults() {
	s := mcptest.WrapConn(newServer(), func(conn mcp.Conn) mcp.Conn {
		return mcptest.InjectFaults(conn, mcptest.Faults{Duplicates: true, Reorder: true, UnknownResponses: true})
	})
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(s), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	sum, err := c.Call[Total](context.Background(), "add", Pair{40, 2})
	fmt.Println(sum.Total, err)
	// Output: 42 <nil>
}

// A client is tested with the answers that a real server gave once: the file is recorded with RecordSession, by the
// program fondaco, or with mcpwire.NewRecording.
func ExampleRecordedServer() {
	_ = func(t *testing.T) { // a test
		mcptest.EachRevision(t, mcptest.RecordedServer(t, "testdata/weather.jsonl"), func(t *testing.T, c *mcpclient.Client) {
			got, err := c.Call[string](t.Context(), "forecast", map[string]string{"city": "Rome"})
			if err != nil || got != "sunny" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
