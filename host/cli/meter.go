package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// meter tells a user who waits that something goes on, and how far it has come:
// drawn in place on a terminal, otherwise by lines when there is progress. What is
// done quickly shows nothing.
type meter struct {
	to    *Main
	what  string
	since time.Time

	mu       sync.Mutex
	progress mcp.ProgressParams // the last one
	known    bool               // there was one
	paused   int                // while the user is asked
	last     time.Time          // of the last line

	stopped chan struct{}
	ended   chan struct{}
}

const (
	quick        = 700 * time.Millisecond // what is done by then shows nothing
	linePause    = 200 * time.Millisecond // between two lines
	drawInterval = 100 * time.Millisecond
)

// measure starts a meter for something that now begins. It is to be stopped
// before data is written.
func (m *Main) measure(format string, args ...any) *meter {
	w := &meter{to: m, what: fmt.Sprintf(format, args...), since: time.Now(), stopped: make(chan struct{}), ended: make(chan struct{})}
	if !m.Drawing || m.words.quiet {
		close(w.ended)
		return w
	}
	go w.run()
	return w
}

// stop removes the meter.
func (w *meter) stop() {
	close(w.stopped)
	<-w.ended
}

// run draws until stop.
func (w *meter) run() {
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

func (w *meter) draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if took := time.Since(w.since); took >= quick && w.paused == 0 {
		w.to.draw(w.line(took))
	}
}

// line is what is drawn. The caller holds mu.
func (w *meter) line(took time.Duration) string {
	seconds := fmt.Sprintf("%d s", int(took.Seconds()))
	p := w.progress
	switch {
	case !w.known:
		return fmt.Sprintf("  %s  %s", w.what, seconds)
	case p.Total > 0:
		return fmt.Sprintf("  %s %3.0f %%  %s  %s", bar(p.Progress/p.Total), percent(p), seconds, p.Message)
	}
	return fmt.Sprintf("  %s  %v  %s  %s", w.what, p.Progress, seconds, p.Message)
}

func percent(p mcp.ProgressParams) float64 { return 100 * min(max(p.Progress/p.Total, 0), 1) }

// barWidth is that of a bar, in characters.
const barWidth = 20

// bar draws a part of a whole.
func bar(part float64) string {
	done := int(min(max(part, 0), 1) * barWidth)
	return strings.Repeat("█", done) + strings.Repeat("░", barWidth-done)
}

// show notes how far a call has come.
func (w *meter) show(p mcp.ProgressParams) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress, w.known = p, true
	if w.to.Drawing || time.Since(w.since) < quick || time.Since(w.last) < linePause {
		return
	}
	w.last = time.Now()
	if p.Total > 0 {
		w.to.note("%3.0f %%  %s", percent(p), cleanLine(p.Message))
		return
	}
	w.to.note("%v  %s", p.Progress, cleanLine(p.Message))
}

// pause hides the meter until resume.
func (w *meter) pause() {
	w.mu.Lock()
	w.paused++
	w.mu.Unlock()
	w.to.clear()
}

func (w *meter) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused--
}
