package audit

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Record is one line of the audit log.
type Record struct {
	host.Decision
	// ArgumentsText is the JSON text of the arguments without what is secret, for tools
	// whose arguments are recorded as text. It may be cut.
	ArgumentsText string `json:"argumentsText,omitzero"`
	// Count says that the line stands for so many decisions that differ only in their time,
	// and From is the time of the first. Zero stands for one decision.
	Count int64     `json:"count,omitzero"`
	From  time.Time `json:"from,omitzero"`
	// Removed are lines that were removed from the log: an ActionRemove line has them.
	Removed []Run `json:"removed,omitempty"`
	// Milliseconds is the duration.
	Milliseconds int64 `json:"ms"`

	// Writer is the process that wrote the line, and Sequence the number of the line
	// among those of the writer, from 1. Previous is the code of the writer's previous line.
	Writer   string `json:"writer"`
	Sequence int64  `json:"seq"`
	Previous string `json:"prev,omitzero"`
	// Code is the authentication code of the line. It is the last member.
	Code string `json:"-"`
}

// ActionRemove is the action of lines that list removed lines.
const ActionRemove host.Action = "remove"

// Run is a run of lines of one writer that were removed. Code is that of the last.
type Run struct {
	Writer string `json:"writer"`
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	Code   string `json:"code"`
}

// Limits of a line, in bytes. What is longer is cut, and marked by cutMark at its end.
const (
	maxName      = 512
	maxPrincipal = 512
	maxReason    = 1024
	maxArguments = 4096
	maxShort     = 128 // ids and keys
	maxRuns      = 100 // in one line
	// maxLine is more than any line has: each character takes up to six bytes in JSON.
	maxLine = 64 << 10
)

const cutMark = "…[cut]"

// cut returns the beginning of a text that is too long.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len(cutMark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cutMark
}

// bound cuts all texts of a record.
func (r *Record) bound() {
	for text, limit := range map[*string]int{
		&r.Principal: maxPrincipal, &r.Client: maxShort, &r.Session: maxShort, &r.Upstream: maxShort, &r.Name: maxName, &r.Arguments: maxShort,
		&r.Call: maxShort, &r.Grant: maxShort, &r.GrantedBy: maxPrincipal, &r.Reason: maxReason, &r.ArgumentsText: maxArguments,
	} {
		*text = cut(*text, limit)
	}
	r.Action, r.Outcome = host.Action(cut(string(r.Action), maxShort)), host.Outcome(cut(string(r.Outcome), maxShort))
	r.GrantedHow = host.GrantedHow(cut(string(r.GrantedHow), maxShort))
}

// codeLength is the length of an authentication code in hexadecimal characters.
const codeLength = 32

// code returns the authentication code of a text.
func code(key []byte, purpose string, text []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))[:codeLength]
}

// The purposes of authentication codes.
const (
	codeOfLine      = "line"
	codeOfWriter    = "writer"
	codeOfIndex     = "index"
	codeOfArguments = "arguments"
)

// The code of a line is its last member:
//
//	{"time":…,"writer":"…","seq":7,"prev":"…","code":"…"}
const (
	codePrefix = `,"code":"`
	codeSuffix = `"}`
)

// cutCode returns the text that the code of a line covers, which lacks the last brace, and the
// code.
func cutCode(line []byte) (text, code []byte, ok bool) {
	at := len(line) - len(codePrefix) - codeLength - len(codeSuffix)
	if at < 0 || !bytes.HasPrefix(line[at:], []byte(codePrefix)) || !bytes.HasSuffix(line, []byte(codeSuffix)) {
		return nil, nil, false
	}
	return line[:at], line[at+len(codePrefix) : len(line)-len(codeSuffix)], true
}

// encode returns the line of a record with its line feed, and sets the record's code.
func (r *Record) encode(key []byte) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(text) > maxLine {
		return nil, fmt.Errorf("a line of %d bytes, want at most %d", len(text), maxLine)
	}
	text = text[:len(text)-1] // without the brace
	r.Code = code(key, codeOfLine, text)
	return append(text, codePrefix+r.Code+codeSuffix+"\n"...), nil
}

var (
	errNoRecord = errors.New("is no record")
	errCode     = errors.New("was changed after it was written, or was not written by the host")
)

// decode returns the record of a line, and an error if it is none or is not authentic. In
// the second case, errCode, the record is what the line claims to be.
func decode(key, line []byte) (r Record, err error) {
	text, lineCode, ok := cutCode(bytes.TrimSuffix(line, []byte{'\n'}))
	if !ok || json.Unmarshal(append(bytes.Clone(text), '}'), &r) != nil || r.Writer == "" || r.Sequence < 1 {
		return r, errNoRecord
	}
	r.Code = string(lineCode)
	if !hmac.Equal(lineCode, []byte(code(key, codeOfLine, text))) {
		return r, errCode
	}
	return r, nil
}

// count is how many decisions a record stands for.
func (r *Record) count() int64 { return cmp.Or(r.Count, 1) }

// owner is whose share of the log a record takes: that of the caller, or of the server if there
// is no caller. Callers without credentials are told apart by the name of the client, which
// others could change to have a share for each name.
func (r *Record) owner() owner {
	switch r.Principal {
	case "":
		return owner{upstream: r.Upstream}
	case mcp.PrincipalLocal.String(), mcp.PrincipalAnonymous.String():
		return owner{principal: r.Principal, client: r.Client}
	}
	return owner{principal: r.Principal}
}

type owner struct{ principal, client, upstream string }

// plain reports whether a record may be summed up when the log is too large: requests that
// were made. Consents, grants, denials and errors are kept, and so are requests without a grant
// to which the client's own form has consented, because no other line is about that.
func (r *Record) plain() bool {
	switch r.Action {
	case host.ActionCall, host.ActionRead, host.ActionGet, host.ActionStart:
		return (r.Outcome == host.OutcomeDone || r.Outcome == host.OutcomeBegun) && (r.GrantedHow == "" || r.Grant != "")
	}
	return false
}
