package deploy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json/v2"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// composeFile is what the tests read of a Compose file.
type composeFile struct {
	Services map[string]composeService `json:"services"`
}

type composeService struct {
	Command         []string          `json:"command"`
	Environment     map[string]string `json:"environment"`
	Volumes         []string          `json:"volumes"`
	Tmpfs           []string          `json:"tmpfs"`
	StopGracePeriod string            `json:"stop_grace_period"`
	Build           map[string]string `json:"build"`
}

func readCompose(t *testing.T, path string) (file composeFile) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(readFile(t, path)), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// replicaNames are the services that the configuration of HAProxy has.
var replicaNames = []string{"mcp-1", "mcp-2", "mcp-3"}

func TestHostsOfComposeHaveWhatTheyNeed(t *testing.T) {
	t.Parallel()
	file := readCompose(t, "compose/hosts.yaml")
	for _, name := range replicaNames {
		s := file.Services[name]
		if grace, err := time.ParseDuration(s.StopGracePeriod); err != nil || grace < 30*time.Second {
			t.Errorf("%s: got %v, %v, want the time in which calls and servers end", name, grace, err)
		}
		if want := "${FONDACO_KEYS:?"; !strings.HasPrefix(s.Environment["FONDACO_KEYS"], want) {
			t.Errorf("%s: got %s, want the variable, and an error without it", name, s.Environment["FONDACO_KEYS"])
		}
		if want := []string{"/var/lib/fondaco:mode=0700,uid=65532,gid=65532"}; !slices.Equal(s.Tmpfs, want) {
			t.Errorf("%s: got %v, want %v", name, s.Tmpfs, want)
		}
		dir := filepath.Join(root, "deploy", "compose", s.Build["context"])
		if _, err := os.Stat(filepath.Join(dir, s.Build["dockerfile"])); err != nil {
			t.Error(err)
		}
		if !strings.Contains(readFile(t, "docker/Dockerfile"), "\nENV HOME=/var/lib/fondaco TMPDIR=/var/lib/fondaco\n") {
			t.Errorf("%s: the image writes elsewhere", name)
		}
	}
}

// composition runs the services of a Compose file as processes, with the commands, variables and files
// that it has.
type composition struct {
	composeFile
	at    func(int) string  // addresses of services
	local here              // what all services replace
	files map[string]string // mounted ones, by their paths in the Compose file
	roots *x509.CertPool
}

func newComposition(t *testing.T, path string) *composition {
	t.Helper()
	dir := t.TempDir()
	content, err := json.Marshal(config(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &composition{composeFile: readCompose(t, path), at: newNetwork(), roots: writeCertificate(t, filepath.Join(dir, "mcp.pem"))}
	c.local = here{"redis:6379", c.at(9) + ":6379", "bind :443", "bind " + c.at(10) + ":8443"}
	for i, name := range replicaNames {
		c.local = append(c.local, name+":8080", c.at(i+1)+":8080")
	}
	c.files = map[string]string{
		"./mcp.json": writeFile(t, dir, "mcp.json", string(content)),
		"./tokens":   writeFile(t, dir, "tokens", tokens),
		"./mcp.pem":  filepath.Join(dir, "mcp.pem"),
	}
	const proxy = "../haproxy/haproxy.cfg"
	c.files[proxy] = writeFile(t, dir, "haproxy.cfg",
		append(c.local, mounts(t, c.Services["balancer"], c.files)...).apply(readFile(t, filepath.Join("compose", proxy))))
	return c
}

// start starts the program of the replicas, and the balancer.
func (c *composition) start(t *testing.T, program string) (replicas []*container) {
	t.Helper()
	for i, name := range replicaNames {
		s := c.Services[name]
		own := append(mounts(t, s, c.files), append(c.local, "0.0.0.0:8080", c.at(i+1)+":8080")...)
		r := &container{
			command: append([]string{program}, own.applyAll(s.Command)...), env: own.applyValues(s.Environment),
			addr: c.at(i+1) + ":8080", check: "http://" + c.at(i+1) + ":8080/readyz",
		}
		r.env["FONDACO_KEYS"] = keys
		r.env["HOME"], r.env["TMPDIR"] = t.TempDir(), t.TempDir()
		r.start(t)
		replicas = append(replicas, r)
	}
	balancer := c.Services["balancer"]
	(&container{command: mounts(t, balancer, c.files).applyAll(balancer.Command), addr: c.at(10) + ":8443"}).start(t)
	return replicas
}

// access returns how clients reach the balancer.
func (c *composition) access() *access {
	return &access{url: "https://" + publicName + "/mcp", roots: c.roots, addrs: []string{c.at(10) + ":8443"}}
}

func TestHostsOfComposeServeThroughTheirBalancer(t *testing.T) {
	t.Parallel()
	c := newComposition(t, "compose/hosts.yaml")
	(&container{command: append(c.Services["redis"].Command, "--bind", c.at(9)), addr: c.at(9) + ":6379"}).start(t)
	c.access().checkHosts(t, c.start(t, "fondaco"))
}

func TestReplicasOfComposeServeThroughTheirBalancer(t *testing.T) {
	t.Parallel()
	c := newComposition(t, "compose/compose.yaml")
	replicas := c.start(t, "mcp")
	var clients []*mcpclient.Client
	for _, revision := range revisions {
		clients = append(clients, c.access().connect(t, revision))
	}
	used := make(map[int]bool)
	for _, client := range clients {
		used[callOf(t, client, "place").Server] = true
	}
	if len(used) < 2 {
		t.Errorf("got answers of %d replica, want those of several", len(used))
	}
	replicas[0].server.Stop()
	for _, client := range clients {
		if got := callOf(t, client, "place").Server; got == replicas[0].process.Pid {
			t.Errorf("got an answer of %d, which has ended", got)
		}
	}
}

// mounts returns the paths of the mounted files of a service, with those of this machine. Files of the
// project have to exist, and the others are in files.
func mounts(t *testing.T, s composeService, files map[string]string) (all here) {
	t.Helper()
	for _, volume := range s.Volumes {
		parts := strings.Split(volume, ":")
		if len(parts) != 3 || parts[2] != "ro" {
			t.Fatalf("%s: want a file that is mounted read-only", volume)
		}
		if path := files[parts[0]]; path != "" {
			all = append(all, parts[1], path)
		} else if _, err := os.Stat(filepath.Join(root, "deploy", "compose", parts[0])); err != nil {
			t.Error(err)
		}
	}
	return all
}

// writeCertificate writes a certificate of publicName with its key.
func writeCertificate(t *testing.T, path string) *x509.CertPool {
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
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return roots
}
