package control_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/internal/claim"
)

// otherUser is the id of a user that is not the one of the tests.
const otherUser = 65534

// asOtherUser runs f on a thread with the rights of another user. The system tells the
// peer of a socket the user of the thread that has connected, or that listens.
func asOtherUser(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become another user")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and its rights with it
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), otherUser, ^uintptr(0)); errno != 0 {
			done <- errno
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestHostRefusesConnectionsOfOtherUsers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	var asked atomic.Bool
	path := serve(t, control.Functions{MCP: http.NotFoundHandler(), Status: func() control.Status { asked.Store(true); return control.Status{} }})
	// The modes that protect the socket are gone, as with a shared parent or a passed descriptor.
	for dir := filepath.Dir(path); dir != os.TempDir(); dir = filepath.Dir(dir) {
		chmod(t, dir, 0o755)
	}
	chmod(t, path, 0o666)
	asOtherUser(t, func() {
		conn, err := dialUnix(path)
		if err != nil {
			t.Errorf("the test cannot connect: %v", err)
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		answer := make([]byte, 1)
		if n, err := conn.Read(answer); n > 0 || err == nil {
			t.Errorf("got %q, %v, want the connection closed", answer, err)
		}
	})
	if asked.Load() {
		t.Error("another user was answered")
	}
}

func TestClientSendsNothingToAHostOfAnotherUser(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	dir := t.TempDir()
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		chmod(t, at, 0o755)
	}
	shared := filepath.Join(dir, "s")
	if err := os.Mkdir(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	chmod(t, shared, 0o777)
	path := control.Path(shared, 1)
	got := make(chan string, 1)
	asOtherUser(t, func() {
		l, err := listenUnix(path)
		if err != nil {
			t.Errorf("the test cannot listen: %v", err)
			return
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			text := make([]byte, 64)
			n, _ := conn.Read(text)
			got <- string(text[:n])
		}()
	})
	if t.Failed() {
		return
	}
	status := func() error {
		_, err := control.NewClient(path).Status(t.Context())
		return err
	}
	refused := func(want string) {
		t.Helper()
		err := status()
		if _, ok := errors.AsType[*control.UnsafeError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	refused("mode 777")
	chmod(t, shared, 0o700)
	refused("s/1.sock: it is owned by another user")
	// Only the credentials of the peer tell now.
	if err := os.Chown(path, 0, 0); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, 0o600)
	refused("the user with id 65534 is at the other end")
	if sent := <-got; sent != "" {
		t.Errorf("the other user was sent %q", sent)
	}
	if err := os.Chown(shared, otherUser, otherUser); err != nil {
		t.Fatal(err)
	}
	refused("it belongs to the user with id 65534")
}
