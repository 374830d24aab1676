package replica

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	// ticketHeader has what a host says about a request that it forwards.
	ticketHeader = "Fondaco-Forwarded"
	// ticketTime is how long a ticket is valid, besides the difference of the clocks.
	ticketTime = 10 * time.Second
	maxTicket  = 32 << 10
	saltSize   = 16
)

// Ticket is what a host says about a request that it forwards. It is encrypted, so that neither a
// client can make or read one, nor the network.
type Ticket struct {
	From    string    `json:"from"`    // random, of the process that has made it
	Number  uint64    `json:"number"`  // rising: each is accepted once
	To      string    `json:"to"`      // the id of the host that has the caller
	Caller  string    `json:"caller"`  // see callerOf
	Request string    `json:"request"` // see requestOf
	Address string    `json:"address"` // of the client, as http.Request.RemoteAddr
	Expires time.Time `json:"expires"`
	// Identity is what the host has found when it verified the credentials of the client, which it
	// does not forward. Nil if the client is anonymous.
	Identity *Identity `json:"identity,omitzero"`
}

// Identity is the part of mcp.Identity that does not depend on the host, and the name by which the
// token can be revoked.
type Identity struct {
	Issuer  string         `json:"issuer"`
	Subject string         `json:"subject"`
	Client  string         `json:"client,omitzero"`
	Scopes  []string       `json:"scopes,omitzero"`
	Expires time.Time      `json:"expires,omitzero"`
	Claims  jsontext.Value `json:"claims,omitzero"`
	Token   string         `json:"token,omitzero"`
}

func identityOf(ctx context.Context, token string) *Identity {
	i := mcp.IdentityFrom(ctx)
	if i == nil {
		return nil
	}
	return &Identity{
		Issuer: i.Principal.Issuer, Subject: i.Principal.Subject, Client: i.Principal.Client,
		Scopes: i.Scopes, Expires: i.Expires, Claims: i.Claims, Token: token,
	}
}

// MCP returns the identity for the context of a request.
func (i *Identity) MCP() *mcp.Identity {
	return &mcp.Identity{
		Principal: mcp.Principal{Issuer: i.Issuer, Subject: i.Subject, Client: i.Client},
		Scopes:    i.Scopes, Expires: i.Expires, Claims: i.Claims,
	}
}

// tickets makes and opens tickets. The first key makes them, any of them opens. It is safe for
// concurrent use.
type tickets struct {
	keys [][]byte
	from string        // random
	last atomic.Uint64 // the number of the last one that was made
	used usedTickets
}

func newTickets(keys [][]byte) *tickets { return &tickets{keys: keys, from: rand.Text()} }

// aead returns the cipher of a salt: each ticket has a key of its own, so that any number is safe.
func aead(key, salt []byte) cipher.AEAD {
	h := hmac.New(sha256.New, key)
	h.Write(salt)
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		panic("replica: " + err.Error()) // cannot happen: the size is that of AES-256
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("replica: " + err.Error()) // cannot happen: the block is that of AES
	}
	return sealer
}

// seal returns the value of the header. It sets the number and the expiry.
func (s *tickets) seal(t Ticket) (string, error) {
	t.From, t.Number, t.Expires = s.from, s.last.Add(1), time.Now().Add(ticketTime)
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errIdentity, err)
	}
	text := s.encrypt(raw)
	if len(text) > maxTicket {
		return "", fmt.Errorf("%w: it has %d bytes, want at most %d", errIdentity, len(text), maxTicket)
	}
	return text, nil
}

func (s *tickets) encrypt(raw []byte) string {
	salt := make([]byte, saltSize, saltSize+len(raw)+64)
	_, _ = rand.Read(salt) // never fails
	return base64.RawURLEncoding.EncodeToString(aead(s.keys[0], salt).Seal(salt, nil, raw, []byte(ticketHeader)))
}

var (
	errIdentity = errors.New("what the credentials say about the client cannot be sent to the host that has it")
	errTicket   = errors.New("the header " + ticketHeader + " is of no host with the same keys, or has expired, or was used before")
	errRequest  = errors.New("the header " + ticketHeader + " is for another request")
)

// open returns the ticket of a request, which is for this request and was not used before. It does
// not check to which host it is.
func (s *tickets) open(r *http.Request) (*Ticket, error) {
	text := r.Header.Get(ticketHeader)
	if len(text) > maxTicket || len(r.Header.Values(ticketHeader)) != 1 {
		return nil, errTicket
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < saltSize {
		return nil, errTicket
	}
	raw, err := s.decrypt(sealed)
	if err != nil {
		return nil, errTicket
	}
	t := new(Ticket)
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, errTicket
	}
	now := time.Now()
	switch {
	case now.Sub(t.Expires) > maxClockSkew, t.Expires.Sub(now) > ticketTime+maxClockSkew:
		return nil, errTicket
	case t.Request != requestOf(r):
		return nil, errRequest
	case !s.used.use(t, now):
		return nil, errTicket
	}
	return t, nil
}

func (s *tickets) decrypt(sealed []byte) (raw []byte, err error) {
	err = errTicket
	for _, key := range s.keys {
		raw, err = aead(key, sealed[:saltSize]).Open(nil, nil, sealed[saltSize:], []byte(ticketHeader))
		if err == nil {
			break
		}
	}
	return raw, err
}

// requestOf returns what of a request a ticket is bound to.
func requestOf(r *http.Request) string {
	sum := sha256.New()
	for _, part := range []string{r.Method, r.Host, r.URL.RequestURI()} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	for _, name := range []string{sessionHeader, versionHeader} {
		for _, value := range r.Header.Values(name) {
			sum.Write([]byte(value))
			sum.Write([]byte{0})
		}
		sum.Write([]byte{1})
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}
