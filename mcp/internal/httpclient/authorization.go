package httpclient

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

// Authorizer gives requests their credentials. The deadlines of a request are paused
// meanwhile.
type Authorizer interface {
	Authorize(req *http.Request) error
	Challenged(req *http.Request, resp *http.Response) error
}

// maxChallenges bounds how often one request is sent again with new credentials.
const maxChallenges = 3

// outgoing describes one HTTP request, which may be sent several times.
type outgoing struct {
	method string
	to     *url.URL
	body   []byte
	header func(http.Header) // sets the headers of this request

	session string // id of its session, or empty
}

// send sends a request and returns the response, whatever its status. After a 401 or 403
// it sends the request again, with the same body, if Auth gets new credentials.
//
// Spec: 2026-07-28 basic/authorization#error-handling
func (p *ClientParams) send(ctx context.Context, o *outgoing) (*http.Response, error) {
	for challenges := 0; ; challenges++ {
		req, resp, err := p.sendOnce(ctx, o)
		if err != nil {
			return nil, err
		}
		if p.Auth == nil || !wantsCredentials(resp) || challenges == maxChallenges {
			return resp, nil
		}
		body := p.readRefusal(resp)
		resp.Body.Close()
		if err := p.challenged(req, resp); err != nil {
			return nil, &credentialsError{statusError(resp), err, body}
		}
	}
}

// credentialsError reports a 401 or 403 for which there are no other credentials.
type credentialsError struct {
	status *StatusError
	err    error
	body   []byte // of a 403 that may be the answer to the request, or nil
}

func (e *credentialsError) Error() string { return e.status.statusText() + ": " + e.err.Error() }

// Unwrap returns the status, and why there are no credentials.
func (e *credentialsError) Unwrap() []error { return []error{e.status, e.err} }

// maxRefusal bounds the body of a 403 that is read, in bytes.
const maxRefusal = 64 << 10

// readRefusal returns the body of a 403 in JSON that does not ask for other credentials. It
// drops every other body.
func (p *ClientParams) readRefusal(resp *http.Response) []byte {
	if !answersWith403(resp) {
		drainBody(resp.Body)
		return nil
	}
	late := time.AfterFunc(drainTime, func() { resp.Body.Close() })
	defer late.Stop()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(min(maxRefusal, p.MaxMessage))))
	if err != nil {
		return nil
	}
	wireOf(resp.Body).pass(body, false)
	return body
}

// answersWith403 reports whether a response may be the answer to its request although it is
// a 403: it holds JSON, and no challenge.
func answersWith403(resp *http.Response) bool {
	return resp.StatusCode == http.StatusForbidden && mediaType(resp.Header) == httpheader.TypeJSON && resp.Header.Get(httpheader.WWWAuthenticate) == ""
}

// sendOnce sends a request with the present credentials.
func (p *ClientParams) sendOnce(ctx context.Context, o *outgoing) (*http.Request, *http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, o.method, o.to.String(), bytes.NewReader(o.body))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(req.Header, p.Header)
	o.header(req.Header)
	if err := p.authorize(req); err != nil {
		return nil, nil, &TransportError{Op: "authorize " + req.Method + " " + egress.Origin(req.URL), Err: err, NoCredentials: true}
	}
	resp, err := p.roundTripHTTP(req, o.body)
	if err != nil {
		return nil, nil, transportError(req, err)
	}
	return req, resp, nil
}

func (p *ClientParams) authorize(req *http.Request) error {
	if p.Auth == nil {
		return nil
	}
	defer exchange.PauseAll(req.Context())()
	return p.Auth.Authorize(req)
}

func (p *ClientParams) challenged(req *http.Request, resp *http.Response) error {
	defer exchange.PauseAll(req.Context())()
	return p.Auth.Challenged(req, resp)
}

func wantsCredentials(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}
