package embedded

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type variable struct {
	CreateIndex uint64
	CreateTime  int64
	Items       map[string]string
	ModifyIndex uint64
	ModifyTime  int64
	Namespace   string
	Path        string
}

type variableStub struct {
	CreateIndex uint64
	CreateTime  int64
	ModifyIndex uint64
	ModifyTime  int64
	Namespace   string
	Path        string
}

func (c *Cluster) listVariables(q query) answer {
	var rows []variableStub
	for _, v := range c.s.vars {
		if q.sees(v.Namespace) && strings.HasPrefix(v.Path, q.params.Get("prefix")) {
			rows = append(rows, variableStub{v.CreateIndex, v.CreateTime, v.ModifyIndex, v.ModifyTime, v.Namespace, v.Path})
		}
	}
	key := func(v variableStub) string { return v.Namespace + "/" + v.Path }
	slices.SortFunc(rows, func(a, b variableStub) int { return strings.Compare(key(a), key(b)) })
	return listed(q, c.s.Last["vars"], rows, key)
}

func (q query) variable() string { return jobKey(q.namespace(), q.PathValue("path")) }

func (c *Cluster) readVariable(q query) answer {
	v := c.s.vars[q.variable()]
	if v == nil {
		return notFound(c.s.Last["vars"], "variable")
	}
	return readOf(v.ModifyIndex, v)
}

// clash is the answer to a check-and-set that came too late, false when it may go on.
func (c *Cluster) clash(q query, has *variable) (answer, bool) {
	cas := q.params.Get("cas")
	if cas == "" {
		return answer{}, false
	}
	want, err := strconv.ParseUint(cas, 10, 64)
	if err != nil {
		return failed(http.StatusBadRequest, "can not parse cas"), true
	}
	now := &variable{Namespace: q.namespace(), Path: q.PathValue("path")}
	if has != nil {
		now = has
	}
	return answer{status: http.StatusConflict, index: c.s.Last["vars"], body: now}, now.ModifyIndex != want
}

func (c *Cluster) writeVariable(q query) answer {
	v := new(variable)
	if err := json.Unmarshal(q.body, v); err != nil {
		return failed(http.StatusBadRequest, err.Error())
	}
	if v.Path != "" && v.Path != q.PathValue("path") {
		return failed(http.StatusBadRequest, "variable path does not match request path")
	}
	if len(v.Items) == 0 {
		return failed(http.StatusBadRequest, "variable missing required Items object")
	}
	v.Path, v.Namespace = q.PathValue("path"), q.namespace()
	if c.s.namespaces[v.Namespace] == nil {
		return failed(http.StatusInternalServerError, "nonexistent namespace \""+v.Namespace+"\"")
	}
	has := c.s.vars[q.variable()]
	if a, late := c.clash(q, has); late {
		return a
	}
	i := c.bump("vars")
	v.CreateIndex, v.CreateTime, v.ModifyIndex, v.ModifyTime = i, nanos(c.at), i, nanos(c.at)
	if has != nil {
		v.CreateIndex, v.CreateTime = has.CreateIndex, has.CreateTime
	}
	c.s.vars[q.variable()] = v
	c.touch(itemKey{"var", q.variable()})
	return wrote(i, v)
}

func (c *Cluster) deleteVariable(q query) answer {
	if a, late := c.clash(q, c.s.vars[q.variable()]); late {
		return a
	}
	i := c.bump("vars")
	delete(c.s.vars, q.variable())
	c.touch(itemKey{"var", q.variable()})
	return answer{status: http.StatusNoContent, index: i}
}
