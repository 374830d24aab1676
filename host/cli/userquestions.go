package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/notify"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// userQuestions shows the questions of a host to its user, on the terminal and as
// notifications, with the codes by which commands can answer them.
type userQuestions struct {
	main     *Main
	calls    *consent.Calls
	watchers *consent.Watchers
	consoles *consent.Watchers // with a page of the console alone
	settings host.ConsentSettings

	codes        *consent.Codes                  // of questions, by their numbers
	commandCodes *consent.Codes                  // of other commands, by what they want to do
	terminal     atomic.Bool                     // questions are shown on it
	approvals    *approvalQuestions              // asked on the terminal; nil in commands that ask them before
	notifier     atomic.Pointer[notify.Notifier] // nil if there is none
	inBrowser    atomic.Pointer[console.Console] // nil without one
	announced    atomic.Bool                     // commands know that a page of the console is open
	signIns      signInNotices                   // of this host, for the desktop
	self         atomic.Pointer[consent.Watcher] // this host since it shows questions; nil before
	shown        int                             // questions that the terminal has asked; only askOne changes it
}

// openQuestions returns the questions and grants of the user. onDecision records answers.
func (m *Main) openQuestions(onDecision func(host.Decision) error) (*userQuestions, error) {
	store, err := m.storage().State()
	if err != nil {
		return nil, err
	}
	return m.newQuestions(store, onDecision), nil
}

// newQuestions returns the questions and grants in a store. onDecision records answers.
func (m *Main) newQuestions(store mcp.Store, onDecision func(host.Decision) error) *userQuestions {
	wrong := new(consent.WrongCodes)
	q := &userQuestions{main: m, watchers: consent.NewWatchers(store), consoles: consent.NewConsoles(store), codes: consent.NewCodes(wrong), commandCodes: consent.NewCodes(wrong)}
	var err error
	if q.settings, err = config.LoadConsent(m.Getenv); err != nil {
		m.Message("%v\n  calls that need consent wait as if there were no settings", err)
		q.settings = host.ConsentSettings{}
	}
	q.calls = consent.NewCalls(store, consent.CallOptions{Wait: q.settings.Wait, Watched: q.watched, Listed: q.listed, OnDecision: onDecision})
	return q
}

// watched reports whether this host or another one shows questions to the user.
func (q *userQuestions) watched(ctx context.Context) bool {
	if q.shows() {
		return true
	}
	others, err := q.watchers.List(ctx)
	return err == nil && len(others) > 0
}

// listed reports whether the inbox is open in a browser.
func (q *userQuestions) listed() bool {
	c := q.inBrowser.Load()
	return c != nil && c.IsOpen()
}

// answersServers reports whether servers may ask the user what the client of a call cannot show.
func (q *userQuestions) answersServers() bool {
	shown := q.main.Interactive || !q.settings.Silent && notify.Find(q.main.Getenv) != nil
	return q.settings.MayAnswer(shown)
}

// shows reports whether this host shows questions.
func (q *userQuestions) shows() bool { return q.terminal.Load() || q.notifier.Load() != nil }

