package redisstore_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/redisstore"
)

// openError returns the error of an Open that has to fail.
func openError(t *testing.T, url string, o *redisstore.Options) string {
	t.Helper()
	s, err := redisstore.Open(t.Context(), url, o)
	if err == nil {
		s.Close()
		t.Fatal("Open: got no error")
	}
	return err.Error()
}

func TestErrorsOfOpenDoNotContainThePassword(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t, "--requirepass", "right")
	addr := strings.TrimPrefix(server.URL, "redis://")
	const secret = "s3cret"
	for name, tt := range map[string]struct {
		url, want string
		o         *redisstore.Options
	}{
		"wrong password":       {url: "redis://:" + secret + "@" + addr, want: "WRONGPASS"},
		"wrong user":           {url: "redis://user:" + secret + "@" + addr, want: "WRONGPASS"},
		"password of Options":  {url: "redis://" + addr, o: &redisstore.Options{Password: secret}, want: "WRONGPASS"},
		"no password":          {url: "redis://" + addr, want: "want"},
		"nobody listens":       {url: "redis://:" + secret + "@127.0.0.1:1", want: "refused"},
		"no port":              {url: "redis://:" + secret + "@" + addr + secret, want: "cannot be parsed"},
		"not encoded":          {url: "redis://:a#" + secret + "@" + addr, want: "cannot be parsed"},
		"not encoded, a slash": {url: "redis://user:a/" + secret + "@" + addr, want: "cannot be parsed"},
		"bad database":         {url: "redis://:" + secret + "@" + addr + "/" + secret, want: "database"},
		"parameters":           {url: "redis://" + addr + "?password=" + secret, want: "parameters"},
		"another scheme":       {url: "http://:" + secret + "@" + addr, want: "scheme"},
		"no scheme":            {url: "user:" + secret + "@" + addr, want: "cannot be parsed"},
		"unknown scheme":       {url: "reds://" + secret + "@" + addr, want: "scheme"},
		"not a URL":            {url: "\x00" + secret, want: "cannot be parsed"},
		"unix without path":    {url: "unix://user:" + secret + "@", want: "unix"},
		"no such database":     {url: "redis://:right@" + addr + "/99", want: "out of range"},
	} {
		got := openError(t, tt.url, tt.o)
		if strings.Contains(got, secret) || !strings.Contains(got, tt.want) || !strings.HasPrefix(got, "redisstore: open: ") {
			t.Errorf("%s: got %q, want %q and no password", name, got, tt.want)
		}
	}
	s := open(t, "redis://user:"+secret+"@"+addr, redisstore.Options{User: "default", Password: "right"})
	wantNoErrors(t, s)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url, want string
		o         redisstore.Options
	}{
		"namespace with a brace": {o: redisstore.Options{Namespace: "a}"}, want: "namespace"},
		"long namespace":         {o: redisstore.Options{Namespace: strings.Repeat("a", 65)}, want: "namespace"},
		"negative timeout":       {o: redisstore.Options{Timeout: -1}, want: "below 0"},
		"TLS without rediss":     {o: redisstore.Options{TLS: new(tls.Config)}, want: "want rediss"},
	} {
		if got := openError(t, "redis://127.0.0.1:1", &tt.o); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestUserWithTheDocumentedRightsCanDoEverything(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	admin := redisClient(t, server)
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rights, _ := strings.Cut(string(text), "ACL SETUSER fondaco ")
	rights, _, _ = strings.Cut(rights, "\n")
	command := []any{"ACL", "SETUSER", "fondaco"}
	for _, word := range strings.Fields(rights) {
		command = append(command, word)
	}
	if err := admin.Do(t.Context(), command...).Err(); err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	var log bytes.Buffer
	s := open(t, server.URL, redisstore.Options{
		Namespace: "fondaco", User: "fondaco", Password: "PASSWORD", Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	wantNoErrors(t, s)
	subscribe(t, s, "a").awaitMessage(t, s, "a")
	if log.Len() > 0 {
		t.Errorf("got the log %s", &log)
	}
	other := open(t, server.URL, redisstore.Options{Namespace: "other", User: "fondaco", Password: "PASSWORD"})
	eachCall(t, other, t.Context(), func(name string, err error) {
		if err == nil || !strings.Contains(err.Error(), "lacks a right") {
			t.Errorf("%s in another namespace: got %v, want that the user lacks a right", name, err)
		}
	})
}

func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	primary := testengine.Redis(t)
	host, port, _ := net.SplitHostPort(primary.Addr())
	replica := testengine.Redis(t, "--replicaof", host+" "+port)
	if got := openError(t, replica.URL, nil); !strings.Contains(got, "replica") {
		t.Errorf("got %q, want that the server is a replica", got)
	}
}

func TestSentinelIsRefused(t *testing.T) {
	t.Parallel()
	program := testengine.Find(t, "redis-server", "redis-server")
	sentinel := testengine.Run(t, testengine.Program{
		Command: func(addr, dir string) *exec.Cmd {
			host, port, _ := net.SplitHostPort(addr)
			file := filepath.Join(dir, "sentinel.conf") // which it writes
			if err := os.WriteFile(file, fmt.Appendf(nil, "port %s\nbind %s\ndir %s\n", port, host, dir), 0o600); err != nil {
				t.Error(err)
			}
			return exec.Command(program, file, "--sentinel")
		},
		URL: func(addr string) string { return "redis://" + addr },
	})
	if got := openError(t, sentinel.URL, nil); !strings.Contains(got, "Sentinel") {
		t.Errorf("got %q, want that the server is a Sentinel", got)
	}
}

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"6.2.0": true, "6.10": true, "7.0.15": true, "8.0-rc1": true, "10.0.0": true,
		"6.0.16": false, "5.9.9": false, "": false, "7": false, "x.y": false,
	} {
		if got := redisstore.NewEnough(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

// A primary that becomes a replica would answer reads with old values.
func TestPrimaryThatHasBecomeAReplicaIsRefused(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t)
	s := open(t, server.URL, redisstore.Options{})
	put(t, s, "a", "old")
	if err := redisClient(t, server).SlaveOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "a", nil, 0); err == nil || !strings.Contains(err.Error(), "has become a replica") {
		t.Errorf("Put: got %v, want that the server has become a replica", err)
	}
	server.Proxy.Cut() // as Sentinel does
	if value, _, err := s.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "is a replica") {
		t.Errorf("Get: got %q, %v, want that the server is a replica", value, err)
	}
}

