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

	mu     sync.Mutex
	report checkReport // guarded by mu
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

// startChecks begins a run unless one is under way. It ends with the console.
func (c *Console) startChecks() {
	k := &c.checks
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.report.Running {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.beginLocked(func() { k.finish(k.run(c.ctx, k.add)) }) {
		k.report = checkReport{Started: time.Now(), Running: true}
	}
}

// finish ends a run, with an error or nil.
func (c *checks) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Running = false; err != nil {
		c.report.Problem = err.Error()
	}
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

// check shows the checks and, for a POST, begins them.
func (c *Console) check(w http.ResponseWriter, r *http.Request, s *session) {
	if r.Method == http.MethodPost {
		c.startChecks()
		http.Redirect(w, r, s.path()+"check", http.StatusSeeOther)
		return
	}
	c.show(w, s, "check", &view{Title: "Check", Section: "check", Data: c.checks.now()})
}
