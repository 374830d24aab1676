package control

import (
	"context"
	"crypto/rand"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// streamHeader has the id of a stream, under which the host says how the stream has ended.
const streamHeader = "Fondaco-Stream"

// outcomeTime is how long a host keeps how a stream has ended.
const outcomeTime = time.Minute

// streams are the streams of a host, and how those that have just ended did.
type streams struct {
	serve func(io.ReadWriteCloser) error

	mu   sync.Mutex
	byID map[string]*streamEnd // guarded by mu
}

type streamEnd struct {
	done chan struct{}
	err  error // set before done is closed
}

// open serves a stream in a request for an upgrade.
func (s *streams) open(w http.ResponseWriter, r *http.Request) {
	id, end := rand.Text(), &streamEnd{done: make(chan struct{})}
	w.Header().Set(streamHeader, id)
	s.mu.Lock()
	s.byID[id] = end
	s.mu.Unlock()
	defer s.forget(id, end)
	if stream := upgrade(w, r); stream != nil {
		end.err = s.serve(stream)
	}
}

// forget ends a stream, whose outcome is known for a while.
func (s *streams) forget(id string, end *streamEnd) {
	close(end.done)
	time.AfterFunc(outcomeTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byID, id)
	})
}

// streamOutcome is how a stream has ended.
type streamOutcome struct {
	Error string `json:"error,omitzero"`
}

// outcome answers with the error with which a stream has ended, once it has ended.
func (s *streams) outcome(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	end := s.byID[r.URL.Query().Get("stream")]
	s.mu.Unlock()
	if end == nil {
		http.Error(w, fmt.Sprintf("found no stream with that id, want one that is open or has ended within the last %v", outcomeTime), http.StatusNotFound)
		return
	}
	select {
	case <-end.done:
	case <-r.Context().Done():
		return
	}
	var o streamOutcome
	if end.err != nil {
		o.Error = end.err.Error()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.MarshalWrite(w, o)
}

// A Stream is a connection to the MCP server of the host with the framing of stdio.
type Stream interface {
	io.ReadWriteCloser
	// CloseWrite tells the host that nothing more is sent. What it still answers can be read.
	CloseWrite() error
	// Outcome returns the error with which the host has ended the stream, such as requests that it has
	// not answered, or nil. It waits until the stream has ended. The error wraps ErrUnknownOutcome if the
	// host does not say.
	Outcome(ctx context.Context) error
}

// halfCloser is a connection whose directions are closed one by one.
type halfCloser interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// openedStream is the Stream of a client.
type openedStream struct {
	halfCloser
	client *Client
	id     string
}

// ErrUnknownOutcome means that the host did not say how a stream has ended.
var ErrUnknownOutcome = errors.New("the host did not say whether it has answered all requests")

func (s *openedStream) Outcome(ctx context.Context) error {
	var o streamOutcome
	if err := s.client.do(ctx, http.MethodGet, streamPath+"/outcome?stream="+url.QueryEscape(s.id), &o); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if o.Error != "" {
		return fmt.Errorf("the host: %s", o.Error)
	}
	return nil
}
