package spawn

import "time"

// Options adjusts how a child is watched and ended. Nil means all defaults, and
// so does the zero value of every field.
type Options struct {
	// TermAfter is how long after Close, which closes its standard input, the
	// child is asked to terminate. Default 2 s.
	TermAfter time.Duration

	// KillAfter is how long after Close the child is killed. Default 5 s.
	KillAfter time.Duration

	// WaitDelay is how long, after the child's end, its pipes are listened to
	// when a process that escaped still holds them. Default 500 ms.
	WaitDelay time.Duration

	// StderrLimit is how many of the last bytes of standard error are kept, for
	// StderrTail. Default 256 KiB.
	StderrLimit int

	// StderrLine, when not nil, is given the lines of standard error, cut at
	// 4 KiB, and the number of lines left out since the line before: more than
	// 20 lines a second, after a burst of 100, are counted only. The last line
	// always arrives. It is called from one goroutine, before Done is closed,
	// and the child waits while it runs.
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
		return 5 * time.Second
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
