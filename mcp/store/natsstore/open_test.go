package natsstore_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/store/natsstore"
)

// configured starts a server with a configuration.
func configured(t *testing.T, config string) *testengine.Server {
	t.Helper()
	return testengine.NATS(t, "-c", write(t, "nats.conf", []byte(config)))
}

// write writes a file and returns its path.
func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantRefused checks that Open fails, with an error that has the texts and not the secret.
func wantRefused(t *testing.T, url string, opts natsstore.Options, secret string, texts ...string) {
	t.Helper()
	s, err := natsstore.Open(t.Context(), url, &opts)
	if err == nil {
		_ = s.Close()
		t.Fatalf("got a store, want an error with %q", texts)
	}
	for _, text := range append(texts, "natsstore: open: ") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %q, want it to have %q", err, text)
		}
	}
	if secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("got error %q, which has the password", err)
	}
}

func TestCredentialsAreNeeded(t *testing.T) {
	t.Parallel()
	server := configured(t, `authorization { user: shop, password: "secret-1,a" }`)
	host := strings.TrimPrefix(server.URL, "nats://")
	if _, err := open(t, "nats://shop:secret-1%2Ca@"+host, small("url")).Create(t.Context(), "a", nil, 0); err != nil {
		t.Error(err)
	}
	opts := small("options")
	opts.User, opts.Password = "shop", "secret-1,a"
	open(t, server.URL, opts)
	opts.Namespace = "both"
	open(t, "nats://other:secret-2@"+host, opts)
	opts.Namespace, opts.User = "half", ""
	open(t, "nats://shop:secret-2@"+host, opts)
	wantRefused(t, server.URL, small("none"), "", "Authorization")
	wantRefused(t, "nats://shop:secret-2@"+host, small("wrong"), "secret-2", "Authorization", host)
}

func TestTokenIsACredential(t *testing.T) {
	t.Parallel()
	server := configured(t, `authorization { token: "token-1" }`)
	opts := small("token")
	opts.Token = "token-1"
	open(t, server.URL, opts)
	open(t, strings.Replace(server.URL, "nats://", "nats://shop:secret@", 1), opts)
	opts.Token = "token-2"
	wantRefused(t, server.URL, opts, "token-2", "Authorization")
}

func TestConnectionIsEncrypted(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	server := configured(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q }", cert, key))
	opts := small("tls")
	opts.TLS = &tls.Config{RootCAs: roots}
	s := open(t, server.URL, opts)
	if _, _, err := s.Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	wantRefused(t, server.URL, small("unknown"), "", "certificate")
}

// certificate returns files with a certificate for 127.0.0.1 and its key, and the pool that has it.
func certificate(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return write(t, "cert.pem", text), write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), roots
}

func TestWrongOptionsAreRefused(t *testing.T) {
	t.Parallel()
	const url = "nats://127.0.0.1:1"
	for text, opts := range map[string]natsstore.Options{
		`namespace "a.b"`: {Namespace: "a.b"}, "Replicas": {Replicas: -1}, "MaxBytes": {MaxBytes: -1},
		"MaxEventBytes": {MaxEventBytes: -1}, "MaxEventAge: got -1s": {MaxEventAge: -time.Second}, "no/such/file": {NKeyFile: "no/such/file"},
	} {
		wantRefused(t, url, opts, "", text)
	}
	for url, text := range map[string]string{
		"redis://127.0.0.1": "want nats://", "127.0.0.1:4222": "want", "": "want", "nats://": "want",
		"nats://u:hidden@127.0.0.1:1": "127.0.0.1:1", "nats://u:hidden@%zz": "cannot be parsed",
		"nats://127.0.0.1:1,http://u:hidden@x": "want nats://", "u:hidden@127.0.0.1:1": "want nats://",
		"natss://hidden@127.0.0.1:1": "want nats://",
	} {
		wantRefused(t, url, natsstore.Options{}, "hidden", text)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	server.Proxy.Block()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	s, err := natsstore.Open(ctx, server.URL, nil)
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

// infoServer accepts clients as a server does that describes itself by info.
func infoServer(t *testing.T, info string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO %s\r\n", info)
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				if lines.Text() == "PING" {
					fmt.Fprint(conn, "PONG\r\n")
				}
			}
			conn.Close()
		}
	}()
	return "nats://" + l.Addr().String()
}

