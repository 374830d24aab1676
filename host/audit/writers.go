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
// are found. The first slot has the number of the others. A writer changes its own slot only,
// without a lock; all other changes are made under the lock of the log.
//
//	{"writers":3,"code":"…"}
//	{"writer":"…","seq":41,"last":"…","code":"…"}
//	{"writer":"…","seq":7,"last":"…","closed":true,"code":"…"}
//	{"free":true,"code":"…"}
//
// A process can be killed between any two writes. So a slot is never taken out of the index: that
// of a writer whose lines were all removed becomes free, in one write, and another writer takes it
// with the next. A new slot is announced in the first one until it is written.

// slotSize is the size of a slot in bytes. The rest of a slot is spaces and a line feed.
const slotSize = 192

// indexHead is the first slot.
type indexHead struct {
	// Writers is the number of slots that are in use or free.
	Writers int `json:"writers"`
	// Joining is the writer whose slot is counted already, and may not be there yet. It has
	// written no line.
	Joining string `json:"joining,omitzero"`
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

// freeSlot is a slot that a writer can take.
type freeSlot struct {
	Free bool `json:"free"`
}

// codeOfFree is the purpose of the code of a free slot, which is valid at its offset only.
func codeOfFree(offset int64) string { return fmt.Sprintf("free at %d", offset) }

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
	blank   int64 // the offset of the first slot that was never in use
	free    []int64
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
			if x.blank == 0 && len(slot) == slotSize {
				x.blank = int64(at)
			}
		case decodeSlot(key, codeOfFree(int64(at)), slot, new(freeSlot)) == nil:
			x.free = append(x.free, int64(at))
		case decodeSlot(key, codeOfWriter, slot, &w) != nil:
			x.damaged++
		default:
			if _, twice := x.writers[w.Writer]; twice {
				x.damaged++
			}
			x.writers[w.Writer], x.offsets[w.Writer] = w, int64(at)
		}
	}
	if x.blank == 0 {
		x.blank = max(slotSize, int64(len(content)+slotSize-1)/slotSize*slotSize)
	}
	return x
}

// found is the number of slots that are in use or free.
func (x *index) found() int { return len(x.writers) + len(x.free) + x.damaged }

// expected is what found should be.
func (x *index) expected() int {
	if _, known := x.writers[x.head.Joining]; x.head.Joining != "" && !known {
		return x.head.Writers - 1
	}
	return x.head.Writers
}

// place returns where the slot of a writer is or will be, and whether that is a new slot.
func (x *index) place(writer string) (offset int64, isNew bool) {
	if offset, known := x.offsets[writer]; known { // an attempt has failed after it was written
		return offset, false
	}
	if len(x.free) > 0 {
		return x.free[0], false
	}
	return x.blank, true
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
		x.head = indexHead{Writers: x.found(), Damaged: len(content) > 0}
	}
	x.head.Writers, x.head.Joining = x.expected(), "" // of a process that was killed meanwhile
	join(x)
	offset, isNew := x.place(writer)
	if isNew {
		x.head.Writers++ // the number of slots does not matter: what was removed stays missing
		x.head.Joining = writer
	}
	if err := writeHead(f, key, x.head); err != nil {
		return nil, errors.Join(err, f.Truncate(int64(len(content)))) // the disk may be full
	}
	if err := writeSlot(f, key, codeOfWriter, writerState{Writer: writer}, offset); err != nil {
		return nil, errors.Join(err, f.Truncate(max(slotSize, int64(len(content)))))
	}
	if isNew {
		x.head.Joining = ""
		if err := writeHead(f, key, x.head); err != nil {
			return nil, err
		}
	}
	return &slot{f, offset, writer}, nil
}

func writeHead(f *os.File, key []byte, head indexHead) error {
	return writeSlot(f, key, codeOfIndex, head, 0)
}

// writeSlot writes a slot of the index.
func writeSlot(f *os.File, key []byte, purpose string, v any, offset int64) error {
	text, err := encodeSlot(key, purpose, v)
	if err == nil {
		_, err = f.WriteAt(text, offset)
	}
	if err == nil {
		changed(f.Name())
	}
	return err
}

// afterChange, if not nil, is called after each change of a file of a log. Tests set it.
var afterChange func(path string)

func changed(path string) {
	if afterChange != nil {
		afterChange(path)
	}
}

// changeHead changes the head of the index at a path. The caller holds the lock of the log.
func changeHead(path string, key []byte, change func(*index) error) error {
	f, x, err := openIndex(path, key)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := change(x); err != nil {
		return err
	}
	return writeHead(f, key, x.head)
}

// openIndex opens the index at a path for changes.
func openIndex(path string, key []byte) (*os.File, *index, error) {
	f, err := openOwn(path, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxIndex))
	x := readIndex(key, content)
	if err == nil && x.headErr != nil {
		err = fmt.Errorf("index of writers: %w", x.headErr)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, x, nil
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
	return writeSlot(s.file, key, codeOfWriter, w, s.offset)
}

// forgetWriters frees the slots of writers that have no lines after the given ones. The caller
// holds the lock of the log.
func forgetWriters(path string, key []byte, gone map[string]int64) error {
	f, x, err := openIndex(path, key)
	if err != nil {
		return err
	}
	defer f.Close()
	for writer, last := range gone {
		if w, known := x.writers[writer]; !known || w.Sequence > last {
			continue
		}
		offset := x.offsets[writer]
		if err := writeSlot(f, key, codeOfFree(offset), freeSlot{true}, offset); err != nil {
			return err
		}
	}
	return nil
}
