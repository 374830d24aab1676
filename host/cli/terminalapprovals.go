package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
)

const (
	// approvalPause is the time after an unanswered or denied question about a server before the
	// next one about it, so that a server that changes again and again does not fill the terminal.
	// It doubles each time, up to maxApprovalPause, until the user says yes.
	approvalPause    = 30 * time.Second
	maxApprovalPause = time.Hour
)

// maxAnswered is the number of answers that are remembered after what they are about no longer
// waits, so that it is not asked again when it waits once more.
const maxAnswered = 100

// approvalQuestions finds what a running host has to ask on its terminal about servers and their
// definitions. A question that was answered with no is not asked again.
type approvalQuestions struct {
	host *hostProcess
	// read returns what waits, which can take long. With an error it leaves out the servers of
	// which it cannot be read.
	read func(context.Context) ([]*approvalQuestion, error)
	// ready is set when the host has printed which servers have started.
	ready atomic.Bool

	mu       sync.Mutex
	stale    bool                    // guarded by mu: pending has to be read again
	pending  []*approvalQuestion     // guarded by mu: as keepCurrent has read them last
	answered map[string]host.Outcome // guarded by mu: by digest of what was asked
	paused   map[string]serverPause  // guarded by mu: by server
	// interrupted has the servers about which a question was interrupted by a call and has not been
	// answered since. It is guarded by mu.
	interrupted map[string]bool
}

// serverPause is a time in which nothing is asked about a server.
type serverPause struct {
	length time.Duration
	until  time.Time
}

// newApprovalQuestions returns the questions of a host.
func newApprovalQuestions(h *hostProcess) *approvalQuestions {
	a := &approvalQuestions{host: h, answered: make(map[string]host.Outcome), paused: make(map[string]serverPause), interrupted: make(map[string]bool)}
	a.read = a.readStates
	return a
}

// next returns the next question, or nil.
func (a *approvalQuestions) next() *approvalQuestion {
	if a == nil || !a.ready.Load() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetLocked()
	var next *approvalQuestion
	for _, one := range a.pending {
		switch {
		case a.answered[one.digest] != "", time.Now().Before(a.paused[one.name()].until):
		case next == nil:
			next = one
			next.further = 0
		default:
			next.further++
		}
	}
	return next
}

// waits reports whether a question still waits for an answer, or was answered here.
func (a *approvalQuestions) waits(asked *approvalQuestion) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answered[asked.digest] != "" || a.isPendingLocked(asked.digest)
}

// setAnswered notes that the user has answered, or with no outcome that there is no answer yet. It
// does nothing if a is nil.
func (a *approvalQuestions) setAnswered(all []approvalscreen.Item, outcome host.Outcome) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	digest := digestOf(all)
	if a.answered[digest] = outcome; outcome == "" {
		delete(a.answered, digest)
	}
	a.stale = true
}

// pause makes the user not be asked about a server for some time.
func (a *approvalQuestions) pause(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	length := min(max(2*a.paused[name].length, approvalPause), maxApprovalPause)
	a.paused[name] = serverPause{length, time.Now().Add(length)}
}

// endPause makes the next pause of a server a short one.
func (a *approvalQuestions) endPause(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.paused, name)
}

// mayInterrupt reports whether a call may come before a question about a server that is open: once
// until it is answered, because a client that makes calls again and again would keep the question
// from the user.
func (a *approvalQuestions) mayInterrupt(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.interrupted[name]
}

// setInterrupted notes whether a question about a server was interrupted since the last answer.
func (a *approvalQuestions) setInterrupted(name string, interrupted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.interrupted[name] = interrupted; !interrupted {
		delete(a.interrupted, name)
	}
}

// forgetLocked removes answers to what no longer waits: what was approved, and waits once more, is
// asked again, and of the others there may be too many. The caller holds mu.
func (a *approvalQuestions) forgetLocked() {
	for digest, outcome := range a.answered {
		if (outcome == host.OutcomeDone || len(a.answered) > maxAnswered) && !a.isPendingLocked(digest) {
			delete(a.answered, digest)
		}
	}
}

func (a *approvalQuestions) isPendingLocked(digest string) bool {
	return slices.ContainsFunc(a.pending, func(one *approvalQuestion) bool { return one.digest == digest })
}

