package gateway

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// gathering is how long a round waits for more questions than one.
	gathering = 20 * time.Millisecond
	// maxLater bounds what is kept to be told to a caller between two rounds.
	maxLater = 64
)

// run is a call for a caller of the stateless era, which takes no questions in
// mid-call. The call goes on between the rounds of its caller:
//
//	caller    ── request ──▶        ◀── input required ──  ··  ── retry ──▶        ◀── result ──
//	run             └── call ──▶ question                          └── answer ──▶ result
//
// One request at a time waits for it.
type run struct {
	*call
	stop  context.CancelCauseFunc
	asked chan struct{} // one token: there is a question

	done   chan struct{} // closed when the call is done
	result mcp.Result    // set before done is closed, like err
	err    error
	heard  bool // a request has taken the result; nobody else waits for it then

	mu        sync.Mutex
	waiting   context.Context            // guarded by mu: of the request that waits, or nil
	later     []func(context.Context)    // guarded by mu: what it is to be told
	questions map[string]*parkedQuestion // guarded by mu
	count     int                        // guarded by mu: of all questions
}

// parkedQuestion is a question that waits for the caller's next round.
type parkedQuestion struct {
	mcp.InputRequest
	answer chan jsontext.Value
}

// errAbandoned ends a call that nobody has come back to.
var errAbandoned = errors.New("its caller did not come back")

// begin begins a call for the request of ctx, which may end before the call does.
func begin(ctx context.Context, r *mcpserver.Request, do func(*call) (mcp.Result, error)) *run {
	n := &run{asked: make(chan struct{}, 1), done: make(chan struct{}), questions: make(map[string]*parkedQuestion), waiting: ctx}
	n.call = &call{request: r, put: n.park, tell: n.inform}
	n.ctx, n.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	go func() {
		defer close(n.done)
		defer n.stop(nil)
		n.result, n.err = do(n.call)
	}()
	return n
}

// await waits for the request of ctx until the call is done, which is nil, or
// asks something. When ctx ends, so does the call.
func (n *run) await(ctx context.Context) *mcp.InputRequiredResult {
	n.attend(ctx)
	defer n.leave()
	for {
		select {
		case <-n.done:
			n.heard = true
			return nil
		case <-n.asked:
			time.Sleep(gathering)
			if in := n.required(); in != nil && !n.isDone() {
				return in
			}
		case <-ctx.Done():
			n.heard = true
			n.end(context.Cause(ctx))
			return nil
		}
	}
}

// attend makes ctx that of the request that waits, and tells it what it has
// missed.
func (n *run) attend(ctx context.Context) {
	n.mu.Lock()
	missed := n.later
	n.waiting, n.later = ctx, nil
	if len(n.questions) > 0 {
		signal(n.asked)
	}
	n.mu.Unlock()
	for _, what := range missed {
		what(ctx)
	}
}

// leave notes that no request waits.
func (n *run) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = nil
}

// inform tells the request that waits, or the next one. The oldest news are
// dropped when they become many.
func (n *run) inform(what func(context.Context)) {
	n.mu.Lock()
	ctx := n.waiting
	if ctx == nil {
		if n.later = append(n.later, what); len(n.later) > maxLater {
			n.later = n.later[1:]
		}
	}
	n.mu.Unlock()
	if ctx != nil {
		what(ctx)
	}
}

// park puts a question and waits until a round of the caller brings the answer.
func (n *run) park(ctx context.Context, method string, params, answer any) error {
	in, err := inputRequest(method, params)
	if err != nil {
		return err
	}
	q := &parkedQuestion{in, make(chan jsontext.Value, 1)}
	key := n.add(q)
	defer n.take(key)
	signal(n.asked)
	select {
	case raw := <-q.answer:
		return json.Unmarshal(raw, answer)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *run) add(q *parkedQuestion) (key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	key = strconv.Itoa(n.count)
	n.questions[key] = q
	return key
}

func (n *run) take(key string) *parkedQuestion {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := n.questions[key]
	delete(n.questions, key)
	return q
}

// required returns what is asked now, or nil.
func (n *run) required() *mcp.InputRequiredResult {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.questions) == 0 {
		return nil
	}
	in := &mcp.InputRequiredResult{InputRequests: make(map[string]mcp.InputRequest, len(n.questions))}
	for key, q := range n.questions {
		in.InputRequests[key] = q.InputRequest
	}
	return in
}

// answer brings the answers of one round. Those that fit no question are left
// out, so what they were meant for is asked again.
func (n *run) answer(given map[string]jsontext.Value) {
	for key, raw := range given {
		if q := n.question(key); q != nil && fits(q.Method, raw) && n.take(key) == q {
			q.answer <- raw
		}
	}
}

func (n *run) question(key string) *parkedQuestion {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.questions[key]
}

// isDone reports whether the call is done.
func (n *run) isDone() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// end ends the call, if it is not done, and waits for its end.
func (n *run) end(why error) {
	n.stop(why)
	<-n.done
}

// abandon ends a call at the end of its caller's, and records one that was waited
// for in vain.
func (n *run) abandon(u *upstream, d host.Decision) {
	n.end(errAbandoned)
	if !n.heard {
		d.Outcome = host.OutcomeCancelled
		u.gateway.record(d, errAbandoned)
	}
}
