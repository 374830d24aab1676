package pgstore

import (
	"bytes"
	"strings"
	"testing"
)

func TestMessagesAreJoinedFromTheirParts(t *testing.T) {
	for _, size := range []int{0, 1, maxPart, maxPart + 1, 3 * maxPart, maxMessage} {
		msg := bytes.Repeat([]byte{0, 1, 2, 3, 255}, size/5+1)[:size]
		var a assembly
		parts := encodeMessage(msg)
		for i, part := range parts {
			if len(part) >= 8000 {
				t.Errorf("a message of %d bytes has a part of %d, want less than 8,000", size, len(part))
			}
			got, complete := a.add(part)
			if complete != (i == len(parts)-1) || complete && !bytes.Equal(got, msg) {
				t.Errorf("%d bytes, part %d of %d: got %d bytes, %v", size, i+1, len(parts), len(got), complete)
			}
		}
	}
}

func TestPartsOfAnIncompleteMessageAreIgnored(t *testing.T) {
	lost := encodeMessage(bytes.Repeat([]byte{'l'}, 3*maxPart))
	whole := encodeMessage([]byte("whole"))
	for name, payloads := range map[string][]string{
		"the beginning is lost": lost[1:],
		"the middle is lost":    {lost[0], lost[2]},
		"the end is lost":       lost[:2],
		"of two messages":       {lost[0], encodeMessage(bytes.Repeat([]byte{'o'}, 3*maxPart))[1]},
		"of somebody else":      {"", "text", ":::", "0:0:id", "0:0:id:***", "-1:0:id:", "1:0:id:", "0:999:id:", "0:0:id:" + strings.Repeat("*", 8000)},
	} {
		var a assembly
		for _, payload := range payloads {
			if msg, complete := a.add(payload); complete {
				t.Errorf("%s: got a message of %d bytes, want none", name, len(msg))
			}
		}
		if msg, complete := a.add(whole[0]); !complete || string(msg) != "whole" {
			t.Errorf("after %s: got %q, %v, want the next message", name, msg, complete)
		}
	}
}
