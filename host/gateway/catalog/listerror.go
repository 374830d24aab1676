package catalog

import (
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
)

// errListedTooMuch says why the rest of the lists of an upstream was not read, and errListTooLong why the
// rest of one list was not.
var (
	errListedTooMuch = fmt.Errorf("the lists have more than %d bytes; the rest is left out", maxListedBytes)
	errListTooLong   = fmt.Errorf("more than %d; the rest is left out", maxListed)
)

// listError says why a list could not be read to its end.
type listError struct {
	kind   host.DefinitionKind
	err    string
	failed bool      // reading it again may help: it does not exceed a limit
	since  time.Time // when the list that stays in force was read, or zero if there is none
}

// newListError returns the error of a list. before is the catalog whose list stays in force if it failed.
func newListError(kind host.DefinitionKind, err error, before *Catalog) listError {
	e := listError{kind: kind, err: host.CutText(err.Error(), maxOmission)}
	if e.failed = err != errListedTooMuch && err != errListTooLong; e.failed {
		e.since = before.readAt(kind)
	}
	return e
}

// text returns the error with the age of the list that stays in force.
func (e listError) text() string {
	kept := ""
	if !e.since.IsZero() {
		kept = fmt.Sprintf("; the list that was read %v ago stays in force", time.Since(e.since).Truncate(time.Second))
	}
	return host.CutText(fmt.Sprintf("%ss: %s", e.kind, e.err), maxOmission-len(kept)) + kept
}

// errorTexts returns the texts of the lists that could not be read to their end.
func (c *Catalog) errorTexts() (texts []string) {
	for _, e := range c.omitted {
		texts = append(texts, e.text())
	}
	return texts
}

// readAt returns when a list was read, or zero if it never was.
func (c *Catalog) readAt(kind host.DefinitionKind) time.Time {
	for _, e := range c.omitted {
		if e.kind == kind && e.failed {
			return e.since
		}
	}
	return c.read
}

// hasFailed reports whether a list could not be read for another reason than a limit.
func (c *Catalog) hasFailed() bool {
	for _, e := range c.omitted {
		if e.failed {
			return true
		}
	}
	return false
}

const (
	// firstListRetry is the pause before lists that could not be read are read again. It doubles with each
	// failure, up to maxListRetry.
	firstListRetry = 10 * time.Second
	maxListRetry   = 10 * time.Minute
)

// listRetry makes lists be read again that could not be read. It is for one goroutine.
type listRetry struct {
	pause time.Duration // before the last retry; zero if the last read has not failed
	stop  func()        // stops the read after the pause, or nil
}

// schedule calls read after a pause if the last read has failed.
func (r *listRetry) schedule(p *link.Pool, failed bool, read func()) {
	if r.stop != nil {
		r.stop()
	}
	if !failed {
		r.pause = 0
		return
	}
	r.pause = min(max(2*r.pause, firstListRetry), maxListRetry)
	r.stop = p.After(r.pause, read)
}
