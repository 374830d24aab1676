package gateway_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// librarian is a server whose resources have its name as their text. Its tool "link" links to any
// URI, and a template that is in no list serves each.
func librarian(name string, o *mcpserver.Options) *mcpserver.Server {
	var unlisted *mcpserver.FeatureSet
	if o == nil {
		o = new(mcpserver.Options)
	}
	o.Logger, o.Dynamic = quiet, true
	o.RequestFeatures = func(*mcpserver.Request) (_, all []*mcpserver.FeatureSet) {
		return nil, []*mcpserver.FeatureSet{unlisted}
	}
	srv := mcpserver.New(name, "1", o)
	unlisted = srv.NewFeatureSet()
	if err := unlisted.AddTemplate(mcp.ResourceTemplate{URITemplate: "{+any}", Name: "any"}, saying(name), mcpserver.UncheckedVariables()); err != nil {
		panic(err)
	}
	srv.Tool("link", "Link", func(_ context.Context, in struct {
		URI string `json:"uri"`
	},
	) (mcp.Contents, error) {
		return mcp.Contents{mcp.Link(in.URI, "link"), mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: in.URI, Text: name}}}, nil
	})
	return srv
}

// saying is the handler of resources that have a text.
func saying(text string) mcpserver.ResourceHandler {
	return func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: text}}}, nil
	}
}

func offer(srv *mcpserver.Server, uri string) {
	srv.AddResource(mcp.Resource{URI: uri, Name: uri}, saying(srv.Info().Name))
}

// wantOwner reads a URI, whose text and label have to be the name of its upstream; "" means
// that there is none.
func wantOwner(t *testing.T, c *mcpclient.Client, uri, want string) {
	t.Helper()
	result, err := c.ReadResource(t.Context(), uri)
	if want == "" {
		if err == nil {
			t.Errorf("%s: got %+v, want nothing", uri, result.Contents)
		}
		return
	}
	var label string
	if err == nil {
		_, err = result.Meta.Get(host.MetaServer, &label)
	}
	if err != nil || len(result.Contents) != 1 || result.Contents[0].Text != want || result.Contents[0].URI != uri || label != want {
		t.Errorf("%s: got %+v, %q, %v, want that of %s", uri, result, label, err, want)
	}
}

// wantLink calls the tool of an upstream that links to a URI, and checks the URI that its caller
// gets.
func wantLink(t *testing.T, c *mcpclient.Client, key, uri, want string) {
	t.Helper()
	result, err := c.CallTool(t.Context(), key+"__link", map[string]string{"uri": uri})
	if err != nil || len(result.Content) != 2 || result.Content[0].(mcp.ResourceLink).URI != want || result.Content[1].(mcp.EmbeddedResource).Resource.URI != want {
		t.Errorf("%s: got %+v, %v, want links to %s", uri, result, err, want)
	}
}

func TestTemplateDoesNotAnswerForAResourceOfAnotherUpstream(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-232")
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		greedy, good := librarian("greedy", up), librarian("good", &mcpserver.Options{Revisions: up.Revisions})
		for _, template := range []string{"notes://{+rest}", "notes://a", "fondaco://good/{+rest}"} {
			greedy.AddTemplate(mcp.ResourceTemplate{URITemplate: template, Name: "all"}, saying("greedy"), mcpserver.UncheckedVariables())
		}
		good.AddTemplate(mcp.ResourceTemplate{URITemplate: "notes://{title}", Name: "note"}, saying("good"))
		offer(good, "notes://a")
		_, c := open(t, down, upstream("greedy", greedy), upstream("good", good))
		wantOwner(t, c, "notes://a", "good")
		wantOwner(t, c, "notes://b", "greedy") // the first in the file
		wantOwner(t, c, "fondaco://good/notes://b", "good")
		if oldest := mcp.V20241105; down.Revisions[0] != oldest && up.Revisions[0] != oldest { // which has no links
			wantLink(t, c, "good", "notes://c", "fondaco://good/notes://c")
			wantOwner(t, c, "fondaco://good/notes://c", "good")
			wantOwner(t, c, "notes://c", "good")
			wantLink(t, c, "greedy", "notes://c", "fondaco://greedy/notes://c")
			wantLink(t, c, "greedy", "notes://a", "fondaco://greedy/notes://a")
			wantOwner(t, c, "notes://c", "good")
			wantOwner(t, c, "fondaco://greedy/notes://c", "greedy")
		}
		wantOwner(t, c, "fondaco://nobody/notes://a", "")
		wantOwner(t, c, "fondaco://good/other://a", "")
	})
}

