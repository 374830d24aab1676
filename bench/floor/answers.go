package main

import (
	"bufio"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"strconv"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/mcp"
)

// request has the parts of a request that the floor needs, as raw text.
type request struct{ id, method, tool, arguments []byte }

func parse(body []byte) (r request) {
	var params []byte
	m := object(body)
	for name, value, ok := m.next(); ok; name, value, ok = m.next() {
		switch string(name) {
		case "id":
			r.id = value
		case "method":
			r.method = value[1 : len(value)-1]
		case "params":
			params = value
		}
	}
	if string(r.method) != "tools/call" {
		return r
	}
	m = object(params)
	for name, value, ok := m.next(); ok; name, value, ok = m.next() {
		switch string(name) {
		case "name":
			r.tool = value[1 : len(value)-1]
		case "arguments":
			r.arguments = value
		}
	}
	return r
}

// answers are the precomputed results.
type answers struct {
	big, list, hello, found []byte
	end                     string // the end of every result of this era
}

func newAnswers(c *contest.Config) *answers {
	a := &answers{end: `}`}
	endOfList := `}`
	if c.Era == "26" {
		a.end = `,"resultType":"complete"}`
		endOfList = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"}`
	}
	a.big = fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]%s`, encode(contest.Big()), a.end)
	a.list = fmt.Appendf(nil, `{"tools":%s%s`, encode(tools(c.Tools)), endOfList)
	a.hello = fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{},"resources":{"subscribe":true}},`+
		`"serverInfo":{"name":"floor","version":"1.0.0"}}`, mcp.V20251125)
	a.found = fmt.Appendf(nil, `{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}},`+
		`"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"floor","version":"1.0.0"}}}`, mcp.V20260728)
	return a
}

type tool struct {
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema,omitempty"`
}

func tools(n int) []tool {
	list := []tool{
		{
			"add", "Adds two numbers.",
			jsontext.Value(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`),
			jsontext.Value(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}`),
		},
		{"big", "Returns 100 KiB of text.", jsontext.Value(`{"type":"object","additionalProperties":false}`), nil},
		{"echo", "Returns its argument.", jsontext.Value(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`), nil},
	}
	for _, t := range contest.Generated(n) {
		list = append(list, tool{t.Name, t.Description, t.Schema, nil})
	}
	return list
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what the floor encodes is constant
	}
	return b
}

// append adds the answer to r. A notification has none.
func (a *answers) append(dst []byte, r request) []byte {
	if r.id == nil {
		return dst
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, r.id...)
	dst = append(dst, `,"result":`...)
	switch string(r.method) {
	case "tools/call":
		dst = a.appendCall(dst, r)
	case "tools/list":
		dst = append(dst, a.list...)
	case "initialize":
		dst = append(dst, a.hello...)
	case "server/discover":
		dst = append(dst, a.found...)
	default:
		dst = append(dst, "{}"...)
	}
	return append(dst, '}')
}

func (a *answers) appendCall(dst []byte, r request) []byte {
	switch string(r.tool) {
	case "echo":
		m := object(r.arguments)
		_, text, _ := m.next()
		dst = append(dst, `{"content":[{"type":"text","text":`...)
		dst = append(dst, text...)
		dst = append(dst, `}]`...)
	case "add":
		sum := add(r.arguments)
		dst = append(dst, `{"content":[{"type":"text","text":"{\"sum\":`...)
		dst = strconv.AppendFloat(dst, sum, 'f', -1, 64)
		dst = append(dst, `}"}],"structuredContent":{"sum":`...)
		dst = strconv.AppendFloat(dst, sum, 'f', -1, 64)
		dst = append(dst, '}')
	default:
		return append(dst, a.big...)
	}
	return append(dst, a.end...)
}

func add(arguments []byte) (sum float64) {
	m := object(arguments)
	for _, value, ok := m.next(); ok; _, value, ok = m.next() {
		number, _ := strconv.ParseFloat(string(value), 64)
		sum += number
	}
	return sum
}

// serveLines answers line by line until there are no more.
func (a *answers) serveLines(in io.Reader, out io.Writer) {
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	var line, answer []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return
		}
		answer = a.append(answer[:0], parse(line))
		line = line[:0]
		if len(answer) > 0 {
			w.Write(append(answer, '\n'))
		}
		if r.Buffered() == 0 {
			w.Flush()
		}
	}
}
