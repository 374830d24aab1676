package console

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// maxMessages limits the messages on a page of the traffic.
const maxMessages = 200

// trafficView is the data of the page of the traffic.
type trafficView struct {
	// Page is the path of the page, without that of the session: "traffic", or that of a recording.
	Page string
	// Recording is the session that is shown; nil for what the host has seen last.
	Recording *Recording
	Filter    messageFilter
	Messages  []message // the newest first
	// Matching is how many of the Kept messages the filter lets through.
	Matching, Kept int
	// Newest is the Seq of the newest message that is kept.
	Newest uint64
	// Servers, Methods and Principals are those that the messages have, for the filter.
	Servers, Methods, Principals []string
	Durations                    []durations
	// Distribution is that of all durations: of the requests of clients, or those to the server of the filter.
	Distribution distribution
}

// messageFilter says which messages are shown. Empty members let all through.
type messageFilter struct {
	Server, Method, Session, Principal, Search string
	Failed                                     bool
	// All shows pings and progress too, which say nothing of what is done.
	All   bool
	Call  uint64 // the Seq of its first request
	Until uint64 // the Seq of the last one; 0 means that the page goes on
}

// clientsName is the value of the filter Server for the messages of clients. No server has it.
const clientsName = "(clients)"

// message is a message as it is shown.
type message struct {
	traffic.Message
	Body jsontext.Value // in a recording
	Cut  bool           // the recording lacks some of the body
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
		Server: query.Get("server"), Method: query.Get("method"), Session: query.Get("session"), Principal: query.Get("principal"), Search: query.Get("q"),
		Failed: query.Get("failed") != "", All: query.Get("all") != "", Call: number("call"), Until: number("until"),
	}
}

