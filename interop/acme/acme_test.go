//go:build unix

package acme_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const domain = "mcp.fondaco.test"

// maxWait bounds each wait. The authority answers within seconds.
const maxWait = 3 * time.Minute

// The host gets a certificate from Pebble by its flags alone, keeps it for its next start, and gets
// none for other names.
func TestHostGetsItsCertificateFromAnAuthority(t *testing.T) {
	a := startAuthority(t)
	state := t.TempDir()
	var serials []*big.Int
	for range 2 { // the second uses the certificate of the first
		h := a.startHost(t, state)
		certificate := h.handshake(t, domain, a.roots(t))
		serials = append(serials, certificate.SerialNumber)
		if _, err := tls.Dial("tcp", h.address, &tls.Config{ServerName: "other.fondaco.test", RootCAs: a.roots(t)}); err == nil {
			t.Error("got a certificate for another name, want none")
		}
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: a.roots(t), ServerName: domain},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, h.address)
			},
		}}
		for path, want := range map[string]int{"https://" + domain + "/readyz": http.StatusOK, "https://" + domain + "/mcp": http.StatusBadRequest} {
			resp, err := client.Get(path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: got status %d, want %d", path, resp.StatusCode, want)
			}
		}
		client.CloseIdleConnections()
		h.stop(t)
	}
	if serials[0].Cmp(serials[1]) != 0 {
		t.Errorf("got the certificates %v, want the same after a restart", serials)
	}
	a.checkModes(t, filepath.Join(state, "fondaco", "certificates"))
}

// checkModes fails the test unless only the user can read what the host keeps.
func (*authority) checkModes(t *testing.T, dir string) {
	t.Helper()
	var files int
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: got mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files < 2 {
		t.Errorf("got %d files and %v, want the key of the account and a certificate", files, err)
	}
}

// authority is a running Pebble.
type authority struct {
	dir        string // of its files
	ca         string // the file with the authority of its own HTTPS certificate
	fondaco    string // the program
	address    string
	management string
	web        *http.Client
	hostPort   string // where it does challenges
}

// startAuthority builds and starts Pebble, and a name server that has every name on loopback.
func startAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), address: freeAddress(t), management: freeAddress(t)}
	pebble, names := filepath.Join(a.dir, "pebble"), filepath.Join(a.dir, "names")
	a.fondaco = filepath.Join(a.dir, "fondaco")
	for program, args := range map[string][]string{
		pebble:    {"github.com/letsencrypt/pebble/v2/cmd/pebble"},
		names:     {"github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv"},
		a.fondaco: {"-C", "../../cmd/fondaco"},
	} {
		arguments := append([]string{"build", "-o", program}, args...)
		if args[0] == "-C" {
			arguments = []string{"-C", args[1], "build", "-o", program}
		}
		if output, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, output)
		}
	}
	_, a.hostPort, _ = net.SplitHostPort(freeAddress(t))
	a.writeConfig(t)

	nameServer, management := freeAddress(t), freeAddress(t)
	start(t, exec.Command(names, "-dnsserver", nameServer, "-management", management, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "",
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""))
	await(t, "the name server", func() error { return dial(management) })
	command := exec.Command(pebble, "-config", filepath.Join(a.dir, "pebble.json"), "-dnsserver", nameServer, "-strict")
	command.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	start(t, command)
	await(t, "Pebble", func() error { return dial(a.address) })
	return a
}

// writeConfig writes the configuration of Pebble, with a certificate for its address.
func (a *authority) writeConfig(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Pebble"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(certificate)
	a.web = &http.Client{Timeout: maxWait, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	a.ca = a.write(t, "cert.pem", certificate)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.address, "managementListenAddress": a.management, "httpPort": 1, "tlsPort": jsontext.Value(a.hostPort),
		"certificate": a.ca, "privateKey": a.write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, "pebble.json", config)
}

func (a *authority) write(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(a.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// roots returns the roots of the certificates that the authority issues.
func (a *authority) roots(t *testing.T) *x509.CertPool {
	t.Helper()
	resp, err := a.web.Get("https://" + a.management + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("got %q and %v, want a certificate", text, err)
	}
	return pool
}

// host is a running fondaco.
type host struct {
	command *exec.Cmd
	address string
	output  *output
}

// startHost starts the host at the port at which the authority does its challenges.
func (a *authority) startHost(t *testing.T, state string) *host {
	t.Helper()
	h := &host{address: net.JoinHostPort("127.0.0.1", a.hostPort)}
	h.command = exec.Command(a.fondaco, "up", "--addr", h.address, "--acme", domain)
	h.command.Dir = t.TempDir()
	h.command.Env = []string{
		"HOME=" + h.command.Dir, "XDG_RUNTIME_DIR=" + h.command.Dir, "XDG_STATE_HOME=" + state, "PATH=" + os.Getenv("PATH"),
		"SSL_CERT_FILE=" + a.ca, "FONDACO_ACME_DIRECTORY=https://" + a.address + "/dir",
	}
	h.output = start(t, h.command)
	await(t, "the host", func() error { return dial(h.address) })
	return h
}

// handshake returns the certificate of the host. The first one takes the time of an order.
func (h *host) handshake(t *testing.T, name string, roots *x509.CertPool) (certificate *x509.Certificate) {
	t.Helper()
	await(t, "a certificate", func() error {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: maxWait}, "tcp", h.address, &tls.Config{ServerName: name, RootCAs: roots})
		if err != nil {
			return fmt.Errorf("%w\n%s", err, h.output)
		}
		certificate = conn.ConnectionState().PeerCertificates[0]
		return conn.Close()
	})
	return certificate
}

func (h *host) stop(t *testing.T) {
	t.Helper()
	_ = h.command.Process.Signal(os.Interrupt)
	if err := h.command.Wait(); err != nil {
		t.Errorf("the host ended with %v\n%s", err, h.output)
	}
}

// output collects what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a program that ends with the test.
func start(t *testing.T, command *exec.Cmd) *output {
	t.Helper()
	o := new(output)
	command.Stdout, command.Stderr = o, o
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(command.Args, " "), o)
		}
	})
	return o
}

func dial(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		err = conn.Close()
	}
	return err
}

// await waits until a function succeeds.
func await(t *testing.T, what string, ready func() error) {
	t.Helper()
	for until := time.Now().Add(maxWait); ; time.Sleep(100 * time.Millisecond) {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
