package cli

import (
	"context"
	"crypto/rand"
	"os"
	"time"

	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/console"
)

// showsInConsole reports whether this host shows questions and codes on a page of its console and nowhere else, and
// commands know it.
func (q *userQuestions) showsInConsole() bool { return q.announced.Load() && q.listed() && !q.shows() }

// codeHosts returns the hosts whose codes a command needs: those that show questions to the user or, if there is none,
// those with an open page of their console. There is none if this host shows questions itself.
func (q *userQuestions) codeHosts(ctx context.Context) ([]consent.Watcher, error) {
	showing, err := q.otherHosts(ctx)
	if err != nil || len(showing) > 0 || q.shows() {
		return showing, err
	}
	return q.consoles.List(ctx)
}

// announceConsole makes commands of the user know that they need a code while a page of the console is open and
// questions are shown nowhere else, until stop is called. Commands reach the host at the socket.
func (q *userQuestions) announceConsole(ctx context.Context, socket string) (stop func()) {
	if q == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.keepConsoleAnnounced(ctx, consent.Watcher{ID: rand.Text(), Socket: socket, PID: os.Getpid(), Since: time.Now().UTC()})
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (q *userQuestions) keepConsoleAnnounced(ctx context.Context, self consent.Watcher) {
	tick := time.NewTicker(questionPoll)
	defer tick.Stop()
	var announced time.Time // zero while it is not
	failed := false
	for ctx.Err() == nil {
		switch open := q.listed() && !q.shows(); {
		case open && time.Since(announced) >= consent.AnnounceInterval:
			err := q.consoles.Announce(ctx, self)
			if announced = time.Now(); err != nil && !failed && ctx.Err() == nil {
				q.main.logger().Error("questions: commands may answer without a code", "error", err)
			}
			failed = err != nil
			q.announced.Store(err == nil)
		case !open && !announced.IsZero():
			q.announced.Store(false)
			q.leaveConsole(ctx, self)
			announced = time.Time{}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if !announced.IsZero() {
		q.leaveConsole(context.WithoutCancel(ctx), self)
	}
}

func (q *userQuestions) leaveConsole(ctx context.Context, self consent.Watcher) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = q.consoles.Leave(ctx, self) // otherwise it is forgotten in a minute
}

// maxWantedCodes limits the codes of commands that the console shows.
const maxWantedCodes = 16

// listedCodes returns the codes that commands have asked for while the console alone has shown them, the one that was
// asked for last first.
func (q *userQuestions) listedCodes() (codes []console.CommandCode) {
	for _, one := range q.commandCodes.Listed(maxWantedCodes) {
		codes = append(codes, console.CommandCode{About: one.Subject, Code: one.Text})
	}
	return codes
}