// start shows questions until stop is called. Commands reach the host at the socket, which may
// be empty. It does nothing without a terminal and a desktop. While another host shows questions,
// this one does not: whoever has started it could answer on its terminal what the user is asked
// there, without the code.
func (q *userQuestions) start(ctx context.Context, socket string) (stop func()) {
	var n *notify.Notifier
	if !q.settings.Silent {
		n = notify.Find(q.main.Getenv)
	}
	if n == nil && !q.main.Interactive {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	showing, err := q.watchers.List(ctx)
	turn := err == nil && len(showing) == 0
	switch {
	case turn:
		q.takeTurn(n, socket)
	case socket != "": // otherwise it is a command, which needs no question as a rule
		q.main.Message("%s", q.shownElsewhere(showing, err))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for turn || q.awaitTurn(ctx) {
			if !turn {
				q.takeTurn(n, socket)
			}
			turn = false
			if older := q.showInTurn(ctx, n); older != nil {
				q.main.Message("\n%s", q.shownElsewhere([]consent.Watcher{*older}, nil))
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// removeExpired removes the questions that hosts have left which were killed: at once, and what expires later in turn, until
// ctx ends.
func (q *userQuestions) removeExpired(ctx context.Context) {
	tick := time.NewTicker(consent.QuestionTime)
	defer tick.Stop()
	for {
		if err := q.calls.Queue.RemoveExpired(ctx); err != nil && ctx.Err() == nil {
			q.main.logger().Warn("expired questions are still stored", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// takeTurn makes this host the one that shows questions.
func (q *userQuestions) takeTurn(n *notify.Notifier, socket string) {
	q.self.Store(&consent.Watcher{ID: rand.Text(), Socket: socket, PID: os.Getpid(), Since: time.Now().UTC()})
	q.notifier.Store(n)
	q.terminal.Store(q.main.Interactive)
}

// showInTurn shows questions until ctx ends, or another host shows them for longer than this one,
// which it returns.
func (q *userQuestions) showInTurn(ctx context.Context, n *notify.Notifier) (older *consent.Watcher) {
	self := q.self.Load()
	showing, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	if q.main.Interactive {
		terminal.IgnoreBackgroundReads()
		work.Go(func() { q.askOnTerminal(showing) })
		if q.approvals != nil {
			work.Go(func() { q.approvals.keepCurrent(showing) })
		}
	}
	if n != nil {
		work.Go(func() { q.notifyUser(showing, n) })
	}
	older = q.announce(ctx, *self)
	cancel()
	work.Wait()
	q.terminal.Store(false)
	q.notifier.Store(nil)
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = q.calls.Queue.Release(leaving, self.ID) // otherwise they are shown here alone for a minute
	_ = q.watchers.Leave(leaving, *self)        // otherwise it is forgotten in a minute
	return older
}

// shownElsewhere says who shows the questions of this host.
func (q *userQuestions) shownElsewhere(showing []consent.Watcher, err error) string {
	if err != nil {
		return fmt.Sprintf("questions are not shown here: %s", terminal.Clean(err.Error()))
	}
	return fmt.Sprintf("questions are shown by the host with process ID %d, and here once it has ended; %s answer takes the code that it shows", showing[0].PID, q.main.program())
}

// awaitTurn waits until no other host shows questions. It returns false when ctx ends.
func (q *userQuestions) awaitTurn(ctx context.Context) bool {
	tick := time.NewTicker(questionPoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
		if showing, err := q.watchers.List(ctx); err == nil && len(showing) == 0 {
			return ctx.Err() == nil
		}
	}
}

// announce makes other processes of the user know that this host shows questions. While they do
// not know it, commands need no code, so it announces the host again soon after another program
// has removed its entry, and reports that to the user. It returns a host that shows questions for
// longer, which another program has kept from being seen, or nil when ctx ends.
func (q *userQuestions) announce(ctx context.Context, self consent.Watcher) (older *consent.Watcher) {
	tick := time.NewTicker(questionPoll)
	defer tick.Stop()
	var announced time.Time // last, until the entry was removed
	failed := false
	for ctx.Err() == nil {
		now := time.Now()
		err := q.watchers.Announce(ctx, self)
		switch {
		case err == nil:
			announced = now
		case !failed && ctx.Err() == nil:
			q.main.logger().Error("questions: commands may answer without a code", "error", err)
		}
		failed = err != nil
		removed, older := q.awaitChange(ctx, self, tick.C, announced)
		if older != nil {
			return older
		}
		if removed {
			announced = time.Time{}
			q.main.Message("\nanother program has removed the entry by which commands find this host: a command may have approved or answered\n"+
				"  something without a code just before; the commands approvals, grants and audit search of %s show what is allowed", q.main.program())
		}
	}
	return nil
}

// awaitChange waits until the host has to announce itself again, and reports whether that is
// because the entry of which announced is the time was removed. It returns early with a host that
// shows questions for longer.
func (q *userQuestions) awaitChange(ctx context.Context, self consent.Watcher, tick <-chan time.Time, announced time.Time) (removed bool, older *consent.Watcher) {
	since := time.Now()
	for time.Since(since) < consent.AnnounceInterval {
		select {
		case <-tick:
		case <-ctx.Done():
			return false, nil
		}
		all, _ := q.watchers.List(ctx) // if it fails, the next one tells
		if i := slices.IndexFunc(all, func(w consent.Watcher) bool { return w.Before(self) }); i >= 0 {
			return false, &all[i]
		}
		if found, err := q.watchers.Has(ctx, self); err == nil && !found {
			// It may have expired: after a sleep of the machine, which the monotonic clock does not
			// see, or because no later announcement succeeded.
			return ctx.Err() == nil && time.Now().Round(0).Sub(announced.Round(0)) < consent.WatcherTime, nil
		}
	}
	return false, nil
}

// shownElsewhereFirst reports whether another host has shown a question, and may show it still. Then
// this one neither shows it nor takes an answer to it on its terminal. A host that ends releases its
// questions. The others may be answered here after a minute, in which it would have been found.
func (q *userQuestions) shownElsewhereFirst(asked *consent.Question) bool {
	self := q.self.Load()
	return asked.ShownBy != "" && (self == nil || asked.ShownBy != self.ID && time.Since(self.Since) < consent.WatcherTime)
}

// questionPoll is how often questions of other processes are looked for.
const questionPoll = 500 * time.Millisecond

// next waits for a question that seen does not have, and adds it, or until another question waits,
// as the function says. It returns false when ctx ends. waiting is the number of further questions.
func (q *userQuestions) next(ctx context.Context, seen map[string]bool, otherWaits func() bool) (asked consent.Question, waiting int, ok bool) {
	tick := time.NewTicker(questionPoll)
	defer tick.Stop()
	failed := false
	for {
		changed := q.calls.Queue.Changed()
		open, err := q.calls.Queue.List(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			failed = true
			q.main.Message("questions cannot be shown: %s", terminal.Clean(err.Error()))
		}
		if one, further, found := consent.Next(q.shownHere(open), seen); found {
			seen[one.ID] = true
			return one, further, ctx.Err() == nil
		}
		if otherWaits() {
			return asked, 0, ctx.Err() == nil
		}
		isOpen := make(map[string]bool, len(open))
		for _, one := range open {
			isOpen[one.ID] = true
		}
		for id := range seen {
			if !isOpen[id] && err == nil {
				delete(seen, id)
				q.codes.Remove(id)
			}
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return asked, 0, false
		}
	}
}

// shownHere returns the questions that this host may show.
func (q *userQuestions) shownHere(open []consent.Question) []consent.Question {
	return slices.DeleteFunc(slices.Clone(open), func(one consent.Question) bool { return q.shownElsewhereFirst(&one) })
}

// notifyUser shows each question as a notification of the desktop, and each server of this host that waits for a
// sign-in.
func (q *userQuestions) notifyUser(ctx context.Context, n *notify.Notifier) {
	seen := make(map[string]bool)
	for {
		asked, _, ok := q.next(ctx, seen, q.signIns.isPending)
		if !ok {
			return
		}
		if asked.ID == "" {
			q.notifyOfSignIn(ctx, n)
			continue
		}
		code := q.show(ctx, asked)
		answer := " yes"
		if asked.Kind.OfServer() {
			answer = ""
		}
		text := fmt.Sprintf("%s\n%s answer %s%s --code %s\n%s inbox %s shows all of it", asked.Text, q.main.program(), asked.ID, answer, code, q.main.program(), asked.ID)
		if err := n.Show(ctx, "Fondaco", text); err != nil && ctx.Err() == nil {
			q.main.logger().Warn("a question was not shown", "error", err)
		}
	}
}

// notifyOfSignIn shows one server that waits for a sign-in as a notification of the desktop.
func (q *userQuestions) notifyOfSignIn(ctx context.Context, n *notify.Notifier) {
	one, ok := q.signIns.next()
	if !ok {
		return
	}
	if err := n.Show(ctx, "Fondaco", one.ask()); err != nil && ctx.Err() == nil {
		q.main.logger().Warn("a server that waits for a sign-in was not shown", "error", err)
	}
}

// show returns the code that is shown beside a question.
func (q *userQuestions) show(ctx context.Context, asked consent.Question) (code string) {
	if err := q.calls.Queue.ShowWithCode(ctx, asked, q.self.Load().ID); err != nil && ctx.Err() == nil {
		q.main.logger().Error("questions: a question may be answered without a code", "error", err)
	}
	return q.codes.Show(asked.ID)
}

// functions are what the control socket gives access to, nil if q is nil.
func (q *userQuestions) functions() *control.QuestionFunctions {
	if q == nil {
		return nil
	}
	return &control.QuestionFunctions{
		Answer:   q.answerByCommand,
		ShowCode: q.showCode,
		CheckCode: func(about, code string) error {
			return q.checkCode(q.commandCodes, about, about, code)
		},
	}
}

// answerByCommand answers a question for another command. It needs the code while the host
// shows questions, or another one has shown this one.
func (q *userQuestions) answerByCommand(ctx context.Context, a control.Answer) error {
	return q.answerFor(ctx, a, false)
}

// answerFor is answerByCommand, also for a page of the console, which needs no code that only such
// pages show.
func (q *userQuestions) answerFor(ctx context.Context, a control.Answer, inConsole bool) error {
	asked, err := q.calls.Queue.Get(ctx, a.ID)
	if err != nil {
		return err
	}
	given := consent.Answer{Content: a.Content, By: q.main.userName(), How: host.GrantedUnattended}
	if err := q.calls.Check(asked, given); err != nil {
		return err
	}
	if asked.NeedsCode || q.watched(ctx) || !inConsole && q.showsInConsole() {
		if err := q.checkCode(q.codes, a.ID, "answer question "+a.ID, a.Code); err != nil {
			return err
		}
		given.How = host.GrantedByCommand
	}
	return q.calls.Answer(ctx, a.ID, given)
}

// maxAbout limits the text of a command that wants a code, in bytes.
const maxAbout = 1000

// showCode shows a code for what another command is about to do.
func (q *userQuestions) showCode(about string) error {
	switch {
	case about == "" || len(about) > maxAbout:
		return fmt.Errorf("found a text of %d bytes, want 1 to %d", len(about), maxAbout)
	case q.showsInConsole():
		q.commandCodes.ShowListed(about)
		return nil
	case !q.shows():
		return errors.New("this host has no terminal and no desktop to show a code, and no page of its console is open")
	}
	code := q.commandCodes.Show(about)
	text := fmt.Sprintf("A command wants consent. If you started it, its code is %s: type it there", code)
	intent := "  it wants to " + terminal.CleanLine(about)
	if q.terminal.Load() { // whole, because the code allows all of it
		q.main.Message("%s\n%s", text, strings.Join(q.main.WrapLine(intent), "\n"))
	}
	if n := q.notifier.Load(); n != nil {
		return n.Show(context.Background(), "Fondaco", text+"\n"+intent)
	}
	return nil
}

// fitIntent cuts what a command with a wrong code says that it wants to do, so that its words begin no line.
func (m *Main) fitIntent(about string) string {
	return terminal.Fit(terminal.CleanLine(about), max(20, m.Width()-len("  it wants to ")-1))
}

// checkCode checks a code for what a command wants to do. Wrong codes are reported to the user:
// another program may guess them.
func (q *userQuestions) checkCode(codes *consent.Codes, subject, intent, code string) error {
	err := codes.Check(subject, code)
	if errors.Is(err, consent.ErrWrongCode) {
		q.main.Message("A command gave a wrong code; if that was not you, another program tries to\ndecide for you:\n  it wants to %s", q.main.fitIntent(intent))
	}
	if err != nil {
		return &refusedCodeError{err}
	}
	return nil
}

// refusedCodeError is an error about a code, which wraps control.ErrCode, too.
type refusedCodeError struct{ err error }

func (e *refusedCodeError) Error() string   { return e.err.Error() }
func (e *refusedCodeError) Unwrap() []error { return []error{control.ErrCode, e.err} }

// userName is who answers by this process.
func (m *Main) userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	name, _ := m.Getenv("USER")
	return cmp.Or(name, "the user")
}

// clientMayConsent reports whether the client of a call may ask for consent itself.
func (q *userQuestions) clientMayConsent(r *host.ConsentRequest) bool { return q.settings.MayAsk(r) }
