package proof

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

// A requestOperator makes an invalid HTTP request of a tools/call.
type requestOperator struct {
	name   string
	change func(r *rawRequest)
}

// requestOperators are applied to the requests in every revision.
var requestOperators = []requestOperator{
	{"nothing", func(*rawRequest) {}},

	// Host, origin and credentials.
	{"Host of another", set("Host", "evil.example")},
	{"Host that ends in a good name", set("Host", "localhost.evil.example")},
	{"Host that begins with a good address", set("Host", "127.0.0.1.nip.io")},
	{"Host with a user", set("Host", "127.0.0.1@evil.example")},
	{"Host with a path", set("Host", "127.0.0.1/x")},
	{"Host in capitals, which is good", set("Host", "LOCALHOST")},
	{"Host empty", set("Host", "")},
	{"Host missing", func(r *rawRequest) { r.drop("Host") }},
	{"Host twice", func(r *rawRequest) { r.add("Host", "evil.example") }},
	{"target of another host", func(r *rawRequest) { r.line = "POST http://evil.example/mcp HTTP/1.1" }},
	{"Origin of another", set("Origin", "https://evil.example")},
	{"Origin null", set("Origin", "null")},
	{"Origin that is good, and another", func(r *rawRequest) { r.add("Origin", "http://127.0.0.1"); r.add("Origin", "https://evil.example") }},
	{"page of another site", set("Sec-Fetch-Site", "cross-site")},

	// Content types.
	{"Content-Type text/plain", set("Content-Type", "text/plain")},
	{"Content-Type of a form", set("Content-Type", "application/x-www-form-urlencoded")},
	{"Content-Type missing", func(r *rawRequest) { r.drop("Content-Type") }},
	{"Content-Type twice", func(r *rawRequest) { r.add("Content-Type", "text/plain") }},
	{"Content-Type in UTF-16", set("Content-Type", "application/json; charset=utf-16")},
	{"Content-Type in UTF-8, which is good", set("Content-Type", "application/json; charset=utf-8")},
	{"Accept of a page", set("Accept", "text/html")},
	{"Accept of one type alone", set("Accept", "application/json")},
	{"Accept of anything, which is good", set("Accept", "*/*")},
	{"Accept missing, which is good", func(r *rawRequest) { r.drop("Accept") }},
	{"Content-Encoding gzip", func(r *rawRequest) { r.add("Content-Encoding", "gzip"); r.body = zipped(r.body) }},
	{"Content-Encoding gzip of 64 MiB", func(r *rawRequest) {
		r.add("Content-Encoding", "gzip")
		r.body = zipped(bytes.Repeat([]byte(" "), 64<<20))
	}},
	{"body of 5 MiB", func(r *rawRequest) { r.body = append(r.body, bytes.Repeat([]byte(" "), 5<<20)...) }},
	{"body of 5 MiB in chunks", func(r *rawRequest) { r.body = append(r.body, bytes.Repeat([]byte(" "), 5<<20)...); chunked(r) }},
	{"body empty", func(r *rawRequest) { r.body = nil }},

	// Methods.
	{"GET", func(r *rawRequest) { r.line = "GET /mcp HTTP/1.1"; r.body = nil }},
	{"GET that resumes what there is not", func(r *rawRequest) {
		r.line, r.body = "GET /mcp HTTP/1.1", nil
		r.add("Last-Event-ID", "AAAAAAAAAAAA-7")
	}},
	{"PUT", func(r *rawRequest) { r.line = "PUT /mcp HTTP/1.1" }},
	{"PATCH", func(r *rawRequest) { r.line = "PATCH /mcp HTTP/1.1" }},
	{"TRACE", func(r *rawRequest) { r.line = "TRACE /mcp HTTP/1.1" }},
	{"OPTIONS of another origin", func(r *rawRequest) {
		r.line, r.body = "OPTIONS /mcp HTTP/1.1", nil
		r.add("Origin", "https://evil.example")
		r.add("Access-Control-Request-Method", "POST")
	}},
	{"DELETE of a session that there is not", func(r *rawRequest) {
		r.line, r.body = "DELETE /mcp HTTP/1.1", nil
		r.set("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAA")
	}},

	// Headers of the protocol.
	{"revision that there is not", set("Mcp-Protocol-Version", "1999-01-01")},
	{"revision twice", func(r *rawRequest) {
		r.add("Mcp-Protocol-Version", "2025-06-18")
		r.add("Mcp-Protocol-Version", "2025-11-25")
	}},
	{"revisions with a comma", set("Mcp-Protocol-Version", "2025-06-18, 2025-11-25")},
	{"revision empty", set("Mcp-Protocol-Version", "")},
	{"session that there is not", set("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAA")},
	{"session of a thousand bytes", set("Mcp-Session-Id", strings.Repeat("A", 1000))},
	{"session twice", func(r *rawRequest) { r.add("Mcp-Session-Id", "AAAAAAAAAAAAAAAAAAAAAA") }},
	{"session missing", func(r *rawRequest) { r.drop("Mcp-Session-Id") }},
	{"method header of another", set("Mcp-Method", "tools/list")},
	{"method header missing", func(r *rawRequest) { r.drop("Mcp-Method") }},
	{"method header twice", func(r *rawRequest) { r.add("Mcp-Method", "tools/call"); r.add("Mcp-Method", "tools/list") }},
	{"method header with a comma", set("Mcp-Method", "tools/call, tools/list")},
	{"method header in another case", set("Mcp-Method", "Tools/Call")},
	{"name header of another", set("Mcp-Name", "add")},
	{"name header missing", func(r *rawRequest) { r.drop("Mcp-Name") }},
	{"name header in base64, which is good", set("Mcp-Name", "=?base64?ZWNobw==?=")},
	{"name header without padding", set("Mcp-Name", "=?base64?ZWNobw?=")},
	{"name header in capitals", set("Mcp-Name", "=?BASE64?ZWNobw==?=")},
	{"name header with bits to spare", set("Mcp-Name", "=?base64?ZWNobx==?=")},
	{"name header of two words", set("Mcp-Name", "=?base64?ZWM=?= =?base64?aG8=?=")},

	// Framing of the body.
	{"both lengths", func(r *rawRequest) {
		chunked(r)
		r.length = fmt.Sprintf("Content-Length: %d\r\n", len(r.body)) + r.length
	}},
	{"two lengths", func(r *rawRequest) {
		r.length = fmt.Sprintf("Content-Length: %d\r\nContent-Length: %d\r\n", len(r.body), len(r.body)+1)
	}},
	{"negative length", func(r *rawRequest) { r.length = "Content-Length: -1\r\n" }},
	{"length with a sign", func(r *rawRequest) { r.length = fmt.Sprintf("Content-Length: +%d\r\n", len(r.body)) }},
	{"chunks of a kind that there is not", func(r *rawRequest) { r.length = "Transfer-Encoding: gzip, chunked\r\n" }},
	{"chunk that is longer than it says", func(r *rawRequest) { chunked(r); r.body = append([]byte("1\r\n"), r.body...) }},
	{"chunk of a negative length", func(r *rawRequest) { chunked(r); r.body = append([]byte("-1\r\n"), r.body...) }},
	{"chunk of more than there is memory", func(r *rawRequest) { chunked(r); r.body = append([]byte("ffffffffffffffff0\r\n"), r.body...) }},
	{"header of 100 KiB", func(r *rawRequest) { r.add("X-Long", strings.Repeat("x", 100<<10)) }},
	{"header without a colon", func(r *rawRequest) { r.headers = append(r.headers, "no colon here") }},
	{"header with a blank before its colon", func(r *rawRequest) { r.headers = append(r.headers, "X-Bad : 1") }},
	{"header with a zero byte", func(r *rawRequest) { r.add("X-Bad", "a\x00b") }},
	{"header that is folded", func(r *rawRequest) { r.add("X-Folded", "a\r\n b") }},
	{"line end without its first half", func(r *rawRequest) { r.headers = append(r.headers, "X-Bare: a\nX-Other: b") }},
	{"HTTP/1.0", func(r *rawRequest) { r.line = "POST /mcp HTTP/1.0" }},
	{"HTTP/3.7", func(r *rawRequest) { r.line = "POST /mcp HTTP/3.7" }},
	{"no HTTP", func(r *rawRequest) { r.line = "HELO proof" }},
	{"first line of HTTP/2", func(r *rawRequest) { r.line = "PRI * HTTP/2.0" }},
	{"first bytes of TLS", func(r *rawRequest) { r.line = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" }},
	{"path that climbs", func(r *rawRequest) { r.line = "POST /mcp/../../etc/passwd HTTP/1.1" }},
}

func set(name, value string) func(*rawRequest) {
	return func(r *rawRequest) { r.set(name, value) }
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}

// chunked sends the body in one chunk.
func chunked(r *rawRequest) {
	r.length = "Transfer-Encoding: chunked\r\n"
	r.body = fmt.Appendf(nil, "%x\r\n%s\r\n0\r\n\r\n", len(r.body), r.body)
}
