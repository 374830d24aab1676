package load

import (
	"fmt"
	"os"
	"time"

	"github.com/fondaco/fondaco/bench/internal/proc"
)

// A meter measures one run. It discards the warm-up, which comes first.
type meter struct {
	pid            int
	warmUp, length time.Duration
	started, began time.Time // began is zero during the warm-up
	server, own    time.Duration
	busy           time.Duration
	latency        histogram
	wrong          uint64
	firstWrong     string
}

func newMeter(p Params, pid int) *meter {
	return &meter{pid: pid, warmUp: seconds(p.WarmUp), length: seconds(p.Seconds), started: time.Now()}
}

// over starts the measured time when the warm-up has ended, and reports whether the
// measured time has ended. It reports false before the first answer.
func (m *meter) over() bool {
	now := time.Now()
	if !m.began.IsZero() {
		return now.Sub(m.began) >= m.length && m.latency.count+m.wrong > 0
	}
	if now.Sub(m.started) >= m.warmUp {
		m.latency = histogram{}
		m.began = now
		m.server, m.own, m.busy = proc.CPU(m.pid), proc.CPU(os.Getpid()), proc.Busy()
	}
	return false
}

func (m *meter) answered(sent time.Time) { m.latency.add(time.Since(sent)) }

func (m *meter) answeredWrong(answer []byte) {
	m.wrong++
	if m.firstWrong == "" {
		m.firstWrong = fmt.Sprintf("%.300s", answer)
	}
}

func (m *meter) outcome() Outcome {
	length := time.Since(m.began)
	server, own := proc.CPU(m.pid)-m.server, proc.CPU(os.Getpid())-m.own
	return Outcome{
		Calls:      m.latency.count,
		PerSecond:  float64(m.latency.count) / length.Seconds(),
		Median:     micro(m.latency.quantile(0.5)),
		P99:        micro(m.latency.quantile(0.99)),
		CPU:        micro(server) / float64(max(1, m.latency.count)),
		Wrong:      m.wrong,
		FirstWrong: m.firstWrong,
		Generator:  own.Seconds() / length.Seconds(),
		Others:     max(0, (proc.Busy()-m.busy-server-own).Seconds()/length.Seconds()),
	}
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
