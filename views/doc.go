// Package views has the pages of the portal. A page is a struct of ready strings and booleans and one template; it
// knows nothing of the domain, so whoever fills the struct decides what a person may see and do.
package views
