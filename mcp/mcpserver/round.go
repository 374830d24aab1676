package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// mayRequireInput are the requests of the stateless era to which the server may reply with
// input_required.
//
// Spec: 2026-07-28 basic/patterns/mrtr#supported-requests
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// Round returns the number of completed rounds of questions: 0 when the client makes the
// call for the first time, 1 when it repeats the call with the first answers. In the session
// era only a handler that returns an *mcp.InputRequiredResult has such rounds; for all others
// it is 0. It is 0 when r is nil.
func (r *Request) Round() int {
	if r == nil {
		return 0
	}
	return r.run.Round()
}

// beginRun starts the run of the call's handlers, with the memory of earlier rounds:
//
//	beginRun                 opens requestState: memory, and the answers to open questions
//	 └─ middleware → runHandler → handler → Ask, Once, Park
//	     └─ suspend          the run has asked: parks values, replies input_required
//	         └─ sealState    encrypts the memory: bound to server, principal, method, name and arguments
//	 └─ endRun               an open question overrides what the handlers return
func (r *Request) beginRun() error {
	m := replay.Memory{StartedAt: time.Now()}
	if !r.mayBringState() {
		r.run.Start(m, nil, 0)
		return nil
	}
	r.replays = true
	if r.resumed == nil {
		r.readState()
	}
	if r.resumed == nil {
		r.run.Start(m, &r.handlers, r.server.options.asking().maxRounds())
		return nil
	}
	m, err := r.openMemory(r.ctx)
	if err != nil {
		return err
	}
	r.run.Start(m, &r.handlers, r.server.options.asking().maxRounds())
	for key, answer := range rawjson.Members(r.resumed.answers) {
		r.run.Give(string(key), answer)
	}
	return nil
}

// mayBringState reports whether the request may have a requestState, and be answered with one.
func (r *Request) mayBringState() bool { return !r.call.CanRequest() && mayRequireInput[r.method] }

// endRun returns the outcome of the call. An open question overrides what handlers and
// middleware return.
func (r *Request) endRun(result any, err error) (any, error) {
	if requiresURLElicitation(err) && r.run.Blocked() == nil {
		result, err = r.requireURLElicitation(err)
	}
	reply, failed := r.closeRun(nil)
	overrides := reply != nil || failed != nil && (!r.failureReturned() || errors.Is(err, ErrInputRequired) || result == nil && err == nil)
	if !overrides {
		return result, err
	}
	if _, ok := errors.AsType[*panicked](err); ok {
		_ = r.server.publicError(r.ctx, r.call, err) // logs what the caller is not told
	}
	if failed != nil {
		return r.suspendFailed(failed)
	}
	return reply, nil
}

// failureReturned reports whether runHandler has returned the error of a round that could
// not be suspended, so that the outcome of the call is made of it.
func (r *Request) failureReturned() bool {
	r.ending.Lock()
	defer r.ending.Unlock()
	return r.suspended != nil && r.suspended.returned
}

// suspendFailed returns the outcome of a call whose middleware has asked, in a round that
// could not be suspended: what it is when the handler has asked.
func (r *Request) suspendFailed(failed error) (any, error) {
	if e, ok := errors.AsType[*mcp.Error](failed); ok && !e.Remote || r.method != mcp.MethodToolsCall {
		return nil, failed
	}
	var p struct {
		Name string `json:"name"`
	}
	if r.Decode(&p) != nil {
		return nil, failed
	}
	return r.server.toolError(r.ctx, r.call, p.Name, failed), nil
}

// closeRun ends the run. If the run has asked, closeRun returns the input_required reply,
// otherwise nil. raw is the result of a handler that returns its own InputRequiredResult, or
// nil. Several goroutines may call closeRun at the same time: one of them makes the reply,
// and all return it.
func (r *Request) closeRun(raw *mcp.InputRequiredResult) (*mcp.InputRequiredResult, error) {
	r.ending.Lock()
	s := r.suspended
	if s != nil {
		r.ending.Unlock()
		s.made.Wait()
		return s.reply, s.err
	}
	var out *replay.Outcome
	var base mcp.ResultBase
	if raw != nil {
		out, base = r.run.CloseRaw(raw.InputRequests, raw.RequestState), raw.ResultBase
	} else {
		out = r.run.Close()
	}
	switch {
	case out == nil:
	case out.Next == nil:
		r.left = out.Values
	default:
		s = new(suspension)
		s.made.Add(1)
		r.suspended = s
	}
	r.ending.Unlock()
	if s == nil {
		return nil, nil
	}
	defer s.made.Done()
	if s.reply, s.err = r.suspend(out, base); s.err != nil && r.method == mcp.MethodToolsCall {
		// Errors of tools are for the model and not logged otherwise.
		r.server.options.logger().LogAttrs(r.ctx, slog.LevelError, "questions of a tool not sent",
			append(usercode.Attrs(s.err), slog.String("method", r.method))...)
	}
	return s.reply, s.err
}

// releaseRun closes the parked values that the run still has. It runs at the end of every
// call.
func (r *Request) releaseRun() {
	r.handlers.Cancel(nil)
	r.ending.Lock()
	left := r.left
	r.left = nil
	if out := r.run.Close(); out != nil { // a panic has ended the call
		left = out.Values
	}
	r.ending.Unlock()
	replay.CloseAll(left)
}

// resumption is the requestState that a call brings.
type resumption struct {
	plain   []byte         // decrypted; nil after openMemory
	invalid error          // why the call is refused
	answers jsontext.Value // inputResponses
	mark    stateMark
	first   bool // no other call has brought the state

	// What can be used only once.
	once  sync.Once
	state string // the id of the state
	err   error
}

