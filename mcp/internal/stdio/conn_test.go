package stdio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

// messages reads until an error that is final, and puts frame errors in their
// places.
func messages(t *testing.T, c mcp.Conn) (got []string, end error) {
	t.Helper()
	for {
		msg, err := c.Read(t.Context())
		frame, dropped := errors.AsType[*mcp.FrameError](err)
		switch {
		case dropped:
			got = append(got, "! "+frame.Reason)
		case err != nil:
			return got, err
		default:
			got = append(got, string(msg))
		}
	}
}

func TestLinesAreMessages(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068", "R-087")
	long := strings.Repeat("x", 300_000)
	tests := []struct {
		stream string
		want   []string
	}{
		{"", nil},
		{"\n", nil},
		{"{}\n", []string{"{}"}},
		{"{}\n[]\n", []string{"{}", "[]"}},
		{"{}\r\n[]\r\n", []string{"{}", "[]"}},
		{"\n\r\n  \t\n{}\n\n", []string{"{}"}},
		{"{}", []string{"{}"}},
		{"{}\n  ", []string{"{}"}},
		{" {} \n", []string{" {} "}},
		{"{\"a\":\"\u2028\u2029\x85\"}\n", []string{"{\"a\":\"\u2028\u2029\x85\"}"}},
		{"{}\r{}\n", []string{"{}\r{}"}},
		{long + "\n{}\n" + long + "\r\n" + long, []string{long, "{}", long, long}},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":     func(r io.Reader) io.Reader { return r },
		"bytewise":  iotest.OneByteReader,
		"with EOF":  iotest.DataErrReader,
		"in halves": iotest.HalfReader,
	}
	for _, test := range tests {
		for name, reader := range readers {
			c := stdio.New(reader(strings.NewReader(test.stream)), io.Discard, nil, nil)
			got, err := messages(t, c)
			if err != io.EOF || !equal(got, test.want) {
				t.Errorf("%s of %.40q: got %.80q, %v, want %.80q, io.EOF", name, test.stream, got, err, test.want)
			}
			_ = c.Close()
		}
	}
}

func equal(a, b []string) bool { return fmt.Sprintf("%q", a) == fmt.Sprintf("%q", b) }

func TestOverlongLineIsSkippedAndReported(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	fits, tooLong := strings.Repeat("x", limit), strings.Repeat("y", limit+1)
	dropped := "! message longer than 10000 bytes"
	stream := fits + "\n" + tooLong + "\n{}\n" + fits + "\r\n" + tooLong + tooLong + "\n" + tooLong + "\r\n" + "[]\n"
	want := []string{fits, dropped, "{}", fits, dropped, dropped, "[]"}
	for name, r := range map[string]io.Reader{
		"whole":    strings.NewReader(stream),
		"bytewise": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		c := stdio.New(r, io.Discard, nil, &stdio.Options{MaxLine: limit})
		got, err := messages(t, c)
		if err != io.EOF || !equal(got, want) {
			t.Errorf("%s: got %.20q, %v, want %.20q, io.EOF", name, got, err, want)
		}
		_ = c.Close()
	}
}

// endless is a stream of zeros that counts what is taken from it.
type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.taken += len(p)
	return len(p), nil
}

// Not parallel: it counts the allocations of the process. S-024, A20.
func TestLineWithoutEndBreaksTheConnectionInBoundedMemory(t *testing.T) {
	const limit = 16 << 20
	stream := new(endless)
	c := stdio.New(stream, io.Discard, nil, nil)
	defer c.Close()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Read(t.Context())
	runtime.ReadMemStats(&after)

	if _, ok := errors.AsType[*mcp.FrameError](err); err == nil || ok || !strings.Contains(err.Error(), "no newline in ") {
		t.Errorf("got %v, want an error that ends the connection", err)
	}
	if stream.taken < limit || stream.taken > 4*limit+1<<20 {
		t.Errorf("got %d bytes read, want at most four times the limit of %d", stream.taken, limit)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > limit+1<<20 {
		t.Errorf("got %d bytes allocated, want little more than the limit of %d", got, limit)
	}
	if _, again := c.Read(t.Context()); fmt.Sprint(again) != fmt.Sprint(err) {
		t.Errorf("second read: got %v, want %v again", again, err)
	}
}

func TestFailureOfTheStreamIsReportedAfterItsMessages(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	c := stdio.New(io.MultiReader(strings.NewReader("{}\nhalf a li"), iotest.ErrReader(broken)), io.Discard, nil, nil)
	defer c.Close()
	got, err := messages(t, c)
	if !errors.Is(err, broken) || !equal(got, []string{"{}"}) {
		t.Errorf("got %q, %v, want one message and %v", got, err, broken)
	}
}

// link is a one-way stream of some kind between two processes' ends.
type link struct {
	r io.ReadCloser
	w io.WriteCloser
}

var links = map[string]func(t *testing.T) link{
	"os.Pipe": func(t *testing.T) link { // deadlines, and a buffer in the kernel
		r, w := pipe(t)
		return link{r, w}
	},
	"net.Pipe": func(*testing.T) link { // deadlines, no buffer
		r, w := net.Pipe()
		return link{r, w}
	},
	"io.Pipe": func(*testing.T) link { // no deadlines
		r, w := io.Pipe()
		return link{r, w}
	},
}

// pipe keeps both ends open for the whole test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closers{r, w}.Close() })
	return r, w
}

