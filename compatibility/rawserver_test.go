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
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A reply is what a raw server sends for one request.
type reply struct {
	text string // of messages as lines; $id is the id of the request, $name that of the server
	kind string // over HTTP, the content type; default application/json
	code int    // over HTTP, the status; default 200
	none bool   // the request gets no answer
	ends bool   // the server ends after the text: the process exits, or the connection breaks
	dies bool   // nothing more is answered from then on, and connections stay open: a relay in between is dead
}

// replies are those of a server by method.
type replies map[string]reply

// probed reports whether they have an answer to the probe.
func (r replies) probed() bool {
	answer, ok := r["server/discover"]
	return ok && !answer.none
}

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
	later   replies // from the second request of a method on
	first   string  // over stdio: sent before everything else
	events  bool    // HTTP+SSE at any method
	post    string  // the address for POST of HTTP+SSE, if it is not on the server
	lost    *reply  // with sessions: to tools/call in a session that is lost
	losses  int     // sessions that are lost at their first tools/call, one after the other
	get     int     // status of a GET; 0 is 405

	mu      sync.Mutex
	dead    bool            // guarded by mu: see reply.dies
	starts  int             // guarded by mu: processes
	opened  int             // guarded by mu: sessions
	gone    map[string]bool // guarded by mu: sessions that are lost
	streams []chan string   // guarded by mu: messages for the event streams of HTTP+SSE
	methods []string        // guarded by mu: of the messages that it got
	strict  error           // guarded by mu: what is wrong with a message that it got
}

func newRawServer(row *serverRow, over transport) *rawServer {
	all := maps.Clone(plain)
	maps.Copy(all, row.replies)
	name := serverName(row, over)
	return &rawServer{
		name: name, replies: all, later: row.later, first: row.first,
		events: row.events, post: row.endpoint,
		lost: row.lost, losses: row.losses, get: row.get, gone: make(map[string]bool),
	}
}

// inSession returns the reply to a message with the session id of its request, and the id of
// the session that the reply opens.
func (s *rawServer) inSession(session string, data []byte) (answer reply, opens string) {
	answer = s.reply(data)
	if s.lost == nil {
		return answer, ""
	}
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	_ = json.Unmarshal(data, &m) // reply has reported the error
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Method == "initialize":
		s.opened++
		return answer, fmt.Sprintf("session-%d", s.opened)
	case m.Method == "server/discover":
		return answer, ""
	case m.Method == "tools/call" && s.losses > 0 && !s.gone[session]:
		s.losses--
		s.gone[session] = true
	}
	if session == "" || s.gone[session] {
		answer = *s.lost
		answer.text = strings.ReplaceAll(answer.text, "$id", string(m.ID))
	}
	return answer, ""
}

// reply returns the reply to one message, with its text ready to be sent. A message without
// an id gets none.
func (s *rawServer) reply(data []byte) reply {
	var m struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	err := json.Unmarshal(data, &m)
	if s.hears(m.Method, err); err != nil || m.ID == nil || m.Method == "" {
		return silence
	}
	r, ok := s.replies[m.Method]
	if later, changes := s.later[m.Method]; changes && s.count(m.Method) > 1 {
		r = later
	}
	if s.isDead(r.dies) {
		return silence
	}
	if !ok {
		r = say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"Method not found"}}`)
	}
	r.text = strings.NewReplacer("$id", string(m.ID), "$name", s.name).Replace(r.text)
	return r
}

// isDead reports whether the server is dead, as it is from its death on.
func (s *rawServer) isDead(dies bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = s.dead || dies
	return s.dead
}

// hears is called for each message of the peer, with an error if it is not strict JSON.
func (s *rawServer) hears(method string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strict = cmp.Or(s.strict, err)
	s.methods = append(s.methods, method)
}

// count returns the number of messages with a method so far.
func (s *rawServer) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if m == method {
			n++
		}
	}
	return n
}

// handshake returns the methods up to the first initialize, each once.
func (s *rawServer) handshake() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Clone(s.methods[:slices.Index(s.methods, "initialize")+1]))
}

// starting is called when a child has started.
func (s *rawServer) starting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
}

// started returns the number of children so far.
func (s *rawServer) started() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// sessions returns the number of sessions that were opened so far.
func (s *rawServer) sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// notStrict returns what was wrong with a message.
func (s *rawServer) notStrict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strict
}

// serveConn serves the standard streams of a child.
func (s *rawServer) serveConn(r *bufio.Reader, conn io.Writer) {
	s.starting()
	_, _ = io.WriteString(conn, s.first)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		answer := s.reply(line)
		if answer.text != "" {
			_, _ = io.WriteString(conn, answer.text+"\n")
		}
		if answer.ends {
			return
		}
	}
}

// ServeHTTP serves Streamable HTTP, with session ids only if sessions are lost.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.events && !strings.HasSuffix(r.URL.Path, "/messages") {
		s.serveEvents(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(cmp.Or(s.get, http.StatusMethodNotAllowed))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer, opens := s.inSession(r.Header.Get("Mcp-Session-Id"), body)
	if opens != "" {
		w.Header().Set("Mcp-Session-Id", opens)
	}
	switch {
	case s.events:
		w.WriteHeader(http.StatusAccepted)
		if n, err := strconv.Atoi(r.URL.Query().Get("stream")); err == nil && answer.text != "" {
			s.streamOf(n) <- answer.text
		}
		return
	case answer.ends:
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
	w.WriteHeader(max(answer.code, http.StatusOK))
	_, _ = io.WriteString(w, answer.text)
}

// serveEvents answers with the event stream of HTTP+SSE.
func (s *rawServer) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	n, messages := s.addStream()
	fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", cmp.Or(s.post, fmt.Sprintf("/%s/messages?stream=%d", s.name, n)))
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-messages:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
		case <-r.Context().Done():
			return
		}
	}
}

func (s *rawServer) addStream() (int, chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages := make(chan string, 10)
	s.streams = append(s.streams, messages)
	return len(s.streams) - 1, messages
}

func (s *rawServer) streamOf(n int) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[n]
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
