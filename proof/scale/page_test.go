//go:build linux

package scale_test

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// page collects tables in Markdown. It is safe for concurrent use.
type page struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.TrimPrefix(p.text.String(), "\n")
}

// add adds a table. The first row is its head.
func (p *page) add(title string, rows ...[]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(&p.text, "\n### %s\n\n", title)
	for i, row := range rows {
		fmt.Fprintf(&p.text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&p.text, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
}

// seconds formats a time that may be anything between a millisecond and a minute.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