// Equal URIs (RFC 3986 6.2.2.1 and 6.2.2.2) have one owner, which gets the URI as it has listed it.
func TestEqualURIsHaveOneOwner(t *testing.T) {
	t.Parallel()
	good, greedy := librarian("good", nil), librarian("greedy", nil)
	offer(good, "file:///a~b")
	offer(good, "FILE:///%63") // not in the normal form
	offer(greedy, "FILE:///a%7Eb")
	offer(greedy, "file:///c")
	good.AddResource(mcp.Resource{URI: "FILE:///%64", Name: "d"}, func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		return saying(p.URI)(t.Context(), p)
	})
	greedy.AddTemplate(mcp.ResourceTemplate{URITemplate: "file:///{+rest}", Name: "all"}, saying("greedy"), mcpserver.UncheckedVariables())
	_, c := open(t, nil, upstream("good", good), upstream("greedy", greedy))
	var listed []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, r.URI)
	}
	if want := []string{"FILE:///%63", "FILE:///%64", "file:///a~b", "fondaco://greedy/FILE:///a%7Eb", "fondaco://greedy/file:///c"}; !slices.Equal(listed, want) {
		t.Errorf("got %q, want %q", listed, want)
	}
	for uri, want := range map[string]string{
		"file:///a~b": "good", "file:///a%7Eb": "good", "FILE:///a%7Eb": "good", "File:///%61%7eb": "good", "fondaco://good/file:///%61~b": "good",
		"file:///d": "FILE:///%64", "FILE:///%64": "FILE:///%64", "fondaco://good/file:///d": "FILE:///%64", // read as it is listed
		"file:///c": "good", "FILE:///%63": "good", "fondaco://greedy/file:///c": "greedy",
		"fondaco://greedy/FILE:///a%7Eb": "greedy", "fondaco://greedy/file:///A~b": "greedy",
	} {
		result, err := c.ReadResource(t.Context(), uri)
		if err != nil || len(result.Contents) != 1 || result.Contents[0].Text != want {
			t.Errorf("%s: got %+v, %v, want that of %s", uri, result, err, want)
		}
	}
	wantLink(t, c, "greedy", "file:///a%7Eb", "fondaco://greedy/file:///a%7Eb")
	wantLink(t, c, "good", "file:///a%7eb", "file:///a%7eb")
}

// A client reads what a result has named, in the same session or in a later one, when the host does
// not know any more who has named it. It never reads the resource of another server.
func TestURIThatAResultNamesNeverLeadsToTheTemplateOfAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-232")
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		if oldest := mcp.V20241105; down.Revisions[0] == oldest || up.Revisions[0] == oldest { // which has no links
			return
		}
		covering, namer := librarian("covering", up), librarian("namer", &mcpserver.Options{Revisions: up.Revisions})
		covering.AddTemplate(mcp.ResourceTemplate{URITemplate: "notes://{title}", Name: "note"}, saying("covering"))
		covering.AddTemplate(mcp.ResourceTemplate{URITemplate: "tasks://{title}", Name: "task"}, saying("covering"))
		namer.AddTemplate(mcp.ResourceTemplate{URITemplate: "tasks://{title}", Name: "task"}, saying("namer"))
		g, c := open(t, down, upstream("covering", covering), upstream("namer", namer))
		for uri, later := range map[string]string{
			"notes://a": "",      // only the tool of the server knows it
			"tasks://a": "namer", // the server has it by a template, too
		} {
			wantLink(t, c, "namer", uri, "fondaco://namer/"+uri)
			wantLink(t, c, "namer", uri, "fondaco://namer/"+uri) // again
			wantOwner(t, c, "fondaco://namer/"+uri, "namer")
			if down.Revisions[0] != mcp.V20260728 { // which has no sessions
				wantOwner(t, mcptest.Connect(t, g.Server(), down), "fondaco://namer/"+uri, later)
			}
		}
		wantLink(t, c, "covering", "notes://b", "notes://b")
		wantLink(t, c, "namer", "other://b", "other://b")
		wantOwner(t, c, "other://b", "namer")
	})
}

