package mcpserver

import "sync"

// outgoing holds the messages that a request sends to its client before the reply. Most
// requests send none and have none.
type outgoing struct {
	progress progressQueue
	logs     clientLogLimit

	mu    sync.Mutex     // not held while a message is sent, which may run user code
	ended bool           // guarded by mu: the request has ended
	sends sync.WaitGroup // messages being sent; Add needs mu, and not ended
}

// endedOutgoing is the outgoing of all requests that have ended and sent no message. Nothing
// is put into it.
var endedOutgoing = &outgoing{ended: true}

// begunOutgoing returns the outgoing of the request. For a request that has ended it is one
// that has ended.
func (r *Request) begunOutgoing() *outgoing {
	if o := r.outgoing.Load(); o != nil {
		return o
	}
	r.outgoing.CompareAndSwap(nil, new(outgoing))
	return r.outgoing.Load()
}

// beginSend reports whether the request has not ended. If so, end waits until the caller
// has called sends.Done.
func (o *outgoing) beginSend() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	o.sends.Add(1)
	return true
}

// end sends the delayed progress and log messages and waits for messages that are being
// sent. After that the request sends nothing. end reports whether it was the first call.
func (r *Request) end() bool {
	if r.outgoing.CompareAndSwap(nil, endedOutgoing) {
		return true
	}
	o := r.outgoing.Load()
	if o == endedOutgoing {
		return false
	}
	o.progress.flush()
	_ = r.reportOmitted(o.logs.takeOmitted())
	o.mu.Lock()
	was := o.ended
	o.ended = true
	o.mu.Unlock()
	o.sends.Wait()
	return !was
}
