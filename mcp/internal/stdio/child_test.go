package stdio_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/spawn"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

func init() {
	// echo answers every line with the same.
	roles["echo"] = func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) }

	// print prints its arguments as lines, then echoes.
	roles["print"] = func(args []string) {
		fmt.Println(strings.Join(args, "\n"))
		_, _ = io.Copy(os.Stdout, os.Stdin)
	}

	// megabyte prints a few long lines that are not messages.
	roles["megabyte"] = func([]string) {
		for range 9 {
			fmt.Println(strings.Repeat("x", 128<<10))
		}
		_, _ = io.Copy(os.Stdout, os.Stdin)
	}

	// logger logs megabytes between its messages, then echoes.
	roles["logger"] = func([]string) {
		fmt.Println(`{"jsonrpc":"2.0","id":1}`)
		for range 2 << 10 {
			fmt.Println(strings.Repeat("x", 1<<10))
		}
		fmt.Println(`{"jsonrpc":"2.0","id":2}`)
		_, _ = io.Copy(os.Stdout, os.Stdin)
	}

	// crash takes one request and dies of it.
	roles["crash"] = func([]string) {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println(`{"last":1}`)
		fmt.Print(`{"half`)
		fmt.Fprintln(os.Stderr, "WEATHER_KEY is not set")
		os.Exit(2)
	}

	// burst sends messages and exits.
	roles["burst"] = func([]string) {
		for i := range 100 {
			fmt.Printf("{\"i\":%d}\n", i)
		}
	}

	// deaf never reads and hears no signal that can be ignored.
	roles["deaf"] = func([]string) {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("{}")
		time.Sleep(15 * time.Minute) // longer than a test waits for anything
	}

	// mute closes its output and lives on.
	roles["mute"] = func([]string) {
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}

	// launcher leaves its streams to another process and exits.
	roles["launcher"] = func([]string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=deaf")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		os.Exit(3)
	}
}

// exchange writes the message and wants it back.
func exchange(t *testing.T, c mcp.Conn, msg string) {
	t.Helper()
	written := make(chan error, 1)
	go func() { written <- c.Write(t.Context(), []byte(msg)) }()
	if got, err := c.Read(t.Context()); err != nil || string(got) != msg {
		t.Fatalf("got %.80s, %v, want %.80s", got, err, msg)
	}
	if err := <-written; err != nil {
		t.Fatalf("write: %v", err)
	}
}

// quick is for children that hear nothing.
func quick() *spawn.Options {
	return &spawn.Options{TermAfter: 50 * time.Millisecond, KillAfter: 100 * time.Millisecond}
}

func TestMessagesGoToTheServerAndBack(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-068", "R-070")
	c := start(t, nil, "echo")
	exchange(t, c, `{"id":1}`)
	exchange(t, c, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`) // more than the pipes hold at once
	exchange(t, c, `[{"id":1},{"id":2}]`)
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("read after close: got %v, want %v", err, io.ErrClosedPipe)
	}
	if err := c.Write(t.Context(), []byte("{}")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after close: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestStrayPrintsAreSkippedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	opts := &stdio.ChildOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	prints := []string{
		"\x1b]52;c;clipboard\a banner", "[info] ready", "{ port: 80 }", "{", `  "pretty": true`, "}", "null", `"text"`, "1",
		"{half", "[1,", "\xff\xfe", "}{", `{"open": 1`,
	}
	c := start(t, opts, "print", prints...)
	exchange(t, c, `{"id":1}`)
	exchange(t, c, ` { "id" : 2 } `)
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("got %d log lines:\n%s\nwant 1", got, log.String())
	}
	if !strings.Contains(log.String(), "server printed a line on standard output that is not a message") || strings.ContainsAny(log.String(), "\x1b\a") {
		t.Errorf("got %q, want a warning that is safe to show", log.String())
	}
}

func TestManyStrayLinesBeforeTheFirstMessageAreSkipped(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.Repeat("npm notice\x1b[31m,", 1000), ",")
	c := start(t, nil, "print", lines...)
	exchange(t, c, `{"jsonrpc":"2.0","id":1}`)
}

// A session that works is never lost because of what is skipped, however much it is.
func TestStrayOutputAfterTheFirstMessageCostsNoSession(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "logger")
	for _, want := range []string{`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":2}`} {
		if msg, err := c.Read(t.Context()); err != nil || string(msg) != want {
			t.Fatalf("got %.100s, %v, want %s", msg, err, want)
		}
	}
	exchange(t, c, `{"jsonrpc":"2.0","id":3}`)
}

func TestMegabyteOfStrayLinesBeforeTheFirstMessageBreaksTheConnection(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "megabyte")
	for range 2 {
		_, err := c.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), "1048576 bytes before its first message") || len(err.Error()) > 400 {
			t.Errorf("got %.500v, want a short error with 1048576 bytes before its first message", err)
		}
	}
}

func TestFramesOfALanguageServerAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Content-Length: 40\r", "content-length:40"} {
		c := start(t, nil, "print", "starting", header, "\r", "{}")
		if _, err := c.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "frames its messages with Content-Length, as a language server does") {
			t.Errorf("%q: got %v, want an error that names the frames", header, err)
		}
	}
	c := start(t, nil, "print", `{"jsonrpc":"2.0","id":1}`, "Content-Length: 40") // a log of a session that works
	if msg, err := c.Read(t.Context()); err != nil || string(msg) != `{"jsonrpc":"2.0","id":1}` {
		t.Errorf("got %s, %v, want the message", msg, err)
	}
	exchange(t, c, `{"jsonrpc":"2.0","id":2}`)
}

func TestOverlongMessageOfAServerIsReportedAndSkipped(t *testing.T) {
	t.Parallel()
	c := start(t, &stdio.ChildOptions{Conn: &stdio.Options{MaxLine: 100}}, "echo")
	if err := c.Write(t.Context(), []byte(`{"x":"`+strings.Repeat("x", 100)+`"}`)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(t.Context())
	if _, ok := errors.AsType[*mcp.FrameError](err); !ok {
		t.Errorf("got %v, want a frame error", err)
	}
	exchange(t, c, `{"id":1}`)
}

func TestDeathOfTheServerIsExplained(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "crash")
	if err := c.Write(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if msg, err := c.Read(t.Context()); err != nil || string(msg) != `{"last":1}` {
		t.Errorf("got %s, %v, want the last message", msg, err)
	}
	const want = "server exited with status 2: WEATHER_KEY is not set"
	for range 2 {
		if _, err := c.Read(t.Context()); fmt.Sprint(err) != want {
			t.Errorf("read: got %v, want %s", err, want)
		}
	}
	err := c.Write(t.Context(), []byte("{}"))
	if fmt.Sprint(err) != want {
		t.Errorf("write: got %v, want %s", err, want)
	}
	if exit, ok := errors.AsType[*spawn.ExitError](err); !ok || exit.Status != 2 {
		t.Errorf("got %#v, want an ExitError with status 2", err)
	}
}

func TestServerWhoseChildKeepsItsStreamsCountsAsExited(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "launcher")
	_, end := messages(t, c) // while the other process keeps the streams open
	if got, want := fmt.Sprint(end), "server exited with status 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAllMessagesOfAServerThatExitedAreReadThenItsStatus(t *testing.T) {
	t.Parallel()
	c := start(t, &stdio.ChildOptions{Process: &spawn.Options{WaitDelay: time.Millisecond}}, "burst")
	<-c.Process().Done()
	time.Sleep(20 * time.Millisecond) // a reader later than any delay
	got, err := messages(t, c)
	exit, ok := errors.AsType[*spawn.ExitError](err)
	if !ok || exit.Status != 0 || err.Error() != "server exited with status 0" || len(got) != 100 || got[99] != `{"i":99}` {
		t.Errorf("got %d messages, %v, want 100, server exited with status 0", len(got), err)
	}
}

func TestServerThatClosesItsOutputButLivesHasEnded(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "mute")
	c.SetExitGrace(time.Millisecond)
	if _, err := c.Read(t.Context()); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
	select {
	case <-c.Process().Done():
		t.Error("got a process that has ended, want it alive")
	default:
	}
}

func TestServerThatNeverReadsTimesOutAndCloses(t *testing.T) {
	t.Parallel()
	big := make([]byte, 1<<20)
	for _, timeout := range []time.Duration{20 * time.Millisecond, time.Hour} {
		c := start(t, &stdio.ChildOptions{Conn: &stdio.Options{WriteTimeout: timeout}, Process: quick()}, "deaf")
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if timeout == time.Hour {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			if err := c.Write(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
		} else if err := c.Write(t.Context(), big); err == nil || !strings.Contains(err.Error(), "the peer has not read for 20ms") {
			t.Errorf("got %v, want a timeout", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestReadOfAServerObeysItsContext(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "echo")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	exchange(t, c, `{"still":"open"}`)
}

func TestCommandThatDoesNotStartIsAnError(t *testing.T) {
	t.Parallel()
	c, err := stdio.Start(spawn.Command{Path: "no-such-program-here"}, nil)
	if c != nil || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v, %v, want %v", c, err, exec.ErrNotFound)
	}
}

// What the program of containers has started is no descendant of it.
func TestContainerOfAProgramThatWasKilledIsNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		program, want string
		args          []string
	}{
		{"docker", "container=weather", []string{"run", "-i", "--name", "weather", "image"}},
		{"podman", "container=weather", []string{"run", "--name=weather", "image"}},
		{"docker", `container="without a name of its own"`, []string{"run", "-i", "image"}},
		{"server", "", []string{"run", "--name=weather"}},
	} {
		path := filepath.Join(t.TempDir(), test.program)
		if err := os.Symlink(executable(t), path); err != nil {
			t.Skip(err)
		}
		var log bytes.Buffer
		c, err := stdio.Start(spawn.Command{Path: path, Args: test.args, Env: map[string]string{roleVariable: "deaf"}},
			&stdio.ChildOptions{Process: quick(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if got := log.String(); strings.Count(got, "its container may still run") != min(1, len(test.want)) || !strings.Contains(got, test.want) {
			t.Errorf("%s %q: got %q, want %q once", test.program, test.args, got, test.want)
		}
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