// A URI that an upstream has named or listed first stays its own, whatever others list later.
func TestURIIsNotTakenOverLater(t *testing.T) {
	t.Parallel()
	thief, owner := librarian("thief", nil), librarian("owner", nil)
	offer(owner, "notes://a")
	offer(thief, "notes://own")
	g, c := open(t, nil, upstream("thief", thief), upstream("owner", owner))
	wantLink(t, c, "owner", "notes://named", "notes://named")
	wantLink(t, c, "thief", "notes://named", "fondaco://thief/notes://named")

	resources := func() (uris []string) {
		for r, err := range c.Resources(t.Context(), mcpclient.NoCache()) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, r.URI)
		}
		slices.Sort(uris)
		return uris
	}
	offer(thief, "notes://a")
	offer(thief, "notes://named")
	for len(resources()) < 4 {
		if t.Context().Err() != nil {
			t.Fatal("the lists were not read again")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if want := []string{"fondaco://thief/notes://a", "notes://a", "notes://named", "notes://own"}; !slices.Equal(resources(), want) {
		t.Errorf("got %q, want %q", resources(), want)
	}
	wantOwner(t, c, "notes://a", "owner")
	wantOwner(t, c, "notes://named", "owner")
	wantOwner(t, c, "fondaco://thief/notes://a", "thief")
	wantOwner(t, c, "fondaco://owner/notes://a", "owner")
	wantOwner(t, c, "fondaco://thief/notes://named", "thief")
	wantOwner(t, mcptest.Connect(t, g.Server(), nil), "notes://named", "thief") // nobody named it to this client before
	want := []string{`resource "notes://a": upstream "owner" has it already; clients see this one as "fondaco://thief/notes://a"`}
	if got := g.Status()[0].Omitted; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// A new process or connection of the owner, or another order in the file, changes nothing.
	g.Reload([]host.Upstream{{Key: "thief", Target: mcpclient.InProcess(thief)}, {Key: "owner", Target: mcpclient.InProcess(owner), Transport: "new"}})
	wantOwner(t, c, "notes://a", "owner")
	owner.RemoveResource("notes://a")
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(10 * time.Millisecond) {
		if result, err := c.ReadResource(t.Context(), "notes://a"); err == nil && result.Contents[0].Text == "thief" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v, want the URI free when nobody lists it", result, err)
		}
	}
	wantOwner(t, c, "fondaco://thief/notes://a", "thief")
}

// slowTarget is a server that starts after a while.
type slowTarget struct {
	*mcpserver.Server
	delay time.Duration
}

func (s slowTarget) Serve(ctx context.Context, conn mcp.Conn) error {
	time.Sleep(s.delay)
	return s.Server.Serve(ctx, conn)
}

// An upstream that starts fast does not take the URIs of one that stands before it in the file.
func TestOrderOfTheFileDecidesWhileUpstreamsStart(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{3 * time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			slow, fast := librarian("slow", nil), librarian("fast", nil)
			offer(slow, "notes://a")
			offer(fast, "notes://a")
			g := gateway.New([]host.Upstream{
				{Key: "slow", Target: mcpclient.InProcess(slowTarget{slow, delay})},
				upstream("fast", fast),
			}, &gateway.Options{Logger: quiet, StartTimeout: 10 * time.Second})
			defer g.Close()
			g.Start(t.Context())
			c := mcptest.Connect(t, g.Server(), nil)
			time.Sleep(delay)
			offer(fast, "notes://b") // lists are read again
			time.Sleep(5 * time.Second)
			wantOwner(t, c, "notes://a", map[bool]string{true: "slow", false: "fast"}[delay < 10*time.Second])
		})
	}
}

