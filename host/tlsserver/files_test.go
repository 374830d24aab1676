package tlsserver_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/tlsserver"
	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) {
	testdir.Prepare()
	mcptest.Main(m)
}

// A pair is a certificate with its key, as PEM.
type pair struct{ cert, key []byte }

// newPair returns a certificate for localhost with a name by which tests recognize it.
func newPair(t *testing.T, name string, end time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: end.Add(-48 * time.Hour), NotAfter: end,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})}
}

func later() time.Time { return time.Now().Add(24 * time.Hour) }

// folder has the two files of a certificate.
type folder struct{ cert, key string }

func newFolder(t *testing.T, p pair) folder {
	t.Helper()
	dir := t.TempDir()
	f := folder{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.write(t, p)
	return f
}

func (f folder) write(t *testing.T, p pair) {
	t.Helper()
	replace(t, f.cert, p.cert)
	replace(t, f.key, p.key)
}

// replace replaces a file as programs do that renew certificates: by another one.
func replace(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// handshake connects to a server of the configuration, and returns the connection and the name
// of its certificate.
func handshake(t *testing.T, c *tls.Config, client *tls.Config) (conn *tls.Conn, server *tls.Conn, name string, err error) {
	t.Helper()
	ours, theirs := net.Pipe()
	server = tls.Server(theirs, c)
	done := make(chan error, 1)
	go func() { done <- server.HandshakeContext(context.Background()) }()
	client = client.Clone()
	client.InsecureSkipVerify = true // the name of the certificate is what counts
	conn = tls.Client(ours, client)
	err = conn.HandshakeContext(context.Background())
	if err != nil {
		ours.Close()
		<-done
		return nil, nil, "", err
	}
	if err := <-done; err != nil {
		return nil, nil, "", err
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return conn, server, conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

func serves(t *testing.T, c *tls.Config, want string) {
	t.Helper()
	if _, _, name, err := handshake(t, c, &tls.Config{}); err != nil || name != want {
		t.Errorf("got the certificate %q and %v, want %q", name, err, want)
	}
}

func TestChangedFilesAreServedWithoutDroppingConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		first, second, third := newPair(t, "first", later()), newPair(t, "second", later()), newPair(t, "third", later())
		f := newFolder(t, first)
		c, err := tlsserver.Files(f.cert, f.key, slog.New(slog.NewTextHandler(&logged, nil)))
		if err != nil {
			t.Fatal(err)
		}
		open, server, name, err := handshake(t, c, &tls.Config{})
		if err != nil || name != "first" {
			t.Fatalf("got %q, %v", name, err)
		}
		f.write(t, second)
		time.Sleep(2 * time.Second)
		serves(t, c, "second")

		go func() { _, _ = server.Write([]byte("still open")) }()
		if got, err := io.ReadAll(io.LimitReader(open, 10)); err != nil || string(got) != "still open" {
			t.Errorf("got %q and %v, want the open connection kept", got, err)
		}

		replace(t, f.cert, third.cert) // its key follows later
		time.Sleep(2 * time.Second)
		serves(t, c, "second")
		replace(t, f.key, third.key)
		time.Sleep(2 * time.Second)
		serves(t, c, "third")
		if logged.Len() > 0 {
			t.Errorf("got the log %s, want none for files that fit after a moment", &logged)
		}

		replace(t, f.key, []byte("damaged"))
		for range 5 {
			time.Sleep(2 * time.Second)
			serves(t, c, "third")
		}
		if err := os.Remove(f.cert); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(2 * time.Second)
			serves(t, c, "third")
		}
		if n := strings.Count(logged.String(), "cannot be used"); n != 2 {
			t.Errorf("got %d warnings, want one for each error\n%s", n, &logged)
		}
		f.write(t, first)
		time.Sleep(2 * time.Second)
		serves(t, c, "first")
	})
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	f := newFolder(t, newPair(t, "first", later()))
	c, err := tlsserver.Files(f.cert, f.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for version, good := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		_, _, _, err := handshake(t, c, &tls.Config{MinVersion: version, MaxVersion: version})
		if (err == nil) != good {
			t.Errorf("%s: got %v, want served %v", tls.VersionName(version), err, good)
		}
	}
	conn, _, _, err := handshake(t, c, &tls.Config{NextProtos: []string{"h2"}})
	if err != nil || conn.ConnectionState().NegotiatedProtocol != "h2" {
		t.Errorf("got %v, want HTTP/2", err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good, other := newPair(t, "good", later()), newPair(t, "other", later())
	for name, tt := range map[string]struct {
		change func(t *testing.T, f folder)
		want   string
	}{
		"missing certificate":          {func(t *testing.T, f folder) { _ = os.Remove(f.cert) }, "cert.pem"},
		"missing key":                  {func(t *testing.T, f folder) { _ = os.Remove(f.key) }, "key.pem"},
		"key of another":               {func(t *testing.T, f folder) { replace(t, f.key, other.key) }, "does not match"},
		"no PEM":                       {func(t *testing.T, f folder) { replace(t, f.cert, []byte("x")) }, "PEM"},
		"key others can read":          {func(t *testing.T, f folder) { _ = os.Chmod(f.key, 0o644) }, "key.pem"},
		"key others can write":         {func(t *testing.T, f folder) { _ = os.Chmod(f.key, 0o622) }, "key.pem"},
		"certificate others can write": {func(t *testing.T, f folder) { _ = os.Chmod(f.cert, 0o666) }, "cert.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(name, "others") && runtime.GOOS == "windows" {
				t.Skip("the permissions of Windows are not those of the test")
			}
			f := newFolder(t, good)
			tt.change(t, f)
			_, err := tlsserver.Files(f.cert, f.key, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "TLS certificate: ") {
				t.Errorf("got %v, want an error that says %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("got %v, want nothing of the key", err)
			}
		})
	}
}

func TestExpiredCertificateIsReported(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	f := newFolder(t, newPair(t, "old", time.Now().Add(-time.Hour)))
	if _, err := tlsserver.Files(f.cert, f.key, slog.New(slog.NewTextHandler(&logged, nil))); err != nil || !strings.Contains(logged.String(), "has expired") {
		t.Errorf("got %v and the log %s, want a warning", err, &logged)
	}
}