// closers closes several things as one.
type closers []io.Closer

func (c closers) Close() error {
	for _, one := range c {
		_ = one.Close()
	}
	return nil
}

// blocked returns a Conn whose Read and Write both block, and its options set.
func blocked(l, back link, opts *stdio.Options) *stdio.Conn {
	return stdio.New(l.r, back.w, closers{l.r, back.w}, opts)
}

func TestReadObeysItsContextAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, open := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			c := stdio.New(l.r, io.Discard, l.r, nil)
			defer c.Close()
			wrote := make(chan struct{})
			go func() {
				defer close(wrote)
				_, _ = io.WriteString(l.w, `{"half":`)
			}()
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				if msg, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %s, %v, want %v", msg, err, context.DeadlineExceeded)
				}
				cancel()
			}
			<-wrote
			go func() { _, _ = io.WriteString(l.w, "true}\n") }()
			if msg, err := c.Read(t.Context()); err != nil || string(msg) != `{"half":true}` {
				t.Errorf("got %s, %v, want the whole message", msg, err)
			}
		})
	}
}

func TestCloseUnblocksReadAndWrite(t *testing.T) {
	t.Parallel()
	for name, open := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := blocked(open(t), open(t), nil)
			results := make(chan error, 3)
			go func() {
				_, err := c.Read(t.Context())
				results <- err
			}()
			for range 2 { // one in the write, one waiting for its turn
				go func() { results <- c.Write(t.Context(), make([]byte, 1<<20)) }()
			}
			time.Sleep(20 * time.Millisecond)
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			for range 3 {
				if err := <-results; !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
				}
			}
			if msg, err := c.Read(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("read after close: got %s, %v, want %v", msg, err, io.ErrClosedPipe)
			}
			if err := c.Write(t.Context(), []byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("write after close: got %v, want %v", err, io.ErrClosedPipe)
			}
			if err := c.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		})
	}
}

func TestCloseWithoutACloserUnblocksStreamsWithDeadlines(t *testing.T) {
	t.Parallel()
	r, _ := pipe(t)
	_, w := pipe(t)
	c := stdio.New(r, w, nil, nil)
	results := make(chan error, 2)
	go func() {
		_, err := c.Read(t.Context())
		results <- err
	}()
	go func() { results <- c.Write(t.Context(), make([]byte, 1<<20)) }()
	time.Sleep(20 * time.Millisecond)
	_ = c.Close()
	for range 2 {
		if err := <-results; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
		}
	}
}

// slowEnd is a reader that takes a moment to notice that it was closed.
type slowEnd struct {
	reading  chan struct{}
	closed   chan struct{}
	returned atomic.Bool
}

func (s *slowEnd) Read([]byte) (int, error) {
	close(s.reading)
	<-s.closed
	time.Sleep(20 * time.Millisecond)
	s.returned.Store(true)
	return 0, io.EOF
}

func (s *slowEnd) Close() error {
	close(s.closed)
	return nil
}

func TestCloseWaitsForTheReadingGoroutine(t *testing.T) {
	t.Parallel()
	r := &slowEnd{reading: make(chan struct{}), closed: make(chan struct{})}
	c := stdio.New(r, io.Discard, r, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-r.reading
		cancel()
	}()
	if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if err := c.Close(); err != nil || !r.returned.Load() {
		t.Errorf("got Close back with %v before the reader", err)
	}
}

func TestWriteToAPeerThatDoesNotReadTimesOut(t *testing.T) {
	t.Parallel()
	for name, open := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := blocked(open(t), open(t), &stdio.Options{WriteTimeout: 20 * time.Millisecond})
			defer c.Close()
			err := c.Write(t.Context(), make([]byte, 1<<20))
			if err == nil || !strings.Contains(err.Error(), "the peer has not read for 20ms") {
				t.Errorf("got %v, want a timeout", err)
			}
			if err := c.Write(t.Context(), []byte("{}")); err == nil {
				t.Error("write on the broken connection: got nil, want an error")
			}
		})
	}
}