// A template that could answer for resources of other servers answers under qualified URIs.
func TestTemplateWithoutLiteralSchemeAndAuthorityNeverCompetes(t *testing.T) {
	t.Parallel()
	srv, other := newServer("a"), newServer("b")
	qualified := []string{"{+any}", "{scheme}://x/{y}", "https://{host}/x", "file://{+path}", "HTTPS://{host}", "http{+rest}", "https:{+rest}", "https://a{host}", "file:///{+path}", "file:///home/{+path}", "FILE:///{name}"}
	plain := []string{"https://a.example/{x}", "file://host/{+path}", "notes://{title}", "urn:isbn:{n}"}
	for _, template := range slices.Concat(qualified, plain) {
		srv.AddTemplate(mcp.ResourceTemplate{URITemplate: template, Name: "t"}, saying("a"), mcpserver.UncheckedVariables())
	}
	other.AddTemplate(mcp.ResourceTemplate{URITemplate: "file:///{+path}", Name: "t"}, saying("b"), mcpserver.UncheckedVariables())
	g, c := open(t, nil, upstream("a", srv), upstream("b", other))
	var got []string
	for template, err := range c.Templates(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, template.URITemplate)
	}
	want := append(slices.Clone(plain), "fondaco://b/file:///{+path}")
	for _, template := range qualified {
		want = append(want, "fondaco://a/"+template)
		if !slices.ContainsFunc(g.Status()[0].Omitted, func(why string) bool { return strings.HasPrefix(why, "template \""+template+"\": ") }) {
			t.Errorf("got %q, want %s named", g.Status()[0].Omitted, template)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for uri, want := range map[string]string{
		"https://bank.example/x": "", "file://etc/passwd": "", "data:x": "", "file:///etc/passwd": "", "file:///home/x": "",
		"fondaco://a/file:///etc/passwd": "a", "fondaco://b/file:///etc/passwd": "b", "fondaco://a/https://bank.example/x": "a", "fondaco://b/https://bank.example/x": "",
		"https://a.example/x": "a", "file://host/x": "a", "notes://x": "a", "urn:isbn:1": "a",
	} {
		wantOwner(t, c, uri, want)
	}
}

// A second claimant can be listed, subscribed to and completed under its qualified URI.
func TestQualifiedURIsWorkInEveryRequest(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		first, second := librarian("first", up), librarian("second", &mcpserver.Options{Revisions: up.Revisions})
		for _, srv := range []*mcpserver.Server{first, second} {
			offer(srv, "notes://a")
			srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "notes://{title}", Name: "note"}, saying(srv.Info().Name),
				mcpserver.CompleteArg("title", mcpserver.Prefix(srv.Info().Name)))
		}
		offer(second, "fondaco://inner/notes://a") // as a host has it
		_, c := open(t, down, upstream("first", first), upstream("second", second))
		for uri, want := range map[string]string{"notes://{title}": "first", "fondaco://second/notes://{title}": "second"} {
			got, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.ResourceRef(uri), Argument: mcp.CompleteArgument{Name: "title"}})
			if err != nil || !slices.Equal(got.Values, []string{want}) {
				t.Errorf("%s: got %+v, %v, want a completion by %s", uri, got, err, want)
			}
		}
		wantOwner(t, c, "fondaco://second/fondaco://inner/notes://a", "second")
		wantOwner(t, c, "fondaco://inner/notes://a", "")

		ctx, stop := context.WithTimeout(t.Context(), testTimeout)
		defer stop()
		updates := 0
		for uri, err := range c.Watch(ctx, "fondaco://second/notes://a") {
			if err != nil {
				t.Fatal(err)
			}
			if uri != "fondaco://second/notes://a" && uri != "" {
				t.Errorf("got an update of %q, want the URI that was subscribed to", uri)
			}
			if updates++; updates == 3 {
				break
			}
			first.Updated("notes://a")
			second.Updated("notes://a")
		}
		if ctx.Err() != nil {
			t.Error("got no updates of the qualified URI")
		}
	})
}
