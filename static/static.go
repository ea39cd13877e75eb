// Package static holds the stylesheet, the script and the pictures of the portal. They are embedded in the
// program and served under a checksum of their content, so a browser may keep them for ever.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path under which Handler wants to be mounted.
const Prefix = "/static/"

//go:embed app.css app.js icons.svg logo.svg
var files embed.FS

// types is written out because mime.TypeByExtension reads tables of the host, and these differ.
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

type asset struct {
	body []byte
	hash string
}

var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	names, err := fs.Glob(files, "*")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for _, name := range names {
		body, err := files.ReadFile(name)
		if err != nil {
			panic(err) // the file is in the program
		}
		sum := sha256.Sum256(body)
		all[name] = asset{body, hex.EncodeToString(sum[:6])}
	}
	return all
})

// URL returns the path of an asset with its checksum, for example "/static/0123456789ab/app.css".
// It panics on a name that is not embedded: that is a mistake in a template, found by its first test.
func URL(name string) string {
	a, ok := assets()[name]
	if !ok {
		panic("static: no asset " + name)
	}
	return Prefix + a.hash + "/" + name
}

// Handler serves every asset under the path URL gives it. An old or wrong checksum is not found, so that a page of
// a former version never mixes with assets of this one.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Only GET and HEAD.", http.StatusMethodNotAllowed)
			return
		}
		hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
		a, ok := assets()[name]
		if !ok || a.hash != hash {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", types[path.Ext(name)])
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("ETag", strconv.Quote(a.hash))
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Header.Get("If-None-Match") == strconv.Quote(a.hash) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Length", strconv.Itoa(len(a.body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(a.body) // the browser may have gone
		}
	})
}
