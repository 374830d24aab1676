package control

import (
	"fmt"
	"log/slog"
	"net"
	"os"
)

// checkPeer returns an error if another user is at the other end of a connection.
func checkPeer(conn net.Conn) error {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("connection of type %T: want one of a Unix domain socket", conn)
	}
	switch id, known, err := peerUser(c); {
	case err != nil:
		return fmt.Errorf("user at the other end of the socket: %w", err)
	case known && id != os.Geteuid():
		return fmt.Errorf("the user with id %d is at the other end of the socket; want your own, %d", id, os.Geteuid())
	}
	return nil
}

// peerListener closes connections of other users.
type peerListener struct {
	net.Listener
	log *slog.Logger
}

func (l peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		err = checkPeer(conn)
		if err == nil {
			return conn, nil
		}
		_ = conn.Close()
		l.log.Warn("control socket: connection refused", "error", err)
	}
}
