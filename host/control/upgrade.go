package control

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

const (
	streamPath = "/stdio"
	// streamProtocol is the protocol of the connection after the upgrade.
	streamProtocol = "mcp-stdio"
)

// upgrade takes over the connection of a request. It returns nil for a request that it
// has answered.
func upgrade(w http.ResponseWriter, r *http.Request) io.ReadWriteCloser {
	if r.Header.Get("Upgrade") != streamProtocol {
		w.Header().Set("Upgrade", streamProtocol)
		http.Error(w, "want the header Upgrade: "+streamProtocol, http.StatusUpgradeRequired)
		return nil
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+streamProtocol+
		"\r\n"+streamHeader+": "+w.Header().Get(streamHeader)+"\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil
	}
	return &upgraded{conn, buffered.Reader}
}

// upgraded is a connection whose first bytes may be in a buffer.
type upgraded struct {
	net.Conn
	buffer *bufio.Reader
}

// SyscallConn is that of the connection, by which its server learns at once that the client has ended.
func (u *upgraded) SyscallConn() (syscall.RawConn, error) {
	c, ok := u.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

func (u *upgraded) Read(p []byte) (int, error) { return u.buffer.Read(p) }
