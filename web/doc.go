// Package web is the portal: routes, sessions, forms, pages and server-sent events over the use cases of package
// domain. A handler is five steps: identify (the route's access does it), read the form, call one use case, show the
// form again with what was typed when it was refused, and redirect with 303 when it was done.
//
// A new page is one row in routes.go, a method of Server in a file noun_verb.go, a templ component in package views
// that gets ready strings, and one row in the tests' table of who gets which status.
package web
