package embedded

import (
	"net/http"
	"strings"
)

// level is what a token may do. There are three: nothing, read, everything.
type level int

const (
	denied level = iota
	read
	manage
)

// levelOf reads the token of a request, from Nomad's header or a bearer token.
// With ACL off everybody may do everything.
func (c *Cluster) levelOf(r *http.Request) level {
	if c.opt.Management == "" {
		return manage
	}
	secret := r.Header.Get("X-Nomad-Token")
	if secret == "" {
		secret, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	switch {
	case secret == "":
		return denied
	case secret == c.opt.Management:
		return manage
	case secret == c.opt.Read:
		return read
	}
	return denied
}

type tokenWire struct {
	AccessorID     string
	CreateIndex    uint64
	CreateTime     string
	ExpirationTTL  string
	ExpirationTime *string
	Global         bool
	Hash           string
	ModifyIndex    uint64
	Name           string
	Policies       []string
	Roles          raw
	SecretID       string
	Type           string
}

func (c *Cluster) ownToken(q query) answer {
	if c.opt.Management == "" {
		return failed(http.StatusInternalServerError, "ACL support disabled")
	}
	t := tokenWire{AccessorID: uuidOf("token", "management"), CreateIndex: 1, ModifyIndex: 1, CreateTime: "2020-01-01T00:00:00Z",
		Name: "management", Type: "management", Global: true, SecretID: c.opt.Management}
	if q.level == read {
		t.AccessorID, t.Name, t.Type, t.Global = uuidOf("token", "read"), "read", "client", false
		t.Policies, t.SecretID = []string{"read"}, c.opt.Read
	}
	return readOf(1, t)
}
