//go:build load && !race

package cli

import (
	"fmt"
	"testing"
	"time"
)

// maxRecording is what the recorder, which every host has, may add to a relayed call.
const maxRecording = 20 * time.Microsecond

// A failure here means that every call through a host takes longer than docs/recording.md says.
func TestLoadRecordingOfARelayedCall(t *testing.T) {
	const turns, calls = 60, 100
	plain, _ := relayedCall(t, false)
	recorded, _ := relayedCall(t, true)
	without, with := time.Hour, time.Hour
	for range turns {
		for call, shortest := range map[*func()]*time.Duration{&plain: &without, &recorded: &with} {
			begun := time.Now()
			for range calls {
				(*call)()
			}
			*shortest = min(*shortest, time.Since(begun)/calls)
		}
	}
	t.Attr("verdict", fmt.Sprintf("load: a relayed call takes %v with the recorder and %v without", with, without))
	t.Logf("with the recorder %v, without %v", with, without)
	if with > without+maxRecording {
		t.Errorf("got %v for a call with the recorder, and %v without, want at most %v more", with, without, maxRecording)
	}
}
