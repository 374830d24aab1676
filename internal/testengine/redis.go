package testengine

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Redis starts redis-server with further arguments. It keeps its data in an append-only file,
// which the system has before a client gets its answer: Kill loses nothing.
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	return RedisCompatible(t, Find(t, "redis-server", "redis-server"), args...)
}

// RedisCompatible starts a program that takes the arguments of redis-server, as valkey-server
// does.
func RedisCompatible(t testing.TB, path string, args ...string) *Server {
	t.Helper()
	return Run(t, Program{
		Command: func(addr, dir string) *exec.Cmd {
			host, port, _ := net.SplitHostPort(addr)
			base := []string{"--bind", host, "--port", port, "--dir", dir, "--appendonly", "yes", "--appendfsync", "no", "--save", ""}
			return exec.Command(path, append(base, args...)...)
		},
		URL:   func(addr string) string { return "redis://" + addr },
		Ready: redisIsReady,
	})
}

// redisIsReady returns nil if the server at addr has loaded its data. A server that wants a
// password has, too.
func redisIsReady(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if text := string(answer[:n]); !strings.HasPrefix(text, "+PONG") && !strings.HasPrefix(text, "-NOAUTH") {
		return errors.New("ping: got " + strings.TrimSpace(text))
	}
	return nil
}
