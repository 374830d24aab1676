package frommcpgo

import (
	"sync"

	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// maxUnsent is how many notifications of a call wait at most. mcp-go drops what is more, and
// tells its error hook.
const maxUnsent = 100

// callSession is the session of the other server as the handler of one call sees it. It sends
// the notifications of the handler to the client of the call.
type callSession struct {
	*mcpgo.InProcessSession
	call  *mirror.Call
	queue chan mcpgotypes.JSONRPCNotification
	ended chan struct{}
	sends sync.WaitGroup
}

func newCallSession(s *mcpgo.InProcessSession, c *mirror.Call) *callSession {
	o := &callSession{s, c, make(chan mcpgotypes.JSONRPCNotification, maxUnsent), make(chan struct{}), sync.WaitGroup{}}
	o.sends.Go(o.send)
	return o
}

// NotificationChannel implements the ClientSession of mcp-go.
func (s *callSession) NotificationChannel() chan<- mcpgotypes.JSONRPCNotification { return s.queue }

// end returns when the notifications that the handler has sent are with the server.
func (s *callSession) end() {
	close(s.ended)
	s.sends.Wait()
}

func (s *callSession) send() {
	for {
		select {
		case n := <-s.queue:
			s.forward(n)
		case <-s.ended:
			for len(s.queue) > 0 {
				s.forward(<-s.queue)
			}
			return
		}
	}
}

func (s *callSession) forward(n mcpgotypes.JSONRPCNotification) {
	if params, err := encode(n.Params); err == nil {
		s.call.Notify(n.Method, params)
	}
}
