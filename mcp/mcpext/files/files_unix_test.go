//go:build unix

package files_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestSpecialFilesAreNotServed(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a.txt")
	s.must(syscall.Mkfifo(s.path("fifo"), 0o600))
	socket, err := net.Listen("unix", s.path("socket"))
	s.must(err)
	defer socket.Close()
	s.link("fifo", "link")
	srv, _ := s.serve(nil)
	w := dial(t, srv, mcp.V20251125)
	if got, want := w.listedURIs(), " a.txt"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, uri := range []string{"fifo", "link", "socket"} {
		w.missingFile(uri) // and does not wait for a writer
	}
}