// recorder keeps every single write.
type recorder struct{ writes []string }

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func TestMessageIsOneWrite(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068")
	rec := new(recorder)
	c := stdio.New(strings.NewReader(""), rec, nil, nil)
	defer c.Close()
	for _, msg := range []string{`{"id":1}`, strings.Repeat("x", 200_000), `{"id":2}`} {
		if err := c.Write(t.Context(), []byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"{\"id\":1}\n", strings.Repeat("x", 200_000) + "\n", "{\"id\":2}\n"}; !equal(rec.writes, want) {
		t.Errorf("got %.20q, want %.20q", rec.writes, want)
	}
}

func TestMessageWithNewlineIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068")
	rec := new(recorder)
	c := stdio.New(strings.NewReader(""), rec, nil, nil)
	defer c.Close()
	err := c.Write(t.Context(), []byte("{\n}"))
	if got, want := fmt.Sprint(err), "write message: newline at byte 1: a message is one line"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := c.Write(t.Context(), []byte("{}")); err != nil || !equal(rec.writes, []string{"{}\n"}) {
		t.Errorf("got %q, %v, want the connection to go on", rec.writes, err)
	}
}

func TestConcurrentWritesDoNotMix(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068", "R-070")
	r, w := pipe(t)
	a := stdio.New(strings.NewReader(""), w, w, nil)
	b := stdio.New(r, io.Discard, r, nil)
	defer b.Close()
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for j := range 50 {
				if err := a.Write(t.Context(), bytes.Repeat([]byte{byte('a' + i)}, 1+j*500)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		writers.Wait()
		_ = a.Close()
	}()
	got, err := messages(t, b)
	if err != io.EOF || len(got) != 400 {
		t.Fatalf("got %d messages, %v, want 400, io.EOF", len(got), err)
	}
	for _, msg := range got {
		if strings.Trim(msg, msg[:1]) != "" || (len(msg)-1)%500 != 0 {
			t.Errorf("got a mixed message of %d bytes", len(msg))
		}
	}
}

func TestCancelledWriteLeavesTheStreamWhole(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	a := stdio.New(strings.NewReader(""), w, w, nil)
	begun, withdrawn, last := strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20), strings.Repeat("c", 1<<20)

	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error)
	go func() { cancelled <- a.Write(ctx, []byte(begun)) }()
	first := make([]byte, 1)
	_, _ = io.ReadFull(r, first) // it has begun
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := a.Write(ctx, []byte(withdrawn)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
	}
	go func() {
		if err := a.Write(t.Context(), []byte(last)); err != nil {
			t.Error(err)
		}
		_ = a.Close()
	}()

	b := stdio.New(io.MultiReader(bytes.NewReader(first), r), io.Discard, r, nil)
	defer b.Close()
	got, err := messages(t, b)
	if want := []string{begun, last}; err != io.EOF || !equal(got, want) {
		t.Errorf("got %.10q, %v, want %.10q, io.EOF", got, err, want)
	}
}

func TestWriteObeysItsContextWhileOthersWrite(t *testing.T) {
	t.Parallel()
	for name, open := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back := open(t)
			c := blocked(open(t), back, nil)
			stuck := make(chan error)
			go func() { stuck <- c.Write(t.Context(), make([]byte, 1<<20)) }()
			_, _ = back.r.Read(make([]byte, 1)) // it is writing now
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := c.Write(ctx, []byte("{}")); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
			_ = c.Close()
			<-stuck
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\r\n\n[1]\nhalf"), uint64(1))
	f.Add([]byte("0123456789\n0123456789\r\n01234567890\n"), uint64(2))
	f.Add(bytes.Repeat([]byte("0123456789"), 5), uint64(3))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		const limit = 10
		r := &dribble{rest: stream, random: rand.New(rand.NewPCG(seed, 0))}
		want, ok := model(string(stream), limit)
		if !ok {
			return // how much of an overlong line is skipped depends on how it arrives
		}
		c := stdio.New(r, io.Discard, nil, &stdio.Options{MaxLine: limit})
		defer c.Close()
		if got, err := messages(t, c); !equal(got, want) || err != io.EOF {
			t.Errorf("%q: got %q, %v, want %q, io.EOF", stream, got, err, want)
		}
	})
}

// model says what a stream means, unless a line in it is over four times the
// limit.
func model(stream string, limit int) (want []string, ok bool) {
	lines := strings.Split(stream, "\n")
	for i, line := range lines {
		if len(line) > 4*limit {
			return nil, false
		}
		line = strings.TrimSuffix(line, "\r")
		switch ended := i < len(lines)-1; {
		case len(line) > limit && ended:
			want = append(want, "! message longer than 10 bytes")
		case len(line) <= limit && strings.TrimSpace(line) != "":
			want = append(want, line)
		}
	}
	return want, true
}

// dribble returns its bytes in pieces of random lengths.
type dribble struct {
	rest   []byte
	random *rand.Rand
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+d.random.IntN(8))], d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
