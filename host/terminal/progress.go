package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Progress shows that a command is working, and its progress: drawn in place on a
// terminal, otherwise as lines when the server reports progress. It shows nothing for the
// first 700 ms.
type Progress struct {
	to    *IO
	what  string
	since time.Time

	mu       sync.Mutex
	progress mcp.ProgressParams // the last one
	known    bool               // the server has reported progress
	paused   int                // open questions to the user
	last     time.Time          // of the last line

	stopped chan struct{}
	ended   chan struct{}
}

const (
	showAfter    = 700 * time.Millisecond // nothing is shown before
	linePause    = 200 * time.Millisecond // between two lines
	drawInterval = 100 * time.Millisecond
)

// StartProgress starts a progress bar. It must be stopped before data is printed.
func (t *IO) StartProgress(format string, args ...any) *Progress {
	w := &Progress{to: t, what: fmt.Sprintf(format, args...), since: time.Now(), stopped: make(chan struct{}), ended: make(chan struct{})}
	if !t.Drawing || t.Quiet {
		close(w.ended)
		return w
	}
	go w.run()
	return w
}

// Stop removes the bar.
func (w *Progress) Stop() {
	close(w.stopped)
	<-w.ended
}

// run draws until Stop.
func (w *Progress) run() {
	defer close(w.ended)
	tick := time.NewTicker(drawInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.stopped:
			w.to.clear()
			return
		case <-tick.C:
			w.draw()
		}
	}
}

func (w *Progress) draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if took := time.Since(w.since); took >= showAfter && w.paused == 0 {
		w.to.draw(w.line(took))
	}
}

// line is what is drawn. The caller holds mu.
func (w *Progress) line(took time.Duration) string {
	seconds := fmt.Sprintf("%d s", int(took.Seconds()))
	p := w.progress
	if !w.known {
		return fmt.Sprintf("  %s  %s", w.what, seconds)
	}
	front := fmt.Sprintf("  %s%s  %s  ", w.what, countOf(p), seconds)
	if p.Total > 0 {
		front = fmt.Sprintf("  %s %3.0f %%  %s  ", bar(p.Progress/p.Total), percent(p), seconds)
	}
	return front + p.Message
}

// countOf is the progress without a total, and nothing while it is less than 1: a fraction of
// what is not known says nothing, such as that of a call that waits for a person.
func countOf(p mcp.ProgressParams) string {
	if p.Progress < 1 {
		return ""
	}
	return fmt.Sprintf("  %v", p.Progress)
}

func percent(p mcp.ProgressParams) float64 { return 100 * min(max(p.Progress/p.Total, 0), 1) }

// barWidth is the width of a bar in columns.
const barWidth = 20

// bar draws a fraction, in ASCII: the width of blocks is ambiguous.
func bar(part float64) string {
	done := int(min(max(part, 0), 1) * barWidth)
	return strings.Repeat("#", done) + strings.Repeat("-", barWidth-done)
}

// Show stores the progress of a call.
func (w *Progress) Show(p mcp.ProgressParams) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress, w.known = p, true
	if w.to.Drawing || time.Since(w.since) < showAfter || time.Since(w.last) < linePause {
		return
	}
	w.last = time.Now()
	if p.Total > 0 {
		w.to.Info("%3.0f %%  %s", percent(p), CleanLine(p.Message))
		return
	}
	w.to.Info("%s", strings.TrimLeft(countOf(p)+"  "+CleanLine(p.Message), " "))
}

// Pause hides the bar until Resume.
func (w *Progress) Pause() {
	w.mu.Lock()
	w.paused++
	w.mu.Unlock()
	w.to.clear()
}

// Resume shows the bar again, after as many calls as of Pause.
func (w *Progress) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused--
}
