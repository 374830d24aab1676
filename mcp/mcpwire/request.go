package mcpwire

import "time"

// maxWaiting limits the requests that are remembered for the line of their response, and maxRecordedWaiting those of a
// recording, which has one session.
const (
	maxWaiting         = 4096
	maxRecordedWaiting = 256
)

// requests are those whose response was not seen yet.
type requests map[requestKey]request

type requestKey struct {
	log  string
	conn uint64
	sent bool
	id   string
}

type request struct {
	method, client string
	begun          time.Time
}

// complete remembers a request, or adds to a response what is known of its request. When there are too
// many requests without a response it forgets all.
func (r *requests) complete(l *Line, most int) {
	key := requestKey{l.Name, l.Conn, l.Sent, string(l.ID)}
	switch l.Kind {
	case kindRequest:
		if *r == nil || len(*r) >= most {
			*r = make(requests)
		}
		(*r)[key] = request{l.Method, l.Client, l.Time}
	case kindResult, kindError:
		key.sent = !key.sent
		if asked, ok := (*r)[key]; ok {
			delete(*r, key)
			l.Method, l.Client = asked.method, asked.client
			l.Milliseconds = float64(l.Time.Sub(asked.begun).Microseconds()) / 1000
		}
	}
}
