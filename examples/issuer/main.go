// Issuer is an authorization server to try the examples with. Every user is Ada.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json/v2"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// issuer is the state of the server. It is kept in memory.
type issuer struct {
	url   string
	key   *ecdsa.PrivateKey
	robot string // secret of the client with that name; empty for none

	mu        sync.Mutex
	redirects map[string][]string // by client
	codes     map[string]grant
	refreshes map[string]grant
}

// grant is what the user has allowed a client.
type grant struct {
	client, subject, resource, scope string
	redirect, challenge              string // of the request for the code
	until                            time.Time
}

type object map[string]any

func main() {
	addr := flag.String("http", "127.0.0.1:9000", "serve HTTP on this `address` of this machine")
	flag.Parse()
	if err := run(*addr, os.Getenv("ROBOT_SECRET")); err != nil {
		log.Fatal(err)
	}
}

func run(addr, robot string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return fmt.Errorf("listens on %s: want an address of this machine, everybody is Ada here", l.Addr())
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	i := &issuer{
		url: "http://" + l.Addr().String(), key: key, robot: robot,
		redirects: make(map[string][]string), codes: make(map[string]grant), refreshes: make(map[string]grant),
	}
	fmt.Println(i.url)
	s := &http.Server{Handler: i.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	return s.Serve(l)
}

func (i *issuer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", i.metadata)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("POST /register", i.register)
	mux.HandleFunc("GET /authorize", i.ask)
	mux.HandleFunc("POST /authorize", i.allow)
	mux.HandleFunc("POST /token", i.token)
	return http.MaxBytesHandler(mux, 64<<10)
}

func (i *issuer) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"issuer":                                         i.url,
		"authorization_endpoint":                         i.url + "/authorize",
		"token_endpoint":                                 i.url + "/token",
		"registration_endpoint":                          i.url + "/register",
		"jwks_uri":                                       i.url + "/keys",
		"response_types_supported":                       []string{"code"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func answer(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, o) // a disconnected client gets no response
}

// refuse responds with an error code of RFC 6749.
func refuse(w http.ResponseWriter, code string) {
	answer(w, http.StatusBadRequest, object{"error": code})
}
