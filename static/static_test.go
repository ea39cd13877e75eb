package static

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(method, path string) *http.Response {
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result()
}

func TestAssetsAreServedUnderTheirChecksumForEver(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icons.svg": "image/svg+xml", "logo.svg": "image/svg+xml"} {
		r := get("GET", URL(name))
		if r.StatusCode != 200 || r.Header.Get("Content-Type") != kind || r.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d %v", name, r.StatusCode, r.Header)
		}
	}
}

func TestOtherAddressesAreNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/static/", "/static/app.css", "/static/000000000000/app.css", URL("app.css") + "/..", strings.Replace(URL("app.css"), "app.css", "static.go", 1)} {
		if r := get("GET", path); r.StatusCode != 404 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	if r := get("POST", URL("app.css")); r.StatusCode != 405 {
		t.Errorf("POST: %d", r.StatusCode)
	}
}

func TestAssetThatTheBrowserHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", URL("app.js"), nil)
	r.Header.Set("If-None-Match", get("GET", URL("app.js")).Header.Get("ETag"))
	Handler().ServeHTTP(w, r)
	if w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}

// The promise is 50 kB of script and style for any page; all assets together stay below it.
func TestAssetsAreSmall(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, a := range assets() {
		if _, err := z.Write(a.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 50_000 {
		t.Errorf("%d bytes compressed, at most 50 000", out.Len())
	}
}

// What the content security policy forbids must not be in our own files either.
func TestNoAssetAsksAnotherHost(t *testing.T) {
	t.Parallel()
	for name, a := range assets() {
		text := strings.ReplaceAll(string(a.body), "http://www.w3.org/2000/svg", "")
		if strings.Contains(text, "http:") || strings.Contains(text, "https:") || strings.Contains(text, "url(//") {
			t.Errorf("%s names another host", name)
		}
	}
}
