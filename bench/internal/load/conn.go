package load

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// A conn is one connection to a server, on a bare descriptor.
type conn struct {
	fd int
	response

	request []byte // head and body of the next call
	ids     []int  // where its id stands
	session int    // where the id of its session stands; 0: it stays the same
	unsent  []byte
	waiting bool // for room to write

	id   uint64 // of the call that is under way
	sent time.Time
}

// dial connects to a loopback address. Reads and writes block, 20 seconds at most.
func dial(addr string) (*conn, error) {
	to, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	c := &conn{fd: fd}
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: 20})
	at := &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}
	if err := again(func() error { return syscall.Connect(fd, at) }); err != nil {
		c.close()
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return c, nil
}

func (c *conn) close() { syscall.Close(c.fd) }

// again calls f until it is not interrupted by a signal (EINTR).
func again(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}

// read reads once. It fails when the server has closed the connection.
func (c *conn) read() error {
	var n int
	err := again(func() (err error) {
		n, err = syscall.Read(c.fd, c.room())
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("the server closed a connection after %.200q", c.buf[:c.n])
	}
	c.n += n
	return nil
}

// write writes the unsent bytes. It reports false when bytes are left because the socket
// would block.
func (c *conn) write() (all bool, err error) {
	for len(c.unsent) > 0 {
		var n int
		err := again(func() (err error) {
			n, err = syscall.Write(c.fd, c.unsent)
			return err
		})
		if err == syscall.EAGAIN {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.unsent = c.unsent[n:]
	}
	return true, nil
}

// do sends a request and waits for its response, or for a sufficient part of it.
func (c *conn) do(request string, enough func() bool) (body []byte, err error) {
	c.reset()
	c.unsent = []byte(request)
	if _, err := c.write(); err != nil {
		return nil, err
	}
	for {
		if err := c.read(); err != nil {
			return nil, err
		}
		body, ok, err := c.complete()
		if ok || err != nil {
			return body, err
		}
		if enough != nil && c.head > 0 && enough() {
			return nil, nil
		}
	}
}

// post returns a request. The id of a session stands at its last place.
func post(host, era, method, tool, session, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n", host, len(body))
	switch {
	case era == "26":
		fmt.Fprintf(&b, "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n", mcp.V20260728, method)
		if tool != "" {
			fmt.Fprintf(&b, "Mcp-Name: %s\r\n", tool)
		}
	case session != "":
		fmt.Fprintf(&b, "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n", mcp.V20251125, session)
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	return b.String()
}
