package demo

import (
	"cmp"
	"context"
	"crypto"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

type text struct {
	Text string `json:"text" doc:"the text to look at"`
}

type statistics struct {
	Characters int `json:"characters"`
	Words      int `json:"words"`
	Lines      int `json:"lines"`
	Bytes      int `json:"bytes" doc:"size in UTF-8"`
}

func textStats(_ context.Context, in text) (statistics, error) {
	return statistics{
		Characters: utf8.RuneCountInString(in.Text),
		Words:      len(strings.Fields(in.Text)),
		Lines:      len(strings.Split(strings.TrimSuffix(in.Text, "\n"), "\n")),
		Bytes:      len(in.Text),
	}, nil
}

type hashed struct {
	Text      string `json:"text" doc:"the text, taken as UTF-8"`
	Algorithm string `json:"algorithm,omitzero" enum:"sha256|sha512|sha1" default:"sha256"`
}

var algorithms = map[string]crypto.Hash{"sha256": crypto.SHA256, "sha512": crypto.SHA512, "sha1": crypto.SHA1}

func digest(_ context.Context, in hashed) (string, error) {
	h := algorithms[cmp.Or(in.Algorithm, "sha256")].New()
	h.Write([]byte(in.Text))
	return hex.EncodeToString(h.Sum(nil)), nil
}
