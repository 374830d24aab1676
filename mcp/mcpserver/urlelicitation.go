package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// URLElicitationRequired returns the error of a handler that requires an elicitation by URL:
// it cannot continue before the user has opened a URL, such as a sign-in page. The client
// asks its user to open it and repeats the call. The handler has to find out itself whether the user has done what the
// page is for, and must not return the error again then:
//
//	if !signedIn(user) {
//		return mcpserver.URLElicitationRequired("Please sign in.", signInURL)
//	}
//
// Clients of 2025-11-25 get the error -32042 (URL elicitation required). Clients of
// 2026-07-28, and those whose call has become a task, get an elicitation of mode url. A
// client that does not support URL elicitation gets an error; in older revisions that is a
// result whose text has the URL, for the model. The URL must not contain secrets or data
// that identifies the user. For a URL that is not absolute, or that has a user part,
// another error that says so is returned.
//
// Use [ElicitURL] in a handler that continues when the user has agreed, and in detached
// work ([Detach]): the client does not repeat that call, so there the error is an
// ordinary error.
//
// Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
func URLElicitationRequired(message, address string) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	return urlElicitationRequired("the user has to open a URL first", []*mcp.ElicitParams{{Mode: mcp.ElicitURL, Message: message, URL: address}})
}

func urlElicitationRequired(message string, elicitations []*mcp.ElicitParams) error {
	err := &mcp.Error{Code: mcp.CodeURLElicitationRequired, Message: message}
	err.Data, _ = json.Marshal(map[string]any{"elicitations": elicitations})
	return err
}

func requiresURLElicitation(err error) bool { return mcp.CodeOf(err) == mcp.CodeURLElicitationRequired }

// requireURLElicitation converts the error of URLElicitationRequired to the form of the
// caller's revision. The same error from another server that the handler has called becomes
// an ordinary error.
func (r *Request) requireURLElicitation(cause error) (any, error) {
	required, err := requiredURLs(cause)
	if err != nil {
		return nil, err
	}
	for _, v := range required {
		if err := r.call.CheckQuestion(mcp.MethodElicit, v); err != nil {
			return r.cannotElicitURL(required, err)
		}
	}
	if !r.call.CanRequest() {
		return r.elicitURLsByRounds(required)
	}
	for _, v := range required {
		v.ElicitationID = r.server.urlElicitations.add(r.in.Owner(), r.in.Session, v.URL, v.ElicitationID)
	}
	e, _ := errors.AsType[*mcp.Error](cause)
	return nil, urlElicitationRequired(e.Message, required)
}

// requiredURLs returns the elicitations that the error of a handler requires.
func requiredURLs(cause error) ([]*mcp.ElicitParams, error) {
	e, _ := errors.AsType[*mcp.Error](cause)
	if e.Remote {
		return nil, fmt.Errorf("another server requires URL elicitations: %s", e.Message)
	}
	var data struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Elicitations) == 0 {
		return nil, errors.New("a handler required URL elicitations and did not say which; want them in data.elicitations")
	}
	for _, v := range data.Elicitations {
		if v == nil || v.Mode != mcp.ElicitURL {
			return nil, errors.New("a handler required an elicitation that is not of a URL; want mode url in data.elicitations")
		}
	}
	return data.Elicitations, nil
}

// cannotElicitURL returns the reply for a client that does not support URL elicitation. For
// a tool, the text of the result has the URL that the user would have to open.
func (r *Request) cannotElicitURL(required []*mcp.ElicitParams, err error) (any, error) {
	if r.call.Session == nil {
		return nil, err
	}
	var lines []string
	for _, v := range required {
		lines = append(lines, strings.TrimSpace(v.Message+" "+v.URL))
	}
	text := cleanText(strings.Join(lines, "\n"), maxErrorText)
	if r.method == mcp.MethodToolsCall {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(text)}, IsError: true}, nil
	}
	return nil, mcp.Errorf(mcp.CodeInternal, "%s: %s", r.method, text)
}

