package mcptest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// playAgainst plays the client's part of a transcript against a peer that sends the given
// messages, whatever it receives.
func playAgainst(t *testing.T, wire string, peer []string, opts ...mcptest.PlayOption) error {
	t.Helper()
	name := filepath.Join(t.TempDir(), "test.txtar")
	if err := os.WriteFile(name, []byte("A comment.\n-- wire --\n"+wire), 0o666); err != nil {
		t.Fatal(err)
	}
	ours, theirs := memory.Pair()
	defer ours.Close()
	for _, message := range peer {
		if err := theirs.Write(t.Context(), []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, name).Play(t.Context(), mcptest.Client, ours, opts...)
}

func TestPlayComparesByValue(t *testing.T) {
	t.Parallel()
	const wire = `-> {"id":1,"method":"a"}` + "\n" + `<- {"id":1,"result":{"n":9007199254740993,"s":"è","list":[1,{"x":null}]}}` + "\n"
	for _, tt := range []struct {
		name   string
		peer   string
		ignore []string
		want   string // in the error; "" is none
	}{
		{"the same in another form", `{"result": {"list":[1.0,{"x":null}],"s":"\u00e8","n":9007199254740993},"id":1}`, nil, ""},
		{"another number", `{"id":1,"result":{"n":9007199254740992,"s":"è","list":[1,{"x":null}]}}`, nil, "test.txtar:4: /result/n: got 9007199254740992, want 9007199254740993"},
		{"another type", `{"id":"1","result":{"n":9007199254740993,"s":"è","list":[1,{"x":null}]}}`, nil, `/id: got "1", want 1`},
		{"a member more", `{"id":1,"result":{"n":9007199254740993,"s":"è","list":[1,{"x":null}],"more":{}}}`, nil, "/result/more: got {}, want nothing"},
		{"a member less", `{"id":1,"result":{"s":"è","list":[1,{"x":null}]}}`, nil, "/result/n: got nothing, want 9007199254740993"},
		{"null for nothing", `{"id":1,"result":{"n":9007199254740993,"s":"è","list":[1,{}]}}`, nil, "/result/list/1/x: got nothing, want null"},
		{"an element more", `{"id":1,"result":{"n":9007199254740993,"s":"è","list":[1,{"x":null},2]}}`, nil, "/result/list/2: got 2, want nothing"},
		{"an object for an array", `{"id":1,"result":{"n":9007199254740993,"s":"è","list":{}}}`, nil, "/result/list: got {}, want [1,"},
		{"a duplicate", `{"id":1,"id":1,"result":{}}`, nil, "/result: got nothing, want {"},
		{"an ignored member", `{"id":1,"result":{"s":"è","list":[1,{"x":null}]}}`, []string{"/result/n"}, ""},
		{"ignored elements", `{"id":1,"result":{"n":9007199254740993,"s":"è","list":[1,{"y":0},2,3]}}`, []string{"/result/list/*/y", "/result/list/1/x", "/result/list/2", "/result/list/3"}, ""},
		{"any member", `{"id":1,"result":{}}`, []string{"/result/*"}, ""},
		{"beside what is ignored", `{"id":2,"result":{}}`, []string{"/result/*"}, "/id: got 2, want 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, playAgainst(t, wire, []string{tt.peer}, mcptest.Ignore(tt.ignore...)), tt.want)
		})
	}
}

func TestPlayChecksTheOrderExceptOfChangeNotifications(t *testing.T) {
	t.Parallel()
	const (
		progress = `{"method":"notifications/progress"}`
		reply    = `{"id":1,"result":{}}`
		tools    = `{"method":"notifications/tools/list_changed"}`
		updated  = `{"method":"notifications/resources/updated","params":{"uri":"a"}}`
		foreign  = `{"method":"notifications/resources/updated","params":{"uri":"b"}}`
	)
	for _, tt := range []struct {
		name string
		row  []string
		peer []string
		want string
	}{
		{"as it stands", []string{progress, reply, tools, updated}, []string{progress, reply, tools, updated}, ""},
		{"changes first", []string{progress, reply, tools, updated}, []string{updated, tools, progress, reply}, ""},
		{"changes between", []string{tools, progress, reply, updated}, []string{progress, updated, tools, reply}, ""},
		{"the reply too early", []string{progress, reply}, []string{reply, progress}, "test.txtar:3: /id: got 1, want nothing"},
		{"a change of another", []string{reply, updated}, []string{foreign, reply}, "test.txtar:3: /id: got nothing, want 1"},
		{"a change of another at last", []string{reply, updated}, []string{reply, foreign}, `test.txtar:4: /params/uri: got "b", want "a"`},
		{"the same change twice", []string{tools, reply}, []string{tools, tools, reply}, "test.txtar:4: /id: got nothing, want 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, playAgainst(t, "<- "+strings.Join(tt.row, "\n<- "), tt.peer), tt.want)
		})
	}
}

func TestPlayTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := playAgainst(t, `<- {"id":1,"result":{}}`, nil)
		checkError(t, err, `test.txtar:3: no message within 2m0s`)
	})
}

func TestReadTranscriptSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"-> {}\n", "want a section \"-- wire --\""},
		{"one\ntwo\n-- wire --\n# a remark\n\n=> {}\n", "test.txtar:6: want \"-> {json}\""},
		{"-- wire --\n-> {\n", "test.txtar:2: want \"-> {json}\""},
	} {
		name := filepath.Join(t.TempDir(), "test.txtar")
		if err := os.WriteFile(name, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := mcptest.ReadTranscript(name)
		checkError(t, err, tt.want)
	}
	if _, err := mcptest.ReadTranscript("no such file"); err == nil {
		t.Error("no such file: got no error")
	}
}

// read returns the transcript in a file.
func read(tb testing.TB, name string) *mcptest.Transcript {
	tb.Helper()
	transcript, err := mcptest.ReadTranscript(name)
	if err != nil {
		tb.Fatal(err)
	}
	return transcript
}

// checkError checks that an error says what is wanted, or that there is none.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("got error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want %q in it", err, want)
	}
}
