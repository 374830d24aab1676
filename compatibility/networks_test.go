package compatibility

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A networkRow is a company's network: what a client in it is told by its environment, and what it
// reaches. In all texts {proxy} is the address of the proxy, {port} the port of the only server. The
// proxy knows each name as that server; the client knows those of names alone.
type networkRow struct {
	name  string
	env   map[string]string // without SSL_CERT_FILE, which all have
	names map[string]string
	at    string // the URL of the server, if it is not https://mcp.example/mcp
	token string // the URL of the token endpoint; empty: no token is wanted
	// password is wanted by the proxy.
	password bool
	// noCA leaves out SSL_CERT_FILE.
	noCA bool
	// want is in the error; empty: the call succeeds.
	want string
	// connects are the names and ports that the proxy was asked for.
	connects []string
}

var proxied = map[string]string{"HTTPS_PROXY": "http://{proxy}"}

var networkRows = []networkRow{
	{
		name: "proxy-call", env: proxied,
		connects: []string{"mcp.example:443"},
	},
	{
		name: "proxy-call-small", env: map[string]string{"https_proxy": "http://{proxy}"},
		connects: []string{"mcp.example:443"},
	},
	{
		name: "proxy-sign-in", env: proxied,
		token:    "https://id.example/token",
		connects: []string{"id.example:443", "mcp.example:443"},
	},
	{
		name: "proxy-password", env: map[string]string{"HTTPS_PROXY": "http://user:CANARY@{proxy}"},
		token: "https://id.example/token", password: true,
		connects: []string{"id.example:443", "mcp.example:443"},
	},
	{
		name: "proxy-password-wrong", env: map[string]string{"HTTPS_PROXY": "http://user:CANARY-wrong@{proxy}"},
		password: true, want: "Proxy Authentication Required",
		connects: []string{"mcp.example:443"},
	},
	{
		name: "proxy-inside-address", env: proxied,
		token: "https://10.0.0.1/token", want: "connection to 10.0.0.1 blocked",
		connects: []string{"id.example:443", "mcp.example:443"},
	},
	{
		name: "proxy-inside-name", env: proxied, names: map[string]string{"inside.example": "10.0.0.1"},
		token: "https://inside.example/token", want: `host "inside.example": connection to 10.0.0.1 blocked`,
		connects: []string{"id.example:443", "mcp.example:443"},
	},
	{
		name: "proxy-unknown-name", env: proxied,
		token:    "https://there.example/token",
		connects: []string{"id.example:443", "mcp.example:443", "there.example:443"},
	},
	{
		name: "no-proxy-call", env: with(proxied, "NO_PROXY", "direct.example"), names: map[string]string{"direct.example": "127.0.0.1"},
		at: "https://direct.example:{port}/mcp",
	},
	{
		name: "no-proxy-inside", env: with(proxied, "NO_PROXY", "direct.example"), names: map[string]string{"direct.example": "127.0.0.1"},
		token: "https://direct.example:{port}/token", want: "connection to 127.0.0.1 blocked",
		connects: []string{"id.example:443", "mcp.example:443"},
	},
	{
		name: "company-ca", names: map[string]string{"direct.example": "127.0.0.1"},
		at: "https://direct.example:{port}/mcp",
	},
	{
		name: "company-ca-missing", names: map[string]string{"direct.example": "127.0.0.1"},
		at: "https://direct.example:{port}/mcp", noCA: true, want: "certificate signed by unknown authority",
	},
	{
		name: "company-ca-sign-in-missing", env: proxied,
		token: "https://id.example/token", noCA: true, want: "certificate signed by unknown authority",
		connects: []string{"mcp.example:443"},
	},
}

func with(env map[string]string, name, value string) map[string]string {
	env = maps.Clone(env)
	env[name] = value
	return env
}

