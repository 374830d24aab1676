package uritemplate_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

func checked(string) bool { return false }

func TestUnsafeValuesAreNamed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-231a")
	const (
		segment = `; want one segment of a path: no "/", "\", NUL, "..", and no drive letter`
		path    = `; want a relative path: no "/", "\" or drive letter at its beginning, no segment "..", and no NUL`
		text    = `; want a text without NUL and without a segment ".."`
	)
	for _, tt := range []struct{ template, uri, want string }{
		{"file:///{name}", "file:///..", `variable "name": the value has a segment ".."` + segment},
		{"file:///{name}", "file:///%2e%2E", `variable "name": the value has a segment ".."` + segment},
		{"file:///{name}", "file:///..%20", `variable "name": the value has a segment ".."` + segment},
		{"file:///{name}", "file:///..%2F..%2Fetc%2Fpasswd", `variable "name": the value has the separator "/"` + segment},
		{"file:///{name}", "file:///a%2fb", `variable "name": the value has the separator "/"` + segment},
		{"file:///{name}", "file:///a%5Cb", `variable "name": the value has the separator "\\"` + segment},
		{"file:///{name}", "file:///a%00.txt", `variable "name": the value has a NUL` + segment},
		{"file:///{name}", "file:///C:", `variable "name": the value begins with a drive letter` + segment},
		{"file:///{name}", "file:///c:%5Cx", `variable "name": the value begins with a drive letter` + segment},
		{"file:///{dir}/{name}", "file:///z:/boot.ini", `variable "dir": the value begins with a drive letter` + segment},
		{"file:///{a,b}", "file:///x,..", `variable "b": the value has a segment ".."` + segment},
		{"file:///{a*}", "file:///x,..", `variable "a": the value has a segment ".."` + segment},
		{"file:///{a:2}", "file:///..", `variable "a": the value has a segment ".."` + segment},
		{"a{/x}", "a/..", `variable "x": the value has a segment ".."` + segment},
		{"a{/x}", "a/b%2Fc", `variable "x": the value has the separator "/"` + segment},
		{"a{.x}", "a.%2F", `variable "x": the value has the separator "/"` + segment},
		{"a{;x}", "a;x=%2F", `variable "x": the value has the separator "/"` + segment},

		{"file:///{+path}", "file:///../etc", `variable "path": the value has a segment ".."` + path},
		{"file:///{+path}", "file:///a/%2E%2e/b", `variable "path": the value has a segment ".."` + path},
		{"file:///{+path}", "file:///a%2F..", `variable "path": the value has a segment ".."` + path},
		{"file:///{+path}", "file:///a%5C..%5Cb", `variable "path": the value has a segment ".."` + path},
		{"file:///{+path}", "file:///a/..%20%20/b", `variable "path": the value has a segment ".."` + path},
		{"file:///{+path}", "file:////etc", `variable "path": the value is an absolute path` + path},
		{"file:///{+path}", "file:///%2Fetc", `variable "path": the value is an absolute path` + path},
		{"file:///{+path}", "file:///%5C%5Chost%5Cshare", `variable "path": the value is an absolute path` + path},
		{"file:///{+path}", "file:///C:/x", `variable "path": the value begins with a drive letter` + path},
		{"file:///{+path}", "file:///c:%5Cx", `variable "path": the value begins with a drive letter` + path},
		{"file:///{+path}", "file:///a/b%00", `variable "path": the value has a NUL` + path},
		{"file://{/path*}", "file:///a/../b", `variable "path": the value has a segment ".."` + path},
		{"file://{/path*}", "file:////etc", `variable "path": the value is an absolute path` + path},
		{"file://{/path*}", "file:///a/%2Fetc", `variable "path": the value is an absolute path` + path},
		{"file://{/path*}", "file:///C:/x", `variable "path": the value begins with a drive letter` + path},
		{"file://{/path*}", "file:///a%2F../b", `variable "path": the value has a segment ".."` + path},

		{"a{?q}", "a?q=../x", `variable "q": the value has a segment ".."` + text},
		{"a{?q*}", "a?q=a&q=b%2F..", `variable "q": the value has a segment ".."` + text},
		{"a{#f}", "a#%00", `variable "f": the value has a NUL` + text},

		// The strictest expression of a variable counts.
		{"{+x}/{x}", "a/b/a%2Fb", `variable "x": the value has the separator "/"` + segment},

		// Values that are a segment together.
		{"file:///{a}{b}", "file:///..", `the variables give a segment ".." together; want a path without`},
		{"file:///.{name}", "file:///..", `the variables give a segment ".." together; want a path without`},
		{"file:///.{name}", "file:///.%2e", `the variables give a segment ".." together; want a path without`},
		{"file:///x/{name}.", "file:///x/..", `the variables give a segment ".." together; want a path without`},
		{"file:///.{+path}", "file:///../etc", `the variables give a segment ".." together; want a path without`},
	} {
		template := mustParse(t, tt.template)
		values := mustMatch(t, template, tt.uri)
		if err := template.Check(tt.uri, values, checked); err == nil || err.Error() != tt.want {
			t.Errorf("%s of %s:\ngot  %v\nwant %s", tt.template, tt.uri, err, tt.want)
		}
		if err := template.Check(tt.uri, values, func(string) bool { return true }); err != nil {
			t.Errorf("%s of %s without check: %v", tt.template, tt.uri, err)
		}
	}
}

func TestSafeValuesPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ template, uri string }{
		{"users://{id}", "users://7"},
		{"users://{id}", "users://u:7"},
		{"users://{id}", "users://urn:x:y"},
		{"users://{id}", "users://bob@example.com"},
		{"users://{id}", "users://a..b"},
		{"users://{id}", "users://..."},
		{"users://{id}", "users://.git"},
		{"users://{a}{b}", "users://ab"},
		// Values are decoded once, so this one is the text %2e%2e%2f.
		{"users://{id}", "users://%252e%252e%252f"},
		// Characters that look like separators and dots separate nothing.
		{"users://{id}", "users://%E2%88%95%EF%BC%8F%E2%81%84%E2%80%A5%EF%BC%8E%EF%BC%8E"},
		{"file:///{+path}", "file:///a/b/..c/d.."},
		{"file:///{+path}", "file:///a//b/"},
		{"file:///{+path}", "file:///ab:/c"},
		{"proxy://{+url}", "proxy://https://example.com/a?b"},
		{"file://{/path*}", "file:///a/b"},
		{"file://{/path*}", "file:///"},
		{"a{?q}", "a?q=/a/b"},
		{"a{?q}", "a?q=C:/x"},
		{"a{?from,to}", "a?from=1..2&to=..3"},
		{"a{#pointer}", "a#/a/b"},
		{"../{x}", "../y"},
	} {
		template := mustParse(t, tt.template)
		if err := template.Check(tt.uri, mustMatch(t, template, tt.uri), checked); err != nil {
			t.Errorf("%s of %s: %v", tt.template, tt.uri, err)
		}
	}
}

func TestUncheckedVariablesLeaveTheOthersChecked(t *testing.T) {
	t.Parallel()
	template := mustParse(t, "{+dir}/{name}")
	const uri = "../a/%2e%2e"
	values := mustMatch(t, template, uri)
	if err := template.Check(uri, values, func(name string) bool { return name == "dir" }); err == nil {
		t.Errorf("got nil for %s, want an error of the variable name", show(values))
	}
	if err := template.Check("../a/b", mustMatch(t, template, "../a/b"), func(name string) bool { return name == "dir" }); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func mustMatch(t *testing.T, template *uritemplate.Template, uri string) uritemplate.Values {
	t.Helper()
	values, ok := template.Match(uri)
	if !ok {
		t.Fatalf("%s does not match %s", uri, template)
	}
	return values
}
