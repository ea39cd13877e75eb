package embedded

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// listed filters and pages rows. key gives the token of a row, in the order of
// rows. What a row shows is what a filter can ask for.
func listed[T any](q query, index uint64, rows []T, key func(T) string) answer {
	if f := q.params.Get("filter"); f != "" {
		want, err := parseFilter(f)
		if err != nil {
			return failed(http.StatusBadRequest, "failed to create result paginator: failed to read filter expression: "+err.Error())
		}
		kept := rows[:0:0]
		for _, r := range rows {
			fields, err := asFields(r)
			if err != nil {
				return failed(http.StatusInternalServerError, err.Error())
			}
			ok, err := want(fields)
			if err != nil {
				return failed(http.StatusBadRequest, "failed to read result page: "+err.Error())
			}
			if ok {
				kept = append(kept, r)
			}
		}
		rows = kept
	}
	next := ""
	if t := q.params.Get("next_token"); t != "" {
		for len(rows) > 0 && key(rows[0]) < t {
			rows = rows[1:]
		}
	}
	if n, _ := strconv.Atoi(q.params.Get("per_page")); n > 0 && n < len(rows) {
		next, rows = key(rows[n]), rows[:n]
	}
	if rows == nil {
		rows = []T{}
	}
	a := readOf(index, rows)
	a.next = next
	return a
}

func asFields(row any) (map[string]any, error) {
	b, err := json.Marshal(row)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}
