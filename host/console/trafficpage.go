package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
)

// maxMessages limits the messages on a page of the traffic.
const maxMessages = 200

// trafficView is the data of the page of the traffic.
type trafficView struct {
	Filter   messageFilter
	Messages []message // the newest first
	// Matching is how many of the Kept messages the filter lets through.
	Matching, Kept int
	// Newest is the Seq of the newest message that is kept.
	Newest uint64
	// Servers and Methods are those that the messages have, for the filter.
	Servers, Methods []string
	Durations        []durations
}

// messageFilter says which messages are shown. Empty members let all through.
type messageFilter struct {
	Server, Method, Session, Search string
	Failed                          bool
	Call                            uint64 // the Seq of its first request
	Until                           uint64 // the Seq of the last one; 0 means that the page goes on
}

// clientsName is the value of the filter Server for the messages of clients. No server has it.
const clientsName = "(clients)"

// message is a message as it is shown.
type message struct {
	traffic.Message
}

// Hop is the half of the lanes in which the message was sent: "client" or "server".
func (m message) Hop() string {
	if m.Upstream == "" {
		return "client"
	}
	return "server"
}

// Direction is that of the arrow.
func (m message) Direction() string {
	if m.FromClient {
		return "right"
	}
	return "left"
}

// From and To name the two ends.
func (m message) From() string {
	if from, _ := m.ends(); m.FromClient {
		return from
	}
	_, to := m.ends()
	return to
}

// To is the receiver.
func (m message) To() string {
	if _, to := m.ends(); m.FromClient {
		return to
	}
	from, _ := m.ends()
	return from
}

// ends returns the left and the right end of the hop.
func (m message) ends() (left, right string) {
	if m.Upstream == "" {
		return cmp.Or(m.Client, "client"), "host"
	}
	return "host", m.Upstream
}

// Outcome says how a request has ended, or what the message is if it is none.
func (m message) Outcome() string {
	switch {
	case m.Kind == traffic.HTTP:
		return "HTTP " + strconv.Itoa(m.Status)
	case m.Kind == traffic.Invalid:
		return "no message"
	case m.Kind == traffic.Error:
		return "error " + strconv.Itoa(m.Code)
	case m.ToolError:
		return "the tool failed"
	case m.Asks:
		return "asks"
	case m.Kind == traffic.Result:
		return "result"
	}
	return string(m.Kind)
}

// Duration is the time from the request to this answer.
func (m message) Duration() time.Duration {
	return time.Duration(m.Milliseconds * float64(time.Millisecond))
}

// Label is the name of the tool or prompt as the user types it.
func (m message) Label() string { return host.DisplayName(m.Name) }

// filterOf reads the filter of a query.
func filterOf(query url.Values) messageFilter {
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(query.Get(name), 10, 64)
		return n
	}
	return messageFilter{
		Server: query.Get("server"), Method: query.Get("method"), Session: query.Get("session"), Search: query.Get("q"),
		Failed: query.Get("failed") != "", Call: number("call"), Until: number("until"),
	}
}

// With returns the query of the filter with another value of a member, or without it.
func (f messageFilter) With(name, value string) string {
	query := make(url.Values)
	for name, value := range map[string]string{"server": f.Server, "method": f.Method, "session": f.Session, "q": f.Search} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, value := range map[string]uint64{"call": f.Call, "until": f.Until} {
		if value != 0 {
			query.Set(name, strconv.FormatUint(value, 10))
		}
	}
	if f.Failed {
		query.Set("failed", "1")
	}
	if query.Set(name, value); value == "" {
		query.Del(name)
	}
	return query.Encode()
}

// Seq returns a number as With takes it.
func (messageFilter) Seq(n uint64) string { return strconv.FormatUint(n, 10) }

// IsSet reports whether something is left out.
func (f messageFilter) IsSet() bool { return f.With("until", "") != "" }

// matches reports whether a message is shown. Trace is that of the call of the filter.
func (f *messageFilter) matches(m *traffic.Message, trace string) bool {
	switch {
	case f.Until != 0 && m.Seq > f.Until,
		f.Server == clientsName && m.Upstream != "",
		f.Server != "" && f.Server != clientsName && m.Upstream != f.Server,
		f.Method != "" && m.Method != f.Method,
		f.Session != "" && m.Session != f.Session,
		f.Failed && !m.Failed(),
		f.Call != 0 && m.Call != f.Call && m.Seq != f.Call && (trace == "" || m.Trace != trace):
		return false
	}
	words := strings.ToLower(strings.Join([]string{m.Method, host.DisplayName(m.Name), m.Client, m.Principal, m.Upstream, m.ID, m.Session, m.Trace}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(f.Search)) {
		if !strings.Contains(words, word) {
			return false
		}
	}
	return true
}

// durations are the answers to one kind of request.
type durations struct {
	Server, Method, Name string
	Answers, Failed      int
	Median, Longest      time.Duration
	all                  []time.Duration
}

// Label is the name of the tool or prompt as the user types it.
func (d *durations) Label() string { return host.DisplayName(d.Name) }

// durationsOf returns how long requests have taken, those that took longest first.
func durationsOf(messages []message) (list []durations) {
	type key struct{ server, method, name string }
	byKey := make(map[key]*durations)
	for _, m := range messages {
		if m.Request == 0 {
			continue
		}
		k := key{m.Upstream, m.Method, m.Name}
		d := byKey[k]
		if d == nil {
			d = &durations{Server: cmp.Or(m.Upstream, "clients"), Method: m.Method, Name: m.Name}
			byKey[k] = d
		}
		d.all = append(d.all, m.Duration())
		if m.Failed() {
			d.Failed++
		}
	}
	for _, d := range byKey {
		slices.Sort(d.all)
		d.Answers, d.Median, d.Longest = len(d.all), d.all[(len(d.all)-1)/2], d.all[len(d.all)-1]
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b durations) int {
		return cmp.Or(-cmp.Compare(a.Longest, b.Longest), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// viewOf applies a filter to messages, which are in the order of Seq.
func viewOf(all []traffic.Message, f messageFilter) *trafficView {
	v := &trafficView{Filter: f, Kept: len(all)}
	trace := ""
	for i := range all {
		m := &all[i]
		v.Newest = m.Seq
		v.Servers = append(v.Servers, cmp.Or(m.Upstream, clientsName))
		v.Methods = append(v.Methods, m.Method)
		if m.Seq == f.Call {
			trace = m.Trace
		}
	}
	var matching []message
	for i := range slices.Backward(all) {
		if f.matches(&all[i], trace) {
			matching = append(matching, message{all[i]})
		}
	}
	v.Matching, v.Messages, v.Durations = len(matching), matching[:min(len(matching), maxMessages)], durationsOf(matching)
	for _, values := range []*[]string{&v.Servers, &v.Methods} {
		slices.Sort(*values)
		*values = slices.DeleteFunc(slices.Compact(*values), func(s string) bool { return s == "" })
	}
	return v
}

// messages shows the traffic.
func (c *Console) messages(w http.ResponseWriter, r *http.Request, s *session) {
	c.show(w, s, "traffic", &view{Title: "Traffic", Section: "traffic", Data: viewOf(c.source.Messages(), filterOf(r.URL.Query()))})
}
