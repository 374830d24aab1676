package mcptest

import (
	"encoding/json/jsontext"
	"fmt"
	"os"
	"strings"
)

// Transcript is the sequence of messages of one connection. Its file is a txtar archive
// with a comment and one section, which has one message per line:
//
//	What the conversation shows.
//	-- wire --
//	# The list of a server without tools is empty.
//	-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
//	<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
//
// An arrow to the right marks a message of the client, one to the left a message of the
// server.
type Transcript struct {
	// Name is the name of the file.
	Name string
	// Comment describes the conversation. It may have several lines.
	Comment string
	Lines   []Line
}

// Line is one message of a transcript.
type Line struct {
	// Note is the remark above the line, without its "# ". It may have several lines
	// or be empty.
	Note    string
	From    Side
	Message jsontext.Value

	number int // in the file, or 0
}

// Side is one end of a connection. Its value is the arrow in front of its messages.
type Side string

// The two sides.
const (
	Client Side = "->"
	Server Side = "<-"
)

// wireSection is the line before the messages.
const wireSection = "-- wire --\n"

// ReadTranscript reads a transcript from a file.
func ReadTranscript(name string) (*Transcript, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	comment, wire, found := strings.Cut(string(data), wireSection)
	if !found {
		return nil, fmt.Errorf("read transcript %s: want a section %q", name, strings.TrimSpace(wireSection))
	}
	t := &Transcript{Name: name, Comment: strings.TrimSpace(comment)}
	if err := t.parse(wire, strings.Count(comment, "\n")+2); err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	return t, nil
}

// parse reads the lines of the section. The first one has the given number.
func (t *Transcript) parse(wire string, number int) error {
	var note []string
	for text := range strings.Lines(wire) {
		text = strings.TrimSpace(text)
		arrow, message, _ := strings.Cut(text, " ")
		switch {
		case text == "":
		case arrow == "#":
			note = append(note, message)
		case (arrow == string(Client) || arrow == string(Server)) && jsontext.Value(message).IsValid():
			t.Lines = append(t.Lines, Line{strings.Join(note, "\n"), Side(arrow), jsontext.Value(message), number})
			note = nil
		default:
			return fmt.Errorf("%s:%d: want \"-> {json}\", \"<- {json}\" or \"# remark\"", t.Name, number)
		}
		number++
	}
	return nil
}

// String returns the transcript in the format of its file.
func (t *Transcript) String() string {
	var b strings.Builder
	if t.Comment != "" {
		b.WriteString(t.Comment + "\n")
	}
	b.WriteString(wireSection)
	for i, l := range t.Lines {
		if l.Note != "" && i > 0 {
			b.WriteByte('\n')
		}
		for remark := range strings.Lines(l.Note) {
			fmt.Fprintf(&b, "# %s\n", strings.TrimSpace(remark))
		}
		fmt.Fprintf(&b, "%s %s\n", l.From, l.Message)
	}
	return b.String()
}
