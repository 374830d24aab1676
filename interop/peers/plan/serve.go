package plan

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Main runs a program that is a client or a server:
//
//	PROGRAM client TARGET PLAN
//	PROGRAM loop TARGET
//	PROGRAM stdio | http | sse
//
// A server over HTTP listens on loopback and prints LISTEN host:port on standard error. It
// ends when standard input does.
func Main(connect Connect, stdio func() error, overHTTP map[string]func(addr string) http.Handler) {
	switch mode := os.Args[1]; mode {
	case "client":
		Run(connect, os.Args[2], os.Args[3])
	case "loop":
		Loop(connect, os.Args[2])
	case "stdio":
		if err := stdio(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	default:
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() { _ = http.Serve(l, overHTTP[mode](l.Addr().String())) }()
		fmt.Fprintf(os.Stderr, "LISTEN %s\n", l.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// Note returns the URI of a note. Servers behind one host have schemes of their own, in the
// variable SCHEME.
func Note(name string) string { return cmp.Or(os.Getenv("SCHEME"), "note") + "://" + name }

// Starting returns the names that begin with typed, in any case.
func Starting(typed string) (names []string) {
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		if strings.HasPrefix(strings.ToLower(name), strings.ToLower(typed)) {
			names = append(names, name)
		}
	}
	return names
}

// Waiting counts the calls that wait until they are cancelled.
var Waiting atomic.Int64

// Waits returns how many calls wait, once none does or after two seconds.
func Waits() string {
	for range 200 {
		if Waiting.Load() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Sprint(Waiting.Load())
}
