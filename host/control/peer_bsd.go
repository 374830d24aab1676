//go:build darwin || freebsd

package control

import (
	"net"

	"golang.org/x/sys/unix"
)

// solLocal is the level of options of Unix domain sockets (SOL_LOCAL).
const solLocal = 0

// peerUser returns the id of the user at the other end of a connection, and false if the
// system does not tell it.
func peerUser(conn *net.UnixConn) (id int, ok bool, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var peer *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptXucred(int(fd), solLocal, unix.LOCAL_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, false, err
	}
	return int(peer.Uid), true, nil
}
