package testengine

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// PostgresUser and PostgresPassword are the administrator of Postgres.
const (
	PostgresUser     = "fondaco"
	PostgresPassword = "correct-horse"
)

// Postgres starts PostgreSQL with an empty database. The URL is that of an administrator with a
// password. Settings are appended to its configuration, such as "max_connections=20". It does not
// wait for the disk unless "fsync=on" is set. If the test runs as root, which PostgreSQL refuses,
// the server runs as the user postgres or nobody.
func Postgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return postgres(t, nil, settings)
}

// PostgresTLS is Postgres for connections over TCP with TLS only. The certificate of the server is
// for 127.0.0.1, and its authority is in the pool.
func PostgresTLS(t testing.TB, settings ...string) (*Server, *x509.CertPool) {
	t.Helper()
	h := httptest.NewTLSServer(nil) // which has a certificate
	h.Close()
	key, err := x509.MarshalPKCS8PrivateKey(h.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(h.Certificate())
	return postgres(t, map[string][]byte{
		"server.crt":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}),
		"server.key":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"pg_hba.conf": []byte("hostssl all all 127.0.0.1/32 scram-sha-256\n"),
	}, append(settings, "ssl=on")), pool
}

// postgres starts PostgreSQL with files in its directory.
func postgres(t testing.TB, files map[string][]byte, settings []string) *Server {
	t.Helper()
	dirs := postgresDirs()
	initdb := Find(t, "initdb", "postgresql", dirs...)
	program := Find(t, "postgres", "postgresql", dirs...)
	s := Run(t, Program{
		Command: func(addr, dir string) *exec.Cmd {
			data := filepath.Join(dir, "data")
			if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
				if err := initPostgres(initdb, dir, data, files); err != nil {
					t.Fatal(err)
				}
			}
			host, port, _ := net.SplitHostPort(addr) // of freeAddr
			args := []string{"-D", data, "-h", host, "-p", port, "-k", ""}
			for _, setting := range slices.Concat([]string{"fsync=off"}, settings) {
				args = append(args, "-c", setting)
			}
			return unprivileged(exec.Command(program, args...))
		},
		URL: func(addr string) string {
			return fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", PostgresUser, PostgresPassword, addr)
		},
		Ready: postgresReady,
		Stop:  os.Interrupt, // SIGTERM waits until all clients have closed their connections

		AwaitEnd: func(dir string) error { return awaitOrphans(filepath.Join(dir, "data")) },
	})
	t.Cleanup(s.Stop) // a server that is killed leaves shared memory behind, of which a system has not much
	return s
}

// awaitOrphans waits until the children of a server that was killed have ended. They answer clients
// for a moment, and PostgreSQL does not start again while one of them is attached to the shared
// memory that the file of the killed server names. Systems other than Linux do not tell in a file.
func awaitOrphans(data string) error {
	lock, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil // the server removes the file when it ends in order
	}
	lines := strings.Split(string(lock), "\n")
	if len(lines) < 7 {
		return nil // it had not started yet
	}
	memory := strings.Fields(lines[6]) // a key and an id
	for deadline := time.Now().Add(stopTime); len(memory) == 2 && isAttached(memory[1]); time.Sleep(readyInterval) {
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of the killed server run after %v", stopTime)
		}
	}
	return nil
}

// isAttached reports whether a process uses the shared memory with the id.
func isAttached(id string) bool {
	table, _ := os.ReadFile("/proc/sysvipc/shm") // empty on other systems
	for line := range strings.Lines(string(table)) {
		if columns := strings.Fields(line); len(columns) > 6 && columns[1] == id {
			return columns[6] != "0"
		}
	}
	return false
}

// postgresDirs returns where distributions have the programs of PostgreSQL that are not in PATH,
// the newest release first.
func postgresDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	release := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return release(b) - release(a) })
	return dirs
}

// initPostgres creates the files of an empty database, and further ones.
func initPostgres(initdb, dir, data string, files map[string][]byte) error {
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(PostgresPassword), 0o600); err != nil {
		return err
	}
	cmd := unprivileged(exec.Command(initdb, "-D", data, "-U", PostgresUser, "--pwfile", password, "--auth", "scram-sha-256", "--no-sync", "--encoding", "UTF8", "--locale", "C"))
	if err := giveTo(cmd, dir, password); err != nil {
		return err
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, output)
	}
	for name, content := range files {
		name = filepath.Join(data, name)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			return err
		}
		if err := giveTo(cmd, dir, name); err != nil {
			return err
		}
	}
	return nil
}

// postgresReady begins to sign in, which the server answers once it accepts connections.
func postgresReady(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	// A start-up message of protocol 3.0 for the user "ready". The answer is a request for a
	// password or an error, of which one means that the server starts.
	const startup = "\x00\x00\x00\x14\x00\x03\x00\x00user\x00ready\x00\x00"
	if _, err := conn.Write([]byte(startup)); err != nil {
		return err
	}
	reply := make([]byte, 256)
	n, err := conn.Read(reply)
	if err != nil {
		return err
	}
	if strings.Contains(string(reply[:n]), "57P03") { // cannot_connect_now
		return errors.New("PostgreSQL starts or recovers")
	}
	return nil
}
