package mcptest

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// Grease returns a Conn that passes messages to and from conn and adds, in both
// directions, what later revisions may add and every peer has to accept: unknown members
// of params, of results and of the objects in their lists, unknown metadata and
// capabilities, and notifications and requests with unknown methods. It does not change
// data of the application, such as arguments. With the same seed and messages it makes
// the same choices.
//
// It fails the test if the response to an unknown request is not the error that the method
// does not exist.
func Grease(tb testing.TB, conn mcp.Conn, seed uint64) mcp.Conn {
	tb.Helper()
	return &greased{
		Conn: conn, tb: tb,
		in:  greaser{random: rand.New(rand.NewPCG(seed, 1)), asked: make(map[string]bool)},
		out: greaser{random: rand.New(rand.NewPCG(seed, 2)), asked: make(map[string]bool)},
	}
}

type greased struct {
	mcp.Conn
	tb      testing.TB
	in, out greaser

	ready [][]byte // to be read
}

// Read implements mcp.Conn.
func (g *greased) Read(ctx context.Context) ([]byte, error) {
	for len(g.ready) == 0 {
		msg, err := g.Conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		if !g.answersGrease(&g.out, msg) {
			g.ready = g.in.grease(msg)
		}
	}
	msg := g.ready[0]
	g.ready = g.ready[1:]
	return msg, nil
}

// Write implements mcp.Conn.
func (g *greased) Write(ctx context.Context, msg []byte) error {
	if g.answersGrease(&g.in, msg) {
		return nil
	}
	for _, m := range g.out.grease(msg) {
		if err := g.Conn.Write(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// answersGrease reports whether a message answers an unknown request, and checks
// the answer.
func (g *greased) answersGrease(asker *greaser, msg []byte) bool {
	m := decode[envelope](msg)
	if m.Method != "" || !asker.answered(string(m.ID)) {
		return false
	}
	if m.Error.Code != -32601 {
		g.tb.Errorf("grease: an unknown method was answered by %s, want the error -32601", msg)
	}
	return true
}

// envelope has the members of a message that Grease needs.
type envelope struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Error  struct {
		Code int64 `json:"code"`
	} `json:"error"`
}

// greaser adds to the messages of one direction.
type greaser struct {
	mu     sync.Mutex
	random *rand.Rand
	count  int
	asked  map[string]bool // ids of unknown requests without an answer
}

func (g *greaser) answered(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.asked[id]
	delete(g.asked, id)
	return was
}

// grease returns the messages that replace a message.
func (g *greaser) grease(msg []byte) [][]byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	object := decode[members](msg)
	if object == nil {
		return [][]byte{msg} // a batch, or an invalid message
	}
	all := g.unknownMessages(decode[envelope](msg))
	for _, name := range []string{"params", "result"} {
		if part := decode[members](object[name]); part != nil {
			g.greasePart(part)
			object[name] = encode(part)
		}
	}
	return append(all, encode(object))
}

// unknownMessages returns messages with unknown methods to send before a message. An
// unknown request has the metadata of the request that follows it, so it belongs to the
// same era.
func (g *greaser) unknownMessages(m envelope) (all [][]byte) {
	switch {
	case m.Method == "" || m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover || m.Method == mcp.NotificationInitialized:
		return nil
	case g.random.IntN(2) == 0:
		return nil
	}
	method := g.name()
	meta := decode[members](decode[members](m.Params)["_meta"])
	delete(meta, mcp.MetaProgressToken)
	params := members{g.name(): g.value()}
	if meta != nil {
		params["_meta"] = encode(meta)
	}
	note := members{"jsonrpc": quote("2.0"), "method": quote("notifications/" + method), "params": encode(params)}
	all = append(all, encode(note))
	if m.ID != nil {
		id := quote("grease " + method)
		g.asked[string(id)] = true
		all = append(all, encode(members{"jsonrpc": quote("2.0"), "id": id, "method": quote(method), "params": encode(params)}))
	}
	return all
}

// greasePart adds to params or to a result.
func (g *greaser) greasePart(part members) {
	g.add(part)
	for name, value := range part {
		switch name {
		case "capabilities", "_meta", "clientInfo", "serverInfo":
			part[name] = g.greased(value)
		case "tools", "resources", "resourceTemplates", "prompts", "roots", "content", "contents", "messages":
			if list := decode[[]jsontext.Value](value); value.Kind() == '[' {
				for i := range list {
					list[i] = g.greased(list[i])
				}
				part[name] = encode(list)
			}
		}
	}
	if meta := decode[members](part["_meta"]); meta[mcp.MetaClientCapabilities] != nil {
		meta[mcp.MetaClientCapabilities] = g.greased(meta[mcp.MetaClientCapabilities])
		part["_meta"] = encode(meta)
	}
}

func (g *greaser) greased(value jsontext.Value) jsontext.Value {
	object := decode[members](value)
	if object == nil {
		return value
	}
	g.add(object)
	return encode(object)
}

// add adds an unknown member, most of the time.
func (g *greaser) add(object members) {
	if g.random.IntN(4) > 0 {
		object[g.name()] = g.value()
	}
}

// name returns an unknown name, which is also valid as a key of metadata.
func (g *greaser) name() string {
	g.count++
	return fmt.Sprintf("grease%d%c", g.count, 'a'+rune(g.random.IntN(26)))
}

var greaseValues = []string{`null`, `true`, `-7`, `1.5e300`, `""`, `"caffè"`, `[]`, `[[{}]]`, `{}`, `{"id":1,"method":"ping","type":"text"}`}

func (g *greaser) value() jsontext.Value {
	return jsontext.Value(greaseValues[g.random.IntN(len(greaseValues))])
}

// members are the members of an object.
type members = map[string]jsontext.Value

// encode encodes what was decoded from JSON.
func encode(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("mcptest: " + err.Error())
	}
	return raw
}

func quote(s string) jsontext.Value { return encode(s) }
