package mcpcheck

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"slices"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// cancelledID is the id of the request that is cancelled.
const cancelledID = `"mcpcheck-cancelled"`

// cancelled sends a request and cancels it at once. The server may have answered it before: one result is no
// fault.
//
// Spec: 2025-11-25 basic/utilities/cancellation#behavior-requirements
// Spec: 2026-07-28 basic/utilities/cancellation
func (p *prober) cancelled(ctx context.Context) (Status, string) {
	method := p.aliveMethod()
	if p.has("tools") {
		method = mcp.MethodToolsList
	}
	request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, cancelledID, method, p.params(""))
	send := p.cancelOnConn
	if h, ok := p.peer.(*httpPeer); ok {
		other := *h // for the request; p uses the peer meanwhile
		send = func(ctx context.Context, request, method string) ([]answer, error) {
			return p.cancelOverHTTP(ctx, &other, request, method)
		}
	}
	found, err := send(ctx, request, method)
	found = slices.DeleteFunc(found, func(a answer) bool { return a.raw == nil || a.late() })
	own := slices.DeleteFunc(slices.Clone(found), func(a answer) bool { return string(a.ID) != cancelledID })
	switch {
	case err != nil:
		return Fault, fmt.Sprintf("got an error after a request was cancelled: %v", err)
	case len(own) > 1:
		return Fault, fmt.Sprintf("got %d answers to a request that was cancelled, the last %s; want one result at most", len(own), &own[len(own)-1])
	case len(own) < len(found):
		return wantSilence(slices.DeleteFunc(found, func(a answer) bool { return string(a.ID) == cancelledID }), nil)
	case len(own) == 1 && own[0].Error != nil:
		return Warning, fmt.Sprintf("got %s to a request that was cancelled; want no answer, or its result if that was on the way", &own[0])
	}
	return OK, ""
}

// cancelMessage cancels the request.
func (p *prober) cancelMessage() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, mcp.NotificationCancelled, p.params(`"requestId":`+cancelledID))
}

// cancelOnConn sends the request and its cancellation, and returns the answers that come before that of another
// request.
func (p *prober) cancelOnConn(ctx context.Context, request, _ string) ([]answer, error) {
	if _, err := p.peer.send(ctx, request, "", nil); err != nil {
		return nil, err
	}
	return p.notified(ctx, p.cancelMessage(), nil)
}

// cancelOverHTTP sends the request, and once it is written its cancellation, which in the stateless era is the end
// of its connection.
func (p *prober) cancelOverHTTP(ctx context.Context, other peer, request, method string) (all []answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.wait())
	defer cancel()
	written := make(chan struct{})
	var once sync.Once
	sending, abort := context.WithCancel(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { once.Do(func() { close(written) }) },
	}))
	defer abort()
	answered := make(chan []answer, 1)
	go func() {
		found, _ := other.send(sending, request, cancelledID, p.headers(method, "")) // fails when it is aborted
		answered <- found
	}()
	select {
	case <-written:
	case found := <-answered: // it could not be sent, which checkAlive reports, or was answered at once
		return found, nil
	}
	if !p.revision.Stateless() {
		all, err = p.notified(ctx, p.cancelMessage(), p.headers(mcp.NotificationCancelled, ""))
	}
	abort()
	return append(all, <-answered...), err
}
