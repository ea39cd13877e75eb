package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// apiMoney is an amount in minor units.
type apiMoney struct {
	AmountMinor int64  `json:"amount_minor"`
	Currency    string `json:"currency"`
}

// apiPrice is a price per GPU-hour in millionths of a minor unit.
type apiPrice struct {
	MicroMinor int64  `json:"micro_minor_per_gpu_hour"`
	Currency   string `json:"currency"`
}

// apiTime is an instant in RFC 3339, UTC, to the millisecond; null for none.
type apiTime pool.Instant

func (t apiTime) MarshalJSON() ([]byte, error) {
	i := pool.Instant(t)
	if i == 0 || i == pool.Never {
		return []byte("null"), nil
	}
	return []byte(`"` + i.String() + `"`), nil
}

// apiName is something with an id and what it is called.
type apiName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// apiPage is one page of a list.
type apiPage[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"` // null on the last page
}

func (q *call) amount(a money.Amount) apiMoney {
	return apiMoney{int64(a), q.settings.Currency.Code}
}

func (q *call) price(p money.Price) apiPrice {
	return apiPrice{int64(p), q.settings.Currency.Code}
}

// answer writes a value. A GET has an entity tag, so that who asks again with If-None-Match gets 304 while nothing
// has changed.
func (q *call) answer(status int, value any) error {
	b, err := inJSON(value)
	if err != nil {
		return err
	}
	r, w := q.echo.Request(), q.echo.Response()
	if status == http.StatusOK && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		sum := sha256.Sum256(b)
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "private, no-cache")
		if matches(r.Header.Get("If-None-Match"), tag) {
			return q.echo.NoContent(http.StatusNotModified)
		}
	}
	return q.echo.Blob(status, "application/json", b)
}

// inJSON leaves < and > as they are: nothing of this is ever HTML.
func inJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}

// matches tells whether a list of entity tags has tag, weakly compared (RFC 9110).
func matches(list, tag string) bool {
	for _, t := range strings.Split(list, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// limit is how many items a page has, 1 to 200, 50 without a wish.
func (q *call) limit() (int, error) {
	s := q.query("limit")
	if s == "" {
		return 50, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 200 {
		return 0, badParameter("limit", "A number from 1 to 200.")
	}
	return n, nil
}

// next links to the page after this one.
func (q *call) next(cursor string) *string {
	u := *q.echo.Request().URL
	values := u.Query()
	values.Set("cursor", cursor)
	u.RawQuery = values.Encode()
	q.echo.Response().Header().Set("Link", "<"+u.RequestURI()+`>; rel="next"`)
	return &cursor
}

// paged is the page of a whole list that begins after the cursor's item.
func paged[T any](q *call, all []T, id func(T) string) (apiPage[T], error) {
	p := apiPage[T]{Items: []T{}}
	limit, err := q.limit()
	if err != nil {
		return p, err
	}
	from := 0
	if c := q.query("cursor"); c != "" {
		for from < len(all) && id(all[from]) != c {
			from++
		}
		if from++; from > len(all) {
			return p, badParameter("cursor", "There is no such place in this list.")
		}
	}
	to := min(len(all), from+limit)
	p.Items = append(p.Items, all[from:to]...)
	if to < len(all) {
		p.Next = q.next(id(all[to-1]))
	}
	return p, nil
}

// whole is a list that needs no pages.
func whole[T any](items []T) apiPage[T] {
	if items == nil {
		items = []T{}
	}
	return apiPage[T]{Items: items}
}
