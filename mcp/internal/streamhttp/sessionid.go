package streamhttp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// sessionIDs makes session ids and opens them. An id is a token of package seal, bound to the
// server and the principal of the session. What is encrypted is
//
//	process 8 bytes │ expiry 8 bytes │ state of dialect.Session
//
// so every process that has the keys can serve the session. The id is a secret of the client,
// and nobody without a key can make one.
//
// Spec: 2025-11-25 basic/transports#session-management
type sessionIDs struct {
	keys    *seal.Ring
	dialect *dialect.Server
	process [8]byte // identifies this process, at random
	life    time.Duration
}

// idHeader is the number of bytes before the state in a session id.
const idHeader = 16

// maxSessionID limits a session id in bytes. The state of a session whose id would be longer is in
// its record in the Store instead. Without a Store only this process can serve the session.
const maxSessionID = 1 << 10

var (
	sessionUnknown  = refuse(http.StatusNotFound, "session: not found: send initialize to open one")
	sessionForeign  = refuse(http.StatusNotFound, "session: not found: this session was opened by another process; set Keys on all replicas, or send initialize to open another session")
	sessionTooLarge = refuse(http.StatusNotFound, "session: not found: the capabilities of this client are too long for a session id, so that only the process that opened the session can serve it; set Store and Bus on all replicas, or send initialize to open another session")
	storeFailed     = refuse(http.StatusServiceUnavailable, "session: the state that the replicas of this server share is not available: try again later")
)

func newSessionIDs(o *Options, d *dialect.Server) *sessionIDs {
	ids := &sessionIDs{keys: o.sessionKeys(), dialect: d, life: o.sessionLife()}
	_, _ = rand.Read(ids.process[:]) // never fails
	if group := o.orZero().Replicas; group != nil {
		_, _ = hex.Decode(ids.process[:], []byte(group.ID())) // which is the encoding of so many bytes
	}
	return ids
}

// seal returns a new id for a session of a principal, and when it expires. whole is false if the state
// of the session does not fit into the id.
func (ids *sessionIDs) seal(agreed *dialect.Session, p mcp.Principal) (id string, expires time.Time, whole bool) {
	expires = time.Now().Add(ids.life).Truncate(time.Second) // of the wall clock, which all processes have
	state := agreed.State()
	plain := append(make([]byte, 0, idHeader+len(state)), ids.process[:]...)
	plain = binary.BigEndian.AppendUint64(plain, uint64(expires.Unix()))
	bound := ids.bound(p)
	id = ids.keys.Seal(append(plain, state...), bound, expires)
	if len(id) > maxSessionID {
		return ids.keys.Seal(plain, bound, expires), expires, false
	}
	return id, expires, true
}

// openedID is what a session id says.
type openedID struct {
	key     sessionKey
	agreed  *dialect.Session // nil if it is not in the id
	opener  string           // the process that has made it: 8 bytes as hexadecimal digits
	here    bool             // it is this one
	expires time.Time
}

// open returns what an id says that was made for a principal. The error is for the client.
func (ids *sessionIDs) open(id string, p mcp.Principal) (*openedID, *refusal) {
	plain, err := ids.keys.Open(id, ids.bound(p), time.Now())
	switch {
	case err != nil && ids.keys.IsForeign(id):
		return nil, sessionForeign
	case err != nil || len(plain) < idHeader:
		return nil, sessionUnknown
	}
	expires := time.Unix(int64(binary.BigEndian.Uint64(plain[8:])), 0)
	from := &openedID{key: keyOf(id), opener: hex.EncodeToString(plain[:8]), here: [8]byte(plain) == ids.process, expires: expires}
	if len(plain) == idHeader {
		return from, nil
	}
	return from, from.openState(ids.dialect, plain[idHeader:])
}

// openState sets what the session has agreed on.
func (from *openedID) openState(d *dialect.Server, state []byte) *refusal {
	agreed, err := d.OpenState(state)
	if err != nil {
		return sessionUnknown // of another version of the program
	}
	from.agreed = agreed
	return nil
}

// bound is what a session id is bound to: its purpose, the server, and the principal.
func (ids *sessionIDs) bound(p mcp.Principal) []byte {
	b := []byte("session\x00")
	for _, part := range []string{ids.dialect.Name(), p.Issuer, p.Subject, p.Client} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// sessionKey is the key of a session in tables: the digest of its id, which is shorter.
type sessionKey [16]byte

func keyOf(id string) sessionKey {
	sum := sha256.Sum256([]byte(id))
	return sessionKey(sum[:16])
}