func TestServerIsCheckedOnceItIsReached(t *testing.T) {
	t.Parallel()
	old := infoServer(t, `{"server_id":"x","version":"2.11.9","max_payload":1048576,"headers":true}`)
	wantRefused(t, old, natsstore.Options{}, "", `"2.11.9"`, "2.12.1 or newer")
	narrow := infoServer(t, `{"server_id":"x","version":"2.15.2","max_payload":4096,"headers":true}`)
	wantRefused(t, narrow, natsstore.Options{}, "", "4096", "max_payload")
}

// The documentation of the package has these permissions.
func TestUserNeedsFewPermissions(t *testing.T) {
	t.Parallel()
	server := configured(t, `authorization { users: [ {
		user: shop, password: secret
		permissions: {
			publish: [
				"shop.>"
				"$JS.API.STREAM.CREATE.shop_STORE", "$JS.API.STREAM.INFO.shop_STORE"
				"$JS.API.STREAM.PURGE.shop_STORE", "$JS.API.STREAM.MSG.GET.shop_STORE"
				"$JS.API.STREAM.CREATE.shop_EVENTS", "$JS.API.STREAM.INFO.shop_EVENTS"
				"$JS.API.STREAM.PURGE.shop_EVENTS", "$JS.API.STREAM.MSG.GET.shop_EVENTS"
			]
			subscribe: ["shop.bus.>", "_INBOX.shop.>"]
		}
	} ] }`)
	opts := small("shop")
	opts.User, opts.Password = "shop", "secret"
	s := open(t, server.URL, opts)
	put(t, s, "key", "value")
	want(t, s, "key", "value")
	if keys, err := s.List(t.Context(), "", "", 10); err != nil || len(keys) != 1 {
		t.Errorf("List: got %q, %v", keys, err)
	}
	if err := s.Delete(t.Context(), "key"); err != nil {
		t.Error(err)
	}
	got := make(chan struct{}, 1)
	cancel, err := s.Subscribe(t.Context(), "topic", func([]byte) { got <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	defer cancel()
	if err := s.Publish(t.Context(), "topic", nil); err != nil {
		t.Error(err)
	}
	<-got
	if err := s.Events().Append(t.Context(), "stream", 1, nil); err != nil {
		t.Error(err)
	}
	if events, err := s.Events().After(t.Context(), "stream", 0); err != nil || len(events) != 1 {
		t.Errorf("After: got %d events, %v", len(events), err)
	}
	if err := s.Events().Trim(t.Context(), "stream", 1); err != nil {
		t.Error(err)
	}
}

func TestJetStreamIsNeeded(t *testing.T) {
	t.Parallel()
	account := configured(t, `accounts { SHOP { users: [ { user: shop, password: secret } ] } }`)
	opts := small("shop")
	opts.User, opts.Password = "shop", "secret"
	wantRefused(t, account.URL, opts, "", "want jetstream: enabled")
	wantRefused(t, testengine.NATS(t, "-js=false").URL, small("shop"), "", "want nats-server with -js")
}

func TestStreamWithOtherSettingsIsRefused(t *testing.T) {
	t.Parallel()
	server := testengine.NATS(t)
	js := jetStream(t, server.URL)
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"allow_direct":         func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		"subjects":             func(c *jetstream.StreamConfig) { c.Subjects = []string{"else"} },
		"allow_msg_ttl":        func(c *jetstream.StreamConfig) { c.AllowMsgTTL = false },
		"allow_atomic":         func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 },
		"discard":              func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"duplicate_window":     func(c *jetstream.StreamConfig) { c.Duplicates = time.Second },
	} {
		space := strings.ReplaceAll(name, "_", "-")
		config := jetstream.StreamConfig{
			Name: space + "_STORE", Subjects: []string{space + ".store.>"}, MaxMsgsPerSubject: 1,
			Discard: jetstream.DiscardNew, AllowMsgTTL: true, AllowAtomicPublish: true, Storage: jetstream.MemoryStorage,
		}
		change(&config)
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, server.URL, small(space), "", config.Name, name)
	}
}
