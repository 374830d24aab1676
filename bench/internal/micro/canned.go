package micro

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/fondaco/fondaco/mcp"
)

// The results of a server that knows no others.
var (
	helloed    = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"canned","version":"1.0.0"}}`, mcp.V20251125)
	discovered = fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`, mcp.V20260728)
	echoed     = `{"resultType":"complete","content":[{"type":"text","text":"` + Text + `"}]}`
)

// A Canned server answers each line with a precomputed result, so that almost only the
// client is measured.
type Canned struct {
	io.Reader // the answers
	io.Writer // the requests
	stop      func()
}

// NewCanned returns a server that is to be closed.
func NewCanned() *Canned {
	requests, toServer := io.Pipe()
	toClient, answers := io.Pipe()
	go answer(requests, answers)
	return &Canned{Reader: toClient, Writer: toServer, stop: func() {
		toServer.Close()
		toClient.Close()
	}}
}

// Close ends both directions.
func (c *Canned) Close() error {
	c.stop()
	return nil
}

// answer ends with the requests.
func answer(requests io.Reader, answers *io.PipeWriter) {
	defer answers.Close()
	lines := bufio.NewReader(requests)
	var out []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		_, id, ok := bytes.Cut(line, []byte(`"id":`))
		if !ok {
			continue // a notification
		}
		out = append(append(out[:0], `{"jsonrpc":"2.0","id":`...), id[:bytes.IndexAny(id, ",}")]...)
		out = append(append(out, `,"result":`...), result(line)...)
		answers.Write(append(out, "}\n"...))
	}
}

func result(request []byte) string {
	switch {
	case bytes.Contains(request, []byte(`"tools/call"`)):
		return echoed
	case bytes.Contains(request, []byte(`"initialize"`)):
		return helloed
	}
	return discovered
}
