package proxies_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// A proxy is a reverse proxy with its configuration in the directory deploy.
type proxy struct {
	name     string
	pkg      string // of Debian
	dirs     []string
	config   string
	affinity bool // requests of a session reach one replica
	// noHealthCheck says that the proxy uses a replica until a connection is refused. The system
	// resets a connection that arrives while the replica closes its port.
	noHealthCheck bool
	// local are replacements that let the configuration run here, besides those of addresses,
	// certificates and timeouts, which all have.
	local   func(dir string) []string
	command func(program, config, dir string) *exec.Cmd
}

var proxies = []proxy{
	{
		name: "nginx", pkg: "nginx-light", dirs: []string{"/usr/sbin"}, config: "nginx/nginx.conf", noHealthCheck: true,
		local: func(dir string) []string {
			paths := "http {\n    access_log off;\n"
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				paths += fmt.Sprintf("    %s_temp_path %s;\n", kind, filepath.Join(dir, kind))
			}
			return []string{"http {\n", paths, "/etc/nginx/mcp", filepath.Join(dir, "mcp"), "listen 443", "listen LISTEN"}
		},
		command: func(program, config, dir string) *exec.Cmd {
			return exec.Command(program, "-c", config, "-e", "stderr", "-g", "daemon off; master_process off; pid "+filepath.Join(dir, "pid")+";")
		},
	},
	{
		name: "haproxy", pkg: "haproxy", dirs: []string{"/usr/sbin"}, config: "haproxy/haproxy.cfg", affinity: true,
		local: func(dir string) []string {
			return []string{"/etc/haproxy/mcp", filepath.Join(dir, "mcp"), "bind :443", "bind LISTEN"}
		},
		command: func(program, config, _ string) *exec.Cmd { return exec.Command(program, "-db", "-f", config) },
	},
	{
		name: "caddy", pkg: "caddy", config: "caddy/Caddyfile",
		local: func(dir string) []string {
			return []string{
				"/etc/caddy/mcp", filepath.Join(dir, "mcp"), publicName + ":443 {", publicName + ":PORT {\n\tbind 127.0.0.1",
				"(replicas)", "{\n\tadmin off\n\tauto_https disable_redirects\n}\n\n(replicas)",
			}
		},
		command: func(program, config, dir string) *exec.Cmd {
			cmd := exec.Command(program, "run", "--config", config, "--adapter", "caddyfile")
			cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
			return cmd
		},
	},
}

// deployment is a proxy in front of replicas.
type deployment struct {
	proxy
	url      string // without a path
	client   *http.Client
	replicas []*testengine.Server
}

// start starts the proxy in front of three replicas.
func (p proxy) start(t *testing.T) *deployment {
	t.Helper()
	program := testengine.Find(t, p.name, p.pkg, p.dirs...)
	d := &deployment{proxy: p, url: "https://" + publicName, replicas: startReplicas(t)}
	roots := x509.NewCertPool()
	var address string // of the proxy
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		},
	}
	d.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	server := testengine.Run(t, testengine.Program{
		Command: func(addr, dir string) *exec.Cmd {
			address = addr
			writeCertificate(t, dir, roots)
			return p.command(program, d.writeConfig(t, addr, dir), dir)
		},
		URL:   func(addr string) string { return "https://" + addr },
		Ready: func(ctx context.Context, _ string) error { return d.ready(ctx) },
	})
	address = server.Addr()
	return d
}

// ready returns nil once the proxy passes requests on to a replica.
func (d *deployment) ready(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, d.url+"/mcp", nil)
	if err != nil {
		return err
	}
	answer, err := d.client.Do(r)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest { // a session id is missing
		return fmt.Errorf("got %s, want the answer of a replica", answer.Status)
	}
	return nil
}

// writeConfig writes the configuration of the proxy for the addresses of this test.
func (d *deployment) writeConfig(t *testing.T, addr, dir string) (path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(d.config)))
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	replace := append(d.local(dir), "60s", "6s") // the timeout of silence
	for i, replica := range d.replicas {
		replace = append(replace, fmt.Sprintf("mcp-%d:8080", i+1), replica.Addr())
	}
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(string(text), replace[i]) {
			t.Fatalf("%s: has no %q, which the test replaces", d.config, replace[i])
		}
	}
	config := strings.NewReplacer(replace...).Replace(string(text))
	path = filepath.Join(dir, filepath.Base(d.config))
	if err := os.WriteFile(path, []byte(strings.NewReplacer("LISTEN", addr, "PORT", port).Replace(config)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeCertificate writes a certificate of publicName and its key, each alone and both together, and
// adds the certificate to roots.
func writeCertificate(t *testing.T, dir string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: publicName}, DNSNames: []string{publicName},
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
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(certificate)
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for name, content := range map[string][]byte{"mcp.crt": chain, "mcp.key": private, "mcp.pem": append(chain, private...)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
