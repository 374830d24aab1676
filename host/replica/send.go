package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// errLost is the error of a request that another host may have served.
var errLost = errors.New("the host that has the caller has ended the connection; the request may have been served")

// errSilent is the cause of an attempt whose host does not answer.
var errSilent = errors.New("the host that has the caller does not answer")

// hereError is the error of a request whose caller this host has taken meanwhile.
type hereError struct{ own *place }

func (*hereError) Error() string { return "the caller is at this host" }

// send sends a request to the host that has its caller, as that is found. It looks again while that
// host cannot be reached or does not have the caller any more, for five seconds. The body is not read
// before a host that has the caller asks for it, so that a request is not served twice.
func (f *Forwarder) send(out, in *http.Request, caller string, owner mcpserver.Owner, body *pacedBody) (*http.Response, error) {
	tick := time.NewTicker(findPause)
	defer tick.Stop()
	last := errors.New("other hosts change who has the caller")
	for began := time.Now(); time.Since(began) < findTime; {
		own, found, err := f.places.enter(out.Context(), caller, owner)
		if own != nil {
			return nil, &hereError{own}
		}
		if err == nil {
			var answer *http.Response
			answer, err = f.sendTo(out, in, caller, found, body)
			if err == nil && answer.Header.Get(movedHeader) == "" || errors.Is(err, errLost) || errors.Is(err, errIdentity) {
				return answer, err
			}
			if err == nil {
				_ = answer.Body.Close()
			}
			f.places.forget(caller)
		}
		if err != nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-out.Context().Done():
			return nil, context.Cause(out.Context())
		}
	}
	return nil, last
}

// sendTo sends a request to one host. The error wraps errLost if the host may have served it.
func (f *Forwarder) sendTo(out, in *http.Request, caller string, to route, body *pacedBody) (*http.Response, error) {
	attempt := body.attempt()
	ctx := attempt.trace(out.Context())
	one, err := f.address(out.Clone(ctx), in, caller, to)
	if err != nil {
		return nil, err
	}
	switch {
	case in.ContentLength != 0:
		one.Header.Set("Expect", "100-continue")
		one.ContentLength, one.Body = in.ContentLength, attempt
	default:
		one.ContentLength, one.Body = 0, http.NoBody
		if in.Method == http.MethodGet { // a Transport would send it a second time, with the same ticket
			one.Body = io.NopCloser(http.NoBody)
		}
		defer time.AfterFunc(headerTime, func() { attempt.cancel(errSilent) }).Stop()
	}
	answer, err := f.transport.RoundTrip(one)
	if err != nil && (attempt.end() || in.Method == http.MethodDelete && context.Cause(ctx) == errSilent) {
		return nil, errors.Join(errLost, err)
	}
	return answer, err
}

// address returns a request with the address of a host and a ticket for it.
func (f *Forwarder) address(one, in *http.Request, caller string, to route) (*http.Request, error) {
	base, err := url.Parse(to.url)
	if err != nil {
		return nil, err
	}
	one.URL.Scheme, one.URL.Host = base.Scheme, base.Host
	token := ""
	if f.opts.TokenName != nil {
		token = f.opts.TokenName(in.Context())
	}
	sealed, err := f.tickets.seal(Ticket{
		To: to.host, Caller: caller, Request: requestOf(one), Address: in.RemoteAddr, Identity: identityOf(in.Context(), token),
	})
	if err != nil {
		return nil, err
	}
	one.Header.Set(ticketHeader, sealed)
	return one, nil
}
