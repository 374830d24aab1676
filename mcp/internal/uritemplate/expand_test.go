package uritemplate_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// rfcValues are the variables that the examples of RFC 6570 3.2 use.
var rfcValues = uritemplate.Values{
	"count": uritemplate.List("one", "two", "three"),
	"dom":   uritemplate.List("example", "com"),
	"dub":   uritemplate.String("me/too"),
	"hello": uritemplate.String("Hello World!"),
	"half":  uritemplate.String("50%"),
	"var":   uritemplate.String("value"),
	"who":   uritemplate.String("fred"),
	"base":  uritemplate.String("http://example.com/home/"),
	"path":  uritemplate.String("/foo/bar"),
	"list":  uritemplate.List("red", "green", "blue"),
	"keys": uritemplate.Pairs(
		uritemplate.Pair{Name: "semi", Value: ";"},
		uritemplate.Pair{Name: "dot", Value: "."},
		uritemplate.Pair{Name: "comma", Value: ","},
	),
	"v":          uritemplate.String("6"),
	"x":          uritemplate.String("1024"),
	"y":          uritemplate.String("768"),
	"empty":      uritemplate.String(""),
	"empty_keys": uritemplate.Pairs(),
}

// rfcExamples are the examples of RFC 6570 3.2.1 to 3.2.9, in their order.
var rfcExamples = []struct{ template, uri string }{
	{"{count}", "one,two,three"},
	{"{count*}", "one,two,three"},
	{"{/count}", "/one,two,three"},
	{"{/count*}", "/one/two/three"},
	{"{;count}", ";count=one,two,three"},
	{"{;count*}", ";count=one;count=two;count=three"},
	{"{?count}", "?count=one,two,three"},
	{"{?count*}", "?count=one&count=two&count=three"},
	{"{&count*}", "&count=one&count=two&count=three"},

	{"{var}", "value"},
	{"{hello}", "Hello%20World%21"},
	{"{half}", "50%25"},
	{"O{empty}X", "OX"},
	{"O{undef}X", "OX"},
	{"{x,y}", "1024,768"},
	{"{x,hello,y}", "1024,Hello%20World%21,768"},
	{"?{x,empty}", "?1024,"},
	{"?{x,undef}", "?1024"},
	{"?{undef,y}", "?768"},
	{"{var:3}", "val"},
	{"{var:30}", "value"},
	{"{list}", "red,green,blue"},
	{"{list*}", "red,green,blue"},
	{"{keys}", "semi,%3B,dot,.,comma,%2C"},
	{"{keys*}", "semi=%3B,dot=.,comma=%2C"},

	{"{+var}", "value"},
	{"{+hello}", "Hello%20World!"},
	{"{+half}", "50%25"},
	{"{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"},
	{"{+base}index", "http://example.com/home/index"},
	{"O{+empty}X", "OX"},
	{"O{+undef}X", "OX"},
	{"{+path}/here", "/foo/bar/here"},
	{"here?ref={+path}", "here?ref=/foo/bar"},
	{"up{+path}{var}/here", "up/foo/barvalue/here"},
	{"{+x,hello,y}", "1024,Hello%20World!,768"},
	{"{+path,x}/here", "/foo/bar,1024/here"},
	{"{+path:6}/here", "/foo/b/here"},
	{"{+list}", "red,green,blue"},
	{"{+list*}", "red,green,blue"},
	{"{+keys}", "semi,;,dot,.,comma,,"},
	{"{+keys*}", "semi=;,dot=.,comma=,"},

	{"{#var}", "#value"},
	{"{#hello}", "#Hello%20World!"},
	{"{#half}", "#50%25"},
	{"foo{#empty}", "foo#"},
	{"foo{#undef}", "foo"},
	{"{#x,hello,y}", "#1024,Hello%20World!,768"},
	{"{#path,x}/here", "#/foo/bar,1024/here"},
	{"{#path:6}/here", "#/foo/b/here"},
	{"{#list}", "#red,green,blue"},
	{"{#list*}", "#red,green,blue"},
	{"{#keys}", "#semi,;,dot,.,comma,,"},
	{"{#keys*}", "#semi=;,dot=.,comma=,"},

	{"{.who}", ".fred"},
	{"{.who,who}", ".fred.fred"},
	{"{.half,who}", ".50%25.fred"},
	{"www{.dom*}", "www.example.com"},
	{"X{.var}", "X.value"},
	{"X{.empty}", "X."},
	{"X{.undef}", "X"},
	{"X{.var:3}", "X.val"},
	{"X{.list}", "X.red,green,blue"},
	{"X{.list*}", "X.red.green.blue"},
	{"X{.keys}", "X.semi,%3B,dot,.,comma,%2C"},
	{"X{.keys*}", "X.semi=%3B.dot=..comma=%2C"},
	{"X{.empty_keys}", "X"},
	{"X{.empty_keys*}", "X"},

	{"{/who}", "/fred"},
	{"{/who,who}", "/fred/fred"},
	{"{/half,who}", "/50%25/fred"},
	{"{/who,dub}", "/fred/me%2Ftoo"},
	{"{/var}", "/value"},
	{"{/var,empty}", "/value/"},
	{"{/var,undef}", "/value"},
	{"{/var,x}/here", "/value/1024/here"},
	{"{/var:1,var}", "/v/value"},
	{"{/list}", "/red,green,blue"},
	{"{/list*}", "/red/green/blue"},
	{"{/list*,path:4}", "/red/green/blue/%2Ffoo"},
	{"{/keys}", "/semi,%3B,dot,.,comma,%2C"},
	{"{/keys*}", "/semi=%3B/dot=./comma=%2C"},

	{"{;who}", ";who=fred"},
	{"{;half}", ";half=50%25"},
	{"{;empty}", ";empty"},
	{"{;v,empty,who}", ";v=6;empty;who=fred"},
	{"{;v,bar,who}", ";v=6;who=fred"},
	{"{;x,y}", ";x=1024;y=768"},
	{"{;x,y,empty}", ";x=1024;y=768;empty"},
	{"{;x,y,undef}", ";x=1024;y=768"},
	{"{;hello:5}", ";hello=Hello"},
	{"{;list}", ";list=red,green,blue"},
	{"{;list*}", ";list=red;list=green;list=blue"},
	{"{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"},
	{"{;keys*}", ";semi=%3B;dot=.;comma=%2C"},

	{"{?who}", "?who=fred"},
	{"{?half}", "?half=50%25"},
	{"{?x,y}", "?x=1024&y=768"},
	{"{?x,y,empty}", "?x=1024&y=768&empty="},
	{"{?x,y,undef}", "?x=1024&y=768"},
	{"{?var:3}", "?var=val"},
	{"{?list}", "?list=red,green,blue"},
	{"{?list*}", "?list=red&list=green&list=blue"},
	{"{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"},
	{"{?keys*}", "?semi=%3B&dot=.&comma=%2C"},

	{"{&who}", "&who=fred"},
	{"{&half}", "&half=50%25"},
	{"?fixed=yes{&x}", "?fixed=yes&x=1024"},
	{"{&x,y,empty}", "&x=1024&y=768&empty="},
	{"{&x,y,undef}", "&x=1024&y=768"},
	{"{&var:3}", "&var=val"},
	{"{&list}", "&list=red,green,blue"},
	{"{&list*}", "&list=red&list=green&list=blue"},
	{"{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"},
	{"{&keys*}", "&semi=%3B&dot=.&comma=%2C"},
}