// keepCurrent reads what waits until ctx ends. It does not wait then for a reading that is under
// way: that may read large files of servers, and has no effect any more.
func (a *approvalQuestions) keepCurrent(ctx context.Context) {
	type result struct {
		pending []*approvalQuestion
		err     error
	}
	tick := time.NewTicker(questionPoll)
	defer tick.Stop()
	version, failure := "", ""
	for {
		if now := a.version(); a.takeStale() || now != version {
			done := make(chan result, 1)
			go func() {
				pending, err := a.read(ctx)
				done <- result{pending, err}
			}()
			select {
			case r := <-done:
				if ctx.Err() != nil {
					return // what is known stays
				}
				version = now
				if r.err != nil {
					version = "" // to read it again
					if failure != r.err.Error() {
						a.host.main.logger().Error("questions: a server is not asked about", "error", r.err)
					}
				}
				failure = errorText(r.err)
				a.setPending(r.pending)
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// version changes when something else may wait.
func (a *approvalQuestions) version() string {
	version := fmt.Sprint(a.host.state.Version(approval.Section), a.host.state.Version(definition.Section), a.host.state.Version(definition.WaitingSection))
	for _, s := range a.host.gateway.Status() {
		_, unapproved := a.host.unapproved.Load(s.Key)
		version += fmt.Sprintf(" %q %q %d %v", s.Key, s.State, s.WaitingCount, unapproved)
	}
	return version
}

// takeStale reports whether what waits has to be read again, and notes that it is read now.
func (a *approvalQuestions) takeStale() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	stale := a.stale
	a.stale = false
	return stale
}

func (a *approvalQuestions) setPending(pending []*approvalQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = pending
}

// readStates reads what waits from the states of the host.
func (a *approvalQuestions) readStates(ctx context.Context) (pending []*approvalQuestion, err error) {
	statuses := a.host.gateway.Status()
	var blocked []host.Upstream
	var changes []*approvalQuestion
	var failed []error
	for _, u := range a.host.servers.Servers() {
		i := slices.IndexFunc(statuses, func(s host.Status) bool { return s.Key == u.Key })
		// The server is ready as long as a process of it runs that was approved, although no further one may be started.
		_, unapproved := a.host.unapproved.Load(u.Key)
		switch {
		case i < 0:
		case statuses[i].State == host.NeedsApproval, unapproved:
			blocked = append(blocked, u)
		case statuses[i].WaitingCount > 0:
			switch c, err := a.host.definitions.Waiting(ctx, &u); {
			case err != nil:
				failed = append(failed, err)
			case c != nil:
				changes = append(changes, a.question([]approvalscreen.Item{{Upstream: &u, Change: c}}))
			}
		}
	}
	questions, err := a.host.approvals.Questions(ctx, blocked)
	if err != nil {
		failed = append(failed, err)
	}
	for i := range questions {
		pending = append(pending, a.question(approvalscreen.ItemsOf(questions[i:i+1])))
	}
	return append(pending, changes...), errors.Join(failed...)
}

func (a *approvalQuestions) question(all []approvalscreen.Item) *approvalQuestion {
	return &approvalQuestion{approvalQuestions: a, all: all, digest: digestOf(all)}
}

// approvalQuestion asks for the approval of a server, of several that have changed in the same
// way, or of what one lists.
type approvalQuestion struct {
	*approvalQuestions
	all       []approvalscreen.Item
	digest    string
	further   int // questions
	callWaits func(context.Context) bool
	waitShown bool // the message that a call waits was printed
}

func (q *approvalQuestion) name() string { return q.all[0].Name() }

func (q *approvalQuestion) title() string { return q.name() }

func (q *approvalQuestion) question() *terminal.YesNo {
	text := approveQuestion(q.all)
	if q.all[0].Server != nil {
		names := strings.Join(approvalscreen.Names(q.all), ", ")
		text = terminal.Fit(terminal.CleanLine(names), max(20, q.host.main.Width()/2)) + ": " + startQuestion(q.all[0].Question)
	}
	return &terminal.YesNo{Text: text, Options: append([]terminal.Option{showsTexts}, proxyOptions(q.all)...)}
}

func (q *approvalQuestion) show(_ context.Context, waiting int) {
	m := q.host.main
	q.waitShown = false
	approvalscreen.Show(&m.IO, q.all)
	if waiting > 0 {
		m.Message("\nfurther questions about servers wait: %d", waiting)
	}
}

func (q *approvalQuestion) showUnasked(context.Context, int) {
	m := q.host.main
	m.Message("  waiting    %s: %s", q.name(), m.approveCommand(q.name(), q.host.config))
	q.setAnswered(q.all, host.OutcomeWithheld)
	q.pause(q.name())
}

func (q *approvalQuestion) text() string { return q.question().Text }

func (q *approvalQuestion) prompt() string { return q.question().Prompt() }

func (q *approvalQuestion) choice() string { return q.question().Letters() }

func (q *approvalQuestion) check(ctx context.Context) error {
	switch callWaits := q.callWaits(ctx); {
	case callWaits && q.mayInterrupt(q.name()):
		q.setInterrupted(q.name(), true)
		return errCallWaits
	case callWaits && !q.waitShown:
		q.waitShown = true
		q.host.main.Message("a call waits, too; its question comes after this one")
	}
	if ctx.Err() == nil && !q.waits(q) {
		q.pause(q.name())
		return errQuestionEnded
	}
	return nil
}

func (q *approvalQuestion) answer(ctx context.Context, words string) (answered bool, err error) {
	m, names := q.host.main, strings.Join(approvalscreen.Names(q.all), ", ")
	answer, ok := q.question().Answer(words)
	switch {
	case !ok:
		m.Message("found %q, want %s", terminal.CleanLine(words), q.choice())
		return false, nil
	case answer == showsTexts.Letter:
		approvalscreen.ShowTexts(&m.IO, q.all)
		return false, nil
	case answer == terminal.No:
		q.setInterrupted(q.name(), false)
		q.setAnswered(q.all, host.OutcomeRefused)
		q.pause(q.name())
		m.Message("not approved: %s; to be asked again: %s", names, m.approveCommand(q.name(), q.host.config))
		return true, nil
	case answer == passesProxies:
		passProxies(q.all)
	}
	q.setInterrupted(q.name(), false)
	q.setAnswered(q.all, host.OutcomeDone) // before it no longer waits, which check would take for an end
	if err := q.host.approvePending(ctx, q.all, "by the user"); err != nil {
		q.setAnswered(q.all, "")
		q.pause(q.name())
		m.Message("%s is not approved: %s", names, terminal.Clean(err.Error()))
		return true, nil
	}
	for _, name := range approvalscreen.Names(q.all) {
		q.endPause(name)
		q.host.gateway.Retry(name)
	}
	m.Message("%s is approved", names)
	return true, nil
}
