package audit

import (
	"bytes"
	"crypto/hmac"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The index of writers is a file beside the log with a slot of fixed size for each writer.
// It says which line of the writer is the last, so that lines that are missing at the end
// are found. The first slot has the number of writers. A writer changes its own slot only,
// without a lock; all other changes are made under the lock of the log.
//
//	{"writers":2,"code":"…"}
//	{"writer":"…","seq":41,"last":"…","code":"…"}
//	{"writer":"…","seq":7,"last":"…","closed":true,"code":"…"}

// slotSize is the size of a slot in bytes. The rest of a slot is spaces and a line feed.
const slotSize = 192

// indexHead is the first slot.
type indexHead struct {
	Writers int `json:"writers"`
	// Damaged says that the index was not authentic when a writer was added.
	Damaged bool `json:"damaged,omitzero"`
	// Counted says that there are counts of the lines, so that their removal is found.
	Counted bool `json:"counted,omitzero"`
}

// writerState is the slot of a writer.
type writerState struct {
	Writer   string `json:"writer"`
	Sequence int64  `json:"seq"`
	Last     string `json:"last,omitzero"` // the code of the last line
	Closed   bool   `json:"closed,omitzero"`
}

// encodeSlot returns the content of a slot.
func encodeSlot(key []byte, purpose string, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	text = append(text, codePrefix+code(key, purpose, text)+codeSuffix...)
	if len(text) >= slotSize {
		return nil, fmt.Errorf("index of writers: a slot of %d bytes, want less than %d", len(text), slotSize)
	}
	return append(append(text, bytes.Repeat([]byte{' '}, slotSize-1-len(text))...), '\n'), nil
}

// decodeSlot reads a slot that encodeSlot has made.
func decodeSlot(key []byte, purpose string, slot []byte, v any) error {
	text, slotCode, ok := cutCode(bytes.TrimRight(slot, " \n"))
	switch {
	case !ok:
		return errNoRecord
	case !hmac.Equal(slotCode, []byte(code(key, purpose, text))):
		return errCode
	}
	return json.Unmarshal(append(bytes.Clone(text), '}'), v)
}

// index is the decoded index of writers.
type index struct {
	head    indexHead
	headErr error // why the first slot cannot be used
	slots   int   // the number of slots after the first
	free    int64 // the offset of the first free slot
	writers map[string]writerState
	offsets map[string]int64
	damaged int // slots that are not authentic
}

// readIndex decodes the content of the index.
func readIndex(key, content []byte) *index {
	x := &index{headErr: errNoRecord, writers: make(map[string]writerState), offsets: make(map[string]int64)}
	for at := 0; at < len(content); at += slotSize {
		slot := content[at:min(at+slotSize, len(content))]
		if at == 0 {
			x.headErr = decodeSlot(key, codeOfIndex, slot, &x.head)
			continue
		}
		x.slots++
		var w writerState
		switch {
		case len(bytes.TrimSpace(slot)) == 0:
			if x.free == 0 && len(slot) == slotSize {
				x.free = int64(at)
			}
		case decodeSlot(key, codeOfWriter, slot, &w) != nil:
			x.damaged++
		default:
			if _, twice := x.writers[w.Writer]; twice {
				x.damaged++
			}
			x.writers[w.Writer], x.offsets[w.Writer] = w, int64(at)
		}
	}
	if x.free == 0 {
		x.free = max(slotSize, int64(len(content)+slotSize-1)/slotSize*slotSize)
	}
	return x
}

// maxIndex limits the index in bytes: some 40,000 writers.
const maxIndex = 8 << 20

// slot is the place of one writer in the index.
type slot struct {
	file   *os.File
	offset int64
	writer string
}

// errSlotLost reports that a slot has another writer.
var errSlotLost = errors.New("index of writers: the slot has another writer")

// addWriter adds a writer to the index at a path. join may change the head before. The caller
// holds the lock of the log.
func addWriter(path string, key []byte, writer string, join func(*index)) (s *slot, err error) {
	f, err := openOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	content, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil, err
	}
	if len(content) == maxIndex {
		return nil, fmt.Errorf("index of writers: %s: has %d bytes; run \"fondaco audit verify\" and move the log away", path, maxIndex)
	}
	x := readIndex(key, content)
	if x.headErr != nil {
		x.head = indexHead{Writers: len(x.writers) + x.damaged, Damaged: len(content) > 0}
	}
	join(x)
	s = &slot{f, x.free, writer}
	if offset, known := x.offsets[writer]; known {
		s.offset = offset // the head could not be written before
	}
	text, err := encodeSlot(key, codeOfWriter, writerState{Writer: writer})
	if err == nil {
		_, err = f.WriteAt(text, s.offset)
	}
	if err != nil {
		return nil, errors.Join(err, f.Truncate(int64(len(content)))) // the disk may be full
	}
	x.head.Writers++ // the number of slots does not matter: what was removed stays missing
	return s, writeHead(f, key, x.head)
}

func writeHead(f *os.File, key []byte, head indexHead) error {
	text, err := encodeSlot(key, codeOfIndex, head)
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	return err
}

// changeHead changes the head of the index at a path, and what change writes into the file. The caller holds the lock of the log.
func changeHead(path string, key []byte, change func(*os.File, *index) error) error {
	f, err := openOwn(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return err
	}
	x := readIndex(key, content)
	if x.headErr != nil {
		return fmt.Errorf("index of writers: %w", x.headErr)
	}
	if err := change(f, x); err != nil {
		return err
	}
	return writeHead(f, key, x.head)
}

// check returns errSlotLost if the slot has another writer, or none.
func (s *slot) check() error {
	var now [slotSize]byte
	if n, err := s.file.ReadAt(now[:], s.offset); n == 0 && err != nil && err != io.EOF {
		return err
	}
	if !strings.Contains(string(now[:]), `"writer":"`+s.writer+`"`) {
		return errSlotLost
	}
	return nil
}

// update sets the state of the writer.
func (s *slot) update(key []byte, w writerState) error {
	if err := s.check(); err != nil {
		return err
	}
	text, err := encodeSlot(key, codeOfWriter, w)
	if err == nil {
		_, err = s.file.WriteAt(text, s.offset)
	}
	return err
}

// forgetWriters removes writers from the index. The caller holds the lock of the log.
func forgetWriters(path string, key []byte, gone map[string]bool) error {
	return changeHead(path, key, func(f *os.File, x *index) error {
		for writer := range gone {
			offset, known := x.offsets[writer]
			if !known {
				continue
			}
			x.head.Writers--
			if _, err := f.WriteAt(append(bytes.Repeat([]byte{' '}, slotSize-1), '\n'), offset); err != nil {
				return err
			}
		}
		return nil
	})
}
