package spawn

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

const (
	maxStderrLine = 4 << 10 // bytes of a line that is passed on
	lineBurst     = 100     // lines that are passed on at once
	linesPerSec   = 20      // and the rate after that
)

// tail receives the standard error of a child. It keeps the last bytes and passes lines on at
// a bounded rate. Write never fails, so that reading continues.
type tail struct {
	lines *lines // nil without StderrLine

	mu    sync.Mutex
	limit int
	ring  []byte // grows to limit, then is overwritten from next on
	next  int
}

func newTail(limit int, emit func(string, int)) *tail {
	t := &tail{limit: limit}
	if emit != nil {
		t.lines = &lines{emit: emit, credit: lineBurst, at: time.Now()}
	}
	return t
}

func (t *tail) Write(p []byte) (int, error) {
	t.keep(p)
	if t.lines != nil {
		t.lines.write(p)
	}
	return len(p), nil
}

func (t *tail) keep(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over := len(p) - t.limit; over > 0 {
		p = p[over:]
	}
	if room := t.limit - len(t.ring); room > 0 {
		n := min(room, len(p))
		t.ring = append(t.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(t.ring[t.next:], p)
		t.next = (t.next + n) % t.limit
		p = p[n:]
	}
}

// end is called after the last Write.
func (t *tail) end() {
	if t.lines != nil {
		t.lines.end()
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.ring[t.next:])+string(t.ring[:t.next]), "\uFFFD")
}

// last returns at most limit of the last bytes, from the beginning of a line if one begins
// there.
func (t *tail) last(limit int) string {
	text := t.String()
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if _, whole, found := strings.Cut(text, "\n"); found {
		return whole
	}
	return strings.ToValidUTF8(text, "")
}

// lastLine returns the last line that has something printable in it.
func (t *tail) lastLine() string {
	text := t.String()
	for text != "" {
		i := strings.LastIndexByte(text, '\n')
		if line := printable(text[i+1:], maxLastLine); line != "" {
			return line
		}
		text = text[:max(i, 0)]
	}
	return ""
}

// lines cuts a stream into lines and emits them within the rate.
type lines struct {
	emit func(line string, omitted int)
	line []byte // the beginning of the line that has not ended, cut

	credit  float64
	at      time.Time
	omitted int
	last    string // the last line left out
}

func (l *lines) write(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		l.line = append(l.line, line[:min(len(line), maxStderrLine-len(l.line))]...)
		if ended {
			l.flush()
		}
		p = rest
	}
}

func (l *lines) flush() {
	line := strings.ToValidUTF8(string(bytes.TrimSuffix(l.line, []byte{'\r'})), "\uFFFD")
	l.line = l.line[:0]
	if !l.allowed() {
		l.omitted++
		l.last = line
		return
	}
	l.emit(line, l.omitted)
	l.omitted = 0
}

// allowed reports whether the rate allows one more line now, and counts it.
func (l *lines) allowed() bool {
	now := time.Now()
	l.credit = min(lineBurst, l.credit+linesPerSec*now.Sub(l.at).Seconds())
	l.at = now
	if l.credit < 1 {
		return false
	}
	l.credit--
	return true
}

// end emits the unfinished last line, or the last line if it was omitted.
func (l *lines) end() {
	if len(l.line) > 0 {
		l.flush()
	}
	if l.omitted > 0 {
		l.emit(l.last, l.omitted-1)
	}
}
