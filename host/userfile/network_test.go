package userfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/userfile"
)

func TestPathsOfOtherMachinesAreRecognized(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		`\\Host\Share\x`:                       `\\host\share`,
		`\\host`:                               `\\host\`,
		`\\host@SSL@443\DavWWWRoot\x`:          `\\host@ssl@443\davwwwroot`,
		`//host/share/x`:                       `\\host\share`,
		`\/host\share/x`:                       `\\host\share`,
		`/\host/share`:                         `\\host\share`,
		`\\\host\share`:                        `\\host\share`,
		`\\?\UNC\host\share\x`:                 `\\host\share`,
		`\\.\unc\host\share`:                   `\\host\share`,
		`//?/UNC/host/share`:                   `\\host\share`,
		`\??\UNC\host\share`:                   `\\host\share`,
		`\\?\GLOBALROOT\Device\Mup\host\share`: `\\?\globalroot`,
		`\\.\pipe\x`:                           `\\.\pipe`,
		`\\?\C:\x`:                             "",
		`\\.\C:\..\UNC\host\share\x`:           `\\.\c:`,
		`\\.\C:\a\..`:                          `\\.\c:`,
		`\\?\Volume{1}\x`:                      "",
		`C:\x`:                                 "",
		`c:/x`:                                 "",
		`\x`:                                   "",
		`x`:                                    "",
		`x\\host\share`:                        "",
		`https://example.com/mcp`:              "",
		`//`:                                   "",
		``:                                     "",
	} {
		if got := userfile.NetworkVolume(path, true); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{`//usr/bin/x`: "", `\\host\share\x`: `\\host\share`, `\\?\UNC\host\share`: `\\host\share`, "/x": ""} {
		if got := userfile.NetworkVolume(path, false); got != want {
			t.Errorf("on Unix, %s: got %q, want %q", path, got, want)
		}
	}
}

func TestSymbolicLinksToOtherMachinesAreNotFollowed(t *testing.T) {
	t.Parallel()
	links := map[string]string{
		`C:\proj\tool`:  `\\evil\share`,
		`C:\proj\a`:     `C:\proj\b`,
		`C:\proj\b`:     `tool`,
		`C:\proj\root`:  `\proj\tool`,
		`C:\proj\here`:  `D:\real`,
		`C:\proj\loop`:  `C:\proj\loop`,
		`\\corp\home\x`: `\\evil\share`,
	}
	for path, want := range map[string]string{
		`C:\proj\tool\bin\x.js`: `\\evil\share`,
		`C:\proj\tool`:          `\\evil\share`,
		`C:\proj\a\x.js`:        `\\evil\share`,
		`C:\proj\root\x.js`:     `\\evil\share`,
		`C:\proj\here\x.js`:     "",
		`C:\proj\other\x.js`:    "",
		`\\corp\home\x\y`:       `\\evil\share`,
		`\\corp\home\z`:         "",
		`C:\proj\loop\x.js`:     "by more than 40 symbolic links",
	} {
		got, lookedAt := userfile.LeadsTo(path, links)
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		if slices.ContainsFunc(lookedAt, func(path string) bool { return strings.Contains(path, "evil") }) {
			t.Errorf("%s: looked at %q, want nothing on another machine", path, lookedAt)
		}
	}
}

func TestProjectChoosesNoOtherMachine(t *testing.T) {
	t.Setenv("PATH", `\\tools\bin`)
	for _, test := range []struct {
		path, project string
		ok            bool
	}{
		{`\\evil\share\x`, `C:\proj`, false},
		{`\\evil\share\x`, "", true},
		{`\\corp\home\proj\x`, `\\CORP\home\proj`, true},
		{`\\corp\other\x`, `\\corp\home\proj`, false},
		{`\\tools\bin\x.exe`, `C:\proj`, true},
	} {
		err := userfile.CheckLocal(test.path, test.project)
		if (err == nil) != test.ok || err != nil && !strings.Contains(err.Error(), "Windows would send your credentials there") {
			t.Errorf("%s in the project %q: got %v", test.path, test.project, err)
		}
	}
}
