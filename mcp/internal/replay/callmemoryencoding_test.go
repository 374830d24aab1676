package replay_test

import (
	"encoding/json/jsontext"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/replay"
)

func fullMemory() replay.Memory {
	return replay.Memory{
		ID: "id", Round: 3, Unanswered: 1, StartedAt: time.Unix(1, 2).UTC(), Seed: "seed", Running: 5,
		Open:    replay.Table[replay.OpenQuestion]{{Key: "", Value: replay.OpenQuestion{Digest: digestOther, Again: true}}, {Key: "a", Value: replay.OpenQuestion{Digest: digestA}}},
		Answers: table("b", replay.Answer{Value: jsontext.Value(`{"x":1}`), Question: digestA, Checked: true}),
		Results: map[string]jsontext.Value{"c": jsontext.Value(`"r"`)},
		Parked:  map[string]string{"d": "ticket"}, Progress: 0.5, Raw: true, State: new(""),
	}
}

func TestMemoryIsEncodedAndDecodedWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]replay.Memory{"full": fullMemory(), "empty": {}, "later": {StartedAt: time.Now(), Running: -1}} {
		got, err := replay.DecodeMemory(m.Encode())
		if err != nil || !sameMemory(got, m) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, m)
		}
	}
}

func TestInvalidMemoryIsRefused(t *testing.T) {
	t.Parallel()
	m := fullMemory()
	whole := m.Encode()
	for n := range whole {
		if _, err := replay.DecodeMemory(whole[:n:n]); err == nil {
			t.Errorf("the first %d of %d bytes are taken", n, len(whole))
		}
	}
	if _, err := replay.DecodeMemory(append(whole[:len(whole):len(whole)], 0)); err == nil {
		t.Error("a byte too many is taken")
	}
	if _, err := replay.DecodeMemory([]byte(`{"id":"x"}`)); err == nil {
		t.Error("JSON is taken")
	}
}

func TestDamagedMemoryDoesNotPanic(t *testing.T) {
	t.Parallel()
	m := fullMemory()
	whole := m.Encode()
	for i := range whole {
		for value := range 256 {
			damaged := append([]byte(nil), whole...)
			damaged[i] = byte(value)
			if m, err := replay.DecodeMemory(damaged); err == nil && len(m.Encode()) > 2*len(whole) {
				t.Errorf("byte %d is %d: got %+v", i, value, m)
			}
		}
	}
}
