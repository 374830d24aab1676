package replay

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json/jsontext"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Memory is what a call remembers from one run of its handler to the next. The server
// seals it, as Encode returns it, before a client gets it.
type Memory struct {
	// ID names this state, where it can be used only once or goes into a Store. A Run leaves
	// it empty in the next Memory; whoever seals that sets it.
	ID string
	// Round counts the runs before this one.
	Round int
	// Unanswered counts the runs that ended in questions and had brought no new answer.
	Unanswered int
	// StartedAt and Seed are the same in every run of the call.
	StartedAt time.Time
	Seed      string
	// Running is how long the earlier runs took, in nanoseconds, for a call whose time is
	// limited.
	Running int64
	// Open are the questions that the last run ended in, by key. Only their answers are taken.
	Open Table[OpenQuestion]
	// Answers are the client's answers, and Results those of steps, by key.
	Answers Table[Answer]
	Results map[string]jsontext.Value
	// Parked are the tickets of values that wait for the next run, by key.
	Parked map[string]string
	// Progress is the highest progress that the client was told.
	Progress float64
	// Raw says that the handler makes its questions itself, by returning an
	// *mcp.InputRequiredResult, and State is the handler's own state.
	Raw   bool
	State *string
}

// Answer is the answer to a question.
type Answer struct {
	Value jsontext.Value
	// Question is the Digest of the question that was answered.
	Question Digest
	// Checked says that the answer was found to fit the question.
	Checked bool
}

// Question is a question as the client gets it.
type Question struct {
	mcp.InputRequest
	// Digest identifies the question among all others.
	Digest Digest
	// Again says that it is asked again, because the answer did not fit.
	Again bool
}

// OpenQuestion is what a Memory has of a Question.
type OpenQuestion struct {
	Digest Digest
	Again  bool
}

// Digest identifies a question.
type Digest [12]byte

// DigestOf returns the digest of a question by its parts and its last part, which is
// encoded. They are the same for the same question and for no other.
func DigestOf(last jsontext.Value, parts ...string) Digest {
	var room [1024]byte
	text := room[:0]
	for _, part := range parts {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(len(last)))
	text = append(text, last...)
	sum := sha256.Sum256(text)
	return Digest(sum[:])
}

// DigestOfRequest returns the digest of a question by its method and params as they are
// encoded.
func DigestOfRequest(q mcp.InputRequest) Digest { return DigestOf(q.Params, q.Method) }

// Largest returns the key under which the Memory holds the most bytes, and how many.
func (m *Memory) Largest() (key string, size int) {
	for _, a := range m.Answers {
		if len(a.Value.Value) > size {
			key, size = a.Key, len(a.Value.Value)
		}
	}
	for k, v := range m.Results {
		if len(v) > size {
			key, size = k, len(v)
		}
	}
	if m.State != nil && len(*m.State) > size {
		return "requestState", len(*m.State)
	}
	return key, size
}

// clone copies the Memory. What nobody modifies is shared: values, and the open questions.
func (m *Memory) clone() Memory {
	c := *m
	c.Answers, c.Results, c.Parked = slices.Clone(m.Answers), maps.Clone(m.Results), maps.Clone(m.Parked)
	return c
}

// NewSeed returns 32 random bytes.
func NewSeed() []byte {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails
	return seed
}
