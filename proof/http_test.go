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

// A rawRequest is what stands in front of a body, word by word, so that it can
// say what no HTTP client would.
type rawRequest struct {
	line    string
	headers []string
	body    []byte
	length  string // of the body, in words of the attack; empty: as it is
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

// set gives a header a value, in the place of the one that it has.
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

// web takes attacks over one connection of Streamable HTTP.
type web struct {
	t        *testing.T
	addr     string
	revision mcp.Revision
	session  string
	conn     net.Conn
	in       *bufio.Reader
	goods    int
}

func overHTTP(t *testing.T, addr string, v mcp.Revision, _ bool) pipe {
	w := &web{t: t, addr: addr, revision: v}
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

func (w *web) dial() {
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.conn, w.in = conn, bufio.NewReader(conn)
}

// redial takes another connection after one that is of no more use.
func (w *web) redial() {
	_ = w.conn.Close()
	w.dial()
}

func (w *web) close() { _ = w.conn.Close() }

// newRequest is how a good client posts a message.
func (w *web) newRequest(body []byte, method, name string) *rawRequest {
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

// try sends an attack, reads what answers it, and sees whether the same
// connection goes on with a good call. Every answer is complete by itself, so the
// expected one is of no use.
func (w *web) try(a *attack, _ string) string {
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

// isOpen reports whether the answer is a stream that goes on.
func isOpen(resp *http.Response, words []string) bool {
	return resp.Request.Method == "GET" && resp.StatusCode == http.StatusOK || strings.Contains(strings.Join(words, " "), "acknowledged")
}

// health returns nothing when a good call is answered, and else what to say.
func (w *web) health(otherwise string) string {
	w.goods++
	id := fmt.Sprintf("good %d", w.goods)
	resp, body, err := w.post(w.newRequest([]byte(goodCall(w.revision, id)), "tools/call", "echo"))
	if err == nil && resp.StatusCode == http.StatusOK && isGood(body, id) {
		return ""
	}
	w.redial()
	return otherwise
}

// name is what the name header says of the message before it was changed.
func (a *attack) name() string {
	return map[string]string{
		"tools/call": "echo", "resources/read": "note://hello", "prompts/get": "greet",
	}[a.method]
}

// post sends a request and returns the answer. What is no JSON is not read to its
// end, because some streams have none.
func (w *web) post(r *rawRequest) (*http.Response, []byte, error) {
	_ = w.conn.SetDeadline(time.Now().Add(patience))
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
		return resp, nil, nil // a stream, which has no end
	}
	return w.read(resp)
}

// read reads the body, of an event stream without an end what acknowledges it.
func (w *web) read(resp *http.Response) (*http.Response, []byte, error) {
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

// messages returns what an answer says.
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
