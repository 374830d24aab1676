package console

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"time"
)

const (
	// liveInterval is how often a page is compared with what the browser has.
	liveInterval = time.Second
	// liveIdle is after how long a stream without a change sends a comment, so that one whose
	// browser has gone ends.
	liveIdle = 15 * time.Second
	// liveWrite limits the time of a write to a browser.
	liveWrite = 10 * time.Second
	// maxStreams limits the open streams of all sessions.
	maxStreams = 32
)

// live sends an event each time a page of the session has changed. The script then reads the
// page again, and replaces its live parts.
func (c *Console) live(w http.ResponseWriter, r *http.Request, s *session) {
	page := r.URL.Query().Get("page")
	if !c.addStream() {
		http.Error(w, fmt.Sprintf("%d pages of the console are open, want one of them closed first", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer c.removeStream()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text string) error {
		_ = out.SetWriteDeadline(time.Now().Add(liveWrite))
		if _, err := fmt.Fprint(w, text); err != nil {
			return err
		}
		return out.Flush()
	}
	tick := time.NewTicker(liveInterval)
	defer tick.Stop()
	known, sent := c.stateOf(r, s, page), time.Now()
	if send("retry: 2000\n\n") != nil {
		return
	}
	for {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-c.ctx.Done():
			return
		case <-s.ended:
			return
		}
		text := ""
		switch now := c.stateOf(r, s, page); {
		case time.Since(s.created) >= SessionTime:
			return
		case now != known:
			known, text = now, "event: change\ndata:\n\n"
		case time.Since(sent) >= liveIdle:
			text = ":\n\n"
		default:
			continue
		}
		if sent = time.Now(); send(text) != nil {
			return
		}
	}
}

// stateOf returns a digest of what a page shows now. The page is asked for as the browser asks
// for it, by a GET.
func (c *Console) stateOf(r *http.Request, s *session, page string) uint64 {
	if state, ok := c.stateOfTraffic(page); ok {
		return state
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, s.path()+page, nil)
	if err != nil {
		return 0
	}
	request.Host, request.Header = r.Host, http.Header{"Cookie": r.Header["Cookie"]}
	if _, pattern := c.mux.Handler(request); pattern == "GET /console/s/{session}/live" {
		return 0
	}
	state := &digestWriter{header: make(http.Header), sum: fnv.New64a()}
	c.mux.ServeHTTP(state, request)
	return state.sum.Sum64()
}

func (c *Console) addStream() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams == maxStreams {
		return false
	}
	c.streams++
	return true
}

func (c *Console) removeStream() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams--
	c.left = time.Now()
}

// digestWriter is a response of which only a digest is kept.
type digestWriter struct {
	header http.Header
	sum    interface {
		Write([]byte) (int, error)
		Sum64() uint64
	}
}

func (d *digestWriter) Header() http.Header         { return d.header }
func (d *digestWriter) WriteHeader(int)             {}
func (d *digestWriter) Write(p []byte) (int, error) { return d.sum.Write(p) }
