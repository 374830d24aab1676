package load

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// A response holds the received part of one HTTP/1.1 response.
type response struct {
	buf  []byte
	n    int // bytes of it that are filled
	head int // where the body begins; 0: not there yet

	status  int
	length  int // of the body; -1: it comes in chunks
	stream  bool
	closing bool

	chunk int // where the next chunk begins
	end   int // of the chunks so far, which are moved together
}

func (r *response) reset() { *r = response{buf: r.buf} }

// room returns the free part of the buffer, which is never empty.
func (r *response) room() []byte {
	if r.n == len(r.buf) {
		r.buf = append(r.buf, make([]byte, max(4096, len(r.buf)))...)
	}
	return r.buf[r.n:]
}

// complete reports whether the whole response was received, and returns its body.
func (r *response) complete() (body []byte, ok bool, err error) {
	if r.head == 0 {
		i := bytes.Index(r.buf[:r.n], []byte("\r\n\r\n"))
		if i < 0 {
			return nil, false, nil
		}
		r.head = i + 4
		r.chunk, r.end = r.head, r.head
		if err := r.readHead(); err != nil {
			return nil, false, err
		}
	}
	if r.length < 0 {
		return r.readChunks()
	}
	if r.n-r.head < r.length {
		return nil, false, nil
	}
	return r.buf[r.head : r.head+r.length], true, nil
}

func (r *response) readHead() error {
	lines := bytes.Split(r.buf[:r.head-4], []byte("\r\n"))
	status, ok := bytes.CutPrefix(lines[0], []byte("HTTP/1.1 "))
	if !ok || len(status) < 3 {
		return fmt.Errorf("read a response: status line %.100q", lines[0])
	}
	r.status, _ = strconv.Atoi(string(status[:3]))
	for _, line := range lines[1:] {
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case isName(name, "content-length"):
			r.length, _ = strconv.Atoi(string(value))
		case isName(name, "transfer-encoding"):
			r.length = -1
		case isName(name, "content-type"):
			r.stream = bytes.HasPrefix(value, []byte("text/event-stream"))
		case isName(name, "connection"):
			r.closing = string(value) == "close"
		}
	}
	return nil
}

func isName(name []byte, want string) bool {
	return len(name) == len(want) && strings.EqualFold(string(name), want)
}

// readChunks moves each whole chunk to the end of those before it.
func (r *response) readChunks() (body []byte, ok bool, err error) {
	for {
		rest := r.buf[r.chunk:r.n]
		line := bytes.IndexByte(rest, '\n')
		if line < 1 {
			return nil, false, nil
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(rest[:line])), 16, 31)
		if err != nil {
			return nil, false, fmt.Errorf("read a response: size of a chunk: %w", err)
		}
		next := line + 1 + int(size) + len("\r\n")
		if len(rest) < next {
			return nil, false, nil
		}
		if size == 0 {
			return r.buf[r.head:r.end], true, nil
		}
		r.end += copy(r.buf[r.end:], rest[line+1:line+1+int(size)])
		r.chunk += next
	}
}

// header returns the value of a field, empty when there is none.
func (r *response) header(name string) string {
	for line := range strings.SplitSeq(string(r.buf[:r.head]), "\r\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// message returns the message of a body: the body itself, or the data of the last
// event. Events before it only open the stream.
func (r *response) message(body []byte) (msg []byte) {
	if !r.stream {
		return body
	}
	for {
		_, data, ok := bytes.Cut(body, []byte("data:"))
		if !ok {
			return msg
		}
		msg, body, _ = bytes.Cut(data, []byte("\n"))
		msg = bytes.TrimSpace(msg)
	}
}
