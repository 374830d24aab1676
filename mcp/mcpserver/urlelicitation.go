package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// URLElicitationRequired returns the error of a handler that cannot do its work
// before the user has opened a URL, such as a sign-in page. The client sends its
// user there and makes the same call again, so the handler has to find out by itself
// whether the work at the URL was done, and must not require it again then:
//
//	if !signedIn(user) {
//		return mcpserver.URLElicitationRequired("Please sign in.", signInURL)
//	}
//
// Clients of 2025-11-25 get the error -32042 of that name. Clients of 2026-07-28,
// and those whose call has become a task, get an elicitation of mode url. A client
// that does not support URL elicitation gets an error; in older revisions that is a
// text with the URL, for the model to pass on. The URL must hold neither secrets nor
// what identifies the user. A URL that is not absolute, or has a user, is returned as
// an error that says so.
//
// Use [ElicitURL] in a handler that goes on once the user has agreed, and in work
// that goes on after its call was answered ([Detach]): nobody repeats that call, so
// that the error is an ordinary error there.
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

// requireURLElicitation answers with the error of URLElicitationRequired in the form
// that the caller's revision has. The same error from another server, which the
// handler has called, does not send the user anywhere.
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
		v.ElicitationID = r.server.urlElicitations.add(r.in.Session, v.URL, v.ElicitationID)
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

// cannotElicitURL answers a client that does not support URL elicitation. The result
// of a tool tells the model which URL the user would have to open.
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

// elicitURLsByRounds elicits the URLs in the stateless era. A user who has declined is
// not asked again.
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
		if found, err := r.run.Answer(key, replay.Digest(q)); err == nil && found.Answer != nil {
			answers[key] = found.Answer
		}
	}
	if err := checkURLAnswers(answers); err != nil {
		return r.urlDeclined(err)
	}
	open := make(map[string]replay.Question, len(in.InputRequests))
	for key, q := range in.InputRequests {
		open[key] = replay.Question{InputRequest: q, Digest: replay.Digest(q)}
	}
	if err := r.run.Ask(open); errors.Is(err, replay.ErrRounds) {
		return nil, r.tooManyRounds(nil)
	}
	return nil, ErrInputRequired
}

// urlInputRequests returns the questions that elicit the URLs.
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

// agreed returns the error of a user who declined or dismissed one of the URLs.
func checkURLAnswers(answers map[string]jsontext.Value) error {
	for _, raw := range answers {
		if _, err := acceptedContent(raw); errors.Is(err, ErrDeclined) || errors.Is(err, ErrDismissed) {
			return err
		}
	}
	return nil
}

// elicitURLsDetached returns the elicitations that detached work requires as questions of
// its own, because its call has been answered already. state is the one of a handler that asks by
// itself.
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

// instead returns the error that requires the URLs of questions that cannot be asked in
// mid-call, and err when another question is among them or err has another reason.
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

// ElicitationComplete sends notifications/elicitation/complete to the client whose
// user was sent to a URL by [ElicitURL] or [URLElicitationRequired], so that it need
// not wait any longer. No other client gets it, so every elicitation needs a URL of
// its own: when several clients were sent to one URL, nothing is sent. Clients of
// 2025-11-25 get the notification; for others, and for a URL that nobody was sent to,
// the method does nothing and returns nil. ctx bounds the sending. The server
// remembers the 4,096 newest elicitations.
//
// Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
func (s *Server) ElicitationComplete(ctx context.Context, address string) error {
	session, id := s.urlElicitations.take(address)
	if session == nil {
		return nil
	}
	msg, err := session.Agreed().Facts.Notification(mcp.NotificationElicitationComplete, &mcp.ElicitationCompleteParams{ElicitationID: id})
	if err != nil || msg == nil {
		return err
	}
	return session.Push(ctx, msg)
}
