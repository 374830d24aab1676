package load

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/mcp"
)

// Ids have ten digits, so that the next one can be written over the last one.
const (
	firstID  = 1_000_000_000
	digits   = 10
	idMarker = "IDIDIDIDID"
)

// meta is the metadata of each request of the stateless era.
var meta = fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},`+
	`"io.modelcontextprotocol/clientCapabilities":{}}`, mcp.V20260728)

// A call is one request that is sent again and again.
type call struct {
	method, tool string
	body         []byte
	ids          []int // where the id stands in body
	isRight      func(answer []byte, id string) bool
}

func newCall(p Params) *call {
	switch p.Call {
	case "echo":
		return echo(p)
	case "add":
		c := toolCall(p, "add", `{"a":`+idMarker+`,"b":7}`)
		c.isRight = isSum
		return c
	case "big":
		c := toolCall(p, "big", `{}`)
		text := []byte(contest.Big())
		c.isRight = func(answer []byte, _ string) bool { return hasText(answer, "", text) }
		return c
	case "list":
		return list(p)
	}
	panic(fmt.Sprintf("call %q: want echo, add, big or list", p.Call))
}

// echo returns a call that echoes size bytes, which begin with the id.
func echo(p Params) *call {
	rest := strings.Repeat("abcdefghijklmnopqrstuvwxyz012345", p.Size/32+1)[:max(1, p.Size-digits)]
	c := toolCall(p, "echo", `{"text":"`+idMarker+rest+`"}`)
	want := []byte(rest)
	c.isRight = func(answer []byte, id string) bool { return hasText(answer, id, want) }
	return c
}

func toolCall(p Params, tool, arguments string) *call {
	c := &call{method: "tools/call", tool: prefixes(p.Upstreams)[0] + tool}
	c.encode(p.Era, `"name":"`+c.tool+`","arguments":`+arguments)
	return c
}

// prefixes are the prefixes of tool names: a gateway prepends the key of the upstream.
func prefixes(upstreams []string) []string {
	if len(upstreams) == 0 {
		return []string{""}
	}
	all := make([]string, len(upstreams))
	for i, key := range upstreams {
		all[i] = key + "__"
	}
	return all
}

// list checks every tool of the first answer, and only the length of later answers.
func list(p Params) *call {
	c := &call{method: "tools/list"}
	c.encode(p.Era, "")
	before := prefixes(p.Upstreams)
	length := 0
	c.isRight = func(answer []byte, _ string) bool {
		if len(answer) != length && hasTools(answer, before, p.Tools) {
			length = len(answer)
		}
		return len(answer) == length
	}
	return c
}

func (c *call) encode(era, params string) {
	if era == "26" {
		params = strings.TrimPrefix(params+","+meta, ",")
	}
	c.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, idMarker, c.method, params)
	for from := 0; ; {
		i := bytes.Index(c.body[from:], []byte(idMarker))
		if i < 0 {
			return
		}
		c.ids = append(c.ids, from+i)
		from += i + digits
	}
}

// answers reports whether msg is the correct answer to the call with that id.
func (c *call) answers(msg []byte, id uint64) bool {
	text := strconv.FormatUint(id, 10)
	got, ok := idOf(msg)
	return ok && got == id && c.isRight(msg, text)
}

func putID(b []byte, id uint64) {
	for i := digits - 1; i >= 0; i-- {
		b[i] = byte('0' + id%10)
		id /= 10
	}
}

// idOf finds the id at either end of a message. A notification has none.
func idOf(msg []byte) (id uint64, ok bool) {
	key := []byte(`"id":`)
	i := bytes.Index(msg[:min(64, len(msg))], key)
	if i < 0 {
		i = bytes.LastIndex(msg, key)
	}
	i += len(key)
	if i < len(key) || i+digits > len(msg) {
		return 0, false
	}
	id, err := strconv.ParseUint(string(msg[i:i+digits]), 10, 64)
	return id, err == nil
}

// hasText reports whether the answer is one text: the id and then rest.
func hasText(answer []byte, id string, rest []byte) bool {
	before, text, ok := bytes.Cut(answer, []byte(`"text":"`))
	n := len(id) + len(rest)
	if !ok || len(text) <= n || isFailed(before) || isFailed(text[n:]) {
		return false
	}
	return string(text[:len(id)]) == id && bytes.Equal(text[len(id):n], rest) && text[n] == '"'
}

func isFailed(part []byte) bool { return bytes.Contains(part, []byte(`"isError":true`)) }

// isSum reports whether the answer's structured content is the sum of id and 7.
func isSum(answer []byte, id string) bool {
	n, _ := strconv.ParseUint(id, 10, 64)
	_, sum, ok := bytes.Cut(answer, []byte(`"structuredContent":{"sum":`))
	return ok && bytes.HasPrefix(sum, strconv.AppendUint(nil, n+7, 10)) && bytes.HasPrefix(sum[digits:], []byte("}"))
}

func hasTools(answer []byte, prefixes []string, generated int) bool {
	for _, prefix := range prefixes {
		for _, name := range []string{"echo", "add", "big"} {
			if bytes.Count(answer, []byte(`"name":"`+prefix+name+`"`)) != 1 {
				return false
			}
		}
		if bytes.Count(answer, []byte(`"name":"`+prefix+`tool_`)) != generated {
			return false
		}
	}
	return true
}
