package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// Side is one of the two ends of a connection.
type Side int

// The two sides.
const (
	Client Side = iota
	Server
)

func (s Side) String() string { return [...]string{"client", "server"}[s] }

func (s Side) other() Side { return 1 - s }

// Conversation tracks the messages of two peers and finds invalid ones. Its
// methods are safe for concurrent use; the messages of one side must be passed
// in their order, and a request before its response.
type Conversation struct {
	schemas func(*dialect.Facts) *Schema

	mu      sync.Mutex
	session *dialect.Facts // of the negotiated or requested revision; nil without a session
	open    [2]map[string]*call
	used    [2]map[string]bool // ids of the session
	// extended means that the client has extensions. Their methods and results are
	// checked only if the schema has them.
	extended   bool
	unreadable [2]int // messages of a side whose id the other cannot read
}

// call is a request that has no answer yet.
type call struct {
	method string
	facts  *dialect.Facts
	token  string // of its progress notifications
	fault  error  // of the request
}

// NewConversation returns the Conversation of a new connection. The function
// returns the schema of each revision, such as Strict.
func NewConversation(schemas func(*dialect.Facts) *Schema) *Conversation {
	return &Conversation{schemas: schemas, open: [2]map[string]*call{{}, {}}, used: [2]map[string]bool{{}, {}}}
}

// Fault describes an invalid message.
type Fault struct {
	// From is the side that sent the message.
	From Side
	Err  error
}

// Check adds the next message of a side and returns the faults that it reveals.
//
// A test may send an invalid request to see it refused. So the fault of a request is returned
// only if its response is not an error.
func (c *Conversation) Check(from Side, data []byte) []Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	var faults []Fault
	if err := c.frame(from, data, &faults); err != nil {
		return append(faults, Fault{from, err})
	}
	return faults
}

// frame checks one message or a batch. It adds faults of the other side's requests to late.
func (c *Conversation) frame(from Side, data []byte, late *[]Fault) error {
	if !jsonrpc.IsBatch(data) {
		m, err := jsonrpc.Decode(data, jsonrpc.Limits{})
		return c.message(from, m, err, late)
	}
	items, err := jsonrpc.DecodeBatch(data, jsonrpc.Limits{})
	if err != nil {
		return c.countUnreadable(from, err)
	}
	var faults []error
	if c.session == nil || !c.session.Batch {
		faults = append(faults, errors.New("a batch: the revision has no batches"))
	}
	for _, item := range items {
		var err error
		if item.Err != nil {
			err = item.Err
		}
		faults = append(faults, c.message(from, item.Message, err, late))
	}
	return errors.Join(faults...)
}

// countUnreadable counts a message that its receiver can only answer without an id.
func (c *Conversation) countUnreadable(from Side, err error) error {
	c.unreadable[from]++
	return fmt.Errorf("not a message: %w", err)
}

func (c *Conversation) message(from Side, m jsonrpc.Message, err error, late *[]Fault) error {
	switch {
	case err != nil:
		return c.countUnreadable(from, err)
	case m.Kind == jsonrpc.Request:
		return c.request(from, m)
	case m.Kind == jsonrpc.Notification:
		return c.notification(from, m)
	}
	return c.answer(from, m, late)
}

func (c *Conversation) request(from Side, m jsonrpc.Message) error {
	key := m.ID.Key()
	if c.open[from][key] != nil {
		return c.countUnreadable(from, fmt.Errorf("%s: id %s is in use by a request without an answer", m.Method, m.ID))
	}
	k := &call{method: m.Method, facts: c.factsOf(from, m), token: token(m.Params)}
	c.extended = c.extended || declaresExtensions(m)
	k.fault = errors.Join(c.checkParams(k.facts, from, m), c.checkUnused(k.facts, from, m))
	c.open[from][key] = k
	if m.Method == mcp.MethodInitialize && c.session == nil {
		c.session = k.facts
	}
	return nil
}

// checkUnused returns a fault for an id that was used before in the session.
func (c *Conversation) checkUnused(f *dialect.Facts, from Side, m jsonrpc.Message) error {
	if f.Era == dialect.StatelessEra {
		return nil
	}
	key := m.ID.Key()
	if c.used[from][key] {
		return fmt.Errorf("%s: id %s was used before in the session", m.Method, m.ID)
	}
	c.used[from][key] = true
	return nil
}

// Unanswered returns the faults of requests that have no answer so far.
func (c *Conversation) Unanswered() (faults []Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, from := range []Side{Client, Server} {
		for _, id := range slices.Sorted(maps.Keys(c.open[from])) {
			if err := c.open[from][id].fault; err != nil {
				faults = append(faults, Fault{from, err})
			}
		}
	}
	return faults
}

func (c *Conversation) notification(from Side, m jsonrpc.Message) error {
	return c.checkParams(c.factsOfNotification(from, m), from, m)
}

// checkParams checks a request or notification. Methods that no revision has are treated as the
// application's own.
func (c *Conversation) checkParams(f *dialect.Facts, from Side, m jsonrpc.Message) error {
	s := c.schemas(f)
	if !s.sends(from, m.Kind, m.Method) && isKnown(m.Method) && !c.extended {
		return fmt.Errorf("%s: %s defines no such %s of a %s", m.Method, f.Revision, m.Kind, from)
	}
	return s.Params(m.Method, m.Params)
}

func (c *Conversation) answer(from Side, m jsonrpc.Message, late *[]Fault) error {
	key := m.ID.Key()
	k := c.open[from.other()][key]
	switch {
	case k != nil:
		delete(c.open[from.other()], key)
	case m.ID.IsZero():
		return c.schemas(c.sessionFacts()).Error(m.Error)
	case c.unreadable[from.other()] > 0:
		c.unreadable[from.other()]--
		return nil
	default:
		return fmt.Errorf("a response with id %s, without a request", m.ID)
	}
	if m.Error != nil {
		return c.schemas(k.facts).Error(m.Error)
	}
	if k.fault != nil {
		*late = append(*late, Fault{from.other(), fmt.Errorf("accepted by the %s, but invalid: %w", from, k.fault)})
	}
	if k.method == mcp.MethodInitialize {
		c.agree(k, m.Result)
	}
	s := c.schemas(k.facts)
	if c.extended && !s.extended[k.method] && !isCoreResult(m.Result) {
		return s.check(anyResult, m.Result)
	}
	return s.Result(k.method, m.Result)
}

// agree stores the revision that the result of initialize has.
func (c *Conversation) agree(k *call, result jsontext.Value) {
	var r mcp.InitializeResult
	_ = json.Unmarshal(result, &r) // the schema finds its faults
	if v, ok := mcp.ParseRevision(r.ProtocolVersion); ok {
		k.facts = dialect.Of(v)
	}
	c.session = k.facts
}
