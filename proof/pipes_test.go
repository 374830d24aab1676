package proof

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// replyTimeout limits waits for what never happens. It is long because a busy machine is slow.
	replyTimeout = 2 * time.Minute
	// quietTime is how long to wait for further messages. It matters only if no verdict is
	// recorded yet.
	quietTime = 20 * time.Millisecond
)

// connectionEnds is the verdict if nothing more can be sent.
const connectionEnds = "the connection ends"

// A pipe sends attacks one after the other over one transport in one revision.
type pipe interface {
	// try sends an attack and then a valid call. It returns the verdict. If that is the
	// expected one, it does not wait for more.
	try(a *attack, expected string) string
	close()
}

// goodCall is a call to which a healthy server responds with the text.
func goodCall(v mcp.Revision, id string) string {
	meta := ""
	if v == mcp.V20260728 {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + v.String() + `","io.modelcontextprotocol/clientCapabilities":{}},`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{%s"name":"echo","arguments":{"text":"still here"}}}`, id, meta)
}

func isGood(text []byte, id string) bool {
	return bytes.Contains(text, []byte(`"id":"`+id+`"`)) && bytes.Contains(text, []byte(`"result":`))
}

// opening is the first message of a session.
func opening(v mcp.Revision) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"proof","version":"1"}}}`, v)
}

const opened = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// A stream is a connection on which the server sends messages at any time: stdio or
// HTTP+SSE.
type stream struct {
	t        *testing.T
	revision mcp.Revision
	send     func(frame []byte) (status string)
	received chan []byte
	shut     func()
	goods    int
	fresh    bool            // without a session
	tried    map[string]bool // ids of attacks
}

func (s *stream) close() { s.shut() }

// open initializes the session, if the revision has sessions and the attack is not to be
// the first message.
func (s *stream) open() pipe {
	if s.fresh || s.revision == mcp.V20260728 {
		return s
	}
	s.send([]byte(opening(s.revision)))
	if text := s.next(replyTimeout); !bytes.Contains(text, []byte(`"protocolVersion"`)) {
		s.t.Fatalf("initialize: got %s", text)
	}
	s.send([]byte(opened))
	return s
}

// good is a call that succeeds in the current state of the stream.
func (s *stream) good(id string) string {
	if s.fresh {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"ping"}`, id)
	}
	return goodCall(s.revision, id)
}

// next returns the next message, or nil after the timeout.
func (s *stream) next(within time.Duration) []byte {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case text := <-s.received:
		return text
	case <-timer.C:
		return nil
	}
}

func (s *stream) try(a *attack, expected string) string {
	var words []string
	if status := s.send(a.frame); status != "" {
		words = append(words, status)
	}
	s.tried[a.id] = true
	s.goods++
	good := fmt.Sprintf("good %d", s.goods)
	s.send([]byte(s.good(good)))
	for healthy := false; ; {
		within := replyTimeout
		if healthy {
			within = quietTime + time.Duration(len(a.frame))*time.Microsecond/10
			if expected != "" {
				within = replyTimeout
			}
			if verdictOf(words) == expected {
				return expected
			}
		}
		text := s.next(within)
		switch {
		case text == nil && healthy:
			return verdictOf(words)
		case text == nil:
			return verdictOf(append(words, connectionEnds))
		case isGood(text, good):
			healthy = true
		case s.isEarlierReply(a, text):
			s.t.Errorf("%s, %s %s: late answer %s", a.operator, a.revision, a.title, text)
		default:
			if word := a.describe(text); word != "" {
				words = append(words, word)
			}
		}
	}
}

// isEarlierReply reports whether a message responds to an earlier attack.
func (s *stream) isEarlierReply(a *attack, text []byte) bool {
	list, _ := readReplies(text)
	return slices.ContainsFunc(list, func(r reply) bool { return s.tried[string(r.ID)] && string(r.ID) != a.id })
}

// overStdio starts a server for one connection.
func overStdio(t *testing.T, _ string, v mcp.Revision, fresh bool) pipe {
	c := startChild(t, "stdio")
	s := &stream{t: t, revision: v, fresh: fresh, received: make(chan []byte), tried: make(map[string]bool)}
	s.send = func(frame []byte) string {
		_, _ = c.in.Write(append(frame[:len(frame):len(frame)], '\n'))
		return ""
	}
	ended := make(chan struct{})
	s.shut = func() {
		_ = c.in.Close()
		go func() {
			for range s.received {
			}
		}()
		<-ended
		c.end(t)
	}
	go func() {
		defer close(ended)
		defer close(s.received)
		for {
			line, err := c.out.ReadBytes('\n')
			if err != nil {
				return
			}
			s.received <- line
		}
	}()
	return s.open()
}

// overEvents opens the event stream of HTTP+SSE at the address.
func overEvents(t *testing.T, addr string, v mcp.Revision, fresh bool) pipe {
	transport := new(http.Transport)
	web := &http.Client{Transport: transport}
	resp, err := web.Get("http://" + addr + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	events := bufio.NewReader(resp.Body)
	endpoint, err := nextEvent(events)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, revision: v, fresh: fresh, received: make(chan []byte), tried: make(map[string]bool)}
	s.send = func(frame []byte) string {
		resp, err := web.Post("http://"+addr+string(endpoint), "application/json", bytes.NewReader(frame))
		if err != nil {
			return "the request fails"
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return strconv.Itoa(resp.StatusCode)
	}
	ended := make(chan struct{})
	s.shut = func() {
		resp.Body.Close()
		go func() {
			for range s.received {
			}
		}()
		<-ended
		transport.CloseIdleConnections()
	}
	go func() {
		defer close(ended)
		defer close(s.received)
		for {
			data, err := nextEvent(events)
			if err != nil {
				return
			}
			s.received <- data
		}
	}()
	return s.open()
}

// nextEvent returns the data of the next event with data.
func nextEvent(from *bufio.Reader) ([]byte, error) {
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			return []byte(strings.TrimSpace(data)), nil
		}
	}
}
