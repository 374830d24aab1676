package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
)

type several struct {
	Count int `json:"count,omitzero" doc:"how many to make" min:"1" max:"100" default:"1"`
}

func uuids(_ context.Context, in several) (string, error) {
	made := make([]string, max(in.Count, 1))
	for i := range made {
		made[i] = uuid()
	}
	return strings.Join(made, "\n"), nil
}

// uuid returns a random UUID.
//
// Spec: RFC 9562 5.4
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40 // version 4
	b[8] = b[8]&0x3f | 0x80 // the variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
