package console

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// maxCheckResults limits the results of the checks that a page shows.
const maxCheckResults = 1000

// CheckResult is what a check of the server has found.
type CheckResult struct {
	Check    string
	Revision mcp.Revision // zero for a check of no revision
	// Status is ok, warning, fault or skipped.
	Status string
	// Text may have text of the server, and Spec is the page of the specification; it may be empty.
	Text, Spec string
}

// checks are the checks of the server. One run at a time is made, whose results all sessions see.
type checks struct {
	run func(ctx context.Context, onResult func(CheckResult)) error // nil if there are none

	mu      sync.Mutex
	report  checkReport   // guarded by mu
	running chan struct{} // guarded by mu: closed when the run ends; nil before the first one
}

// checkReport is the data of the page.
type checkReport struct {
	// Started is zero before the first run, and Running holds until it ends.
	Started time.Time
	Running bool
	// Results are those that are known, without what was skipped.
	Results          []CheckResult
	Faults, Warnings int
	// Problem is why the server could not be checked to the end.
	Problem string
}

// start begins a run unless one is under way. It ends with ctx.
func (c *checks) start(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Running || ctx.Err() != nil {
		return
	}
	ended := make(chan struct{})
	c.report, c.running = checkReport{Started: time.Now(), Running: true}, ended
	go func() {
		defer close(ended)
		err := c.run(ctx, c.add)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.report.Running = false; err != nil {
			c.report.Problem = err.Error()
		}
	}()
}

// add keeps a result.
func (c *checks) add(r CheckResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Status {
	case "skipped":
		return
	case "fault":
		c.report.Faults++
	case "warning":
		c.report.Warnings++
	}
	if len(c.report.Results) < maxCheckResults {
		c.report.Results = append(c.report.Results, r)
	}
}

// now returns the report as it is now.
func (c *checks) now() *checkReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.report
	r.Results = slices.Clone(r.Results)
	return &r
}

// wait waits for the run that is under way.
func (c *checks) wait() {
	c.mu.Lock()
	running := c.running
	c.mu.Unlock()
	if running != nil {
		<-running
	}
}

// check shows the checks and, for a POST, begins them.
func (c *Console) check(w http.ResponseWriter, r *http.Request, s *session) {
	if r.Method == http.MethodPost {
		c.checks.start(c.ctx)
		http.Redirect(w, r, s.path()+"check", http.StatusSeeOther)
		return
	}
	c.show(w, s, "check", &view{Title: "Check", Section: "check", Data: c.checks.now()})
}