// resume marks the requestState of the call as used, if it may be used only once, and takes
// the values that earlier rounds have parked. Only its first call does so; later calls return
// the same error. It runs before the first step of the handler, and not for a request that is
// refused before, which the client may send again.
func (r *Request) resume() error {
	if r.resumed == nil {
		return nil
	}
	r.resumed.once.Do(func() {
		if r.resumed.err = r.useState(r.ctx, r.resumed.state); r.resumed.err == nil {
			r.run.Claim(r.server.parked.TakeAll(r.run.Tickets(), r.Principal()))
		}
	})
	return r.resumed.err
}

// runHandler runs a handler with the answers of the client in in, which is nil for a handler
// that does not read them. With a requestState these are only the answers to the questions
// that the state records as open. Without one they are all answers of the request, which a
// client may send to questions that nobody asked.
//
// In the stateless era questions end the run. If the handler returns an
// *mcp.InputRequiredResult in the session era, runHandler sends its questions to the client
// and runs the handler again with the answers.
func (r *Request) runHandler(ctx context.Context, in *mcp.InputResponseParams, run func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	if !r.replays {
		return r.runAndAsk(ctx, in, run)
	}
	if in != nil {
		in.RequestState = r.run.RawState()
	}
	if in != nil && r.resumed != nil {
		in.InputResponses = r.run.Given()
	}
	result, err := run(ctx)
	raw, asks := result.(*mcp.InputRequiredResult)
	switch blocked := r.run.Blocked(); {
	case errors.Is(blocked, ErrInputRequired):
		raw = nil
	case blocked != nil || !asks || raw == nil || err != nil:
		return result, err
	default:
		if err := r.checkRaw(raw); err != nil {
			return nil, err
		}
	}
	reply, failed := r.closeRun(raw)
	switch {
	case failed != nil:
		r.ending.Lock()
		r.suspended.returned = true
		r.ending.Unlock()
		return nil, failed
	case reply != nil:
		return reply, nil
	}
	return result, err
}

// runAndAsk runs a handler in the session era and in detached work. If the handler returns
// an *mcp.InputRequiredResult, its questions are asked and it runs again with the answers.
func (r *Request) runAndAsk(ctx context.Context, in *mcp.InputResponseParams, run func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	var unused mcp.InputResponseParams
	if in == nil {
		in = &unused
	}
	*in = mcp.InputResponseParams{} // members that the revision does not have
	for round := range r.server.options.asking().maxRounds() {
		result, err := run(ctx)
		required := r.detached != nil && requiresURLElicitation(err)
		if required {
			result, err = r.elicitURLsDetached(err, in.RequestState)
		}
		raw, ok := result.(*mcp.InputRequiredResult)
		if err != nil || !ok || raw == nil {
			return result, err
		}
		if len(raw.InputRequests) == 0 {
			err = r.pauseRaw(ctx, round)
		}
		if err == nil {
			*in, err = r.answerRaw(ctx, raw)
		}
		if err == nil && required {
			err = checkURLAnswers(in.InputResponses)
		}
		if err != nil {
			return nil, err
		}
		r.run.Again()
	}
	return nil, r.tooManyRounds()
}

// checkRaw returns an error if the client does not support the questions of a raw handler,
// or if there were too many rounds.
func (r *Request) checkRaw(in *mcp.InputRequiredResult) error {
	if !r.run.MayAsk() {
		return r.tooManyRounds()
	}
	return r.mayAskAll(in)
}

// tooManyRounds returns the error of a call that has reached AskOptions.MaxRounds.
func (r *Request) tooManyRounds() error {
	r.ReportLimit(mcp.LimitRounds)
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: input is still required after %d rounds", r.method, r.server.options.asking().maxRounds())
}

// suspension is the end of a run that has asked. The reply and err are set when made.Wait
// returns.
type suspension struct {
	made  sync.WaitGroup
	reply *mcp.InputRequiredResult // nil when making it has failed
	err   error
	// returned says that runHandler has returned err. Guarded by Request.ending.
	returned bool
}

// suspend makes the reply of a run that ends with questions: it parks the values for the next
// run and seals its memory into the requestState.
func (r *Request) suspend(out *replay.Outcome, base mcp.ResultBase) (*mcp.InputRequiredResult, error) {
	if err := r.parkValues(out); err != nil {
		replay.CloseAll(out.Values)
		return nil, err
	}
	token, err := r.sealState(out.Next)
	if err != nil {
		replay.CloseAll(r.server.parked.TakeAll(out.Next.Parked, r.Principal()))
		return nil, err
	}
	base.ResultType = mcp.ResultInputRequired
	return &mcp.InputRequiredResult{ResultBase: base, InputRequests: out.Questions, RequestState: &token}, nil
}

// mayAskAll returns an error if the client does not support the questions of a raw handler,
// or if they exceed the limits of questions.
func (r *Request) mayAskAll(in *mcp.InputRequiredResult) error {
	if len(in.InputRequests) == 0 && in.RequestState == nil {
		return errors.New("the result requires input without inputRequests or requestState; want one of them")
	}
	if err := replay.CheckQuestions(in.InputRequests); err != nil {
		return err
	}
	for key, q := range in.InputRequests {
		params, err := q.DecodeParams()
		if err == nil {
			err = r.call.CheckQuestion(q.Method, params)
		}
		if err != nil {
			return fmt.Errorf("input %q: %w", key, err)
		}
	}
	return nil
}
