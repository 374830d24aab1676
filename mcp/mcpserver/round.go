package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// mayRequireInput holds the requests of the stateless era in which the server
// can ask.
//
// Spec: 2026-07-28 basic/patterns/mrtr#supported-requests
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// Round returns how many rounds of questions the call has behind it: 0 for a
// call that the client makes for the first time, and 1 when it makes it again
// with the first answers. It is 0 in the session era, where a call runs once.
func (r *Request) Round() int {
	if r == nil {
		return 0
	}
	return r.run.Round()
}

// beginRun starts the run of the call's handlers, with what earlier rounds have left:
//
//	beginRun                 opens requestState: memory, and the answers to open questions
//	 └─ middleware → runHandler → handler → Ask, Once, Park
//	     └─ suspend          the run has asked: park, seal, input_required
//	 └─ endRun               an open question decides, whatever the handlers return
func (r *Request) beginRun() error {
	m := replay.Memory{StartedAt: time.Now()}
	if r.call.CanRequest() || !mayRequireInput[r.method] {
		r.run.Start(m, nil, nil, 0)
		return nil
	}
	r.replays = true
	var given map[string]jsontext.Value
	if rawjson.Member(r.params, "requestState") != nil {
		var in stateParams
		err := r.Decode(&in)
		if err == nil && in.RequestState != nil {
			given = in.InputResponses
			m, err = r.openState(r.ctx, &in)
		}
		if err != nil {
			return err
		}
	}
	r.run.Start(m, given, &r.handlers, r.server.options.asking().maxRounds())
	return nil
}

// endRun makes the outcome of the call: an open question decides it, whatever handlers
// and middleware return.
func (r *Request) endRun(result any, err error) (any, error) {
	switch s := r.suspended; {
	case s != nil && s.reply != nil:
		return s.reply, nil
	case s != nil: // the reply could not be made, and err says why
		return result, err
	}
	if requiresURLElicitation(err) && r.run.Blocked() == nil {
		result, err = r.requireURLElicitation(err)
	}
	if out := r.run.Close(); out.Next != nil {
		if _, ok := errors.AsType[*panicked](err); ok {
			_ = r.server.publicError(r.ctx, r.call, err) // logs what the caller is not told
		}
		return r.suspend(out, mcp.ResultBase{})
	}
	return result, err
}

// releaseRun closes what the run still holds. It is called at the end of the call,
// whatever became of it.
func (r *Request) releaseRun() {
	r.handlers.Cancel(nil)
	out := r.run.Close()
	replay.CloseAll(out.Values)
	r.server.parked.Drop(out.Unclaimed, r.Principal())
}

// runHandler runs a handler and gives it what the client has answered. In the
// stateless era questions end the run. What a handler asks by itself, by returning an
// *mcp.InputRequiredResult, is asked here in the session era, and the handler runs
// again with the answers.
func (r *Request) runHandler(ctx context.Context, in *mcp.InputResponseParams, run func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	if !r.replays {
		return r.runAndAsk(ctx, in, run)
	}
	in.RequestState = r.run.RawState()
	result, err := run(ctx)
	raw, asks := result.(*mcp.InputRequiredResult)
	if asks && raw != nil && err == nil && r.run.Blocked() == nil {
		if err := r.checkRaw(raw); err != nil {
			return nil, err
		}
		return r.suspend(r.run.CloseRaw(raw.InputRequests, raw.RequestState), raw.ResultBase)
	}
	if errors.Is(r.run.Blocked(), ErrInputRequired) {
		return r.suspend(r.run.Close(), mcp.ResultBase{})
	}
	return result, err
}

// checkRaw makes sure that a handler asks by itself only what its client takes, and
// not too often.
func (r *Request) checkRaw(in *mcp.InputRequiredResult) error {
	if !r.run.MayAsk() {
		return r.tooManyRounds(nil)
	}
	return r.mayAskAll(in)
}

// tooManyRounds ends a call whose client does not answer what it is asked.
func (r *Request) tooManyRounds(last error) error {
	r.ReportLimit(mcp.LimitRounds)
	limit := r.server.options.asking().maxRounds()
	if last != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: input is still required after %d rounds: %v", r.method, limit, last)
	}
	return mcp.Errorf(mcp.CodeInvalidParams, "%s: input is still required after %d rounds", r.method, limit)
}

// suspension is the end of a run that has asked.
type suspension struct {
	reply *mcp.InputRequiredResult // nil when making it has failed
}

// suspend makes the reply of a run that ends in questions, and keeps what the next run
// needs. It is called once.
func (r *Request) suspend(out *replay.Outcome, base mcp.ResultBase) (*mcp.InputRequiredResult, error) {
	r.suspended = new(suspension)
	ctx := context.WithoutCancel(r.ctx) // the run's own has ended with its question
	if err := r.parkValues(out); err != nil {
		return nil, err
	}
	token, err := r.sealState(ctx, out.Next)
	if err != nil {
		r.server.parked.Drop(out.Next.Parked, r.Principal())
		return nil, err
	}
	base.ResultType = mcp.ResultInputRequired
	r.suspended.reply = &mcp.InputRequiredResult{ResultBase: base, InputRequests: out.Questions, RequestState: &token}
	return r.suspended.reply, nil
}

// mayAskAll makes sure that a handler asks by itself only what its client takes.
func (r *Request) mayAskAll(in *mcp.InputRequiredResult) error {
	if len(in.InputRequests) == 0 && in.RequestState == nil {
		return errors.New("the result requires input without inputRequests or requestState; want one of them")
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
