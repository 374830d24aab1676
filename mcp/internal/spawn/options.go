package spawn

import "time"

// Options configure how a child is monitored and ended. Nil means all defaults, and so does
// the zero value of every field.
type Options struct {
	// TermAfter is how long after Close, which closes its standard input, the
	// child is asked to terminate. Default 2 s.
	TermAfter time.Duration

	// KillAfter is how long after Close the child is killed. Default 4 s.
	KillAfter time.Duration

	// WaitDelay is how long the child's pipes are still read after its end, if a process
	// that left its tree keeps them open. Default 500 ms.
	WaitDelay time.Duration

	// StderrLimit is how many of the last bytes of standard error are kept, for
	// StderrTail. Default 256 KiB.
	StderrLimit int

	// StderrLine, if not nil, is called with each line of standard error, cut at 4 KiB, and
	// the number of lines omitted before it: after a burst of 100, more than 20 lines a
	// second are counted only. The last line is never omitted. It is called from one
	// goroutine, before Done is closed, and standard error is not read while it runs.
	StderrLine func(line string, omitted int)
}

func (o *Options) termAfter() time.Duration {
	if o == nil || o.TermAfter <= 0 {
		return 2 * time.Second
	}
	return o.TermAfter
}

func (o *Options) killAfter() time.Duration {
	if o == nil || o.KillAfter <= 0 {
		return 4 * time.Second
	}
	return o.KillAfter
}

func (o *Options) waitDelay() time.Duration {
	if o == nil || o.WaitDelay <= 0 {
		return 500 * time.Millisecond
	}
	return o.WaitDelay
}

func (o *Options) stderrLimit() int {
	if o == nil || o.StderrLimit <= 0 {
		return 256 << 10
	}
	return o.StderrLimit
}

func (o *Options) stderrLine() func(string, int) {
	if o == nil {
		return nil
	}
	return o.StderrLine
}
