package stdio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
)

func init() {
	// server serves its standard streams while it prints and reads elsewhere.
	roles["server"] = func([]string) {
		early := os.Stdout
		c, err := stdio.TakeOver(nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("{\"by\":\"Println\"}")
		fmt.Fprintln(early, "{\"by\":\"early copy\"}")
		log.Print("{\"by\":\"log\"}")
		if echo, err := exec.LookPath("echo"); err == nil {
			cmd := exec.Command(echo, `{"by":"child"}`)
			cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
			_ = cmd.Run()
		}
		stolen, _ := io.ReadAll(os.Stdin)
		fmt.Fprintf(os.Stderr, "%d bytes stolen\n", len(stolen))

		_, again := stdio.TakeOver(nil)
		fmt.Fprintln(os.Stderr, again)

		serveEcho(c)
		if err := c.Close(); err != nil {
			log.Fatal(err)
		}
		fmt.Println(`{"by":"Println after Close"}`)
		if _, err := stdio.TakeOver(nil); err != nil {
			log.Fatal(err)
		}
	}

	// closer closes its streams while a Read is pending, and serves them again.
	roles["closer"] = func([]string) {
		c, err := stdio.TakeOver(nil)
		if err != nil {
			log.Fatal(err)
		}
		read := make(chan error)
		go func() {
			_, err := c.Read(background)
			read <- err
		}()
		if err := c.Close(); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("{\"closed\":%t}\n", errors.Is(<-read, io.ErrClosedPipe))
		_, _ = io.Copy(os.Stdout, os.Stdin)
	}

	// shouter logs more than a pipe holds.
	roles["shouter"] = func([]string) {
		if _, err := stdio.TakeOver(nil); err != nil {
			log.Fatal(err)
		}
		if n, err := os.Stderr.Write(make([]byte, 1<<20)); err != nil {
			log.Fatalf("%v after %d bytes", err, n)
		}
	}

	// talker sends more than a client reads.
	roles["talker"] = func([]string) {
		c, err := stdio.TakeOver(&stdio.Options{WriteTimeout: 20 * time.Millisecond})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Write(background, make([]byte, 1<<20)))
	}
}

// serveEcho answers every message with the same.
func serveEcho(c *stdio.Standard) {
	for {
		msg, err := c.Read(background)
		if err != nil {
			return
		}
		if err := c.Write(background, msg); err != nil {
			log.Fatal(err)
		}
	}
}

func TestPrintsOfAServerReachStandardErrorOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-069", "R-071")
	c := start(t, nil, "server")
	exchange(t, c, `{"id":1}`)
	exchange(t, c, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Process().Wait(); err != nil {
		t.Fatal(err)
	}
	stderr := c.Process().StderrTail()
	for _, want := range []string{
		`{"by":"Println"}`, `{"by":"early copy"}`, `{"by":"log"}`, `{"by":"child"}`, "0 bytes stolen",
		"take over standard streams: another connection has them",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got standard error\n%s\nwant %s in it", stderr, want)
		}
	}
}

func TestStandardStreamsAreRestored(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "closer")
	if got, err := c.Read(t.Context()); err != nil || string(got) != `{"closed":true}` {
		t.Fatalf("got %s, %v, want a closed connection and Println on standard output", got, err)
	}
	time.Sleep(20 * time.Millisecond) // it waits in a read, which blocks again
	exchange(t, c, `{"id":1}`)
}

func TestServerClosesTheStreamsOfAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c := start(t, nil, "talker")
	<-c.Process().Done()
	if got, want := c.Process().StderrTail(), "write message: the peer has not read for 20ms\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The streams of a server may be files, which cannot be interrupted.
func TestServerUsesFilesAsStandardStreams(t *testing.T) {
	t.Parallel()
	in, err := os.CreateTemp(t.TempDir(), "in")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.WriteString(in, "{\"id\":1}\n\n{\"id\":2}"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=server")
	cmd.Stdin = in
	got, err := cmd.Output()
	if want := "{\"id\":1}\n{\"id\":2}\n{\"by\":\"Println after Close\"}\n"; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// With 2>&1 the two streams are one, which must stay blocking: a log would lose
// what does not fit.
func TestServerWithOnePipeForOutputAndErrorLogsEverything(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=shouter")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	time.Sleep(20 * time.Millisecond) // the pipe is full
	all, err := io.ReadAll(r)
	if err != nil || len(all) != 1<<20 {
		t.Errorf("got %d bytes, %v, want %d: %.80s", len(all), err, 1<<20, bytes.TrimLeft(all, "\x00"))
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
