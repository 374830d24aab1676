package sharedcache

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/resultcache"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// MinKey is the length of the shortest key of a Cache.
	MinKey = 32
	// maxStored bounds one result in a store. With the number of slots, the values of the first
	// byte of an identity, it bounds what a server can put into a partition.
	maxStored = 256 << 10
	// generationTTL is longer than a result of the generation can be fresh.
	generationTTL = 2 * resultcache.MaxTTL
	// sealedOverhead is how much longer a value is in the store.
	sealedOverhead = seal.RawOverhead
)

// secrets are derived from the key of a Cache.
type secrets struct {
	ring  *seal.Ring
	names []byte // authenticates names, so that they cannot be guessed from what they name
}

func newSecrets(key []byte) (*secrets, error) {
	if len(key) < MinKey {
		return nil, fmt.Errorf("found a key of %d bytes, want at least %d random ones", len(key), MinKey)
	}
	derive := func(purpose string) []byte {
		derived, err := hkdf.Expand(sha256.New, key, "fondaco client cache 1: "+purpose, sha256.Size)
		if err != nil {
			panic("sharedcache: derive a key: " + err.Error())
		}
		return derived
	}
	ring, err := seal.NewRing(seal.Key{ID: "cache", Secret: derive("values")})
	if err != nil {
		return nil, err
	}
	return &secrets{ring: ring, names: derive("names")}, nil
}

// digest authenticates texts. No other texts have the same digest.
func (s *secrets) digest(texts ...string) [sha256.Size]byte {
	h := hmac.New(sha256.New, s.names)
	for _, text := range texts {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		_, _ = h.Write([]byte(text))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// partition returns the beginning of the keys of a partition.
func (s *secrets) partition(texts ...string) string {
	d := s.digest(texts...)
	return "client-cache/" + base64.RawURLEncoding.EncodeToString(d[:24]) + "/"
}

// identity identifies a request within a partition.
type identity [sha256.Size]byte

func (s *secrets) identify(key dialect.CacheKey) identity {
	return s.digest(key.Method, key.Name, key.Params, key.Declared)
}

// slot returns the key of the slot of the request. Requests may share one: the later result
// replaces the other one.
func (id identity) slot(partition string) string { return partition + hex.EncodeToString(id[:1]) }

// generation is a random number that results of one method in one partition have in common.
type generation [16]byte

func newGeneration() (g generation) {
	_, _ = rand.Read(g[:]) // never fails
	return g
}

func generationKey(partition, method string) string { return partition + "generation/" + method }

// entryHeader is the size of what precedes the result in an entry: identity, generation, and the
// times at which it was received and becomes stale.
const entryHeader = sha256.Size + 16 + 8 + 8

func encodeResult(r resultcache.Result, id identity, g generation) []byte {
	entry := make([]byte, 0, entryHeader+len(r.Value))
	entry = append(append(entry, id[:]...), g[:]...)
	entry = binary.BigEndian.AppendUint64(entry, uint64(r.ReceivedAt.UnixNano()))
	entry = binary.BigEndian.AppendUint64(entry, uint64(r.StaleAt.UnixNano()))
	return append(entry, r.Value...)
}

// decodeResult returns the result of an entry, or none if it is that of another request or
// generation.
func decodeResult(entry []byte, id identity, g generation) resultcache.Result {
	if len(entry) < entryHeader || identity(entry[:len(id)]) != id || generation(entry[len(id):len(id)+len(g)]) != g {
		return resultcache.Result{}
	}
	at := func(offset int) time.Time { return time.Unix(0, int64(binary.BigEndian.Uint64(entry[offset:]))) }
	return resultcache.Result{Value: entry[entryHeader:], ReceivedAt: at(entryHeader - 16), StaleAt: at(entryHeader - 8)}
}

// bound is what a value in the store is authenticated with.
func bound(key string) []byte { return []byte("value of a client's cache\x00" + key) }

// get returns the value of a key. It returns nil for no value, and for one that no client with
// the same Key has put there.
func (s *Cache) get(ctx context.Context, key string) (value []byte, err error) {
	defer usercode.Contain(&err)
	text, found, err := s.p.Store.Get(ctx, key)
	if err != nil || !found || len(text) > s.maxSize {
		return nil, err
	}
	value, err = s.secrets.ring.OpenRaw(text, bound(key), time.Now())
	if err != nil {
		return nil, nil
	}
	return value, nil
}

func (s *Cache) put(ctx context.Context, key string, value []byte, ttl time.Duration) (err error) {
	defer usercode.Contain(&err)
	return s.p.Store.Put(ctx, key, s.secrets.ring.SealRaw(value, bound(key)), ttl)
}

func (s *Cache) delete(ctx context.Context, key string) (err error) {
	defer usercode.Contain(&err)
	return s.p.Store.Delete(ctx, key)
}
