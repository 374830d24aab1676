package proof

import (
	"flag"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

var (
	full   = flag.Bool("full", false, "send every attack, not some of each kind")
	update = flag.Bool("update", false, "write the verdicts anew; implies -full")
)

// one is the sample rate of make test: it sends one attack of this many.
const one = 23

// A transport carries the attacks.
type transport struct {
	name     string
	speaks   func(v mcp.Revision) bool
	requests bool // its HTTP requests can be attacked, too
	open     func(t *testing.T, addr string, v mcp.Revision, fresh bool) pipe
}

var everyTransport = []transport{
	{"stdio", func(mcp.Revision) bool { return true }, false, overStdio},
	{"http", func(mcp.Revision) bool { return true }, true, overHTTP},
	{"sse", func(v mcp.Revision) bool { return v != mcp.V20260728 }, false, overEvents},
}

// A failure here means that an invalid message is answered in a different way than
// recorded, or that the server does not survive it. The verdicts are in testdata/hostile;
// go test ./proof -run TestHostile -update writes them, and the diff shows what has
// changed.
func TestHostile(t *testing.T) {
	t.Parallel()
	began := time.Now()
	server := startChild(t, "http")
	defer server.end(t)
	var sent atomic.Int64
	t.Run("over", func(t *testing.T) {
		for _, tr := range everyTransport {
			t.Run(tr.name, func(t *testing.T) {
				t.Parallel()
				tr.attack(t, server.addr, &sent)
			})
		}
	})
	t.Attr("verdict", fmt.Sprintf("hostile: %d attacks of %d kinds over %d transports, each with its verdict and a good call behind it; %.0f s",
		sent.Load(), len(operators)+len(requestOperators)+len(handWritten), len(everyTransport), time.Since(began).Seconds()))
}

// attack sends all attacks over one transport, in all revisions at once.
func (tr transport) attack(t *testing.T, addr string, sent *atomic.Int64) {
	attacks := tr.attacks(t)
	expected, got := make(verdicts), make(verdicts)
	if !*update {
		expected = readVerdicts(t, tr.name)
	}
	if len(expected) != len(attacks) && !*update {
		t.Errorf("%s has %d verdicts for %d attacks: write it anew with -update", verdictFile(tr.name), len(expected), len(attacks))
	}
	var mu sync.Mutex
	t.Run("in", func(t *testing.T) {
		for _, v := range mcp.Revisions() {
			t.Run(v.String(), func(t *testing.T) {
				t.Parallel()
				l := attackWorker{t: t, transport: tr, addr: addr, revision: v}
				defer l.leave()
				for a := range chosen(attacks, v) {
					verdict := l.try(a, expected[a.key()])
					a.judge(t, expected[a.key()], verdict)
					mu.Lock()
					got[a.key()] = verdict
					mu.Unlock()
					if sent.Add(1)%100 == 0 {
						callByAnother(t, addr)
					}
				}
			})
		}
	})
	if *update {
		got.write(t, tr.name, attacks)
	}
}

// chosen are the attacks in one revision: all of them, or a sample of each kind.
func chosen(attacks []attack, v mcp.Revision) iter.Seq[*attack] {
	return func(yield func(*attack) bool) {
		for i := range attacks {
			a := &attacks[i]
			if a.revision == v.String() && (*full || *update || i%one == 0) && !yield(a) {
				return
			}
		}
	}
}

// An attackWorker sends attacks over one transport in one revision, and reconnects when the
// connection is lost.
type attackWorker struct {
	t         *testing.T
	transport transport
	addr      string
	revision  mcp.Revision
	pipe      pipe
}

func (l *attackWorker) try(a *attack, expected string) string {
	if a.fresh {
		l.leave()
	}
	if l.pipe == nil {
		l.pipe = l.transport.open(l.t, l.addr, l.revision, a.fresh)
	}
	sent := *a
	if a.make != nil {
		sent.frame = a.make()
	}
	verdict := l.pipe.try(&sent, expected)
	if a.fresh || strings.Contains(verdict, connectionEnds) {
		l.leave()
	}
	return verdict
}

func (l *attackWorker) leave() {
	if l.pipe != nil {
		l.pipe.close()
		l.pipe = nil
	}
}

// judge compares the response with the expected one, and both with the code that the
// operator always causes.
func (a *attack) judge(t *testing.T, expected, got string) {
	t.Helper()
	if got != expected && !*update {
		t.Errorf("%s, %s %s: got %q, want %q for %.200q", a.operator, a.revision, a.title, got, expected, a.frame)
	}
	if a.code != "" && !strings.Contains(got, a.code) {
		t.Errorf("%s, %s %s: got %q, want %s in any case", a.operator, a.revision, a.title, got, a.code)
	}
}

// attacks returns all attacks over a transport, in the order of their file.
func (tr transport) attacks(t *testing.T) (list []attack) {
	all := seeds(t)
	for _, o := range operators {
		for _, s := range all {
			if tr.speaks(s.revision) {
				list = append(list, o.attacks(s)...)
			}
		}
	}
	for _, v := range mcp.Revisions() {
		if !tr.speaks(v) {
			continue
		}
		for _, w := range handWritten {
			if tr.name == "stdio" && (w.size() < 16<<20 || v == mcp.V20251125) || w.size() < 8<<20 {
				list = append(list, attack{operator: "written by hand", revision: v.String(), title: w.title, make: w.bytes, id: "1"})
			}
		}
	}
	if tr.requests {
		list = append(list, requestAttacks()...)
	}
	return list
}

// attacks returns the messages that the operator makes of a seed. The id distinguishes
// its response from others, even after a bit was changed.
func (o operator) attacks(s seed) []attack {
	id := fmt.Sprintf(`"%016x"`, s.random(o.name).Uint64())
	if !s.isNotification() {
		s.message = s.with("id", id)
	}
	frame := o.mutate(s)
	if frame == nil {
		return nil
	}
	a := attack{operator: o.name, revision: s.revision.String(), title: s.title, frame: frame, id: id, method: s.title, fresh: s.title == "initialize"}
	if !s.isNotification() {
		a.code = o.code
	}
	return []attack{a}
}

func requestAttacks() (list []attack) {
	for _, o := range requestOperators {
		for _, v := range mcp.Revisions() {
			list = append(list, attack{
				operator: "request: " + o.name, revision: v.String(), title: "tools/call", method: "tools/call",
				frame: []byte(goodCall(v, "attack")), id: `"attack"`, request: o.change,
			})
		}
	}
	return list
}

// callByAnother checks that the process still serves other clients.
func callByAnother(t *testing.T, addr string) {
	t.Helper()
	p := overHTTP(t, addr, mcp.V20260728, true).(*httpPipe)
	defer p.close()
	if fault := p.health("no answer"); fault != "" {
		t.Fatalf("a good call by another: %s", fault)
	}
}
