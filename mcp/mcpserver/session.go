package mcpserver

import "context"

// Session returns the context of the session that the request belongs to. It
// ends with the session, and is the same (==) for all requests of one session
// and for no others, so what a server keeps for a session can be found by it and
// freed by context.AfterFunc.
//
// It is nil for requests of the stateless era, which stand alone whatever
// connection they share, for initialize itself, and outside of a request.
func (r *Request) Session() context.Context {
	if r == nil || r.call.Session == nil || r.in.Session == nil {
		return nil
	}
	return r.server.drain.lifetime(r.in.Session)
}

// overAndDone is the lifetime of what has ended.
var overAndDone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
