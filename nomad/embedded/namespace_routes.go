package embedded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

type namespace struct {
	Capabilities          *capabilities
	ConsulConfiguration   raw
	CreateIndex           uint64
	Description           string
	Hash                  string
	Meta                  map[string]string
	ModifyIndex           uint64
	Name                  string
	NodePoolConfiguration raw
	OptionalExtraClaims   raw
	Quota                 string
	RequiredExtraClaims   raw
	VaultConfiguration    raw
}

type capabilities struct {
	DisabledNetworkModes []string
	DisabledTaskDrivers  []string
	EnabledNetworkModes  []string
	EnabledTaskDrivers   []string
}

func (n *namespace) allows(driver string) bool {
	k := n.Capabilities
	return k == nil || !slices.Contains(k.DisabledTaskDrivers, driver) &&
		(len(k.EnabledTaskDrivers) == 0 || slices.Contains(k.EnabledTaskDrivers, driver))
}

func (c *Cluster) listNamespaces(q query) answer {
	var rows []*namespace
	for _, n := range c.s.namespaces {
		if strings.HasPrefix(n.Name, q.params.Get("prefix")) {
			rows = append(rows, n)
		}
	}
	slices.SortFunc(rows, func(a, b *namespace) int { return strings.Compare(a.Name, b.Name) })
	return listed(q, c.s.Last["namespaces"], rows, func(n *namespace) string { return n.Name })
}

func (c *Cluster) readNamespace(q query) answer {
	n := c.s.namespaces[q.PathValue("name")]
	if n == nil {
		return notFound(c.s.Last["namespaces"], "Namespace")
	}
	return readOf(n.ModifyIndex, n)
}

var namespaceName = regexp.MustCompile(`^[a-zA-Z0-9-]{1,128}$`)

func (c *Cluster) writeNamespace(q query) answer {
	n := new(namespace)
	if err := json.Unmarshal(q.body, n); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if p := q.PathValue("name"); p != "" && p != n.Name {
		return failed(http.StatusBadRequest, "Namespace name does not match request path")
	}
	if !namespaceName.MatchString(n.Name) {
		return failed(http.StatusInternalServerError, fmt.Sprintf("Invalid namespace: invalid name %q. Must match regex %s", n.Name, namespaceName))
	}
	if n.Quota != "" {
		return failed(http.StatusInternalServerError, "Nomad Enterprise only endpoint")
	}
	i := c.bump("namespaces")
	n.CreateIndex, n.ModifyIndex, n.Hash = i, i, uuidOf("namespace", string(q.body))
	if has := c.s.namespaces[n.Name]; has != nil {
		n.CreateIndex = has.CreateIndex
	}
	c.s.namespaces[n.Name] = n
	c.touch(itemKey{"ns", n.Name})
	return wrote(i, nil)
}

func (c *Cluster) deleteNamespace(q query) answer {
	name := q.PathValue("name")
	if name == "default" {
		return failed(http.StatusInternalServerError, "can not delete default namespace")
	}
	if c.s.namespaces[name] == nil {
		return failed(http.StatusInternalServerError, "Namespace not found")
	}
	for _, j := range c.s.jobs {
		if j.Namespace == name && j.Status != "dead" {
			return failed(http.StatusInternalServerError, fmt.Sprintf("namespace %q has non-terminal jobs", name))
		}
	}
	delete(c.s.namespaces, name)
	c.touch(itemKey{"ns", name})
	return wrote(c.bump("namespaces"), nil)
}
