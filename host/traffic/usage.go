package traffic

import (
	"cmp"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxUsage limits the rows of the usage.
const maxUsage = 1000

// Usage is what one client of a host has used of one tool, prompt, or of the resources, since the Recorder was made.
type Usage struct {
	// Method is tools/call, prompts/get or resources/read; empty in the row with what no longer has a row of its own.
	Method string
	// Name is that of the tool or prompt as clients see it. Resources are counted together.
	Name string
	// Principal and Client are those of Message.
	Principal, Client string
	// Calls are those that were answered. Failed are those of a tool that has failed.
	Calls, Failed int
	// Sent and Received are the bytes of the requests and of the answers, whole messages as the client has them.
	Sent, Received int64
	// Time is how long these calls took together.
	Time time.Duration
	// Last is when the last one was answered.
	Last time.Time
}

// usageKey names a row.
type usageKey struct{ method, name, principal, client string }

// usage counts what clients use. Its rows are bounded: a new one takes the place of that with the fewest calls, which
// is added to the rest. The zero value is ready to use.
type usage struct {
	rows map[usageKey]*Usage
	rest Usage
}

// note counts a message if it answers a call of a client. request is the size of the call.
func (u *usage) note(m *Message, request int) {
	if m.Upstream != "" || m.FromClient || m.Kind != Result {
		return
	}
	switch m.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead:
	default:
		return
	}
	key := usageKey{m.Method, m.Name, m.Principal, m.Client}
	row := u.rows[key]
	if row == nil {
		if u.rows == nil {
			u.rows = make(map[usageKey]*Usage)
		}
		if len(u.rows) >= maxUsage {
			u.drop()
		}
		row = &Usage{Method: m.Method, Name: m.Name, Principal: m.Principal, Client: m.Client}
		u.rows[key] = row
	}
	one := Usage{Calls: 1, Sent: int64(request), Received: int64(m.Bytes), Time: time.Duration(m.Milliseconds * float64(time.Millisecond)), Last: m.Time}
	switch {
	case m.Asks: // the call goes on in another round
		one.Calls = 0
	case m.ToolError:
		one.Failed = 1
	}
	row.Add(&one)
}

// drop adds the row with the fewest calls to the rest, of several the one that was used first.
func (u *usage) drop() {
	var least usageKey
	var found *Usage
	for key, row := range u.rows {
		if found == nil || cmp.Or(cmp.Compare(row.Calls, found.Calls), row.Last.Compare(found.Last)) < 0 {
			least, found = key, row
		}
	}
	delete(u.rows, least)
	u.rest.Add(found)
}

// Add adds the numbers of another row.
func (u *Usage) Add(o *Usage) {
	u.Calls += o.Calls
	u.Failed += o.Failed
	u.Sent += o.Sent
	u.Received += o.Received
	u.Time += o.Time
	if o.Last.After(u.Last) {
		u.Last = o.Last
	}
}

// Usage returns what the clients have used, what has the most bytes first. What no longer has a row of its own is in
// one row at the end.
func (r *Recorder) Usage() []Usage {
	r.mu.Lock()
	all := make([]Usage, 0, len(r.used.rows)+1)
	for _, row := range r.used.rows {
		all = append(all, *row)
	}
	rest := r.used.rest
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.Sent+b.Received, a.Sent+a.Received), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Client, b.Client))
	})
	if rest.Calls > 0 {
		all = append(all, rest)
	}
	return all
}
