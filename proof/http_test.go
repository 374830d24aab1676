package proof

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// A rawRequest is the head of an HTTP request as text, so that it can be invalid in ways
// that no HTTP client produces.
type rawRequest struct {
	line    string
	headers []string
	body    []byte
	length  string // of the body, as text; empty: the real one
}

func (r *rawRequest) bytes() []byte {
	var b bytes.Buffer
	b.WriteString(r.line + "\r\n")
	for _, h := range r.headers {
		b.WriteString(h + "\r\n")
	}
	if r.length == "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	} else {
		b.WriteString(r.length)
	}
	b.WriteString("\r\n")
	b.Write(r.body)
	return b.Bytes()
}

// set sets a header in place of the existing one.
func (r *rawRequest) set(name, value string) {
	r.drop(name)
	r.add(name, value)
}

func (r *rawRequest) add(name, value string) { r.headers = append(r.headers, name+": "+value) }

func (r *rawRequest) drop(name string) {
	var kept []string
	for _, h := range r.headers {
		if !strings.HasPrefix(strings.ToLower(h), strings.ToLower(name)+":") {
			kept = append(kept, h)
		}
	}
	r.headers = kept
}

// httpPipe sends attacks over one connection of Streamable HTTP.
type httpPipe struct {
	t        *testing.T
	addr     string
	revision mcp.Revision
	session  string
	conn     net.Conn
	in       *bufio.Reader
	goods    int
}

func overHTTP(t *testing.T, addr string, v mcp.Revision, _ bool) pipe {
	w := &httpPipe{t: t, addr: addr, revision: v}
	w.dial()
	if v != mcp.V20260728 {
		resp, _, err := w.post(w.newRequest([]byte(opening(v)), "initialize", ""))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("initialize: got %v, %v", resp, err)
		}
		w.session = resp.Header.Get("Mcp-Session-Id")
		if _, _, err := w.post(w.newRequest([]byte(opened), "notifications/initialized", "")); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *httpPipe) dial() {
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.conn, w.in = conn, bufio.NewReader(conn)
}

// redial replaces a connection that cannot be used any more.
func (w *httpPipe) redial() {
	_ = w.conn.Close()
	w.dial()
}

func (w *httpPipe) close() { _ = w.conn.Close() }

// newRequest returns the request in which a valid client posts a message.
func (w *httpPipe) newRequest(body []byte, method, name string) *rawRequest {
	r := &rawRequest{line: "POST /mcp HTTP/1.1", body: body, headers: []string{
		"Host: " + w.addr, "Content-Type: application/json", "Accept: application/json, text/event-stream",
	}}
	if w.session != "" {
		r.add("Mcp-Session-Id", w.session)
	}
	if method != "initialize" && w.revision != mcp.V20241105 && w.revision != mcp.V20250326 {
		r.add("Mcp-Protocol-Version", w.revision.String())
	}
	if w.revision == mcp.V20260728 {
		r.add("Mcp-Method", method)
		if name != "" {
			r.add("Mcp-Name", name)
		}
	}
	return r
}

// try sends an attack, reads the response, and checks that a valid call on the same
// connection succeeds. A response has a known end, so the expected verdict is not needed.
func (w *httpPipe) try(a *attack, _ string) string {
	r := w.newRequest(a.frame, a.method, a.name())
	if a.fresh && w.session != "" {
		r.drop("Mcp-Session-Id") // a session of its own
	}
	if a.request != nil {
		a.request(r)
	}
	resp, body, err := w.post(r)
	if err != nil {
		w.redial()
		return connectionEnds + w.health(" and the server too")
	}
	words := []string{strconv.Itoa(resp.StatusCode)}
	for _, text := range messages(resp, body) {
		if word := a.describe(text); word != "" {
			words = append(words, word)
		}
	}
	verdict := strings.Join(words, " ")
	switch {
	case resp.Close:
		w.redial()
		verdict += ", " + connectionEnds
	case isOpen(resp, words):
		w.redial()
		verdict += ", a stream"
	}
	return verdict + w.health(", then "+connectionEnds)
}

// isOpen reports whether the response is a stream that stays open.
func isOpen(resp *http.Response, words []string) bool {
	return resp.Request.Method == "GET" && resp.StatusCode == http.StatusOK || strings.Contains(strings.Join(words, " "), "acknowledged")
}

// health returns the empty string if a valid call succeeds, and otherwise its argument.
func (w *httpPipe) health(otherwise string) string {
	w.goods++
	id := fmt.Sprintf("good %d", w.goods)
	resp, body, err := w.post(w.newRequest([]byte(goodCall(w.revision, id)), "tools/call", "echo"))
	if err == nil && resp.StatusCode == http.StatusOK && isGood(body, id) {
		return ""
	}
	w.redial()
	return otherwise
}

// name returns the name header for the message before it was modified.
func (a *attack) name() string {
	return map[string]string{
		"tools/call": "echo", "resources/read": "note://hello", "prompts/get": "greet",
	}[a.method]
}

// post sends a request and returns the response. A body that is not JSON is not read to
// its end, because some streams have none.
func (w *httpPipe) post(r *rawRequest) (*http.Response, []byte, error) {
	_ = w.conn.SetDeadline(time.Now().Add(replyTimeout))
	go func(conn net.Conn, text []byte) { _, _ = conn.Write(text) }(w.conn, r.bytes())
	method, _, _ := strings.Cut(r.line, " ")
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode == http.StatusContinue {
		resp, err = http.ReadResponse(w.in, &http.Request{Method: method})
		if err != nil {
			return nil, nil, err
		}
	}
	if method == "GET" && resp.StatusCode == http.StatusOK {
		return resp, nil, nil // a stream without an end
	}
	return w.read(resp)
}

// read reads the body, of an endless event stream only the acknowledgement.
func (w *httpPipe) read(resp *http.Response) (*http.Response, []byte, error) {
	var body bytes.Buffer
	buf := make([]byte, 4<<10)
	for {
		n, err := resp.Body.Read(buf)
		body.Write(buf[:n])
		switch {
		case err == io.EOF:
			return resp, body.Bytes(), nil
		case err != nil:
			return nil, nil, err
		case bytes.Contains(body.Bytes(), []byte("subscriptions/acknowledged")):
			return resp, body.Bytes(), nil
		}
	}
}

// messages returns the messages of a response.
func messages(resp *http.Response, body []byte) (list [][]byte) {
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json"):
		return [][]byte{body}
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		for from := bufio.NewReader(bytes.NewReader(body)); ; {
			data, err := nextEvent(from)
			if err != nil {
				return list
			}
			if len(data) > 0 {
				list = append(list, data)
			}
		}
	}
	return nil
}