// With returns the query of the filter with another value of a member, or without it.
func (f messageFilter) With(name, value string) string {
	query := make(url.Values)
	for name, value := range map[string]string{"server": f.Server, "method": f.Method, "session": f.Session, "principal": f.Principal, "q": f.Search} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, value := range map[string]uint64{"call": f.Call, "until": f.Until} {
		if value != 0 {
			query.Set(name, strconv.FormatUint(value, 10))
		}
	}
	for name, set := range map[string]bool{"failed": f.Failed, "all": f.All} {
		if set {
			query.Set(name, "1")
		}
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

// isQuiet reports whether a message says only that a peer is there, or how far it is.
func isQuiet(m *traffic.Message) bool {
	return m.Method == mcp.MethodPing && !m.Failed() || m.Method == mcp.NotificationProgress
}

// related is what a filter needs to know of other messages.
type related struct {
	group uint64 // the call of the filter
	trace string // of that call
	// principals are those of the calls of clients.
	principals map[uint64]string
}

// relatedIn returns what a filter needs to know of all messages.
func (f *messageFilter) relatedIn(all []traffic.Message) *related {
	r := &related{group: f.Call, principals: make(map[uint64]string)}
	for i := range all {
		m := &all[i]
		if m.Principal != "" && m.Call != 0 {
			r.principals[m.Call] = m.Principal
		}
		if m.Seq == f.Call && f.Call != 0 {
			r.trace = m.Trace
			if group := m.Group(); group != 0 {
				r.group = group
			}
		}
	}
	return r
}

// matches reports whether a message is shown.
func (f *messageFilter) matches(m *traffic.Message, r *related) bool {
	switch {
	case isQuiet(m) && !f.All && f.Call == 0 && m.Method != f.Method:
		return false
	case f.Until != 0 && m.Seq > f.Until,
		f.Server == clientsName && m.Upstream != "",
		f.Server != "" && f.Server != clientsName && m.Upstream != f.Server,
		f.Method != "" && m.Method != f.Method,
		f.Session != "" && m.Session != f.Session,
		f.Failed && !m.Failed(),
		f.Principal != "" && m.Principal != f.Principal && r.principals[m.Group()] != f.Principal,
		f.Call != 0 && m.Group() != r.group && m.Seq != f.Call && (r.trace == "" || m.Trace != r.trace):
		return false
	}
	if f.Search == "" {
		return true
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
	Median, P90, P99     time.Duration
	Longest              time.Duration
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
		d.Answers, d.Median, d.P90, d.P99, d.Longest = len(d.all), percentile(d.all, 50), percentile(d.all, 90), percentile(d.all, 99), d.all[len(d.all)-1]
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b durations) int {
		return cmp.Or(-cmp.Compare(a.Longest, b.Longest), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// percentile returns the duration that p of 100 sorted ones do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}

// distribution is how many requests took how long.
type distribution struct {
	Answers       int
	P50, P90, P99 time.Duration
	Buckets       []bucket
}

// bucket is the requests that took at most Limit, and longer than the limit of the bucket before.
type bucket struct {
	Limit   time.Duration // 0 for none
	Answers int
	Width   int // of its bar
}

// barWidth is the width of the longest bar.
const barWidth = 240

// bucketLimits divide durations so that each bucket is about three times as wide as the one before.
var bucketLimits = []time.Duration{
	time.Millisecond, 3 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second, 0,
}

// distributionOf returns the distribution of the durations of answers: of all, or of those to clients alone.
func distributionOf(messages []message, clientsOnly bool) (d distribution) {
	var all []time.Duration
	for _, m := range messages {
		if m.Request != 0 && (m.Upstream == "" || !clientsOnly) {
			all = append(all, m.Duration())
		}
	}
	if len(all) == 0 {
		return d
	}
	slices.Sort(all)
	d.Answers, d.P50, d.P90, d.P99 = len(all), percentile(all, 50), percentile(all, 90), percentile(all, 99)
	counts, most, last := make([]int, len(bucketLimits)), 0, 0
	for _, one := range all {
		i := slices.IndexFunc(bucketLimits, func(limit time.Duration) bool { return limit == 0 || one <= limit })
		counts[i]++
		most, last = max(most, counts[i]), i // they are sorted
	}
	for i, n := range counts[:last+1] {
		if n > 0 || len(d.Buckets) > 0 {
			d.Buckets = append(d.Buckets, bucket{bucketLimits[i], n, (n*barWidth + most - 1) / most})
		}
	}
	return d
}

// viewOf applies a filter to messages, which are in the order of Seq.
func viewOf(all []traffic.Message, f messageFilter) *trafficView {
	v := &trafficView{Page: "traffic", Filter: f, Kept: len(all)}
	for i := range all {
		m := &all[i]
		v.Newest = m.Seq
		v.Servers = append(v.Servers, cmp.Or(m.Upstream, clientsName))
		v.Methods = append(v.Methods, m.Method)
		v.Principals = append(v.Principals, m.Principal)
	}
	others := f.relatedIn(all)
	var matching []message
	for i := range slices.Backward(all) {
		if f.matches(&all[i], others) {
			matching = append(matching, message{Message: all[i]})
		}
	}
	v.Matching, v.Messages, v.Durations = len(matching), matching[:min(len(matching), maxMessages)], durationsOf(matching)
	v.Distribution = distributionOf(matching, f.Server == "" && slices.ContainsFunc(matching, func(m message) bool { return m.Upstream == "" && m.Request != 0 }))
	for _, values := range []*[]string{&v.Servers, &v.Methods, &v.Principals} {
		slices.Sort(*values)
		*values = slices.DeleteFunc(slices.Compact(*values), func(s string) bool { return s == "" })
	}
	return v
}

// stateOfTraffic returns a digest of what the page of the traffic shows now, and whether page is that page. While clients
// make calls it changes each second, so it is not rendered only to see that.
func (c *Console) stateOfTraffic(page string) (state uint64, ok bool) {
	path, query, _ := strings.Cut(page, "?")
	if path != "traffic" {
		return 0, false
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return 0, false
	}
	v := viewOf(c.source.Messages(), filterOf(values))
	inbox := c.source.Inbox(c.ctx)
	sum := fnv.New64a()
	_, _ = fmt.Fprintln(sum, v.Matching, v.Kept, inbox.Len())
	for i := range v.Messages {
		_, _ = fmt.Fprintln(sum, v.Messages[i].Seq)
	}
	return sum.Sum64(), true
}

// messages shows the traffic.
func (c *Console) messages(w http.ResponseWriter, r *http.Request, s *session) {
	c.show(w, s, "traffic", &view{Title: "Traffic", Section: "traffic", Data: viewOf(c.source.Messages(), filterOf(r.URL.Query()))})
}