func TestServerThatMayEvictValuesIsReported(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]bool{"noeviction": false, "volatile-ttl": true} {
		var log bytes.Buffer
		server := testengine.Redis(t, "--maxmemory", "100mb", "--maxmemory-policy", policy)
		open(t, server.URL, redisstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if got := strings.Contains(log.String(), "maxmemory-policy to noeviction"); got != want {
			t.Errorf("%s: got the log %q, want a warning: %v", policy, &log, want)
		}
	}
}

func TestFullServerSaysSo(t *testing.T) {
	t.Parallel()
	server := testengine.Redis(t, "--maxmemory", "4mb")
	s := open(t, server.URL, redisstore.Options{})
	var err error
	value := make([]byte, 256<<10)
	for n := 0; n < 100 && err == nil; n++ {
		err = s.Put(t.Context(), "large/"+string(rune('a'+n)), value, 0)
	}
	if err == nil || !strings.Contains(err.Error(), "memory of the server is full") {
		t.Fatalf("Put: got %v, want that the memory is full", err)
	}
	err = nil
	for n := int64(1); n < 100 && err == nil; n++ {
		err = s.Events().Append(t.Context(), "s", n, value)
	}
	if err == nil || !strings.Contains(err.Error(), "memory of the server is full") {
		t.Errorf("Append: got %v, want that the memory is full", err)
	}
	keys, err := s.List(t.Context(), "", "", 100)
	if err != nil || len(keys) == 0 {
		t.Fatalf("List: got %q, %v, want what was put before", keys, err)
	}
	for _, key := range keys {
		if _, found, err := s.Get(t.Context(), key); !found || err != nil {
			t.Errorf("%s: got %v, %v, want a value of each key", key, found, err)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "a", "after")
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "redis") // paths of sockets have to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	testengine.Redis(t, "--unixsocket", path, "--requirepass", "p@ss")
	s := open(t, "unix://:p%40ss@"+path+"?db=3", redisstore.Options{})
	wantNoErrors(t, s)
	subscribe(t, s, "a").awaitMessage(t, s, "a")
}

// startCluster starts a cluster of one server, which is reached through the proxy.
func startCluster(t *testing.T) *testengine.Server {
	t.Helper()
	server := testengine.Redis(t, "--cluster-enabled", "yes")
	admin := redisClient(t, server)
	_, port, _ := net.SplitHostPort(server.Proxy.Addr())
	if err := admin.ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster is ready", func() bool {
		return strings.Contains(admin.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	return server
}

func TestCluster(t *testing.T) {
	t.Parallel()
	server := startCluster(t)
	s := open(t, server.URL, redisstore.Options{})
	b := subscribe(t, s, "a")
	wantNoErrors(t, s)
	b.awaitMessage(t, s, "a")
	put(t, s, "a", "1")
	want(t, s, "a", "1")
	if got := openError(t, server.URL+"/1", nil); !strings.Contains(got, "cluster") {
		t.Errorf("database 1: got %q, want that a cluster has one", got)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := writeCertificate(t, dir)
	program := testengine.Find(t, "redis-server", "redis-server")
	server := testengine.Run(t, testengine.Program{
		Command: func(addr, data string) *exec.Cmd {
			host, port, _ := net.SplitHostPort(addr)
			return exec.Command(program, "--bind", host, "--port", "0", "--tls-port", port, "--dir", data, "--save", "",
				"--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"), "--tls-auth-clients", "no")
		},
		URL: func(addr string) string { return "rediss://" + addr },
	})
	if got := openError(t, server.URL, nil); !strings.Contains(got, "certificate") {
		t.Errorf("without its authority: got %q, want that the certificate is refused", got)
	}
	if got := openError(t, strings.Replace(server.URL, "rediss", "redis", 1), &redisstore.Options{Timeout: time.Second}); got == "" {
		t.Error("without TLS: got no error")
	}
	s := open(t, server.URL, redisstore.Options{TLS: &tls.Config{RootCAs: roots}})
	b := subscribe(t, s, "a")
	wantNoErrors(t, s)
	server.Stop()
	server.Start()
	// Idle connections that the server has closed are not used.
	wantNoErrors(t, s)
	b.awaitMessage(t, s, "a")
}

// writeCertificate writes cert.pem and key.pem for 127.0.0.1, and returns their authority.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, text := range map[string][]byte{"cert.pem": certPEM, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return roots
}
