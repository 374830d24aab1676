package replay

import (
	"encoding/binary"
	"encoding/json/jsontext"
	"errors"
	"math"
)

// memoryVersion is the first byte of an encoded Memory. A server refuses the states of
// another version, and their calls are made again.
const memoryVersion = 2

var errMemory = errors.New("memory: not an encoding of Encode")

// Encode returns the Memory as bytes, which DecodeMemory decodes. Texts and lists follow
// their length.
func (m *Memory) Encode() []byte {
	b := append(make([]byte, 0, m.size()), memoryVersion)
	b = appendText(b, m.ID)
	b = binary.AppendUvarint(b, uint64(m.Round))
	b = binary.AppendUvarint(b, uint64(m.Unanswered))
	var room [16]byte
	started, _ := m.StartedAt.AppendBinary(room[:0]) // fails for no zone that exists
	b = appendText(b, started)
	b = appendText(b, m.Seed)
	b = binary.AppendUvarint(b, uint64(m.Running))
	b = binary.AppendUvarint(b, uint64(len(m.Open)))
	for _, q := range m.Open {
		b = appendFlag(appendText(appendText(b, q.Key), q.Value.Digest[:]), q.Value.Again)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Answers)))
	for _, e := range m.Answers {
		a := &e.Value
		b = appendFlag(appendText(appendText(appendText(b, e.Key), a.Value), a.Question[:]), a.Checked)
	}
	b = appendTexts(b, m.Results)
	b = appendTexts(b, m.Parked)
	b = binary.AppendUvarint(b, math.Float64bits(m.Progress))
	b = appendFlag(b, m.Raw)
	b = appendFlag(b, m.State != nil)
	if m.State != nil {
		b = appendText(b, *m.State)
	}
	return b
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTexts[T ~string | ~[]byte](b []byte, texts map[string]T) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for key, text := range texts {
		b = appendText(appendText(b, key), text)
	}
	return b
}

func appendFlag(b []byte, set bool) []byte {
	if set {
		return append(b, 1)
	}
	return append(b, 0)
}

// size returns about how many bytes Encode needs.
func (m *Memory) size() int {
	const fixed, entry = 128, 32
	size := fixed + (len(m.Open)+len(m.Answers)+len(m.Results)+2*len(m.Parked))*entry
	for _, a := range m.Answers {
		size += len(a.Value.Value) + entry
	}
	for _, raw := range m.Results {
		size += len(raw)
	}
	if m.State != nil {
		size += len(*m.State)
	}
	return size
}

// DecodeMemory decodes what Encode returned. The Memory shares memory with data.
func DecodeMemory(data []byte) (m Memory, err error) {
	if len(data) == 0 || data[0] != memoryVersion {
		return m, errMemory
	}
	d := decoder{left: data[1:], text: string(data[1:])}
	m.ID = d.string()
	m.Round, m.Unanswered = int(d.number()), int(d.number())
	if m.StartedAt.UnmarshalBinary(d.bytes()) != nil {
		return Memory{}, errMemory
	}
	m.Seed = d.string()
	m.Running = int64(d.number())
	if n := d.count(); n > 0 {
		m.Open = make(Table[OpenQuestion], 0, n)
		for range n {
			key := d.string()
			m.Open.Set(key, OpenQuestion{Digest: d.digest(), Again: d.flag()})
		}
	}
	if n := d.count(); n > 0 {
		m.Answers = make(Table[Answer], 0, n+len(m.Open)) // with room for those to come
		for range n {
			key := d.string()
			m.Answers.Set(key, Answer{Value: d.bytes(), Question: d.digest(), Checked: d.flag()})
		}
	}
	if n := d.count(); n > 0 {
		m.Results = make(map[string]jsontext.Value, n)
		for range n {
			key := d.string()
			m.Results[key] = d.bytes()
		}
	}
	m.Parked = d.strings()
	m.Progress = math.Float64frombits(d.number())
	m.Raw = d.flag()
	if d.flag() {
		m.State = new(d.string())
	}
	if d.failed || len(d.left) > 0 {
		return Memory{}, errMemory
	}
	return m, nil
}

// decoder reads what is left of an encoded Memory. When something does not fit it has
// failed, and returns zero values from then on.
type decoder struct {
	left   []byte
	text   string // left as a string
	failed bool
}

func (d *decoder) skip(n int) {
	d.left, d.text = d.left[n:], d.text[n:]
}

func (d *decoder) fail() {
	d.left, d.text, d.failed = nil, "", true
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.left)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.skip(n)
	return v
}

// count returns a length. Every element of a list takes at least a byte, and so no length
// is greater than what is left.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.left)) {
		d.fail()
		return 0
	}
	return int(n)
}

// bytes returns nil for an empty text.
func (d *decoder) bytes() []byte {
	n := d.count()
	if n == 0 {
		return nil
	}
	b := d.left[:n:n]
	d.skip(n)
	return b
}

func (d *decoder) string() string {
	n := d.count()
	s := d.text[:n]
	d.skip(n)
	return s
}

func (d *decoder) digest() (digest Digest) {
	if b := d.bytes(); len(b) == len(digest) {
		return Digest(b)
	}
	d.fail()
	return digest
}

func (d *decoder) strings() map[string]string {
	n := d.count()
	if n == 0 {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		key := d.string()
		m[key] = d.string()
	}
	return m
}

func (d *decoder) flag() bool { return d.number() != 0 }
