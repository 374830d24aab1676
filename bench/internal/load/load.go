// Package load is the client of a measurement. It speaks the protocol on raw sockets
// and pipes, without a library, so that its own cost is small compared with the server's,
// and it checks every answer: it must have the requested id, text or sum.
//
// It works only on Linux.
package load

import "time"

// Params say what one measurement does.
type Params struct {
	URL     string   // of a server over HTTP; empty: Command is started
	Command []string // a server over stdio
	PID     int      // the process of the server at URL

	Era      string // 25 or 26
	Call     string // echo, add, big or list
	Callers  int    // connections; over stdio, requests in flight
	Sessions int    // era 25 over HTTP: sessions that the callers share; 0: one each
	Size     int    // bytes of text to echo
	Tools    int    // generated tools that a list has to have
	// Rate is how many calls a second are due over HTTP, one after the other, whether
	// or not those before were answered; the time of a call is from when it was due.
	// 0: a caller's next call is due when its last one was answered.
	Rate float64
	// Upstreams are the keys of the servers behind a gateway, all alike. A call is of
	// the first one's tool. None: the server is asked itself.
	Upstreams []string

	WarmUp  float64 // seconds that do not count
	Seconds float64 // seconds that do
}

// Outcome is what one measurement found. Times are in microseconds.
type Outcome struct {
	Calls     uint64
	PerSecond float64
	Median    float64
	P99       float64
	CPU       float64 // of the server, per call

	Wrong      uint64 // wrong answers, which do not count as calls
	FirstWrong string

	Generator float64 // processors that the client used: near 1, it is the client that was measured
	Others    float64 // processors that anything else on the machine used
}

// Run measures once.
func Run(p Params) (Outcome, error) {
	if p.URL == "" {
		return overStdio(p)
	}
	return overHTTP(p)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