func mustParse(t *testing.T, text string) *uritemplate.Template {
	t.Helper()
	template, err := uritemplate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestExpandWritesTheExamplesOfTheRFC(t *testing.T) {
	t.Parallel()
	for _, tt := range rfcExamples {
		got, err := mustParse(t, tt.template).Expand(rfcValues)
		if got != tt.uri || err != nil {
			t.Errorf("%s: got %q, %v, want %q", tt.template, got, err, tt.uri)
		}
	}
}

func TestExpandEncodes(t *testing.T) {
	t.Parallel()
	values := uritemplate.Values{
		"accents": uritemplate.String("é😀"),
		"triplet": uritemplate.String("%2F%2"),
		"control": uritemplate.String("a\x00\r\n\"<>\\^`{|}"),
		"slashes": uritemplate.List("a/b", "", "c"),
	}
	for _, tt := range []struct{ template, uri string }{
		{"{accents}", "%C3%A9%F0%9F%98%80"},
		{"{accents:1}", "%C3%A9"},
		{"{+accents}", "%C3%A9%F0%9F%98%80"},
		{"{triplet}", "%252F%252"},
		{"{+triplet}", "%2F%252"},
		{"{+control}", "a%00%0D%0A%22%3C%3E%5C%5E%60%7B%7C%7D"},
		{"{/slashes*}", "/a%2Fb//c"},
		{"{?slashes*}", "?slashes=a%2Fb&slashes=&slashes=c"},
		{"{;slashes*}", ";slashes=a%2Fb;slashes;slashes=c"},
		{"é/%c3%a9'", "%C3%A9/%c3%a9'"},
		{"", ""},
	} {
		got, err := mustParse(t, tt.template).Expand(values)
		if got != tt.uri || err != nil {
			t.Errorf("%s: got %q, %v, want %q", tt.template, got, err, tt.uri)
		}
	}
}

func TestPrefixOfAListIsAnError(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"{list:3}", "{?keys:3}"} {
		_, err := mustParse(t, template).Expand(rfcValues)
		if err == nil || !strings.Contains(err.Error(), "only a string has a prefix") {
			t.Errorf("%s: got %v", template, err)
		}
	}
}