// The client is a process of its own: net/http reads the variables of proxies, and crypto/x509 those of
// certificates, once.
func TestNetworks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("certificates are those of the system's store here")
	}
	ca := newAuthority(t)
	for i := range networkRows {
		row := &networkRows[i]
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, row, ca)
			cmd := exec.Command(self(t), n.fill(row.at))
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), roleVariable + "=visitor"}
			if !row.noCA {
				cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+ca.file)
			}
			for name, value := range row.env {
				cmd.Env = append(cmd.Env, name+"="+n.fill(value))
			}
			for name, addr := range row.names {
				cmd.Env = append(cmd.Env, nameVariable+name+"="+addr)
			}
			out, err := cmd.CombinedOutput()
			if row.want == "" && (err != nil || string(out) != "text: hello") || row.want != "" && (err == nil || !strings.Contains(string(out), row.want)) {
				t.Errorf("got %v, %s, want %q", err, out, row.want)
			}
			if strings.Contains(string(out), "CANARY") {
				t.Errorf("got %s, want no password in it", out)
			}
			if got := n.connects(); !slices.Equal(got, row.connects) {
				t.Errorf("the proxy was asked for %q, want %q", got, row.connects)
			}
		})
	}
}

// network is the server of a row, with all its names, and the proxy that leads to it.
type network struct {
	row    *networkRow
	server *httptest.Server
	proxy  *httptest.Server

	mu    sync.Mutex
	asked map[string]bool // guarded by mu
}

func newNetwork(t *testing.T, row *networkRow, ca *authority) *network {
	t.Helper()
	n := &network{row: row, asked: make(map[string]bool)}
	serve := newPlainServer(t).HTTPHandler()
	n.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.answer(w, r, serve) }))
	n.server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.leaf}}
	n.server.Config.ErrorLog = quietLog
	n.server.StartTLS()
	n.proxy = httptest.NewServer(http.HandlerFunc(n.forward))
	t.Cleanup(func() {
		n.proxy.Close()
		n.server.CloseClientConnections()
		n.server.Close()
	})
	return n
}

func (n *network) fill(text string) string {
	_, port, _ := net.SplitHostPort(n.server.Listener.Addr().String())
	proxy := ""
	if n.proxy != nil {
		proxy = n.proxy.Listener.Addr().String()
	}
	return strings.NewReplacer("{proxy}", proxy, "{port}", port).Replace(text)
}

// answer is the MCP server, its authorization server and the token endpoint.
func (n *network) answer(w http.ResponseWriter, r *http.Request, mcp http.Handler) {
	const issuer = "https://id.example"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		fmt.Fprintf(w, `{"resource":"https://mcp.example/mcp","authorization_servers":[%q]}`, issuer)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"response_types_supported":["code"],`+
			`"grant_types_supported":["client_credentials"],"code_challenge_methods_supported":["S256"]}`, issuer, issuer+"/authorize", n.fill(n.row.token))
	case r.URL.Path == "/token":
		fmt.Fprint(w, `{"access_token":"T","token_type":"Bearer","expires_in":3600}`)
	case n.row.token != "" && r.Header.Get("Authorization") != "Bearer T":
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(http.StatusUnauthorized)
	default:
		w.Header().Del("Content-Type")
		r.Host = "localhost" // the server has other names in each row
		mcp.ServeHTTP(w, r)
	}
}

// forward is the proxy.
func (n *network) forward(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.asked[r.Host] = true
	n.mu.Unlock()
	user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	switch {
	case n.row.password && (user != "user" || password != "CANARY"):
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	case r.Method != http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	there, err := net.Dial("tcp", n.server.Listener.Addr().String())
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, received, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(there, received)
		_ = there.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
	<-done
}

// connects returns what the proxy was asked for.
func (n *network) connects() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.asked))
}

// authority is a company's certification authority.
type authority struct {
	file string
	leaf tls.Certificate // of all names
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		DNSNames: []string{}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range []string{"mcp", "id", "there", "direct", "inside"} {
		leaf.DNSNames = append(leaf.DNSNames, name+".example")
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	must(err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, rootKey)
	must(err)
	file := filepath.Join(t.TempDir(), "ca.pem")
	must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), 0o600))
	return &authority{file, tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: leafKey}}
}
