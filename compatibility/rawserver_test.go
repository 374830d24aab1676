package compatibility

import (
	"bufio"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A reply is what a raw server sends for one request.
type reply struct {
	text string // of messages as lines; $id is the id of the request, $name that of the server
	kind string // over HTTP, the content type; default application/json
	code int    // over HTTP, the status; default 200
	none bool   // the request gets no answer
	ends bool   // the server ends after the text: the process exits, or the connection breaks
}

// replies are those of a server by method.
type replies map[string]reply

func say(text string) reply { return reply{text: text} }

// result is a plain reply.
func result(value string) reply { return say(`{"jsonrpc":"2.0","id":$id,"result":` + value + `}`) }

var silence = reply{none: true}

// plain are the replies of a server of 2025-11-25 without deviations. It has one tool, "go".
var plain = replies{
	"server/discover": say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"Method not found"}}`),
	"initialize":      result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"raw","version":"1"}}`),
	"ping":            result(`{}`),
	"tools/list":      result(`{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`),
	"tools/call":      result(`{"content":[{"type":"text","text":"done"}]}`),
	"prompts/list":    result(`{"prompts":[]}`),
	"resources/list":  result(`{"resources":[]}`),

	"resources/templates/list": result(`{"resourceTemplates":[]}`),
}

// rawServer sends the bytes of its replies.
type rawServer struct {
	name    string
	replies replies
	first   string // over stdio: sent before everything else
	events  bool   // HTTP+SSE at any method
	post    string // the address for POST of HTTP+SSE

	stream chan string // messages for the event stream

	mu     sync.Mutex
	spoken time.Time // guarded by mu: when it last sent something or ended
	strict error     // guarded by mu: what is wrong with a message that it got
	ended  int       // guarded by mu: how often it has ended
}

func newRawServer(row *serverRow, over transport) *rawServer {
	all := maps.Clone(plain)
	maps.Copy(all, row.replies)
	name := serverName(row, over)
	return &rawServer{
		name: name, replies: all, first: row.first,
		events: row.events, post: cmp.Or(row.endpoint, "/"+name+"/messages"), stream: make(chan string, 10),
	}
}

// reply returns the reply to one message, with its text ready to be sent. A message without
// an id gets none.
func (s *rawServer) reply(data []byte) reply {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		s.mu.Lock()
		s.strict = err
		s.mu.Unlock()
		return silence
	}
	if m.ID == nil || m.Method == "" {
		return silence
	}
	r, ok := s.replies[m.Method]
	if !ok {
		r = say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"Method not found"}}`)
	}
	r.text = strings.NewReplacer("$id", string(m.ID), "$name", s.name).Replace(r.text)
	return r
}

// speaks remembers when the server has sent its last bytes or ended.
func (s *rawServer) speaks(ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoken = time.Now()
	if ends {
		s.ended++
	}
}

// serveConn serves the standard streams of a child.
func (s *rawServer) serveConn(r *bufio.Reader, conn io.Writer) {
	_, _ = io.WriteString(conn, s.first)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		answer := s.reply(line)
		if answer.text != "" {
			s.speaks(answer.ends)
			_, _ = io.WriteString(conn, answer.text+"\n")
		}
		if answer.ends {
			s.speaks(true)
			return
		}
	}
}

// ServeHTTP serves Streamable HTTP without a session id.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.events && !strings.HasSuffix(r.URL.Path, "/messages") {
		s.serveEvents(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := s.reply(body)
	switch {
	case s.events:
		w.WriteHeader(http.StatusAccepted)
		if answer.text != "" {
			s.stream <- answer.text
		}
		return
	case answer.ends:
		s.speaks(true)
		panic(http.ErrAbortHandler)
	case answer.none && !isRequest(body):
		w.WriteHeader(http.StatusAccepted)
		return
	case answer.none:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if answer.kind != "" {
		w.Header().Set("Content-Type", answer.kind)
	}
	s.speaks(false)
	w.WriteHeader(max(answer.code, http.StatusOK))
	_, _ = io.WriteString(w, answer.text)
}

// serveEvents answers with the event stream of HTTP+SSE.
func (s *rawServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", s.post)
	for {
		_ = http.NewResponseController(w).Flush()
		s.speaks(false)
		select {
		case text := <-s.stream:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

func isRequest(data []byte) bool {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	return json.Unmarshal(data, &m) == nil && m.ID != nil && m.Method != ""
}

// rawServers are reached by their names: over HTTP as the path, and over TCP, which is how
// children pass on their standard streams, as the first line.
type rawServers struct {
	web      *httptest.Server
	listener net.Listener

	mu     sync.Mutex
	byName map[string]*rawServer // guarded by mu
}

func startRawServers(t *testing.T) *rawServers {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := &rawServers{listener: listener, byName: make(map[string]*rawServer)}
	all.web = httptest.NewServer(all)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { all.serve(conn) })
		}
	})
	t.Cleanup(func() {
		all.web.CloseClientConnections()
		all.web.Close()
		_ = listener.Close()
		work.Wait()
	})
	return all
}

func (all *rawServers) add(s *rawServer) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.byName[s.name] = s
}

func (all *rawServers) named(name string) *rawServer {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byName[name]
}

func (all *rawServers) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	name, err := r.ReadString('\n')
	if err != nil {
		return
	}
	if s := all.named(strings.TrimSpace(name)); s != nil {
		s.serveConn(r, conn)
	}
}

func (all *rawServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if s := all.named(name); s != nil {
		s.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}