// elicitURLsByRounds asks the user to open the URLs in the stateless era. A user who has
// declined is not asked again.
func (r *Request) elicitURLsByRounds(required []*mcp.ElicitParams) (any, error) {
	if !r.replays {
		return nil, fmt.Errorf("%s: %w", r.method, ErrCannotAsk)
	}
	in, err := r.urlInputRequests(required)
	if err != nil {
		return nil, err
	}
	answers := make(map[string]jsontext.Value)
	for key, q := range in.InputRequests {
		if found, err := r.run.Answer(key, replay.DigestOfRequest(q)); err == nil && found.Answer != nil {
			answers[key] = found.Answer
		}
	}
	if err := checkURLAnswers(answers); err != nil {
		return r.urlDeclined(err)
	}
	open := make(replay.Table[replay.Question], 0, len(in.InputRequests))
	for key, q := range in.InputRequests {
		open.Set(key, replay.Question{InputRequest: q, Digest: replay.DigestOfRequest(q)})
	}
	if err := r.run.Ask(open); errors.Is(err, replay.ErrRounds) {
		return nil, r.tooManyRounds()
	}
	return nil, ErrInputRequired
}

// urlInputRequests returns the input requests for the URLs.
func (r *Request) urlInputRequests(required []*mcp.ElicitParams) (*mcp.InputRequiredResult, error) {
	in := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(required))}
	for i, v := range required {
		q, err := r.call.InputRequest(mcp.MethodElicit, v)
		if err != nil {
			return nil, err
		}
		in.InputRequests[fmt.Sprintf("url-%d", i+1)] = q
	}
	return in, nil
}

// checkURLAnswers returns ErrDeclined or ErrDismissed if the user did not agree to open one
// of the URLs.
func checkURLAnswers(answers map[string]jsontext.Value) error {
	for _, raw := range answers {
		if _, err := acceptedContent(raw); errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) {
			return err
		}
	}
	return nil
}

// elicitURLsDetached returns the required elicitations of detached work as questions,
// because its call has been answered already. state is the requestState of a raw handler.
func (r *Request) elicitURLsDetached(cause error, state *string) (mcp.Result, error) {
	required, err := requiredURLs(cause)
	if err != nil {
		return nil, err
	}
	in, err := r.urlInputRequests(required)
	if err != nil {
		return nil, err
	}
	in.RequestState = state
	return in, nil
}

func (r *Request) urlDeclined(err error) (any, error) {
	if r.method == mcp.MethodToolsCall {
		return r.server.toolError(r.ctx, r.call, "", err), nil
	}
	return nil, err
}

// asURLElicitation returns the error of URLElicitationRequired for questions that all ask
// to open a URL and that cannot be asked during the call (ErrCannotAsk). For other errors
// and other questions it returns err.
func asURLElicitation(err error, questions []openQuestion) error {
	if !errors.Is(err, ErrCannotAsk) {
		return err
	}
	var required []*mcp.ElicitParams
	for _, q := range questions {
		p, ok := q.params.(*mcp.ElicitParams)
		if !ok || p.Mode != mcp.ElicitURL {
			return err
		}
		required = append(required, p)
	}
	return urlElicitationRequired(err.Error(), required)
}

// ElicitationComplete sends notifications/elicitation/complete for a URL to the client that
// got it by [ElicitURL] or [URLElicitationRequired], so that the client stops waiting. Use
// a different URL for each elicitation: if several clients got the same one, all of them
// get the notification, also those whose user has not finished, unless you use
// [Session.ElicitationComplete]. Only clients of 2025-11-25
// have the notification; for others, and for an unknown URL, ElicitationComplete does nothing
// and returns nil. ctx limits the time of sending. The server remembers 4,096 elicitations;
// when there are more, it forgets those of the client that has most. It is safe for
// concurrent use.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (s *Server) ElicitationComplete(ctx context.Context, address string) error {
	var mu sync.Mutex
	var failed []error
	var sending sync.WaitGroup
	for session, id := range s.urlElicitations.take(address) {
		sending.Go(func() {
			if err := sendElicitationComplete(ctx, session, id); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	sending.Wait()
	return errors.Join(failed...)
}

// ElicitationComplete is like [Server.ElicitationComplete], but notifies only the client of this
// session: use it if other clients may have got the same URL. It does nothing for a nil Session.
func (s *Session) ElicitationComplete(ctx context.Context, address string) error {
	if s == nil {
		return nil
	}
	id, ok := s.server.urlElicitations.takeOf(s.of, address)
	if !ok {
		return nil
	}
	return sendElicitationComplete(ctx, s.of, id)
}

func sendElicitationComplete(ctx context.Context, session *exchange.Session, id string) error {
	msg, err := session.Agreed().Facts.Notification(mcp.NotificationElicitationComplete, &mcp.ElicitationCompleteParams{ElicitationID: id})
	if err != nil || msg == nil {
		return err
	}
	return session.Push(ctx, msg)
}
