package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
)

// With --code the texts were shown by the command that has shown the code.
func TestApprovalWithACodeOffersNoTexts(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	m := newTestMain(t, "s\ny\n", &words)
	v := &approveCommand{code: "123456"}
	var err error
	if v.questions, err = m.openQuestions(nil); err != nil {
		t.Fatal(err)
	}
	server := &approval.Pending{Subject: &approval.Subject{Name: "files"}}
	how, err := v.consent(t.Context(), m, []approvalscreen.Item{{Upstream: &host.Upstream{Key: "files"}, Server: server}})
	if err != nil || how != host.GrantedUnattended || strings.Contains(words.String(), "shows the texts") {
		t.Errorf("got %q, %v, want the answer y counted\n%s", how, err, words.String())
	}
}
