package interop_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser is one that a user called alice has opened. It follows redirects, keeps
// cookies, and fills in every form that it is shown.
type browser struct {
	http *http.Client
	sent int // forms
}

// maxForms bounds how many forms a sign-in may have.
const maxForms = 5

func newBrowser(t *testing.T, a *authority) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{http: a.client(t)}
	b.http.Jar = jar
	return b
}

// open opens the address and follows redirects.
func (b *browser) open(address string) error {
	_, err := b.visit(address)
	return err
}

// visit returns the last page: the first one without a form.
func (b *browser) visit(address string) (*http.Response, error) {
	resp, err := b.http.Get(address)
	for forms := 0; err == nil; forms++ {
		page, failed := io.ReadAll(resp.Body)
		resp.Body.Close()
		if failed != nil {
			return nil, failed
		}
		f := formOn(string(page))
		if f == nil {
			return resp, pageError(resp, page)
		}
		if forms == maxForms {
			return nil, fmt.Errorf("more than %d forms", maxForms)
		}
		b.sent++
		var to *url.URL
		if to, err = resp.Request.URL.Parse(f.action); err == nil {
			resp, err = b.http.PostForm(to.String(), f.fields)
		}
	}
	return nil, err
}

func pageError(resp *http.Response, page []byte) error {
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: HTTP %d\n%.2000s", resp.Request.URL.Path, resp.StatusCode, page)
	}
	return nil
}

// form is a form, filled in.
type form struct {
	action string
	fields url.Values
}

var (
	formTag   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*method="post".*?</form>`)
	inputTag  = regexp.MustCompile(`<input[^>]*>`)
	attribute = regexp.MustCompile(`(name|type|value)="([^"]*)"`)
)

// formOn returns the first form on a page, or nil.
func formOn(page string) *form {
	match := formTag.FindStringSubmatch(page)
	if match == nil {
		return nil
	}
	f := &form{action: html.UnescapeString(match[1]), fields: make(url.Values)}
	for _, input := range inputTag.FindAllString(match[0], -1) {
		of := make(map[string]string)
		for _, a := range attribute.FindAllStringSubmatch(input, -1) {
			of[a[1]] = html.UnescapeString(a[2])
		}
		switch of["type"] {
		case "text", "password":
			f.fields.Set(of["name"], "alice")
		case "hidden":
			f.fields.Set(of["name"], of["value"])
		}
	}
	return f
}

// codeOf goes to the address and returns the response that arrives at the redirect
// URI, where no server listens.
func (b *browser) codeOf(t *testing.T, address, redirect string) url.Values {
	t.Helper()
	var at *url.URL
	b.http.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), redirect) {
			at = req.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	if _, err := b.visit(address); err != nil {
		t.Fatal(err)
	}
	if at == nil {
		t.Fatal("the sign-in ended elsewhere")
	}
	return at.Query()
}
