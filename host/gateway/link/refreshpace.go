package link

import "time"

const (
	// MinRefreshInterval is the minimum time between two reads of the lists.
	MinRefreshInterval = time.Second
	// refreshBurst is the number of reads after which changes are read once in slowRefreshInterval,
	// which is also the time in which one read of the burst is possible again.
	refreshBurst        = 30
	slowRefreshInterval = 10 * time.Second
	// refreshShare is how many times longer the pause is than the read before it, so that reads
	// take a fifth of the time at most, up to maxRefreshPause. While the lists stay equal, the pause doubles, up to maxRefreshPause, too.
	refreshShare    = 4
	maxRefreshPause = time.Minute
)

// RefreshPace determines when lists may be read again that an upstream changes or announces. It is for one
// goroutine at a time. The zero value permits a read at once.
type RefreshPace struct {
	ended time.Time     // the last read
	took  time.Duration // the last read
	burst float64       // the recent reads, less one for each slowRefreshInterval since
	equal time.Duration // the pause after reads that have found nothing new; zero if the last one has
}

// Rest returns how long to wait before the next read; at most 0 means not at all. While a request
// waits for the read, the burst may be twice as long. It has an end then, too: clients can make
// requests wait all the time.
func (p *RefreshPace) Rest(awaited bool) time.Duration {
	pause := MinRefreshInterval
	if p.burst > refreshBurst && !awaited || p.burst > 2*refreshBurst {
		pause = slowRefreshInterval
	}
	if !awaited {
		pause = max(pause, p.equal)
	}
	return max(pause, min(refreshShare*p.took, maxRefreshPause)) - time.Since(p.ended)
}

// Read notes a read that began then and ends now, and whether it has found the lists as they were.
func (p *RefreshPace) Read(began time.Time, equal bool) {
	switch {
	case !equal, began.Sub(p.ended) > 2*maxRefreshPause: // the announcements have ceased in between
		p.equal = 0
	default:
		p.equal = min(max(2*p.equal, MinRefreshInterval), maxRefreshPause)
	}
	p.burst = max(p.burst-float64(began.Sub(p.ended))/float64(slowRefreshInterval), 0) + 1
	p.ended = time.Now()
	p.took = p.ended.Sub(began)
}
